"""Any combination of options makes a template that deploys, or an error of ours that says what to change.

Never an error from the CDK's JavaScript process, and never a template that cfn-lint or a rule of ours has something to
say about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aws_cdk import App, Duration, Size, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template
from cfnlint import api  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import (
    AcceleratedFleet,
    AcceleratedType,
    AtMinimum,
    CustomSignal,
    Drain,
    FleetError,
    FleetImage,
    FleetLogs,
    FleetNetwork,
    FleetSchedule,
    FleetStorage,
    FlexibleTypes,
    Hours,
    IdlePolicy,
    IdleSignal,
    KeepWarm,
    LustreMount,
    MachineSetup,
    OnDemandAllocation,
    OperatingSystem,
    OrphanSweep,
    Placement,
    PoolState,
    Purchase,
    QueueDemand,
    ShortfallDemand,
    SpotAllocation,
    StackExpiry,
    Telemetry,
    WakeUp,
    WarmPool,
    Workload,
)
from constructs_lib.catalog import known_types
from constructs_lib.compliance import assert_compliant
from tests.support.stacks import vpc

# W3005: the CDK writes each dependency out, also one that a reference in the same resource implies. E3628: whether the
# region of the linter has the type, which some types drawn here are in no region of.
IGNORED = ["W3005", "E3628"]
MESSAGE = re.compile(r"^[^:]+(: |\b).* must .+, got .+; .+", re.DOTALL)
OFFICE = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")
RESERVATIONS = "arn:aws:resource-groups:us-east-1:111122223333:group/blocks"
Make = Callable[[Stack], Any]


@dataclass(frozen=True)
class same:
    """A value that needs no stack; it shows itself when an example fails."""

    value: Any

    def __call__(self, scope: Stack) -> Any:
        return self.value


def lustre(scope: Stack) -> FleetStorage:
    network = vpc(scope, "FileSystemVpc")
    system = fsx.LustreFileSystem(
        scope,
        "Files",
        vpc=network,
        vpc_subnet=network.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )
    return FleetStorage(lustre=[LustreMount(file_system=system, path="/fsx")])


TYPES = st.one_of(
    st.sampled_from(sorted(name for name, facts in known_types().items() if facts.status != "retired")).map(same),
    st.sampled_from(
        [
            same(["g6.xlarge", "g5.xlarge"]),
            same(["g6.8xlarge", "g5.8xlarge", "g4dn.8xlarge"]),
            same(["p5.48xlarge", "p5e.48xlarge"]),
            same(["inf2.xlarge", "trn1.2xlarge"]),
            same(["g6f.large", "g6f.xlarge"]),
            same(ec2.InstanceType("g6e.xlarge")),
            same(FlexibleTypes(kind="nvidia", accelerators=1)),
            same(FlexibleTypes(kind="neuron")),
            same(
                AcceleratedType(
                    name="g9.xlarge",
                    kind="nvidia",
                    model="R100",
                    accelerators=1,
                    accelerator_memory_mib=98_304,
                    architecture="arm64",
                )
            ),
        ]
    ),
)
WORKLOADS = st.sampled_from(
    [
        Workload.inference(model="llama-3.1-8b", rate=2000),
        Workload.inference(model="smollm-135m", rate=10),
        Workload.batch_inference(model="bert-base", stack=["neuron"]),
        Workload.training(model="llama-3.1-8b", method="lora"),
        Workload.transcoding(rate=4),
        Workload.fpga(),
    ]
).map(same)
IMAGES = st.sampled_from(
    [
        *[same(FleetImage.deep_learning_base(system)) for system in OperatingSystem],
        same(FleetImage.from_ssm_parameter("/golden/ami", root_device="/dev/sda1")),
        same(FleetImage.from_machine_image(ec2.MachineImage.generic_linux({"us-east-1": "ami-0123456789abcdef0"}))),
    ]
)
PURCHASES = st.sampled_from(
    [
        Purchase.on_demand(),
        Purchase.on_demand(allocation=OnDemandAllocation.LOWEST_PRICE),
        Purchase.spot(),
        Purchase.spot(on_demand_base=1, allocation=SpotAllocation.RANKED),
        Purchase.spot(capacity_rebalance=True),
        Purchase.mixed(on_demand_percent=30),
        Purchase.reservation(),
        Purchase.reservation(reservation_id="cr-0123456789abcdef0", fall_back=False),
        Purchase.reservation(resource_group_arn=RESERVATIONS),
        Purchase.capacity_block(reservation_id="cr-0123456789abcdef0", end="2030-03-01T11:30:00Z"),
        Purchase.capacity_block(
            reservation_id="cr-0123456789abcdef0",
            start="2030-02-01T11:30:00Z",
            end="2030-03-01T11:30:00Z",
            instances_at_start=1,
        ),
    ]
).map(same)
POOLS = st.sampled_from(
    [
        WarmPool(min_size=1),
        WarmPool(min_size=1, max_prepared=4, state=PoolState.RUNNING),
        WarmPool(max_prepared=2, state=PoolState.HIBERNATED),
    ]
).map(same)
NETWORKS: st.SearchStrategy[Make] = st.sampled_from(
    [
        same(FleetNetwork.efa()),
        same(FleetNetwork.efa(interfaces=1)),
        same(FleetNetwork.efa(placement=Placement.none())),
        same(FleetNetwork.efa(placement=Placement.partition(3))),
        same(FleetNetwork.standard()),
        same(FleetNetwork.standard(placement=Placement.cluster())),
        same(FleetNetwork.standard(placement=Placement.spread())),
        same(FleetNetwork.standard(placement=Placement.in_group("ours"))),
        lambda scope: FleetNetwork.efa(
            placement=Placement.in_group(
                ec2.PlacementGroup(scope, "Placement", strategy=ec2.PlacementGroupStrategy.CLUSTER)
            )
        ),
    ]
)
SUBNETS = st.sampled_from(
    [
        ec2.SubnetSelection(availability_zones=["us-east-1a"]),
        ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
        ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC, availability_zones=["us-east-1b"]),
    ]
).map(same)
DEMANDS = st.sampled_from(
    [
        lambda scope: QueueDemand(sqs.Queue(scope, "Jobs"), messages_per_instance=2),
        lambda scope: ShortfallDemand(
            autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "First", "first-fleet")
        ),
    ]
)
POLICIES = st.sampled_from(
    [
        IdlePolicy(window=Duration.minutes(30), max_instance_life=Duration.days(7), at_minimum=AtMinimum.REPLACE),
        IdlePolicy(threshold_percent=3, signals=[IdleSignal.ACCELERATOR]),
        IdlePolicy(threshold_transfers=100),
        IdlePolicy(
            signals=[IdleSignal.ACCELERATOR, IdleSignal.MEMORY, IdleSignal.NETWORK, IdleSignal.IDLE_SECONDS],
            threshold_memory_mib=500,
        ),
        IdlePolicy(signals=[IdleSignal.POWER], threshold_power_watts=60),
        IdlePolicy.adaptive(cold_start=Duration.minutes(2), quiet_hours=[OFFICE], max_releases_per_pass=2),
        IdlePolicy(
            keep_warm=[KeepWarm(instances=1, hours=OFFICE)],
            quiet_hours=[OFFICE],
            max_unknown=Duration.hours(4),
            custom_signals=[CustomSignal(namespace="Jobs", metric_name="running", idle_below=1)],
        ),
    ]
).map(same)
DRAINS = st.sampled_from([Drain(deadline=Duration.minutes(115)), Drain(checkpoint_command="/opt/save")]).map(same)
SCHEDULES = st.sampled_from(
    [
        FleetSchedule(office_hours=[OFFICE]),
        FleetSchedule(wake_ups=[WakeUp(at="08:00", instances=1, time_zone="UTC")], maintenance=[OFFICE]),
    ]
).map(same)
TELEMETRY = st.sampled_from(
    [
        Telemetry(network=True, swap=True),
        Telemetry(per_accelerator_series=False, resolution=Duration.seconds(10)),
        Telemetry(logs=FleetLogs(files=["/var/log/worker.log"]), processes=["worker"]),
        Telemetry(measurements=["utilization_gpu"]),
    ]
).map(same)
STORAGE: st.SearchStrategy[Make] = st.sampled_from(
    [
        same(FleetStorage(root_volume_size=Size.gibibytes(500), root_volume_iops=16_000)),
        same(FleetStorage(instance_store_path="/mnt/data")),
        lustre,
    ]
)
MACHINES = st.sampled_from(
    [MachineSetup(huge_pages=512, open_files=1_048_576), MachineSetup(persistence_mode=True, application_clocks=True)]
).map(same)


def user_data(scope: Stack) -> ec2.UserData:
    script = ec2.UserData.for_linux()
    script.add_commands("systemctl start worker")
    return script


OPTIONS: dict[str, st.SearchStrategy[Make]] = {
    "instance_types": TYPES,
    "workload": WORKLOADS,
    "max_capacity": st.integers(1, 20).map(same),
    "min_capacity": st.integers(0, 3).map(same),
    "vpc_subnets": SUBNETS,
    "image": IMAGES,
    "purchase": PURCHASES,
    "warm_pool": POOLS,
    "demand": DEMANDS,
    "idle": POLICIES,
    "drain": DRAINS,
    "schedule": SCHEDULES,
    "telemetry": TELEMETRY,
    "storage": STORAGE,
    "machine": MACHINES,
    "network": NETWORKS,
    "notifications": st.just(lambda scope: sns.Topic(scope, "Alerts")),
    "role": st.just(lambda scope: iam.Role.from_role_name(scope, "Role", "workers")),
    "security_group": st.sampled_from(
        [
            lambda scope: ec2.SecurityGroup.from_security_group_id(scope, "Group", "sg-0123456789abcdef0"),
            lambda scope: ec2.SecurityGroup.from_security_group_id(
                scope, "Group", "sg-0123456789abcdef0", mutable=False
            ),
            lambda scope: ec2.SecurityGroup(scope, "Group", vpc=vpc(scope, "GroupVpc")),
        ]
    ),
    "user_data": st.just(user_data),
    "encryption_key": st.just(lambda scope: kms.Key(scope, "Key")),
}
ALMOST_ALWAYS = {"max_capacity": same(4)}


@st.composite
def combinations(draw: st.DrawFn) -> dict[str, Make]:
    """Some options, each with some value; types and workload are rarely given together."""
    chosen = draw(st.sets(st.sampled_from(sorted(set(OPTIONS) - {"instance_types", "workload"})), max_size=7))
    what_for = draw(st.sampled_from([("instance_types",)] * 6 + [("workload",)] * 2 + [("instance_types", "workload")]))
    drawn = {name: draw(OPTIONS[name]) for name in sorted({*chosen, *what_for})}
    return {**ALMOST_ALWAYS, **drawn}


def synthesized(options: dict[str, Make], besides: bool) -> dict[str, Any] | str:
    """The template, or the message where the options were refused."""
    scope = Stack(App(), "Test")
    try:
        fleet = AcceleratedFleet(
            scope, "Fleet", vpc=vpc(scope), **{name: make(scope) for name, make in options.items()}
        )
        if besides:
            OrphanSweep(scope, "Sweep", fleet=fleet)
            StackExpiry(scope, "Expiry", after=Duration.days(7), notifications=fleet.notifications)
    except FleetError as refused:
        return str(refused)
    return dict(Template.from_stack(scope).to_json())


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(options=combinations(), besides=st.booleans())
def test_a_template_that_cfn_lint_and_our_rules_accept_or_an_error_of_ours(
    options: dict[str, Make], besides: bool
) -> None:
    template = synthesized(options, besides)
    if isinstance(template, str):
        assert MESSAGE.match(template), "the message names no rule, value and cure"
    else:
        found = api.lint(json.dumps(template), config={"regions": ["us-east-1"], "ignore_checks": IGNORED})
        assert [str(each) for each in found] == []
        assert_compliant(template)
