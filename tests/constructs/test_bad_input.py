"""Wrong arguments: refused in our own Python, at once, with who, what, why and the way out.

A row is one wrong value of one parameter. Every parameter of every public constructor needs a row with a wrong type and
one with a value out of range, or stands in ``WITHOUT_RANGE`` with the reason.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Aws, CfnParameter, Duration, Size, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from constructs_lib import (
    AcceleratedFleet,
    AcceleratedType,
    CustomSignal,
    Drain,
    FleetError,
    FleetImage,
    FleetLogs,
    FleetSchedule,
    FleetStorage,
    FlexibleTypes,
    Hours,
    IdlePolicy,
    IdleRelease,
    IdleSignal,
    KeepWarm,
    MachineSetup,
    OperatingSystem,
    Purchase,
    QueueDemand,
    ShortfallDemand,
    Telemetry,
    UnknownInstanceTypeError,
    UnsupportedInstanceTypeError,
    WakeUp,
    WarmPool,
)
from constructs_lib.compliance import AcceleratorChecks, assert_compliant, suppress
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.lustre import LustreMount
from tests.constructs.bad_values import FACT_FLAGS, FLAGS, JOBS, OFFICE, RANGE, TOGETHER, TOKEN, TYPE, VALUES, Row
from tests.constructs.scenarios import queue
from tests.support.stacks import ROOT, fleet, stack, vpc

FACTS: Mapping[str, Any] = {
    "name": "g9.xlarge",
    "kind": "nvidia",
    "model": "R100",
    "accelerators": 1,
    "accelerator_memory_mib": 98_304,
    "architecture": "x86_64",
}


DEFAULT_IMAGE = "'AWS Deep Learning base image, amazon-linux-2023, read from its SSM parameter at each deploy'"


def _holidays(count: int) -> Hours:
    first = datetime(2027, 1, 1)
    dates = [(first + timedelta(days=day)).strftime("%Y-%m-%d") for day in range(count)]
    return Hours(start="08:00", end="18:00", time_zone="UTC", exceptions=dates)


def make_fleet(**arguments: Any) -> object:
    test_stack = stack()
    return fleet(test_stack, **{name: _in(test_stack, value) for name, value in arguments.items()})


def make_release(**arguments: Any) -> object:
    test_stack = stack()
    given = {"auto_scaling_group": _group, **arguments}
    return IdleRelease(test_stack, "Release", **{name: _in(test_stack, value) for name, value in given.items()})


def make_demand(**arguments: Any) -> object:
    return QueueDemand(**{"queue": queue(stack()), **arguments})


def make_shortfall_demand(**arguments: Any) -> object:
    return ShortfallDemand(**{"fleet": fleet(stack()), **arguments})


def make_lustre_mount(**arguments: Any) -> object:
    made = stack()
    system = fsx.LustreFileSystem.from_lustre_file_system_attributes(
        made,
        "Input",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        file_system_id="fs-0123456789abcdef0",
        security_group=ec2.SecurityGroup.from_security_group_id(made, "Group", "sg-0123456789abcdef0"),
    )
    return LustreMount(**{"file_system": system, "path": "/fsx", "mount_name": "abcdefgh", **arguments})


def make_type(**arguments: Any) -> object:
    return AcceleratedType(**{**FACTS, **arguments})


def make_suppression(**arguments: Any) -> None:
    needed = {"construct": stack(), "rule": "instance-metadata-v1", "reason": "known to the team"}
    suppress(**{**needed, **arguments})


def _in(scope: Stack, value: Any) -> Any:
    """A value that needs a stack to be made in is given as a function of it."""
    return value(scope) if inspect.isfunction(value) else value


def _group(scope: Stack) -> autoscaling.IAutoScalingGroup:
    return autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "Group", "workers")


def _protected_group(scope: Stack) -> autoscaling.AutoScalingGroup:
    template = ec2.LaunchTemplate(
        scope,
        "Template",
        instance_type=ec2.InstanceType("g6.xlarge"),
        machine_image=ec2.MachineImage.latest_amazon_linux2023(),
    )
    return autoscaling.AutoScalingGroup(
        scope, "Group", vpc=vpc(scope), launch_template=template, new_instances_protected_from_scale_in=True
    )


def _unreachable_topic(scope: Stack) -> sns.Topic:
    return sns.Topic(scope, "Topic", master_key=kms.Alias.from_alias_name(scope, "Managed", "alias/aws/sns"))


def _immutable_role(scope: Stack) -> iam.IRole:
    return iam.Role.from_role_arn(scope, "Imported", "arn:aws:iam::111122223333:role/gpu", mutable=False)


def _vpc_without_subnets(scope: Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        scope, "Empty", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"]
    )


# The constructors, and how the tests call them: whose name a message begins with, and with what else filled in.
OWNERS: Mapping[str, tuple[Callable[..., object], Callable[..., object], str]] = {
    "AcceleratedFleet": (AcceleratedFleet, make_fleet, "Test/Fleet"),
    "IdleRelease": (IdleRelease, make_release, "Test/Release"),
    "IdlePolicy": (IdlePolicy, IdlePolicy, "IdlePolicy"),
    "Hours": (
        Hours,
        lambda **given: Hours(**{"start": "08:00", "end": "18:00", "time_zone": "Europe/Berlin", **given}),
        "Hours",
    ),
    "KeepWarm": (KeepWarm, lambda **given: KeepWarm(**{"instances": 1, "hours": OFFICE, **given}), "KeepWarm"),
    "CustomSignal": (
        CustomSignal,
        lambda **given: CustomSignal(**{"namespace": "Jobs", "metric_name": "running", "idle_below": 1, **given}),
        "CustomSignal",
    ),
    "Drain": (Drain, Drain, "Drain"),
    "FleetSchedule": (FleetSchedule, FleetSchedule, "FleetSchedule"),
    "WakeUp": (
        WakeUp,
        lambda **given: WakeUp(**{"at": "08:30", "instances": 1, "time_zone": "Europe/Berlin", **given}),
        "WakeUp",
    ),
    "QueueDemand": (QueueDemand, make_demand, "QueueDemand"),
    "ShortfallDemand": (ShortfallDemand, make_shortfall_demand, "ShortfallDemand"),
    "Purchase.on_demand": (Purchase.on_demand, Purchase.on_demand, r"Purchase\.on_demand"),
    "Purchase.spot": (Purchase.spot, Purchase.spot, r"Purchase(\.spot)?"),
    "Purchase.mixed": (
        Purchase.mixed,
        lambda **given: Purchase.mixed(**{"on_demand_base": 1, **given}),
        r"Purchase(\.mixed)?",
    ),
    "Purchase.reservation": (Purchase.reservation, Purchase.reservation, r"Purchase\.reservation"),
    "Purchase.capacity_block": (
        Purchase.capacity_block,
        lambda **given: Purchase.capacity_block(
            **{"reservation_id": "cr-0123456789abcdef0", "end": "2027-03-08T11:30Z", **given}
        ),
        r"Purchase\.capacity_block",
    ),
    "FlexibleTypes": (
        FlexibleTypes,
        lambda **given: FlexibleTypes(**{"kind": "nvidia", **given}),
        "FlexibleTypes",
    ),
    "WarmPool": (WarmPool, lambda **given: WarmPool(**{"min_size": 1, **given}), "WarmPool"),
    "WarmPool.size_for": (
        WarmPool.size_for,
        lambda **given: WarmPool.size_for(**{"starts_per_hour": 6, "cold_start": Duration.minutes(8), **given}),
        r"WarmPool\.size_for",
    ),
    "FleetStorage": (FleetStorage, FleetStorage, "FleetStorage"),
    "LustreMount": (LustreMount, make_lustre_mount, "LustreMount"),
    "FleetImage.deep_learning_base": (FleetImage.deep_learning_base, FleetImage.deep_learning_base, "FleetImage"),
    "FleetImage.from_ssm_parameter": (
        FleetImage.from_ssm_parameter,
        lambda **given: FleetImage.from_ssm_parameter(**{"name": "/golden/ami", **given}),
        "FleetImage",
    ),
    "FleetImage.from_machine_image": (
        FleetImage.from_machine_image,
        lambda **given: FleetImage.from_machine_image(**{"image": ec2.MachineImage.latest_amazon_linux2023(), **given}),
        "FleetImage",
    ),
    "Telemetry": (Telemetry, Telemetry, "Telemetry"),
    "FleetLogs": (FleetLogs, FleetLogs, "FleetLogs"),
    "MachineSetup": (MachineSetup, MachineSetup, "MachineSetup"),
    "AcceleratedType": (AcceleratedType, make_type, r"AcceleratedType( g9\.xlarge)?"),
    "AcceleratorChecks": (AcceleratorChecks, AcceleratorChecks, "AcceleratorChecks|check"),
    "suppress": (suppress, make_suppression, "Test|suppress"),
    "assert_compliant": (
        assert_compliant,
        lambda **given: assert_compliant(**{"subject": {"Resources": {}}, **given}),
        "assert_compliant|check|templates",
    ),
}

# Parameters of which every value of the right type is in range.
WITHOUT_RANGE = {
    ("AcceleratedFleet", "network"): "checked when it is made",
    ("AcceleratedFleet", "workload"): "checked when it is made; test_workload.py has what fits nowhere",
    ("AcceleratedFleet", "warm_pool"): "checked when it is made",
    ("Purchase.on_demand", "allocation"): "an enumeration",
    ("Purchase.spot", "allocation"): "an enumeration",
    ("Purchase.spot", "on_demand_allocation"): "an enumeration",
    ("Purchase.spot", "capacity_rebalance"): "yes or no",
    ("Purchase.mixed", "allocation"): "an enumeration",
    ("Purchase.mixed", "on_demand_allocation"): "an enumeration",
    ("Purchase.mixed", "capacity_rebalance"): "yes or no",
    ("Purchase.reservation", "fall_back"): "yes or no",
    ("Purchase.reservation", "allocation"): "an enumeration",
    ("FlexibleTypes", "fractions"): "yes or no",
    ("FlexibleTypes", "previous_generations"): "yes or no",
    ("WarmPool", "state"): "an enumeration",
    ("AcceleratedFleet", "demand"): "checked when it is made",
    ("AcceleratedFleet", "drain"): "checked when it is made",
    ("AcceleratedFleet", "schedule"): "checked when it is made",
    ("AcceleratedFleet", "encryption_key"): "any key; one whose policy is not ours gets a warning",
    ("AcceleratedFleet", "idle"): "checked when it is made",
    ("AcceleratedFleet", "purchase"): "checked when it is made",
    ("AcceleratedFleet", "security_group"): "any group",
    ("AcceleratedFleet", "storage"): "checked when it is made",
    ("AcceleratedFleet", "machine"): "checked when it is made",
    ("AcceleratedFleet", "vpc"): "any VPC; one without subnets is refused under vpc_subnets",
    ("IdlePolicy", "at_minimum"): "an enumeration",
    ("KeepWarm", "hours"): "checked when it is made",
    ("Drain", "drain_on_rebalance"): "yes or no",
    ("IdleRelease", "demand"): "checked when it is made",
    ("IdleRelease", "idle"): "checked when it is made",
    ("QueueDemand", "queue"): "any queue",
    ("ShortfallDemand", "fleet"): "any group that tells of itself; test_shortfall_demand.py has one that does not",
    ("FleetImage.deep_learning_base", "system"): "an enumeration",
    ("FleetImage.from_machine_image", "image"): "any image",
    **{("Telemetry", flag): "yes or no" for flag in FLAGS},
    ("Telemetry", "logs"): "checked when it is made",
    ("FleetLogs", "faults"): "yes or no",
    ("FleetLogs", "retention"): "an enumeration",
    ("LustreMount", "file_system"): "any file system",
    ("LustreMount", "read_only"): "yes or no",
    ("MachineSetup", "persistence_mode"): "yes or no",
    ("MachineSetup", "application_clocks"): "yes or no",
    ("AcceleratedType", "video_encoder"): "yes or no",
    ("suppress", "construct"): "any construct",
    **{("AcceleratedType", flag): "yes or no" for flag in FACT_FLAGS},
}


def fleet_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("AcceleratedFleet", parameter, kind, value, rule, **more)


FLEET = [
    fleet_row("vpc", TYPE, "vpc-0123456789abcdef0", "be an ec2.IVpc"),
    fleet_row("vpc", TYPE, None, "be an ec2.IVpc"),
    fleet_row("instance_types", TYPE, 6, "name at least one instance type"),
    fleet_row("instance_types", TYPE, None, "be given without a workload"),
    fleet_row("workload", TYPE, "inference", "be of type Workload"),
    fleet_row("network", TYPE, "efa", "be a FleetNetwork"),
    fleet_row("instance_types", TYPE, ["g6.xlarge", 5], "hold names, ec2.InstanceType or AcceleratedType", got="5"),
    fleet_row("instance_types", RANGE, [], "name at least one instance type"),
    fleet_row("instance_types", RANGE, "", "be a text that is not empty"),
    fleet_row("instance_types", RANGE, "g99.xlarge", "the catalog", error=UnknownInstanceTypeError),
    fleet_row("instance_types", RANGE, ec2.InstanceType("g6.99xlarge"), "the catalog", got="'g6.99xlarge'",
              error=UnknownInstanceTypeError),
    fleet_row("instance_types", RANGE, Aws.STACK_NAME, "the catalog", got="a token", error=UnknownInstanceTypeError),
    fleet_row("instance_types", RANGE, "p2.xlarge", "still be offered by AWS", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", RANGE, "m7i.large", "with an accelerator", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", RANGE, "p2.xlarge", "still be offered by AWS", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", TOGETHER, ["g6.xlarge", "g6.xlarge"], "name each type once"),
    fleet_row("instance_types", TOGETHER, ["g6.xlarge", "g5g.xlarge"], "share one CPU architecture",
              got="{'g6.xlarge': 'x86_64', 'g5g.xlarge': 'arm64'}", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", TOGETHER, ["g6.xlarge", "p3dn.24xlarge"], "share one kernel driver",
              got="{'g6.xlarge': 'open', 'p3dn.24xlarge': 'proprietary'}", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", TOGETHER, ["g6.xlarge", "g4ad.xlarge"], "be of one kind of accelerator",
              got="['g6.xlarge (nvidia)', 'g4ad.xlarge (amd)']", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", TOGETHER, ["inf2.xlarge", "g4ad.xlarge"], "be of one kind of accelerator",
              got="['inf2.xlarge (neuron)', 'g4ad.xlarge (amd)']", error=UnsupportedInstanceTypeError),
    fleet_row("instance_types", TOGETHER, ["g6.xlarge", "m7i.large"], "with an accelerator", got="'m7i.large'",
              error=UnsupportedInstanceTypeError),
    fleet_row("purchase", TOGETHER, Purchase.spot(on_demand_base=8), "have an on_demand_base below max_capacity (8)",
              got="8"),
    fleet_row("max_capacity", TYPE, "8", "be a whole number at least 1"),
    fleet_row("max_capacity", TYPE, 8.0, "be a whole number at least 1"),
    fleet_row("max_capacity", TYPE, True, "be a whole number at least 1"),
    fleet_row("max_capacity", TYPE, None, "be given without a workload"),
    fleet_row("max_capacity", RANGE, 0, "be a whole number at least 1"),
    fleet_row("max_capacity", RANGE, -1, "be a whole number at least 1"),
    fleet_row("max_capacity", RANGE, TOKEN, "be known at synth", got="'a token'"),
    fleet_row("min_capacity", TYPE, "1", "be a whole number at least 0"),
    fleet_row("min_capacity", RANGE, -1, "be a whole number at least 0"),
    fleet_row("min_capacity", RANGE, TOKEN, "be known at synth", got="'a token'"),
    fleet_row("min_capacity", TOGETHER, 9, "not exceed max_capacity (8)"),
    fleet_row("vpc_subnets", TYPE, "private", "be of type SubnetSelection"),
    fleet_row("vpc_subnets", TYPE, {"subnet_type": "x"}, "be of type SubnetSelection"),
    fleet_row("vpc_subnets", RANGE, ec2.SubnetSelection(subnet_group_name="Gpu"), "select subnets that the VPC has",
              got="SubnetSelection(subnet_group_name='Gpu')"),
    fleet_row("vpc_subnets", RANGE, ec2.SubnetSelection(availability_zones=["us-east-1f"]),
              "select at least one subnet", got="SubnetSelection(availability_zones=['us-east-1f'])"),
    fleet_row("vpc_subnets", TOGETHER, None, "select subnets that the VPC has", got="SubnetSelection()",
              beside={"vpc": _vpc_without_subnets}),
    fleet_row("image", TYPE, "ami-0123456789abcdef0", "be a FleetImage"),
    fleet_row("image", RANGE, FleetImage.deep_learning_base(), "be one with the proprietary driver",
              got=DEFAULT_IMAGE,
              beside={"instance_types": "p3dn.24xlarge"}, error=UnsupportedInstanceTypeError),
    *(
        fleet_row("image", TOGETHER, None, f"be given for accelerators of kind {kind!r}", got=DEFAULT_IMAGE,
                  beside={"instance_types": name}, error=UnsupportedInstanceTypeError)
        for name, kind in [("dl1.24xlarge", "gaudi"), ("dl2q.24xlarge", "qualcomm"), ("f2.6xlarge", "fpga"),
                           ("vt1.3xlarge", "media"), ("g4ad.xlarge", "amd")]
    ),
    fleet_row("image", TOGETHER, None, "be one whose driver still supports inf1.xlarge", got=DEFAULT_IMAGE,
              beside={"instance_types": "inf1.xlarge"}, error=UnsupportedInstanceTypeError),
    fleet_row("image", TOGETHER, FleetImage.deep_learning_base(OperatingSystem.UBUNTU_22_04),
              "be one of the systems that AWS makes it for with kind 'neuron': amazon-linux-2023, ubuntu-24.04",
              got="'AWS Deep Learning base image, ubuntu-22.04", beside={"instance_types": "inf2.xlarge"},
              error=UnsupportedInstanceTypeError),
    fleet_row("purchase", TYPE, "spot", "be of type Purchase"),
    fleet_row("warm_pool", TYPE, 1, "be of type WarmPool"),
    fleet_row("demand", TYPE, "https://sqs.us-east-1.amazonaws.com/1/jobs", "be of type Demand"),
    fleet_row("idle", TYPE, Duration.minutes(15), "be of type IdlePolicy", got="<aws_cdk.Duration object"),
    fleet_row("idle", TOGETHER, IdlePolicy(threshold_transfers=9), "be left out for accelerators of kind 'nvidia'",
              got="9", named="idle.threshold_transfers"),
    fleet_row("idle", TOGETHER, IdlePolicy(threshold_percent=9), "be left out for accelerators of kind 'fpga'",
              got="9.0", named="idle.threshold_percent",
              beside={"instance_types": "f2.6xlarge", "image": FleetImage.from_ssm_parameter("/golden/fpga")}),
    fleet_row("idle", TOGETHER, IdlePolicy(signals=[IdleSignal.MEMORY], threshold_memory_mib=900),
              "hold only figures that the instances publish", got="'MEMORY'", named="idle.signals",
              beside={"telemetry": Telemetry(measurements=["utilization_gpu"])}),
    fleet_row("idle", TOGETHER, IdlePolicy(signals=[IdleSignal.MEMORY], threshold_memory_mib=900),
              "hold only figures that the instances publish", got="'MEMORY'", named="idle.signals",
              beside={"instance_types": "f2.6xlarge", "image": FleetImage.from_ssm_parameter("/golden/fpga")}),
    fleet_row("idle", TOGETHER, IdlePolicy(signals=[IdleSignal.POWER], threshold_power_watts=40),
              "hold only figures that the instances publish", got="'POWER'", named="idle.signals",
              beside={"instance_types": ["g6.xlarge", "g6f.large"]}),
    fleet_row("idle", TOGETHER, IdlePolicy(signals=[IdleSignal.POWER], threshold_power_watts=40),
              "hold only figures that every type publishes (g6f.large does not)", got="'POWER'", named="idle.signals",
              beside={"instance_types": ["g6.xlarge", "g6f.large"],
                      "telemetry": Telemetry(measurements=["utilization_gpu", "power_draw"])}),
    # A value that no accelerator of the fleet reaches would make an instance at work look idle.
    fleet_row("idle", TOGETHER, IdlePolicy(signals=[IdleSignal.MEMORY], threshold_memory_mib=22_888),
              "be below the memory of an accelerator (g6.xlarge: 22888 MiB)", got="22888.0",
              named="idle.threshold_memory_mib", beside={"instance_types": ["g6e.xlarge", "g6.xlarge"]}),
    fleet_row("idle", TOGETHER, IdlePolicy(keep_warm=[KeepWarm(instances=9, hours=OFFICE)]),
              "not exceed max_capacity (8)", got="9", named="idle.keep_warm"),
    fleet_row("idle", TOGETHER, IdlePolicy(quiet_hours=[_holidays(300)]),
              "leave the release function's settings within 4096 bytes", got="5"),
    fleet_row("drain", TYPE, Duration.minutes(5), "be of type Drain", got="<aws_cdk.Duration object"),
    fleet_row("schedule", TYPE, [OFFICE], "be of type FleetSchedule"),
    fleet_row("schedule", TOGETHER, FleetSchedule(maintenance=[OFFICE]), "be left out without idle.max_instance_life",
              got="[Hours(", named="schedule.maintenance"),
    fleet_row("schedule", TOGETHER,
              FleetSchedule(wake_ups=[WakeUp(at="08:30", instances=9, time_zone="Europe/Berlin")]),
              "not exceed max_capacity (8)", got="9", named="schedule.wake_ups.instances"),
    fleet_row("telemetry", TYPE, ["utilization_gpu"], "be of type Telemetry"),
    fleet_row("telemetry", RANGE, Telemetry(measurements=["utilization_gpu", "power_draw"]), "be readable on g6f.large",
              got="'power_draw'", beside={"instance_types": "g6f.large"}, named="measurements"),
    fleet_row("storage", TYPE, Size.gibibytes(200), "be of type FleetStorage", got="<aws_cdk.Size object"),
    fleet_row("storage", TOGETHER, FleetStorage(instance_store_path="/mnt/data"), "be left out for inf2.xlarge",
              got="'/mnt/data'", named="storage.instance_store_path", beside={"instance_types": "inf2.xlarge"}),
    fleet_row("machine", TYPE, {"huge_pages": 1}, "be of type MachineSetup"),
    fleet_row("machine", TOGETHER, MachineSetup(persistence_mode=True), "be left out for inf2.xlarge", got="True",
              named="machine.persistence_mode", beside={"instance_types": "inf2.xlarge"}),
    fleet_row("machine", TOGETHER, MachineSetup(application_clocks=True), "be left out for g6f.large", got="True",
              named="machine.application_clocks", beside={"instance_types": "g6f.large"}),
    fleet_row("machine", TOGETHER, MachineSetup(application_clocks=True), "be left out for the families g5g",
              got="True", named="machine.application_clocks", beside={"instance_types": "g5g.xlarge"}),
    fleet_row("notifications", TYPE, "arn:aws:sns:us-east-1:1:x", "be an sns.ITopic"),
    fleet_row("notifications", RANGE, _unreachable_topic, "not be encrypted with the AWS-managed key",
              got="'alias/aws/sns'"),
    fleet_row("role", TYPE, "arn:aws:iam::111122223333:role/gpu", "be an iam.IRole"),
    fleet_row("role", RANGE, _immutable_role, "be one that the fleet may add permissions to", got="<"),
    fleet_row("security_group", TYPE, "sg-0123456789abcdef0", "be an ec2.ISecurityGroup"),
    fleet_row("user_data", TYPE, "#!/bin/bash", "be an ec2.UserData"),
    fleet_row("user_data", RANGE, ec2.UserData.for_windows(), "be a Linux script that begins with '#!'",
              got="'<powershell>"),
    fleet_row("user_data", RANGE, ec2.UserData.custom("#!/bin/bash\n" + "x" * 16_384),
              "leave the whole script within 16384 bytes", got="1"),
    fleet_row("encryption_key", TYPE, "arn:aws:kms:us-east-1:1:key/x", "be a kms.IKey"),
]  # fmt: skip

RELEASE = [
    Row("IdleRelease", "auto_scaling_group", TYPE, "workers", "be an Auto Scaling group"),
    Row("IdleRelease", "auto_scaling_group", TYPE, None, "be an Auto Scaling group"),
    Row("IdleRelease", "auto_scaling_group", RANGE, _protected_group, "not protect new instances from scale-in",
        got="'new_instances_protected_from_scale_in=True'"),
    Row("IdleRelease", "idle", TYPE, 15, "be of type IdlePolicy"),
    Row("IdleRelease", "idle", TOGETHER, IdlePolicy(threshold_transfers=9),
        "be left out for accelerators of kind 'nvidia'", got="9", named="idle.threshold_transfers"),
    Row("IdleRelease", "idle", TOGETHER, IdlePolicy(signals=[IdleSignal.POWER], threshold_power_watts=40),
        "hold only figures that the instances publish", got="'POWER'", named="idle.signals"),
    *(
        Row("IdleRelease", "idle", TOGETHER, IdlePolicy(signals=[IdleSignal.ACCELERATOR, signal]),
            "hold only what can be seen without the program", got=f"'{signal.name}'", named="idle.signals")
        for signal in (IdleSignal.IDLE_SECONDS, IdleSignal.BUSY_MARK, IdleSignal.NETWORK, IdleSignal.LOGINS)
    ),
    Row("IdleRelease", "demand", TYPE, "jobs", "be of type Demand"),
    Row("IdleRelease", "notifications", TYPE, "alerts", "be an sns.ITopic"),
    Row("IdleRelease", "notifications", RANGE, _unreachable_topic, "not be encrypted with the AWS-managed key",
        got="'alias/aws/sns'"),
]  # fmt: skip


ROWS = [*FLEET, *RELEASE, *VALUES]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_wrong_value_is_refused_in_our_own_python(row: Row) -> None:
    _, make, where = OWNERS[row.owner]
    with pytest.raises(FleetError) as caught:
        make(**{row.parameter: row.value, **row.beside})

    assert type(caught.value) is row.error
    assert isinstance(caught.value, ValueError)
    assert Path(str(caught.traceback[-1].path)).is_relative_to(ROOT / "constructs_lib")
    message = re.fullmatch(
        rf"(?P<where>{where}): (?P<parameter>\S+) must (?P<rule>.+?), got (?P<got>.+?); (?P<cure>.+)",
        str(caught.value),
        re.DOTALL,
    )
    assert message is not None, str(caught.value)
    assert message["parameter"] == (row.parameter if row.named is None else row.named)
    assert row.rule in message["rule"]
    assert message["got"].startswith(repr(row.value)[:100] if row.got is None else row.got)
    assert len(message["cure"]) > 10


def parameters(owner: str) -> list[str]:
    """What a user can pass, besides the two arguments of every construct."""
    constructor = OWNERS[owner][0]
    # The metaclass of the CDK's classes hides the signature of their constructors.
    function = vars(constructor)["__init__"] if isinstance(constructor, type) else constructor
    return [name for name in inspect.signature(function).parameters if name not in ("self", "scope", "id")]


@pytest.mark.parametrize("owner", OWNERS)
def test_every_parameter_has_its_rows(owner: str) -> None:
    covered = {(row.parameter, row.kind) for row in ROWS if row.owner == owner}
    for parameter in parameters(owner):
        assert (parameter, TYPE) in covered, f"no row with a wrong type for {owner} {parameter}"
        in_range = (parameter, RANGE) in covered
        assert in_range != ((owner, parameter) in WITHOUT_RANGE), f"{owner} {parameter}: out of range?"
    assert {parameter for parameter, _ in covered} <= set(parameters(owner))


def test_every_exception_to_the_rule_is_about_a_parameter_that_exists() -> None:
    for owner, parameter in WITHOUT_RANGE:
        assert parameter in parameters(owner)


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (lambda: make_fleet(purchase="spot"), "write Purchase.spot() or Purchase.on_demand()"),
        (lambda: make_fleet(drain=Duration.minutes(5)), "write Drain(deadline=...)"),
        (lambda: make_fleet(idle=False), "write IdlePolicy(window=...), or leave it out; "),
        (lambda: make_fleet(telemetry=False), "write Telemetry(...)"),
        (lambda: Drain(deadline=Duration.seconds(29)), "write for example Duration.minutes(5)"),
        (lambda: Drain(deadline=Duration.millis(90_500)), "write for example Duration.minutes(5)"),
        (lambda: Drain(deadline=Duration.minutes(116)), "a termination hook takes at most two hours; "),
        (lambda: Drain(signal="SIGKILL"), "it cannot be caught, "),
        (lambda: Drain(signal="SIGTREM"), "did you mean 'SIGTERM'? "),
        (lambda: IdlePolicy(signals=[JOBS]), "put it into custom_signals=[...]"),  # type: ignore[list-item]
        (lambda: IdlePolicy(signals=["accelerator"]), "write IdleSignal.ACCELERATOR"),  # type: ignore[list-item]
        (lambda: IdlePolicy(signals=["BUSY_MARK"]), "write IdleSignal.BUSY_MARK"),  # type: ignore[list-item]
        (lambda: IdlePolicy(signals=["gpu"]), "write for example IdleSignal.CPU"),  # type: ignore[list-item]
    ],
)
def test_the_cure_is_what_was_probably_meant(make: Callable[[], object], cure: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert f"; {cure}" in str(caught.value)


def test_right_values_at_the_edge_of_each_range_are_taken() -> None:
    IdlePolicy(window=Duration.minutes(5), warm_up=Duration.minutes(5), threshold_percent=0.1, max_release_share=1)
    IdlePolicy(window=Duration.days(1), warm_up=Duration.hours(1), threshold_percent=99.9, max_release_share=0.001)
    IdlePolicy(
        min_instance_life=Duration.minutes(0),
        max_instance_life=Duration.hours(1),
        max_unknown=Duration.minutes(30),
        end_retained_after=Duration.minutes(1),
        max_releases_per_pass=1,
        max_failed_launches=0,
    )
    IdlePolicy(
        min_instance_life=Duration.days(7),
        max_instance_life=Duration.days(365),
        max_unknown=Duration.days(30),
        end_retained_after=Duration.days(30),
        max_releases_per_pass=200,
        max_failed_launches=100,
    )
    IdlePolicy.adaptive(cold_start=Duration.minutes(1), window=Duration.minutes(5))
    IdlePolicy.adaptive(cold_start=Duration.minutes(6), window=Duration.minutes(5))
    IdlePolicy.adaptive(cold_start=Duration.minutes(6), window=Duration.hours(2), warm_up=Duration.hours(1))
    Hours(start="00:00", end="24:00", time_zone="UTC")
    Hours(start="23:59", end="00:00", time_zone="America/Argentina/ComodRivadavia", exceptions=["2028-02-29"])
    CustomSignal(namespace="x" * 255, metric_name="x", idle_below=1, dimensions={f"d{n}": "x" for n in range(29)})
    Purchase.spot(on_demand_base=0, on_demand_percent=99)
    FleetStorage(root_volume_size=Size.gibibytes(1), root_volume_iops=3_000, root_volume_throughput_mib_s=125)
    FleetStorage(root_volume_size=Size.tebibytes(64), root_volume_iops=80_000, root_volume_throughput_mib_s=2_000)
    FleetStorage(root_volume_throughput_mib_s=750)
    FleetImage.deep_learning_base(OperatingSystem.UBUNTU_22_04)
    make_demand(messages_per_instance=1)
    make_fleet(min_capacity=1, max_capacity=1)
    make_fleet(min_capacity=0, max_capacity=1)


def test_user_data_that_grows_too_long_later_is_refused_too() -> None:
    made = fleet(stack())
    with pytest.raises(ArgumentError, match=r"^Test/Fleet: user_data must leave the whole script within 16384 bytes"):
        made.add_user_data("x" * 16_384)


def test_values_that_only_a_deploy_settles_count_in_user_data() -> None:
    """Their placeholders are shorter than what EC2 gets to see."""
    made = fleet(stack(), user_data=ec2.UserData.custom("#!/bin/bash"))
    fitting, refused = (
        "\n".join(f"echo {CfnParameter(made, f'{name}{number}').value_as_string}" for number in range(count))
        for name, count in (("Few", 20), ("Many", 100))
    )
    made.add_user_data(fitting)
    with pytest.raises(
        ArgumentError,
        match=r"within 16384 bytes, 128 for each value not known at synth, got \d+; .*measure or copy less.*applic",
    ):
        made.add_user_data(refused)


def test_the_workloads_text_counts_once() -> None:
    """Where it will stand there is a placeholder too; the text that it stands for is known."""
    made = fleet(stack(), user_data=ec2.UserData.custom("#!/bin/bash"))
    with pytest.raises(ArgumentError) as refused:
        made.add_user_data("x" * 16_384)
    size = int(str(refused.value).split("got ")[1].split(";")[0])
    room = 16_384 - (size - 16_384 - len("\n"))
    other = fleet(stack(), user_data=ec2.UserData.custom("#!/bin/bash"))
    other.add_user_data("x" * (room - len("\n")))
    with pytest.raises(ArgumentError, match="got 16385"):
        other.add_user_data("")


@pytest.mark.parametrize(
    ("measurements", "rule"),
    [
        (["utilization_gpu", "utilisation"], "be one of"),
        (["utilization_gpu", "nvidia_smi_utilization_gpu"], "name each measurement once"),
        (["power_draw"], "contain 'utilization_gpu'"),
    ],
)
def test_measurements_are_checked_against_the_types(measurements: list[str], rule: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^Test/Fleet: measurements must {rule}"):
        make_fleet(telemetry=Telemetry(measurements=measurements))
