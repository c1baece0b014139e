"""Placement groups: their strategies, limits, and reserved capacity that was made without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from constructs_lib import FleetImage, Purchase, WarmPool
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.network import FleetNetwork
from constructs_lib.fleet.placement import Placement
from tests.constructs.reading import only, resources, text
from tests.support.stacks import fleet, fleet_template, stack, vpc

RESERVED = {
    "reservation": lambda: Purchase.reservation(reservation_id="cr-0123456789abcdef0"),
    "open reservation": lambda: Purchase.reservation(),
    "block": lambda: Purchase.capacity_block(reservation_id="cr-0123456789abcdef0", end="2027-03-01T11:30:00Z"),
}


def group_of(made: Mapping[str, Any]) -> dict[str, Any]:
    return dict(only(made, "AWS::AutoScaling::AutoScalingGroup")["Properties"])


def placed(placement: Placement | None = None, **arguments: Any) -> dict[str, Any]:
    network = FleetNetwork.standard(placement=placement)
    return fleet_template(**{"instance_types": "g6.xlarge", "network": network, **arguments})


def no_placement(made: Mapping[str, Any]) -> bool:
    data = only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]
    return (
        "Placement" not in data
        and "PlacementGroup" not in group_of(made)
        and resources(made, "AWS::EC2::PlacementGroup") == {}
    )


# --- case 26 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", RESERVED)
def test_case_26_reserved_capacity_is_in_no_group_that_we_make(how: str) -> None:
    zone = ec2.SubnetSelection(availability_zones=["us-east-1a"])
    made = fleet_template(
        instance_types="p4d.24xlarge", network=FleetNetwork.efa(), purchase=RESERVED[how](), vpc_subnets=zone
    )
    assert no_placement(made)


def test_case_26_efa_without_a_reservation_has_a_cluster_group() -> None:
    made = fleet_template(instance_types="p4d.24xlarge", network=FleetNetwork.efa())
    assert text(group_of(made)["PlacementGroup"]) == "<FleetPlacementGroup.GroupName>"
    assert only(made, "AWS::EC2::PlacementGroup")["Properties"] == {"Strategy": "cluster"}


def test_case_26_efa_that_asks_for_no_group_has_none() -> None:
    network = FleetNetwork.efa(placement=Placement.none())
    assert no_placement(fleet_template(instance_types="p4d.24xlarge", network=network))


@pytest.mark.parametrize("how", RESERVED)
@pytest.mark.parametrize("make", [FleetNetwork.efa, FleetNetwork.standard])
def test_case_26_a_new_cluster_group_is_refused_where_capacity_is_reserved(how: str, make: Any) -> None:
    with pytest.raises(
        ArgumentError,
        match=r"^Test/Fleet: network.placement must not be a new cluster placement group where capacity is reserved, "
        r"got Placement.cluster\(\); leave it out, or write Placement.in_group\(",
    ):
        fleet_template(
            instance_types="p4d.24xlarge",
            network=make(placement=Placement.cluster()),
            purchase=RESERVED[how](),
            vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1a"]),
        )


@pytest.mark.parametrize("how", RESERVED)
def test_case_26_the_group_that_the_reservation_was_made_in_is_the_users_to_name(how: str) -> None:
    made = fleet_template(
        instance_types="p4d.24xlarge",
        network=FleetNetwork.efa(placement=Placement.in_group("training")),
        purchase=RESERVED[how](),
        vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1a"]),
    )
    assert group_of(made)["PlacementGroup"] == "training"
    assert resources(made, "AWS::EC2::PlacementGroup") == {}


@pytest.mark.parametrize("how", RESERVED)
def test_case_28_the_zone_of_reserved_capacity_is_not_guessed(how: str) -> None:
    with pytest.raises(ArgumentError, match=r"vpc_subnets must select subnets of one zone, .+; name one: ") as refused:
        fleet_template(instance_types="p4d.24xlarge", network=FleetNetwork.efa(), purchase=RESERVED[how]())
    assert "leave it out" not in str(refused.value)


# --- strategies -----------------------------------------------------------------------------------


def test_no_placement_unless_asked_for() -> None:
    assert no_placement(placed())
    assert no_placement(placed(Placement.none()))


def test_cluster_keeps_the_fleet_in_one_zone() -> None:
    made = placed(Placement.cluster())
    assert only(made, "AWS::EC2::PlacementGroup")["Properties"] == {"Strategy": "cluster"}
    assert group_of(made)["VPCZoneIdentifier"] == ["subnet-0123456789abcdf00"]
    both = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    with pytest.raises(ArgumentError, match=r"of one zone, since a cluster placement group is in one zone, got"):
        placed(Placement.cluster(), vpc_subnets=both)


@pytest.mark.parametrize("partitions", [1, 7])
def test_partition(partitions: int) -> None:
    made = placed(Placement.partition(partitions), max_capacity=100)
    assert only(made, "AWS::EC2::PlacementGroup")["Properties"] == {
        "Strategy": "partition",
        "PartitionCount": partitions,
    }
    assert len(group_of(made)["VPCZoneIdentifier"]) == 2


@pytest.mark.parametrize("zones", [1, 2, 3])
def test_spread_takes_seven_instances_in_each_zone(zones: int) -> None:
    def made(max_capacity: int) -> dict[str, Any]:
        test_stack = stack()
        network = FleetNetwork.standard(placement=Placement.spread())
        fleet(test_stack, vpc=vpc(test_stack, zones=zones), max_capacity=max_capacity, network=network)
        return dict(Template.from_stack(test_stack).to_json())

    assert only(made(7 * zones), "AWS::EC2::PlacementGroup")["Properties"] == {"Strategy": "spread"}
    with pytest.raises(
        ArgumentError,
        match=rf"^Test/Fleet: max_capacity must be at most {7 * zones} with Placement.spread\(\) in {zones} zones?, "
        rf"got {7 * zones + 1}; a spread group takes 7 instances in each zone: lower it, add zones, or write "
        r"Placement.partition\(7\)$",
    ):
        made(7 * zones + 1)


def test_what_waits_in_a_warm_pool_takes_its_place_in_a_spread_group_too() -> None:
    """So many wait at any time, beside those in service: the pool would launch in vain for ever."""

    def make(max_capacity: int, pool: WarmPool) -> None:
        test_stack = stack()
        network = FleetNetwork.standard(placement=Placement.spread())
        where = vpc(test_stack, zones=1)
        fleet(test_stack, vpc=where, max_capacity=max_capacity, network=network, warm_pool=pool)

    make(5, WarmPool(min_size=2))
    make(7, WarmPool(max_prepared=4))
    with pytest.raises(ArgumentError, match=r"max_capacity must be at most 5 beside the 2 that wait in the warm pool"):
        make(6, WarmPool(min_size=2))
    with pytest.raises(ArgumentError, match="max_capacity must be at most 5 beside"):
        make(7, WarmPool(min_size=2, max_prepared=3))


def test_efa_may_be_spread_or_partitioned_in_its_one_zone() -> None:
    network = FleetNetwork.efa(placement=Placement.spread())
    made = fleet_template(instance_types="p4d.24xlarge", network=network, max_capacity=7)
    assert only(made, "AWS::EC2::PlacementGroup")["Properties"] == {"Strategy": "spread"}
    with pytest.raises(ArgumentError, match=r"max_capacity must be at most 7 with Placement.spread\(\) in 1 zone, got"):
        fleet_template(instance_types="p4d.24xlarge", network=network, max_capacity=8)


def test_a_type_that_takes_no_cluster_group() -> None:
    golden = FleetImage.from_ssm_parameter("/golden/vt1")
    with pytest.raises(
        ArgumentError,
        match=r"^Test/Fleet: network.placement must be one that vt1.24xlarge can be placed by, got Placement.cluster",
    ):
        placed(Placement.cluster(), instance_types="vt1.24xlarge", image=golden)
    network = FleetNetwork.efa(placement=Placement.cluster())
    with pytest.raises(ArgumentError, match=r"network.placement must be one that vt1.24xlarge can be placed by"):
        fleet_template(instance_types="vt1.24xlarge", image=golden, network=network)
    # The default is not a wish: it makes way.
    assert no_placement(fleet_template(instance_types="vt1.24xlarge", image=golden, network=FleetNetwork.efa()))


# --- an existing group ----------------------------------------------------------------------------


def test_a_group_of_the_users_is_held_to_its_strategy() -> None:
    test_stack = stack()
    cluster = ec2.PlacementGroup(test_stack, "Cluster", strategy=ec2.PlacementGroupStrategy.CLUSTER)
    network = FleetNetwork.standard(placement=Placement.in_group(cluster))
    fleet(test_stack, instance_types="g6.xlarge", network=network)
    made = Template.from_stack(test_stack).to_json()
    assert text(group_of(made)["PlacementGroup"]) == "<Cluster.GroupName>"
    assert group_of(made)["VPCZoneIdentifier"] == ["subnet-0123456789abcdf00"]
    spread = ec2.PlacementGroup(test_stack, "Spread", strategy=ec2.PlacementGroupStrategy.SPREAD)
    with pytest.raises(ArgumentError, match=r"max_capacity must be at most 14"):
        fleet(
            test_stack,
            "Spread2",
            max_capacity=15,
            network=FleetNetwork.standard(placement=Placement.in_group(spread)),
        )


@pytest.mark.parametrize("name", ["training", Token.as_string({"Ref": "Group"})], ids=["name", "token"])
def test_a_group_by_its_name(name: str) -> None:
    made = placed(Placement.in_group(name), max_capacity=100)
    assert text(group_of(made)["PlacementGroup"]) in ("training", "<Group>")
    assert len(group_of(made)["VPCZoneIdentifier"]) == 2


def test_a_group_that_is_imported() -> None:
    test_stack = stack()
    group = ec2.PlacementGroup.from_placement_group_name(test_stack, "Imported", "training")
    fleet(test_stack, network=FleetNetwork.standard(placement=Placement.in_group(group)))
    assert group_of(Template.from_stack(test_stack).to_json())["PlacementGroup"] == "training"


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "value", "message"),
    [
        *(
            (Placement.partition, value, "partition: partitions must be a whole number at least 1 and at most 7")
            for value in (0, 8, "3", True, 2.0)
        ),
        pytest.param(
            *(Placement.partition, Token.as_number({"Ref": "N"}), "partition: partitions must be known at synth"),
            id="partition-token",
        ),
        *(
            (Placement.in_group, value, "in_group: group must be a name of 1 to 255 ASCII characters")
            for value in ("", " ", "x" * 256, "gr\u00fcn")
        ),
        (Placement.in_group, "pg-0123456789abcdef0", "in_group: group must be a group's name, not its id, got "),
        (Placement.in_group, 7, "in_group: group must be a placement group, got 7; pass an ec2.PlacementGroup, or "),
        (Placement.in_group, None, "in_group: group must be a placement group, got None; "),
    ],
)
def test_values_that_are_refused(make: Callable[[Any], Placement], value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        make(value)
    assert str(refused.value).startswith(f"Placement.{message}")


def test_equal_placements_are_equal_and_say_how_they_were_made() -> None:
    assert Placement.cluster() == Placement.cluster() != Placement.spread()
    assert Placement.partition(3) == Placement.partition(3) != Placement.partition(4)
    assert Placement.in_group("a") == Placement.in_group("a") != Placement.in_group("b")
    assert Placement.none() == Placement.none()
    shown = [Placement.cluster(), Placement.partition(3), Placement.spread(), Placement.none(), Placement.in_group("a")]
    assert [repr(each) for each in shown] == [
        "Placement.cluster()",
        "Placement.partition(3)",
        "Placement.spread()",
        "Placement.none()",
        "Placement.in_group('a')",
    ]
