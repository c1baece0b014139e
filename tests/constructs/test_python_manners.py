"""Case 72: what a Python user meets at the border to the CDK's JavaScript."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, CfnResource, Duration, Size, Stack, Stage
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template
from constructs import Construct

from constructs_lib import (
    AcceleratedFleet,
    AcceleratedType,
    FleetError,
    FleetImage,
    FleetStorage,
    IdlePolicy,
    IdleRelease,
    Purchase,
    QueueDemand,
    Telemetry,
)
from constructs_lib.catalog import lookup
from tests.constructs.reading import only, resources
from tests.constructs.scenarios import queue, template
from tests.support.stacks import fleet, fleet_template, stack, vpc


def test_case_72_unknown_keyword_is_a_type_error_before_any_call_to_the_cdk() -> None:
    test_stack = stack()
    network = vpc(test_stack)
    children = len(test_stack.node.children)
    with pytest.raises(TypeError, match="max_capactiy"):
        AcceleratedFleet(  # type: ignore[call-arg]
            test_stack, "Fleet", vpc=network, instance_types="g6.xlarge", max_capacity=2, max_capactiy=3
        )
    with pytest.raises(TypeError, match="policy"):
        IdleRelease(test_stack, "Release", auto_scaling_group=None, policy=None)  # type: ignore[arg-type, call-arg]
    assert len(test_stack.node.children) == children


@pytest.mark.parametrize("make", [IdlePolicy, FleetStorage, Telemetry, Purchase.spot])
def test_case_72_value_objects_take_keywords_only(make: Callable[..., object]) -> None:
    with pytest.raises(TypeError):
        make(1)
    with pytest.raises(TypeError, match="windwo"):
        make(windwo=1)


OPTIONAL = [
    "min_capacity",
    "vpc_subnets",
    "image",
    "purchase",
    "demand",
    "idle",
    "drain",
    "telemetry",
    "storage",
    "machine",
    "notifications",
    "role",
    "security_group",
    "user_data",
    "encryption_key",
]


def test_case_72_none_equals_omission_for_every_optional_argument_of_the_fleet() -> None:
    nothing: dict[str, Any] = dict.fromkeys(OPTIONAL)
    assert fleet_template(**nothing) == template("smallest")


def test_case_72_none_equals_omission_for_idle_release() -> None:
    test_stack = stack()
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(test_stack, "Group", "training-workers")
    IdleRelease(test_stack, "Release", auto_scaling_group=group, idle=None, demand=None, notifications=None)
    assert Template.from_stack(test_stack).to_json() == template("idle_release")


def settled(value: Any) -> dict[str, Any]:
    """The fields of a value object, with durations in seconds, since the CDK's are never equal to each other."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: each.to_seconds() if isinstance(each, Duration) else each for name, each in fields.items()}


@pytest.mark.parametrize("make", [IdlePolicy, FleetStorage])
def test_case_72_none_equals_omission_for_every_field(make: Any) -> None:
    everything = dict.fromkeys(field.name for field in dataclasses.fields(make) if field.init)
    assert settled(make(**everything)) == settled(make())


def test_case_72_none_equals_omission_for_other_optional_arguments() -> None:
    jobs = queue(stack())
    assert QueueDemand(jobs, messages_per_instance=None) == QueueDemand(jobs)
    assert Purchase.spot(on_demand_base=None, on_demand_percent=None) == Purchase.spot()
    assert FleetImage.deep_learning_base(None) == FleetImage.deep_learning_base()
    assert FleetImage.from_ssm_parameter("/a", root_device=None) == FleetImage.from_ssm_parameter("/a")
    assert Telemetry(measurements=None, per_accelerator_series=None) == Telemetry()
    facts: dict[str, Any] = {
        "name": "g9.xlarge",
        "kind": "nvidia",
        "model": "X",
        "accelerators": 1,
        "accelerator_memory_mib": 1024,
        "architecture": "x86_64",
    }
    omitted: dict[str, Any] = dict.fromkeys(
        field.name for field in dataclasses.fields(AcceleratedType) if field.name not in facts
    )
    assert AcceleratedType(**facts, **omitted) == AcceleratedType(**facts)


def test_policies_that_say_the_same_are_equal() -> None:
    assert IdlePolicy(window=Duration.minutes(15)) == IdlePolicy(window=Duration.seconds(900))
    assert hash(IdlePolicy()) == hash(IdlePolicy(warm_up=Duration.minutes(10)))
    assert IdlePolicy(window=Duration.minutes(16)) != IdlePolicy()


def test_commands_added_to_the_given_user_data_afterwards_arrive() -> None:
    workload = ec2.UserData.for_linux()
    made = stack()
    fleet(made, user_data=workload)
    workload.add_commands("echo added later")
    template = Template.from_stack(made).to_json()
    (launch,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::EC2::LaunchTemplate"]
    assert "echo added later" in json.dumps(launch)


def test_case_72_zero_is_not_omission() -> None:
    assert only(fleet_template(min_capacity=0), "AWS::AutoScaling::AutoScalingGroup")["Properties"]["MinSize"] == "0"
    policy = IdlePolicy(warm_up=Duration.minutes(0))
    assert policy.warm_up_seconds == 0
    with pytest.raises(FleetError, match="threshold_percent must be a number above 0"):
        IdlePolicy(threshold_percent=0)


@pytest.mark.parametrize(
    "spelled",
    [
        ["g5.12xlarge"],
        ("g5.12xlarge",),
        ec2.InstanceType("g5.12xlarge"),
        [ec2.InstanceType.of(ec2.InstanceClass.G5, ec2.InstanceSize.XLARGE12)],
        lookup("g5.12xlarge"),
        [lookup("g5.12xlarge")],
    ],
    ids=["list", "tuple", "InstanceType", "list of InstanceType", "AcceleratedType", "list of AcceleratedType"],
)
def test_case_72_every_spelling_of_a_type_gives_the_same_template(spelled: Any) -> None:
    assert fleet_template(instance_types=spelled) == template("smallest")


@pytest.mark.parametrize(
    ("call", "parameter", "word"),
    [
        (lambda: IdlePolicy(window=15), "window", "Duration"),  # type: ignore[arg-type]
        (lambda: IdlePolicy(warm_up=600), "warm_up", "Duration"),  # type: ignore[arg-type]
        (lambda: FleetStorage(root_volume_size=200), "root_volume_size", "Size"),  # type: ignore[arg-type]
        (lambda: fleet(stack()).metric("x", period=60), "period", "Duration"),  # type: ignore[arg-type]
        (lambda: fleet(stack()).metric_busiest_accelerator(period=60), "period", "Duration"),  # type: ignore[arg-type]
    ],
)
def test_case_72_a_number_in_place_of_a_strong_type_is_named(
    call: Callable[[], object], parameter: str, word: str
) -> None:
    with pytest.raises(FleetError, match=rf": {parameter} must be of type {word}, got \d+; write for example {word}"):
        call()


class TeamFleet(AcceleratedFleet):
    """What a platform team makes of the construct: its own name for things, its own extra argument."""

    def __init__(self, scope: Construct, id: str, *, cost_centre: str, **options: Any) -> None:
        super().__init__(scope, id, **options)
        self.cost_centre = cost_centre


def test_case_72_subclass_with_an_argument_of_its_own() -> None:
    test_stack = stack()
    made = TeamFleet(
        test_stack,
        "Fleet",
        cost_centre="4711",
        vpc=vpc(test_stack, "FleetVpc"),
        instance_types="g5.12xlarge",
        max_capacity=8,
    )
    assert made.cost_centre == "4711"
    assert Template.from_stack(test_stack).to_json() == template("smallest")


def ids_of(*places: tuple[str, str]) -> list[str]:
    """Logical ids of a stack with a fleet for each (scope, id)."""
    test_stack = stack()
    network = vpc(test_stack)
    scopes = {name: Construct(test_stack, name) for name in {name for name, _ in places} if name}
    for scope, id in places:
        fleet(scopes.get(scope, test_stack), id, vpc=network)
    groups = resources(Template.from_stack(test_stack).to_json(), "AWS::AutoScaling::AutoScalingGroup")
    return sorted(groups)


@pytest.mark.parametrize(
    "places",
    [
        [("", "Train"), ("", "Serve")],
        [("TeamA", "Fleet"), ("TeamB", "Fleet")],
        [("", "gpu/large"), ("", "gpu-large")],
        [("", "训练"), ("", "推理")],
    ],
    ids=["one scope", "same id in two scopes", "slash", "unicode"],
)
def test_case_72_two_fleets_in_one_stack(places: list[tuple[str, str]]) -> None:
    found = ids_of(*places)
    assert len(found) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9]+", id) for id in found)


@pytest.mark.parametrize("id", ["gpu/large", "训练", "x" * 200])
def test_case_72_any_id_gives_a_tag_value_that_ec2_takes(id: str) -> None:
    value = fleet(stack(), id).fleet_tag_value
    assert len(value) <= 256
    assert re.fullmatch(r"[\w .:/=+@-]+", value, re.ASCII)


def test_case_72_defaults_are_not_shared_between_fleets() -> None:
    test_stack = stack()
    first, second = fleet(test_stack, "First"), fleet(test_stack, "Second")
    first.add_user_data("echo first")
    assert first.launch_template.user_data is not None
    assert second.launch_template.user_data is not None
    assert "echo first" in first.launch_template.user_data.render()
    assert "echo first" not in second.launch_template.user_data.render()


@pytest.mark.parametrize("value", [IdlePolicy(), Purchase.spot(), FleetStorage(), Telemetry(), lookup("g6.xlarge")])
def test_case_72_value_objects_cannot_be_changed_afterwards(value: Any) -> None:
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)


def test_case_72_a_list_given_to_a_value_object_is_copied() -> None:
    measurements = ["utilization_gpu"]
    telemetry = Telemetry(measurements=measurements)
    measurements.append("power_draw")
    assert telemetry.measurements == ("utilization_gpu",)


# --- escape hatches and parts ---------------------------------------------------------------------


def test_default_child_is_the_group() -> None:
    test_stack = stack()
    made = fleet(test_stack)
    child = made.node.default_child
    assert isinstance(child, CfnResource)
    child.add_property_override("MaxInstanceLifetime", 604_800)
    group = only(Template.from_stack(test_stack).to_json(), "AWS::AutoScaling::AutoScalingGroup")
    assert group["Properties"]["MaxInstanceLifetime"] == 604_800


def test_parts_are_exposed() -> None:
    test_stack = stack()
    asleep, made = fleet(test_stack, "Asleep"), fleet(test_stack, demand=QueueDemand(queue(test_stack)))
    assert asleep.wake_function is None
    paths = {
        "auto_scaling_group": "AutoScalingGroup",
        "launch_template": "LaunchTemplate",
        "role": "Role",
        "security_group": "SecurityGroup",
        "idle_alarm": "Release/IdleAlarm",
        "release_function": "Release/Handler/Function",
        "wake_function": "Wake/Handler/Function",
        "notifications": "Notifications",
    }
    assert {name: getattr(made, name).node.path for name in paths} == {
        name: f"Test/Fleet/{path}" for name, path in paths.items()
    }


def test_fleet_in_a_stage_and_in_a_nested_stack() -> None:
    stage = Stage(App(), "Prod")
    value = fleet(Stack(stage, "Gpu")).fleet_tag_value
    assert value.startswith("Prod-Gpu/")


def test_capacity_of_every_size_object_is_understood() -> None:
    (mapping,) = only(
        fleet_template(storage=FleetStorage(root_volume_size=Size.mebibytes(204_800))), "AWS::EC2::LaunchTemplate"
    )["Properties"]["LaunchTemplateData"]["BlockDeviceMappings"]
    assert mapping["Ebs"]["VolumeSize"] == 200


def test_two_fleets_on_one_queue_would_both_count_every_message() -> None:
    made = stack()
    network = vpc(made)
    jobs = QueueDemand(queue(made))
    fleet(made, "First", vpc=network, demand=jobs)
    with pytest.raises(
        FleetError, match=r"Test/Second: demand must have a queue that no other fleet works on \(Test/First"
    ):
        fleet(made, "Second", vpc=network, demand=QueueDemand(jobs.queue, messages_per_instance=2))


def test_user_data_that_outgrows_ec2_later_is_refused_at_synth() -> None:
    workload = ec2.UserData.for_linux()
    made = stack()
    fleet(made, user_data=workload)
    workload.add_commands("#" * 16_384)
    with pytest.raises(RuntimeError, match="user_data must leave the whole script within 16384 bytes"):
        Template.from_stack(made)


def test_a_windows_image_is_refused() -> None:
    windows = ec2.MachineImage.latest_windows(ec2.WindowsVersion.WINDOWS_SERVER_2022_ENGLISH_FULL_BASE)
    with pytest.raises(FleetError, match="Test/Fleet: image must be a Linux image"):
        fleet(stack(), image=FleetImage.from_machine_image(windows))
