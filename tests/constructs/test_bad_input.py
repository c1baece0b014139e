"""Wrong arguments: refused in our own Python, at once, with who, what, why and the way out.

A row is one wrong value of one parameter. Every parameter of every public constructor needs a row with a wrong type and
one with a value out of range, or stands in ``WITHOUT_RANGE`` with the reason.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Aws, Duration, Size, Stack, Token
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from constructs_lib import (
    AcceleratedFleet,
    AcceleratedType,
    FleetError,
    FleetImage,
    FleetStorage,
    IdlePolicy,
    IdleRelease,
    IdleSignal,
    OperatingSystem,
    Purchase,
    QueueDemand,
    Telemetry,
    UnknownInstanceTypeError,
    UnsupportedInstanceTypeError,
)
from constructs_lib.errors import ArgumentError
from tests.constructs.scenarios import queue
from tests.support.stacks import ROOT, fleet, stack, vpc

TYPE, RANGE, TOGETHER = "wrong type", "out of range", "in combination"
FACTS: Mapping[str, Any] = {
    "name": "g9.xlarge",
    "kind": "nvidia",
    "model": "R100",
    "accelerators": 1,
    "accelerator_memory_mib": 98_304,
    "architecture": "x86_64",
}
TOKEN = Token.as_number({"Ref": "Number"})


def make_fleet(**arguments: Any) -> object:
    test_stack = stack()
    return fleet(test_stack, **{name: _in(test_stack, value) for name, value in arguments.items()})


def make_release(**arguments: Any) -> object:
    test_stack = stack()
    given = {"auto_scaling_group": _group, **arguments}
    return IdleRelease(test_stack, "Release", **{name: _in(test_stack, value) for name, value in given.items()})


def make_demand(**arguments: Any) -> object:
    return QueueDemand(**{"queue": queue(stack()), **arguments})


def make_type(**arguments: Any) -> object:
    return AcceleratedType(**{**FACTS, **arguments})


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
    "QueueDemand": (QueueDemand, make_demand, "QueueDemand"),
    "Purchase": (
        Purchase,
        lambda **given: Purchase(**{"on_demand_base": 0, "on_demand_percent": 0, **given}),
        "Purchase",
    ),
    "Purchase.spot": (Purchase.spot, Purchase.spot, r"Purchase(\.spot)?"),
    "FleetStorage": (FleetStorage, FleetStorage, "FleetStorage"),
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
    "AcceleratedType": (AcceleratedType, make_type, r"AcceleratedType( g9\.xlarge)?"),
}

# Parameters of which every value of the right type is in range.
WITHOUT_RANGE = {
    ("AcceleratedFleet", "demand"): "checked when it is made",
    ("AcceleratedFleet", "encryption_key"): "any key; one whose policy is not ours gets a warning",
    ("AcceleratedFleet", "idle"): "checked when it is made",
    ("AcceleratedFleet", "purchase"): "checked when it is made",
    ("AcceleratedFleet", "security_group"): "any group",
    ("AcceleratedFleet", "storage"): "checked when it is made",
    ("AcceleratedFleet", "vpc"): "any VPC; one without subnets is refused under vpc_subnets",
    ("IdleRelease", "demand"): "checked when it is made",
    ("IdleRelease", "idle"): "checked when it is made",
    ("QueueDemand", "queue"): "any queue",
    ("FleetImage.deep_learning_base", "system"): "an enumeration",
    ("FleetImage.from_machine_image", "image"): "any image",
    ("Telemetry", "per_accelerator_series"): "yes or no",
    ("AcceleratedType", "video_encoder"): "yes or no",
}


@dataclass(frozen=True)
class Row:
    """One wrong value."""

    owner: str
    parameter: str
    kind: str
    value: Any
    rule: str
    """A part of the message's rule."""
    got: str | None = None
    """The value as the message shows it, where that is not its repr."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of the same call."""
    error: type[FleetError] = ArgumentError

    def __str__(self) -> str:
        return f"{self.owner}-{self.parameter}-{self.kind}-{str(self.got or self.value)[:30]}"


def fleet_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("AcceleratedFleet", parameter, kind, value, rule, **more)


FLEET = [
    fleet_row("vpc", TYPE, "vpc-0123456789abcdef0", "be an ec2.IVpc"),
    fleet_row("vpc", TYPE, None, "be an ec2.IVpc"),
    fleet_row("instance_types", TYPE, 6, "name at least one instance type"),
    fleet_row("instance_types", TYPE, None, "name at least one instance type"),
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
    fleet_row("instance_types", RANGE, "trn1.2xlarge", "that this version can measure", got="['trn1.2xlarge (neuron)']",
              error=UnsupportedInstanceTypeError),
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
    fleet_row("max_capacity", TYPE, None, "be a whole number at least 1"),
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
              got="'AWS Deep Learning base image, amazon-linux-2023, read from its SSM parameter at each deploy'",
              beside={"instance_types": "p3dn.24xlarge"}, error=UnsupportedInstanceTypeError),
    fleet_row("purchase", TYPE, "spot", "be of type Purchase"),
    fleet_row("demand", TYPE, "https://sqs.us-east-1.amazonaws.com/1/jobs", "be of type Demand"),
    fleet_row("idle", TYPE, Duration.minutes(15), "be of type IdlePolicy", got="<aws_cdk.Duration object"),
    fleet_row("telemetry", TYPE, ["utilization_gpu"], "be of type Telemetry"),
    fleet_row("telemetry", RANGE, Telemetry(measurements=["utilization_gpu", "power_draw"]), "be readable on g6f.large",
              got="'power_draw'", beside={"instance_types": "g6f.large"}),
    fleet_row("storage", TYPE, Size.gibibytes(200), "be of type FleetStorage", got="<aws_cdk.Size object"),
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
    Row("IdleRelease", "demand", TYPE, "jobs", "be of type Demand"),
    Row("IdleRelease", "notifications", TYPE, "alerts", "be an sns.ITopic"),
    Row("IdleRelease", "notifications", RANGE, _unreachable_topic, "not be encrypted with the AWS-managed key",
        got="'alias/aws/sns'"),
]  # fmt: skip


def policy_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("IdlePolicy", parameter, kind, value, rule, **more)


POLICY = [
    policy_row("window", TYPE, 15, "be of type Duration"),
    policy_row("window", RANGE, Duration.minutes(4), "be whole minutes from 5 to 1440", got="'4 minutes'"),
    policy_row("window", RANGE, Duration.seconds(330), "be whole minutes", got="'5 minutes 30 seconds'"),
    policy_row("window", RANGE, Duration.minutes(1441), "be whole minutes from 5 to 1440", got="'1 day 1 minute'"),
    policy_row("window", RANGE, Duration.seconds(TOKEN), "be known at synth", got="'a token'"),
    policy_row("window", TOGETHER, Duration.minutes(10), "not be shorter than warm_up (11 minutes)", got="'10 minutes'",
               beside={"warm_up": Duration.minutes(11)}),
    policy_row("warm_up", TYPE, "10 minutes", "be of type Duration"),
    policy_row("warm_up", RANGE, Duration.seconds(90), "be whole minutes from 0 to 60", got="'1 minute 30 seconds'"),
    policy_row("warm_up", RANGE, Duration.days(2), "be whole minutes from 0 to 60", got="'2 days'"),
    policy_row("signals", TYPE, IdleSignal.CPU, "be a list of IdleSignal"),
    policy_row("signals", TYPE, ["accelerator"], "be of type IdleSignal", got="'accelerator'"),
    policy_row("signals", RANGE, [], "contain IdleSignal.ACCELERATOR"),
    policy_row("signals", RANGE, [IdleSignal.CPU], "contain IdleSignal.ACCELERATOR", got="['CPU']"),
    policy_row("max_release_share", TYPE, "all", "be a number at most 1 and above 0"),
    policy_row("max_release_share", RANGE, 0, "above 0"),
    policy_row("max_release_share", RANGE, 1.01, "at most 1"),
    *(
        policy_row(parameter, kind, value, "be a number above 0 and below 100", got=got)
        for parameter in ("threshold_percent", "cpu_threshold_percent")
        for kind, value, got in [
            (TYPE, "5", None),
            (TYPE, True, None),
            (RANGE, 0, None),
            (RANGE, 100, None),
            (RANGE, -1, None),
            (RANGE, float("nan"), None),
            (RANGE, float("inf"), None),
            (RANGE, TOKEN, "a token"),
        ]
    ),
]  # fmt: skip

DEMAND = [
    Row("QueueDemand", "queue", TYPE, "https://sqs.us-east-1.amazonaws.com/1/jobs", "be an SQS queue"),
    Row("QueueDemand", "queue", TYPE, None, "be an SQS queue"),
    Row("QueueDemand", "messages_per_instance", TYPE, "4", "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", TYPE, 1.5, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 0, "be a whole number at least 1"),
    Row("QueueDemand", "messages_per_instance", RANGE, 2_000_000, "be a whole number at least 1 and at most 1000000"),
    Row("QueueDemand", "messages_per_instance", RANGE, TOKEN, "be a whole number at least 1", got="a token"),
]

PURCHASE = [
    *(
        Row(owner, parameter, kind, value, rule, got=got)
        for owner in ("Purchase", "Purchase.spot")
        for parameter, kind, value, rule, got in [
            ("on_demand_base", TYPE, "1", "be a whole number at least 0", None),
            ("on_demand_base", RANGE, -1, "be a whole number at least 0", None),
            ("on_demand_base", RANGE, TOKEN, "be a whole number at least 0", "a token"),
            ("on_demand_percent", TYPE, 0.5, "be a whole number at least 0 and at most 100", None),
            ("on_demand_percent", RANGE, -1, "be a whole number at least 0 and at most 100", None),
            ("on_demand_percent", RANGE, 101, "be a whole number at least 0 and at most 100", None),
        ]
    ),
    Row("Purchase.spot", "on_demand_percent", RANGE, 100, "be below 100"),
    Row("Purchase", "on_demand_base", TOGETHER, 2, "be 0 when on_demand_percent is 100",
        beside={"on_demand_percent": 100}),
]  # fmt: skip

STORAGE = [
    Row("FleetStorage", "root_volume_size", TYPE, 200, "be of type Size"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.gibibytes(0), "be whole GiB from 1 to 65536", got="0"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.mebibytes(1500), "be whole GiB", got="1.46"),
    Row("FleetStorage", "root_volume_size", RANGE, Size.tebibytes(65), "be whole GiB from 1 to 65536", got="66560"),
    Row("FleetStorage", "root_volume_iops", TYPE, "3000", "be a whole number"),
    Row("FleetStorage", "root_volume_iops", RANGE, 2_999, "at least 3000 and at most 80000"),
    Row("FleetStorage", "root_volume_iops", RANGE, 80_001, "at least 3000 and at most 80000"),
    Row("FleetStorage", "root_volume_iops", TOGETHER, 10_000, "be at most 500 for each GiB of root_volume_size",
        beside={"root_volume_size": Size.gibibytes(19)}),
    Row("FleetStorage", "root_volume_throughput_mib_s", TYPE, 125.0, "be a whole number"),
    Row("FleetStorage", "root_volume_throughput_mib_s", RANGE, 124, "at least 125 and at most 2000"),
    Row("FleetStorage", "root_volume_throughput_mib_s", RANGE, 2_001, "at least 125 and at most 2000"),
    Row("FleetStorage", "root_volume_throughput_mib_s", TOGETHER, 751,
        "be at most a quarter of root_volume_iops (3000)"),
]  # fmt: skip

IMAGE = [
    Row("FleetImage.deep_learning_base", "system", TYPE, "ubuntu-22.04", "be of type OperatingSystem"),
    Row("FleetImage.from_ssm_parameter", "name", TYPE, 7, "be a text that is not empty"),
    Row("FleetImage.from_ssm_parameter", "name", RANGE, " ", "be a text that is not empty"),
    Row("FleetImage.from_machine_image", "image", TYPE, "ami-0123456789abcdef0", "be an ec2.IMachineImage"),
    *(
        Row(owner, "root_device", kind, value, rule)
        for owner in ("FleetImage.from_ssm_parameter", "FleetImage.from_machine_image")
        for kind, value, rule in [
            (TYPE, 1, "be a text that is not empty"),
            (RANGE, "xvda", "be a device name"),
            (RANGE, "", "be a text that is not empty"),
        ]
    ),
]

TELEMETRY = [
    Row("Telemetry", "measurements", TYPE, "utilization_gpu", "be a list of str that is not empty"),
    Row("Telemetry", "measurements", TYPE, [1], "be a list of str that is not empty"),
    Row("Telemetry", "measurements", RANGE, [], "be a list of str that is not empty"),
    Row("Telemetry", "per_accelerator_series", TYPE, 1, "be of type bool"),
]


def fact_row(parameter: str, kind: str, value: Any, rule: str, **more: Any) -> Row:
    return Row("AcceleratedType", parameter, kind, value, rule, **more)


TYPES = [
    fact_row("name", TYPE, 9, "be a text that is not empty"),
    fact_row("name", RANGE, "G9.XLARGE", "be an instance type in lower case"),
    fact_row("name", RANGE, "g9", "be an instance type in lower case"),
    fact_row("kind", TYPE, 1, "be one of amd, "),
    fact_row("kind", RANGE, "gpu", "be one of amd, "),
    fact_row("model", TYPE, None, "be a text that is not empty"),
    fact_row("model", RANGE, "", "be a text that is not empty"),
    fact_row("accelerators", TYPE, "1", "be a whole number at least 1"),
    fact_row("accelerators", RANGE, 0, "be a whole number at least 1"),
    fact_row("accelerators", TOGETHER, 2, "be 1 on a type with a fraction", beside={"fraction": 0.5}),
    fact_row("accelerator_memory_mib", TYPE, 96.0, "be a whole number at least 1"),
    fact_row("accelerator_memory_mib", RANGE, 0, "be a whole number at least 1"),
    fact_row("architecture", TYPE, None, "be one of arm64, x86_64"),
    fact_row("architecture", RANGE, "amd64", "be one of arm64, x86_64"),
    fact_row("fraction", TYPE, "half", "be a number above 0 and below 1"),
    fact_row("fraction", RANGE, 1, "be a number above 0 and below 1"),
    fact_row("driver", TYPE, 580, "be one of open, proprietary"),
    fact_row("driver", RANGE, "nouveau", "be one of open, proprietary"),
    fact_row("driver", TOGETHER, "open", "be left out for kind 'neuron'", beside={"kind": "neuron"}),
    fact_row("video_encoder", TYPE, "yes", "be of type bool"),
    fact_row("status", TYPE, 1, "be one of current, previous, retired"),
    fact_row("status", RANGE, "new", "be one of current, previous, retired"),
]

ROWS = [*FLEET, *RELEASE, *POLICY, *DEMAND, *PURCHASE, *STORAGE, *IMAGE, *TELEMETRY, *TYPES]


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
    assert message["parameter"] == (
        "measurements" if row.parameter == "telemetry" and row.kind == RANGE else row.parameter
    )
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


def test_right_values_at_the_edge_of_each_range_are_taken() -> None:
    IdlePolicy(window=Duration.minutes(5), warm_up=Duration.minutes(5), threshold_percent=0.1, max_release_share=1)
    IdlePolicy(window=Duration.days(1), warm_up=Duration.hours(1), threshold_percent=99.9, max_release_share=0.001)
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
