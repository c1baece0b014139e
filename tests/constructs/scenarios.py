"""The stacks that are snapshotted, linted and checked whole, each in every context that a user's app may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    AtMinimum,
    CustomSignal,
    Drain,
    FleetImage,
    FleetLogs,
    FleetNetwork,
    FleetSchedule,
    FleetStorage,
    FlexibleTypes,
    Hours,
    IdlePolicy,
    IdleRelease,
    IdleSignal,
    KeepWarm,
    LustreMount,
    MachineSetup,
    OperatingSystem,
    Placement,
    Purchase,
    QueueDemand,
    Telemetry,
    WakeUp,
    WarmPool,
    Weekday,
    Workload,
)
from tests.support.stacks import fleet, project_context, stack, vpc

_OFFICE = Hours(
    start="08:00", end="20:00", time_zone="Europe/Berlin", days=list(Weekday)[:5], exceptions=["2026-12-25"]
)
_WEEKEND = Hours(start="00:00", end="24:00", time_zone="UTC", days=[Weekday.SATURDAY, Weekday.SUNDAY])


def queue(scope: Construct) -> sqs.Queue:
    """A queue as a careful team makes it, so that rule packs have nothing to say about it."""
    failed = sqs.Queue(scope, "FailedJobs", enforce_ssl=True)
    return sqs.Queue(
        scope, "Jobs", enforce_ssl=True, dead_letter_queue=sqs.DeadLetterQueue(queue=failed, max_receive_count=3)
    )


def smallest(scope: Construct) -> AcceleratedFleet:
    """Only what has no default."""
    return fleet(scope)


def with_queue(scope: Construct) -> AcceleratedFleet:
    """Default options and a queue: what the README's ten lines give."""
    return fleet(scope, demand=QueueDemand(queue(scope)))


def fullest(scope: Construct) -> AcceleratedFleet:
    """Every argument given."""
    network = vpc(scope, zones=3)
    topic_key = kms.Key(scope, "TopicKey", enable_key_rotation=True)
    workload = ec2.UserData.for_linux()
    workload.add_commands("systemctl start inference")
    return fleet(
        scope,
        vpc=network,
        instance_types=["g6.xlarge", "g5.xlarge", "g4dn.xlarge"],
        min_capacity=1,
        vpc_subnets=ec2.SubnetSelection(subnets=network.private_subnets[:2]),
        image=FleetImage.deep_learning_base(OperatingSystem.UBUNTU_24_04),
        purchase=Purchase.spot(on_demand_base=1, on_demand_percent=25),
        demand=QueueDemand(queue(scope), messages_per_instance=4),
        idle=IdlePolicy(
            window=Duration.minutes(30),
            threshold_percent=3,
            warm_up=Duration.minutes(20),
            signals=[IdleSignal.ACCELERATOR, IdleSignal.CPU],
            cpu_threshold_percent=20,
            custom_signals=[CustomSignal(namespace="Inference", metric_name="open_requests", idle_below=1)],
            max_release_share=0.5,
            max_releases_per_pass=2,
            min_instance_life=Duration.minutes(40),
            quiet_hours=[_WEEKEND],
            keep_warm=[KeepWarm(instances=2, hours=_OFFICE)],
            max_instance_life=Duration.days(14),
            max_unknown=Duration.hours(6),
            at_minimum=AtMinimum.REPLACE,
            end_retained_after=Duration.hours(12),
            max_failed_launches=3,
        ),
        drain=Drain(
            deadline=Duration.minutes(10),
            signal="SIGINT",
            command="/opt/worker/finish",
            checkpoint_command="/opt/worker/save",
            drain_on_rebalance=True,
        ),
        schedule=FleetSchedule(
            office_hours=[_OFFICE],
            maintenance=[_OFFICE],
            wake_ups=[WakeUp(at="08:00", instances=2, time_zone="Europe/Berlin")],
        ),
        telemetry=Telemetry(
            measurements=["utilization_gpu", "memory_used"],
            per_accelerator_series=False,
            resolution=Duration.seconds(10),
            application_metrics=["inference_latency", "queue_wait"],
            network=True,
            swap=True,
            processes=["python.*worker"],
            logs=FleetLogs(files=["/var/log/worker.log"], retention=logs.RetentionDays.ONE_WEEK),
        ),
        storage=FleetStorage(
            root_volume_size=Size.gibibytes(200),
            root_volume_iops=4000,
            root_volume_throughput_mib_s=500,
            instance_store_path="/mnt/data",
        ),
        machine=MachineSetup(persistence_mode=True, application_clocks=True, huge_pages=512, open_files=1_048_576),
        notifications=sns.Topic(scope, "Alerts", master_key=topic_key, enforce_ssl=True),
        role=iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")),
        security_group=ec2.SecurityGroup(scope, "Instances", vpc=network),
        user_data=workload,
        encryption_key=kms.Key(scope, "VolumeKey", enable_key_rotation=True),
    )


def trainium(scope: Construct) -> AcceleratedFleet:
    """An accelerator that the agent cannot read, and a network that older agents do not know."""
    return fleet(scope, instance_types="trn1.32xlarge", telemetry=Telemetry(network=True, logs=FleetLogs()))


def fpga(scope: Construct) -> AcceleratedFleet:
    """An accelerator that knows no percentage, on an image of one's own."""
    image = FleetImage.from_ssm_parameter("/golden/fpga/ami-id", root_device="/dev/sda1")
    return fleet(scope, instance_types="f2.6xlarge", image=image, idle=IdlePolicy(threshold_transfers=1000))


def training(scope: Construct) -> AcceleratedFleet:
    """Prepaid capacity, joined by EFA: sizes, interfaces, rules and the end of the block go together."""
    network = vpc(scope)
    files = fsx.LustreFileSystem(
        scope,
        "Files",
        vpc=network,
        vpc_subnet=network.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
        removal_policy=RemovalPolicy.DESTROY,
    )
    return fleet(
        scope,
        vpc=network,
        instance_types="p5.48xlarge",
        max_capacity=4,
        vpc_subnets=ec2.SubnetSelection(subnets=[network.private_subnets[0]]),
        purchase=Purchase.capacity_block(
            reservation_id="cr-0123456789abcdef0",
            start="2030-03-01T11:30:00Z",
            end="2030-03-08T11:30:00Z",
            instances_at_start=4,
        ),
        network=FleetNetwork.efa(),
        storage=FleetStorage(instance_store_path="/mnt/scratch", lustre=[LustreMount(file_system=files, path="/fsx")]),
        drain=Drain(deadline=Duration.minutes(20), checkpoint_command="/opt/train/save"),
    )


def prepared(scope: Construct) -> AcceleratedFleet:
    """Told what it is for, with instances that have booted ahead."""
    return fleet(
        scope,
        instance_types="g5.xlarge",
        workload=Workload.inference(model="llama-3.1-8b", rate=2000),
        max_capacity=None,
        demand=QueueDemand(queue(scope)),
        warm_pool=WarmPool(min_size=1, max_prepared=3),
        user_data=ec2.UserData.custom("#!/bin/bash\nsystemctl start inference"),
    )


def flexible(scope: Construct) -> AcceleratedFleet:
    """Any type that has so much, mostly Spot, each on a rack of its own."""
    return fleet(
        scope,
        instance_types=FlexibleTypes(kind="nvidia", accelerators=1, accelerator_memory_mib=20_000),
        purchase=Purchase.mixed(on_demand_percent=20),
        network=FleetNetwork.standard(placement=Placement.spread()),
    )


def idle_release(scope: Construct) -> IdleRelease:
    """The release of idle instances for a group that belongs to somebody else."""
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "Group", "training-workers")
    return IdleRelease(scope, "Release", auto_scaling_group=group)


SCENARIOS: Mapping[str, Callable[[Construct], Construct]] = {
    "smallest": smallest,
    "with_queue": with_queue,
    "fullest": fullest,
    "trainium": trainium,
    "fpga": fpga,
    "training": training,
    "prepared": prepared,
    "flexible": flexible,
    "idle_release": idle_release,
}


def _flags_off() -> dict[str, Any]:
    flags = project_context()
    return {name: False for name, value in flags.items() if name.startswith("@aws-cdk/") and isinstance(value, bool)}


CONTEXTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "empty": dict,
    "project": project_context,
    "flags_off": _flags_off,
}


def built(scenario: str, context: str = "empty", *, id: str = "Test") -> Stack:
    """A fresh stack with one scenario in it."""
    made = stack(id, CONTEXTS[context]())
    SCENARIOS[scenario](made)
    return made


@cache
def template(scenario: str, context: str = "empty") -> Mapping[str, Any]:
    """The template of a scenario; synthesized once and not to be changed."""
    return MappingProxyType(Template.from_stack(built(scenario, context)).to_json())
