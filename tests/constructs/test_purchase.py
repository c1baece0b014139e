"""How capacity is bought: which types in which order, Spot and On-Demand beside each other, reservations."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match

from constructs_lib import ArgumentError, OnDemandAllocation, Purchase, SpotAllocation
from tests.constructs.purchasing import (
    ONE_ZONE,
    RESERVATION,
    RESERVATIONS,
    block,
    findings,
    group_of,
    launch_data,
    told,
)
from tests.support.stacks import fleet, fleet_template

TWO = ["g6.xlarge", "g5.xlarge"]


def distribution(purchase: Purchase, **arguments: Any) -> dict[str, Any]:
    made = fleet_template(**{"instance_types": TWO, "purchase": purchase, **arguments})
    return dict(group_of(made)["MixedInstancesPolicy"]["InstancesDistribution"])


@pytest.mark.parametrize(
    ("allocation", "strategy"),
    [
        (None, "price-capacity-optimized"),
        (SpotAllocation.PRICE_CAPACITY, "price-capacity-optimized"),
        (SpotAllocation.CAPACITY, "capacity-optimized"),
        (SpotAllocation.RANKED, "capacity-optimized-prioritized"),
    ],
)
def test_case_80_spot_comes_from_deep_pools_and_never_from_the_cheapest_alone(
    allocation: SpotAllocation | None, strategy: str
) -> None:
    found = distribution(Purchase.spot(allocation=allocation))
    assert found["SpotAllocationStrategy"] == strategy
    assert "SpotMaxPrice" not in found
    assert "SpotInstancePools" not in found


@pytest.mark.parametrize(
    ("purchase", "strategy"),
    [
        (Purchase.on_demand(), "prioritized"),
        (Purchase.on_demand(allocation=OnDemandAllocation.RANKED), "prioritized"),
        (Purchase.on_demand(allocation=OnDemandAllocation.LOWEST_PRICE), "lowest-price"),
        (Purchase.spot(), "prioritized"),
        (Purchase.mixed(on_demand_base=1, on_demand_allocation=OnDemandAllocation.LOWEST_PRICE), "lowest-price"),
        (Purchase.reservation(allocation=OnDemandAllocation.LOWEST_PRICE), "lowest-price"),
    ],
)
def test_on_demand_takes_the_first_type_or_the_cheapest(purchase: Purchase, strategy: str) -> None:
    assert distribution(purchase)["OnDemandAllocationStrategy"] == strategy


def test_case_80_a_mix_has_an_on_demand_part_that_does_not_wait_for_spot() -> None:
    found = distribution(Purchase.mixed(on_demand_base=1, on_demand_percent=25))
    assert (found["OnDemandBaseCapacity"], found["OnDemandPercentageAboveBaseCapacity"]) == (1, 25)


@pytest.mark.parametrize(
    "purchase", [Purchase.on_demand(), Purchase.spot(), Purchase.mixed(on_demand_percent=10), Purchase.reservation()]
)
def test_no_type_has_a_weight(purchase: Purchase) -> None:
    made = fleet_template(instance_types=TWO, purchase=purchase)
    overrides = group_of(made)["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]
    assert overrides == [{"InstanceType": "g6.xlarge"}, {"InstanceType": "g5.xlarge"}]


@pytest.mark.parametrize(
    ("purchase", "rebalances"),
    [
        (Purchase.on_demand(), False),
        (Purchase.spot(), False),
        (Purchase.spot(capacity_rebalance=True), True),
        (Purchase.mixed(on_demand_base=1, capacity_rebalance=True), True),
        (Purchase.reservation(), False),
    ],
)
def test_case_80_rebalancing_is_explicit_and_a_choice(purchase: Purchase, rebalances: bool) -> None:
    made = fleet_template(instance_types=TWO, purchase=purchase)
    assert group_of(made)["CapacityRebalance"] is rebalances
    # What is to come before the one at risk goes must be allowed to: a group that ends first would only lose it sooner.
    percentages = {"MinHealthyPercentage": 100, "MaxHealthyPercentage": 110}
    assert (group_of(made)["InstanceMaintenancePolicy"] == percentages) is rebalances
    assert findings(made) == []


@pytest.mark.parametrize(
    ("purchase", "specification"),
    [
        (Purchase.reservation(), {"CapacityReservationPreference": "capacity-reservations-first"}),
        (Purchase.reservation(fall_back=False), {"CapacityReservationPreference": "capacity-reservations-only"}),
        (
            Purchase.reservation(reservation_id=RESERVATION),
            {
                "CapacityReservationPreference": "capacity-reservations-first",
                "CapacityReservationTarget": {"CapacityReservationIds": [RESERVATION]},
            },
        ),
        (
            Purchase.reservation(resource_group_arn=RESERVATIONS, fall_back=False),
            {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": [RESERVATIONS]},
            },
        ),
    ],
    ids=["open", "open only", "one", "a group only"],
)
def test_case_26_the_group_uses_the_reservation_and_nothing_else_changes(
    purchase: Purchase, specification: dict[str, Any]
) -> None:
    made = fleet_template(instance_types="p4d.24xlarge", purchase=purchase)
    plain = fleet_template(instance_types="p4d.24xlarge")
    group = group_of(made)
    assert group.pop("CapacityReservationSpecification") == specification
    assert group == group_of(plain)
    # Neither does the template ask for one, nor does it force a placement that the reservation was not made for.
    assert launch_data(made) == launch_data(plain)
    assert findings(made) == []


def test_a_reservation_that_only_a_deploy_knows_is_passed_on() -> None:
    token = Token.as_string({"Ref": "Reservation"})
    made = fleet_template(instance_types="p4d.24xlarge", purchase=Purchase.reservation(reservation_id=token))
    target = group_of(made)["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationIds": [{"Ref": "Reservation"}]}


def test_one_reservation_without_fall_back_is_of_one_type() -> None:
    with pytest.raises(ArgumentError, match="instance_types must name one type, that of the reservation") as raised:
        fleet_template(instance_types=TWO, purchase=Purchase.reservation(reservation_id=RESERVATION, fall_back=False))
    assert "resource_group_arn" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"purchase": Purchase.on_demand()}, []),
        ({"purchase": Purchase.spot()}, []),
        ({"purchase": Purchase.spot(), "vpc_subnets": ONE_ZONE}, ["SingleSpotPool"]),
        ({"purchase": Purchase.mixed(on_demand_base=1), "vpc_subnets": ONE_ZONE}, ["SingleSpotPool"]),
        ({"purchase": Purchase.spot(), "vpc_subnets": ONE_ZONE, "instance_types": TWO}, []),
        ({"purchase": Purchase.reservation()}, ["ReservedCapacityBills"]),
        (
            {"purchase": Purchase.reservation(reservation_id=RESERVATION)},
            ["ReservationInOneZone", "ReservedCapacityBills"],
        ),
        (
            {"purchase": Purchase.reservation(reservation_id=RESERVATION), "vpc_subnets": ONE_ZONE},
            ["ReservedCapacityBills"],
        ),
        ({"purchase": Purchase.reservation(resource_group_arn=RESERVATIONS)}, ["ReservedCapacityBills"]),
        (
            {"purchase": block(), "instance_types": "p5.48xlarge", "vpc_subnets": ONE_ZONE},
            ["ReservedCapacityBills"],
        ),
    ],
)
def test_what_costs_money_or_patience_is_told(arguments: dict[str, Any], expected: list[str]) -> None:
    assert told(**arguments) == expected


@pytest.mark.parametrize(
    ("environment", "zones"),
    [(None, "2 zones"), (Environment(account="111122223333", region="us-east-1"), "dummy1a, dummy1b")],
    ids=["any region", "one region"],
)
def test_zones_are_named_where_they_have_names(environment: Environment | None, zones: str) -> None:
    made = Stack(App(), "Test", env=environment)
    fleet(
        made,
        vpc=ec2.Vpc(made, "Vpc", max_azs=2),
        instance_types="p4d.24xlarge",
        purchase=Purchase.reservation(reservation_id=RESERVATION),
    )
    found = Annotations.from_stack(made).find_warning("*", Match.string_like_regexp(".*ReservationInOneZone.*"))
    (said,) = [str(each.entry.data) for each in found]
    assert f"launches in the others of the fleet's {zones} may run On-Demand" in said
    assert "Token" not in said


def test_a_message_of_zones_that_only_a_deploy_names_has_no_token() -> None:
    made = Stack(App(), "Test")
    with pytest.raises(ArgumentError, match="vpc_subnets must select one subnet for a Capacity Block") as refused:
        fleet(made, vpc=ec2.Vpc(made, "Vpc", max_azs=2), instance_types="p5.48xlarge", purchase=block())
    assert "Token" not in str(refused.value)


@pytest.mark.parametrize(
    ("types", "purchase", "way"),
    [
        ("p6e-gb200.36xlarge", Purchase.spot(), "Spot"),
        (["trn2.48xlarge", "trn2u.48xlarge"], Purchase.mixed(on_demand_base=1), "Spot"),
    ],
)
def test_types_that_aws_does_not_sell_so_are_refused(types: str | list[str], purchase: Purchase, way: str) -> None:
    with pytest.raises(ArgumentError, match=f"instance_types must be of types that AWS sells as {way}"):
        fleet_template(instance_types=types, purchase=purchase)


@pytest.mark.parametrize("make", [Purchase.spot, Purchase.mixed], ids=["spot", "mixed"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_demand_base": -1}, "on_demand_base must be a whole number at least 0, got -1"),
        ({"on_demand_base": 1, "on_demand_percent": 100}, "on_demand_percent must be below 100, got 100"),
        ({"on_demand_base": 1, "allocation": "cheap"}, "allocation must be of type SpotAllocation, got 'cheap'"),
        ({"on_demand_base": 1, "capacity_rebalance": 1}, "capacity_rebalance must be of type bool, got 1"),
    ],
)
def test_both_ways_to_buy_spot_refuse_the_same(make: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make(**arguments)


def test_a_base_that_leaves_nothing_to_spot_is_refused() -> None:
    with pytest.raises(ArgumentError, match="on_demand_base below max_capacity"):
        fleet_template(purchase=Purchase.mixed(on_demand_base=8))


def test_no_more_types_than_a_group_takes() -> None:
    from constructs_lib.catalog import AcceleratedType

    facts: dict[str, Any] = {"kind": "nvidia", "model": "L4", "accelerators": 1, "accelerator_memory_mib": 24_576}
    types = [AcceleratedType(name=f"g9.{n}xlarge", architecture="x86_64", **facts) for n in range(1, 42)]
    with pytest.raises(ArgumentError, match="name at most 40 types"):
        fleet_template(instance_types=types)


def test_two_that_say_the_same_are_equal_and_others_are_not() -> None:
    assert Purchase.spot() == Purchase.spot(on_demand_base=0, allocation=SpotAllocation.PRICE_CAPACITY)
    assert Purchase.spot(on_demand_base=1) == Purchase.mixed(on_demand_base=1)
    assert Purchase.on_demand() == Purchase.on_demand()
    # Types of a reservation have names, so that their order is what counts either way.
    assert Purchase.reservation(allocation=OnDemandAllocation.RANKED, fall_back=True) == Purchase.reservation()
    assert Purchase.reservation(allocation=OnDemandAllocation.LOWEST_PRICE) != Purchase.reservation()
    assert Purchase.on_demand() != Purchase.spot()
    assert block(end="2027-03-08T12:30:00+01:00") == block()
    assert block() != block(end="2027-03-09T11:30:00Z")


@pytest.mark.parametrize(
    ("purchase", "spot", "base", "percent"),
    [
        (Purchase.on_demand(), False, 0, 100),
        (Purchase.spot(on_demand_base=2, on_demand_percent=30), True, 2, 30),
        (Purchase.reservation(), False, 0, 100),
        (block(), False, 0, 100),
    ],
)
def test_what_can_be_asked_of_each(purchase: Purchase, spot: bool, base: int, percent: int) -> None:
    assert purchase.uses_spot is spot
    assert (purchase.on_demand_base, purchase.on_demand_percent) == (base, percent)
