"""Cases 10, 18, 19, 26: each type that takes EFA, joined by it; each that AWS sells in Capacity Blocks, in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2

from constructs_lib import ArgumentError, FleetImage, FleetNetwork, Purchase
from constructs_lib.catalog import known_types
from constructs_lib.compliance import check_template
from tests.support.stacks import fleet, stack, vpc

TYPES = known_types()
OFFERED = [name for name, facts in TYPES.items() if facts.status != "retired"]
WITH_EFA = sorted(name for name in OFFERED if TYPES[name].efa_interfaces)
IN_BLOCKS = sorted(name for name in OFFERED if TYPES[name].capacity_block)
RESERVATION = "cr-0123456789abcdef0"
BLOCK = Purchase.capacity_block(reservation_id=RESERVATION, end="2030-03-08T11:30:00Z")
_FLEETS_IN_A_STACK = 10  # a stack holds 500 resources


@cache
def templates(names: tuple[str, ...], block: bool) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """For each type the id of its fleet, and the resources of the stack that the fleet is in."""
    app = App()
    scope, network = Stack(app, "Stack"), None
    homes: dict[str, tuple[str, str]] = {}
    for number, name in enumerate(names):
        if number % _FLEETS_IN_A_STACK == 0:
            scope = Stack(app, f"Stack{number}")
            network = vpc(scope)
        fleet(
            scope,
            f"Fleet{number}",
            vpc=network,
            vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1b"]),
            instance_types=name,
            image=FleetImage.from_ssm_parameter("/golden/ami"),
            network=FleetNetwork.efa() if TYPES[name].efa_interfaces else None,
            purchase=BLOCK if block or TYPES[name].on_demand is False else None,
        )
        homes[name] = (f"Fleet{number}", scope.artifact_id)
    assembly = app.synth()
    return {name: (id, assembly.get_stack_artifact(home).template["Resources"]) for name, (id, home) in homes.items()}


def of(found: tuple[str, Mapping[str, Any]], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Logical ids and properties of the resources of one type that belong to the fleet."""
    id, resources = found
    # The hash that follows begins with capital letters or digits, so that Fleet1 is not taken for Fleet11.
    own = tuple(f"{id}{part}" for part in ("LaunchTemplate", "AutoScalingGroup", "SecurityGroup", "PlacementGroup"))
    return [
        (name, each.get("Properties", {}))
        for name, each in resources.items()
        if each["Type"] == kind and name.startswith(own)
    ]


def launch_data(found: tuple[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    ((_, properties),) = of(found, "AWS::EC2::LaunchTemplate")
    return dict(properties["LaunchTemplateData"])


def group(found: tuple[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    ((_, properties),) = of(found, "AWS::AutoScaling::AutoScalingGroup")
    return properties


def rules(found: tuple[str, Mapping[str, Any]], direction: str, other: str) -> list[tuple[str, object, object]]:
    """Protocol, owner and other side of the rules that name a group, inside it or apart."""
    apart = [each for _, each in of(found, f"AWS::EC2::SecurityGroup{direction}")]
    for name, each in of(found, "AWS::EC2::SecurityGroup"):
        inside = each.get(f"SecurityGroup{direction}", ())
        apart += [{**rule, "GroupId": {"Fn::GetAtt": [name, "GroupId"]}} for rule in inside]
    return [(each["IpProtocol"], each["GroupId"], each[other]) for each in apart if other in each]


@pytest.mark.parametrize(("names", "block"), [(WITH_EFA, False), (IN_BLOCKS, True)], ids=["EFA", "in a block"])
def test_no_fleet_breaks_a_rule(names: list[str], block: bool) -> None:
    for name, (id, resources) in templates(tuple(names), block).items():
        found = [each for each in check_template({"Resources": resources}).findings if each.resource.startswith(id)]
        assert found == [], name


def test_there_are_such_types() -> None:
    assert len(WITH_EFA) >= 30
    assert len(IN_BLOCKS) >= 10


@pytest.mark.parametrize("name", WITH_EFA)
def test_case_19_interfaces_of_each_type_are_such_as_its_cards_take(name: str) -> None:
    found = templates(tuple(WITH_EFA), False)[name]
    data, facts = launch_data(found), TYPES[name]
    interfaces: Sequence[Mapping[str, Any]] = data["NetworkInterfaces"]
    places = [(each["NetworkCardIndex"], each["DeviceIndex"]) for each in interfaces]
    cards = facts.network_cards or ()
    assert places[0] == (0, 0)
    assert interfaces[0]["InterfaceType"] in ("interface", "efa")
    assert len(set(places)) == len(places)
    assert {device for _, device in places} <= {0, 1}
    adapters = [each for each in interfaces if each["InterfaceType"] != "interface"]
    assert 0 < len(adapters) <= (facts.efa_interfaces or 0)
    assert all(cards[each["NetworkCardIndex"]].efa for each in adapters)
    for index, card in enumerate(cards):
        assert sum(place[0] == index for place in places) <= card.interfaces
    assert all(each["Groups"] and each["DeleteOnTermination"] is True for each in interfaces)
    assert not any("AssociatePublicIpAddress" in each or "SubnetId" in each for each in interfaces)
    assert "SecurityGroupIds" not in data


@pytest.mark.parametrize("name", WITH_EFA)
def test_case_10_each_group_lets_itself_in_and_out(name: str) -> None:
    found = templates(tuple(WITH_EFA), False)[name]
    ((security_group, _),) = of(found, "AWS::EC2::SecurityGroup")
    own = {"Fn::GetAtt": [security_group, "GroupId"]}
    assert launch_data(found)["NetworkInterfaces"][0]["Groups"] == [own]
    assert rules(found, "Ingress", "SourceSecurityGroupId") == [("-1", own, own)]
    assert rules(found, "Egress", "DestinationSecurityGroupId") == [("-1", own, own)]


@pytest.mark.parametrize("name", WITH_EFA)
def test_case_26_each_is_in_a_cluster_group_if_it_can_where_nothing_is_reserved(name: str) -> None:
    found = templates(tuple(WITH_EFA), False)[name]
    strategies = [each["Strategy"] for _, each in of(found, "AWS::EC2::PlacementGroup")]
    placed = TYPES[name].placement
    # What is sold in Capacity Blocks alone stands where its block does.
    clustered = (placed is None or "cluster" in placed) and TYPES[name].on_demand is not False
    assert strategies == (["cluster"] if clustered else [])
    assert ("PlacementGroup" in group(found)) is clustered
    assert len(group(found)["VPCZoneIdentifier"]) == 1


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_case_18_each_type_that_is_sold_in_blocks_makes_a_fleet_in_one(name: str) -> None:
    found = templates(tuple(IN_BLOCKS), True)[name]
    data = launch_data(found)
    assert data["InstanceType"] == name
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": RESERVATION}
    }
    assert "MixedInstancesPolicy" not in group(found)
    assert "PlacementGroup" not in group(found)
    assert len(group(found)["VPCZoneIdentifier"]) == 1
    assert of(found, "AWS::EC2::PlacementGroup") == []


@pytest.mark.parametrize("name", sorted(set(OFFERED) - set(IN_BLOCKS)))
def test_case_18_each_other_type_is_refused_in_a_block_with_the_reason(name: str) -> None:
    with pytest.raises(ArgumentError, match="instance_types must be a type that AWS sells in Capacity Blocks, got"):
        fleet(
            stack(),
            vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1b"]),
            instance_types=name,
            image=FleetImage.from_ssm_parameter("/golden/ami"),
            purchase=BLOCK,
        )
