"""A second deploy of a running fleet: what may change, and that nothing is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import Duration, Size, Stack, Tags
from aws_cdk.assertions import Template
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from constructs_lib import FleetImage, FleetNetwork, FleetStorage, IdlePolicy, Placement, Purchase, WarmPool
from tests.support.stacks import full_fleet, stack

REGION = "us-east-1"
# CloudFormation's own schemas have no entry for custom resources: another service token is what they cannot change.
CUSTOM = ["/properties/ServiceToken"]


def synthesized(change: Callable[[Stack], None] | None = None, **arguments: Any) -> dict[str, Any]:
    test_stack = stack()
    full_fleet(test_stack, **arguments)
    if change is not None:
        change(test_stack)
    return dict(Template.from_stack(test_stack).to_json())


def create_only(type_: str) -> list[str]:
    if type_.startswith("Custom::"):
        return CUSTOM
    return list(PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, type_).schema.get("createOnlyProperties", []))


def at(properties: Mapping[str, Any], path: str) -> Any:
    """The value at a schema path such as ``/properties/Outer/Inner``."""
    value: Any = properties
    for part in path.removeprefix("/properties/").split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def replaced(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Resources that CloudFormation would replace or remove, with the property that makes it do so."""
    found = [f"{id} is gone" for id in before["Resources"].keys() - after["Resources"].keys()]
    for id, old in before["Resources"].items():
        new = after["Resources"].get(id, old)
        for path in create_only(old["Type"]):
            if at(old.get("Properties", {}), path) != at(new.get("Properties", {}), path):
                found.append(f"{id} {path}")
    return found


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return synthesized()


CHANGES: dict[str, tuple[Callable[[Stack], None] | None, dict[str, Any]]] = {
    "a tag on the stack": (lambda made: Tags.of(made).add("team", "vision"), {}),
    "max lowered": (None, {"max_capacity": 3}),
    "min raised": (None, {"min_capacity": 2}),
    "other types": (None, {"instance_types": ["g6e.xlarge", "g6.xlarge"]}),
    "another image": (None, {"image": FleetImage.from_ssm_parameter("/golden/ami")}),
    "another policy": (None, {"idle": IdlePolicy(window=Duration.hours(2), threshold_percent=20)}),
    "more On-Demand": (None, {"purchase": Purchase.spot(on_demand_base=4)}),
    "On-Demand only": (None, {"purchase": Purchase.on_demand()}),
    "a larger volume": (None, {"storage": FleetStorage(root_volume_size=Size.gibibytes(500))}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_case_02_no_change_of_a_setting_replaces_anything(before: dict[str, Any], name: str) -> None:
    change, arguments = CHANGES[name]
    after = synthesized(change, **arguments)
    assert after != before
    assert replaced(before, after) == []
    assert after["Resources"].keys() == before["Resources"].keys()


def test_case_02_the_check_sees_a_replacement(before: dict[str, Any]) -> None:
    def rename(made: Stack) -> None:
        for child in made.node.find_all():
            if getattr(child, "cfn_resource_type", "") == "AWS::AutoScaling::AutoScalingGroup":
                child.auto_scaling_group_name = "fixed"  # type: ignore[attr-defined]

    after = synthesized(rename)
    assert [entry.split()[1] for entry in replaced(before, after)] == ["/properties/AutoScalingGroupName"]


def test_case_02_a_lowered_maximum_touches_the_groups_size_and_nothing_else(before: dict[str, Any]) -> None:
    after = synthesized(max_capacity=3)
    changed = {id for id, resource in after["Resources"].items() if resource != before["Resources"][id]}
    (group,) = changed
    assert before["Resources"][group]["Properties"]["MaxSize"] == "8"
    after["Resources"][group]["Properties"]["MaxSize"] = "8"
    assert after == before


def test_case_57_scale_to_zero_is_reached_by_an_update_of_the_minimum_alone(before: dict[str, Any]) -> None:
    """A fleet kept at 4 goes to rest at zero: nothing but the group's minimum changes, in place."""
    after, kept = before, synthesized(min_capacity=4)
    (group,) = {id for id, resource in after["Resources"].items() if resource != kept["Resources"][id]}
    properties = kept["Resources"][group]["Properties"]
    assert (properties["MinSize"], after["Resources"][group]["Properties"]["MinSize"]) == ("4", "0")
    assert "DesiredCapacity" not in properties
    properties["MinSize"] = "0"
    del kept["Resources"][group]["Metadata"]["accel-fleet"]
    assert kept == after


WIRED: dict[str, dict[str, Any]] = {
    "EFA": {"instance_types": "p5.48xlarge", "network": FleetNetwork.efa()},
    "a cluster": {"instance_types": "g6.8xlarge", "network": FleetNetwork.standard(placement=Placement.cluster())},
    "a spread group": {"network": FleetNetwork.standard(placement=Placement.spread())},
    "a warm pool": {"purchase": Purchase.on_demand(), "warm_pool": WarmPool(min_size=1)},
    "a reservation": {"purchase": Purchase.reservation(reservation_id="cr-0123456789abcdef0")},
}


@pytest.mark.parametrize("name", WIRED)
def test_case_02_a_tag_on_the_stack_replaces_nothing(name: str) -> None:
    """Not the placement group either, whose tags CloudFormation cannot change in place."""
    arguments = {"purchase": Purchase.on_demand(), "max_capacity": 7, **WIRED[name]}
    after = synthesized(lambda made: Tags.of(made).add("team", "vision"), **arguments)
    before = synthesized(**arguments)
    assert after != before
    assert replaced(before, after) == []


def test_taking_a_warm_pool_or_efa_from_a_fleet_keeps_its_group_and_template() -> None:
    plain = synthesized(purchase=Purchase.on_demand())
    for arguments in (WIRED["a warm pool"], {"instance_types": "p5.48xlarge", "network": FleetNetwork.efa()}):
        had = synthesized(**{"purchase": Purchase.on_demand(), **arguments})
        gone = {had["Resources"][entry.split()[0]]["Type"] for entry in replaced(had, plain)}
        assert gone <= {
            "AWS::AutoScaling::WarmPool",
            "AWS::EC2::PlacementGroup",
            "AWS::EC2::SecurityGroupIngress",
            "AWS::EC2::SecurityGroupEgress",
        }
