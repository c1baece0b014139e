"""Each row of the catalogue: it makes a fleet by itself, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk.cx_api import CloudAssembly

from constructs_lib import FleetImage, Purchase, UnsupportedInstanceTypeError
from constructs_lib.catalog import AcceleratedType, known_types
from constructs_lib.compliance import check_template
from constructs_lib.errors import ArgumentError, FleetError
from constructs_lib.telemetry import kind_of
from tests.support.stacks import fleet, vpc

TYPES = known_types()
OFFERED = sorted(name for name, facts in TYPES.items() if facts.status != "retired")
RETIRED = sorted(set(TYPES) - set(OFFERED))
OWN_IMAGE = FleetImage.from_ssm_parameter("/golden/ami")
# AWS publishes base images with the open NVIDIA driver, and with the Neuron driver, which has left Inferentia 1 behind.
AWS_HAS_AN_IMAGE = {
    name
    for name in OFFERED
    if TYPES[name].driver == "open" or (TYPES[name].kind == "neuron" and TYPES[name].family != "inf1")
}
# What AWS does not sell On-Demand is bought so.
IN_A_BLOCK: Mapping[str, Any] = {
    "purchase": Purchase.capacity_block(reservation_id="cr-0123456789abcdef0", end="2030-03-08T11:30:00Z"),
    "vpc_subnets": ec2.SubnetSelection(availability_zones=["us-east-1b"]),
}
_FLEETS_IN_A_STACK = 10  # a stack holds 500 resources


def image_for(name: str) -> FleetImage | None:
    return None if name in AWS_HAS_AN_IMAGE else OWN_IMAGE


@cache
def synthesized() -> tuple[CloudAssembly, Mapping[str, str]]:
    """One fleet for each type that is offered, and the stack that each is in."""
    app = App()
    stacks: dict[str, str] = {}
    scope, network = Stack(app, "Stack"), None
    for number, name in enumerate(OFFERED):
        if number % _FLEETS_IN_A_STACK == 0:
            scope = Stack(app, f"Stack{number}")
            network = vpc(scope)
        bought = IN_A_BLOCK if TYPES[name].on_demand is False else {}
        fleet(scope, f"Fleet{number}", vpc=network, instance_types=name, image=image_for(name), **bought)
        stacks[name] = scope.artifact_id
    return app.synth(), stacks


@cache
def resources() -> Mapping[str, list[Mapping[str, Any]]]:
    """The resources of one fleet for each type that is offered."""
    assembly, stacks = synthesized()
    templates = {id: assembly.get_stack_artifact(id).template["Resources"] for id in set(stacks.values())}
    return {
        name: [each for id, each in templates[stacks[name]].items() if id.startswith(f"Fleet{number}LaunchTemplate")]
        + [each for id, each in templates[stacks[name]].items() if id.startswith(f"Fleet{number}AutoScalingGroup")]
        + [each for id, each in templates[stacks[name]].items() if id.startswith(f"Fleet{number}AgentConfig")]
        for number, name in enumerate(OFFERED)
    }


def of_type(name: str, resource_type: str) -> Mapping[str, Any]:
    (found,) = (each for each in resources()[name] if each["Type"] == resource_type)
    return dict(found["Properties"])


def test_the_table_is_whole() -> None:
    assert len(TYPES) >= 105
    assert {facts.kind for facts in TYPES.values()} == {
        *("nvidia", "neuron", "gaudi", "qualcomm", "fpga", "media", "amd")
    }


@pytest.mark.parametrize("name", OFFERED)
def test_a_fleet_of_each_type_alone(name: str) -> None:
    data = of_type(name, "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    assert data["InstanceType"] == name
    assert data["MetadataOptions"]["HttpTokens"] == "required"
    group = of_type(name, "AWS::AutoScaling::AutoScalingGroup")
    assert "MixedInstancesPolicy" not in group
    assert (group["MinSize"], group["MaxSize"]) == ("0", "8")


def test_no_fleet_breaks_a_rule() -> None:
    """Of a type that AWS phases out each says that it was asked for it, and the construct warns at synth."""
    assembly, _ = synthesized()
    report = check_template(assembly.directory)
    assert (report.findings, report.suppressed) == ((), ())
    previous = sorted(name for name in OFFERED if TYPES[name].status == "previous")
    assert previous
    assert sorted(each.reason for each in report.stated) == [
        f"the fleet was asked for {name}, which AWS lists as previous generation" for name in previous
    ]


@pytest.mark.parametrize("name", sorted(set(OFFERED) - AWS_HAS_AN_IMAGE))
def test_a_type_without_an_image_of_aws_is_refused_until_one_is_given(name: str) -> None:
    with pytest.raises(FleetError, match=r"^Test/Fleet: image must .*; .*FleetImage\.from_ssm_parameter"):
        fleet(Stack(App(), "Test"), instance_types=name)


@pytest.mark.parametrize("name", RETIRED)
def test_a_retired_type_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedInstanceTypeError) as refused:
        fleet(Stack(App(), "Test"), instance_types=name, image=OWN_IMAGE)
    assert f"Test/Fleet: instance_types must still be offered by AWS, got {name!r}; " in str(refused.value)
    assert (TYPES[name].successor or "") in str(refused.value)


@pytest.mark.parametrize("kind", sorted({TYPES[name].kind for name in OFFERED}))
def test_types_of_another_kind_are_no_part_of_the_same_fleet(kind: str) -> None:
    first = next(name for name in OFFERED if TYPES[name].kind == kind)
    other = next(name for name in OFFERED if TYPES[name].kind != kind and TYPES[name].architecture == "x86_64")
    with pytest.raises(FleetError, match=r"instance_types must "):
        fleet(Stack(App(), "Test"), instance_types=[first, other], image=OWN_IMAGE)


def stated(**facts: Any) -> AcceleratedType:
    return AcceleratedType(
        **{
            "name": "g99.xlarge",
            "kind": "nvidia",
            "model": "N1",
            "accelerators": 1,
            "accelerator_memory_mib": 1,
            "architecture": "x86_64",
            **facts,
        }
    )


@pytest.mark.parametrize("kind", sorted({facts.kind for facts in TYPES.values()}))
def test_a_type_of_next_month_needs_its_facts_stated_and_nothing_else(kind: str) -> None:
    facts = stated(kind=kind)
    assert kind_of([facts], where="Test").name == kind
    scope = Stack(App(), "Test")
    made = fleet(scope, instance_types=facts, image=OWN_IMAGE)
    assert made.node.path == "Test/Fleet"
    with pytest.raises(FleetError, match="be an accelerated instance type that the catalog"):
        fleet(Stack(App(), "Other"), instance_types="g99.xlarge")


def test_facts_that_are_stated_are_checked() -> None:
    with pytest.raises(ArgumentError, match=r"AcceleratedType g99\.xlarge: accelerators must be a whole number"):
        stated(accelerators=0)
