"""Capacity Blocks (case 18): market type, one type and zone, pinned version, sizes by the group's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2

from constructs_lib import (
    AcceleratedType,
    ArgumentError,
    Drain,
    FleetSchedule,
    FlexibleTypes,
    Hours,
    Purchase,
    WakeUp,
    WarmPool,
)
from tests.constructs.purchasing import (
    END,
    ONE_ZONE,
    RESERVATION,
    START,
    block,
    block_fleet,
    findings,
    group_of,
    launch_data,
    text_of_version,
)
from tests.constructs.reading import properties, resources
from tests.support.stacks import fleet, stack

ACTION = "AWS::AutoScaling::ScheduledAction"


def actions(made: dict[str, Any]) -> list[dict[str, Any]]:
    """The scheduled actions in the order of their times, without the group that all name."""
    found = [dict(each["Properties"]) for each in resources(made, ACTION).values()]
    for each in found:
        assert each.pop("AutoScalingGroupName") == {"Ref": "FleetAutoScalingGroupASG" + _hash(made)}
    return sorted(found, key=lambda each: str(each["StartTime"]))


def _hash(made: dict[str, Any]) -> str:
    (id,) = resources(made, "AWS::AutoScaling::AutoScalingGroup")
    return id.removeprefix("FleetAutoScalingGroupASG")


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)


def test_case_18_the_launch_template_names_market_and_reservation() -> None:
    data = launch_data(block_fleet())
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": RESERVATION}
    }
    assert data["InstanceType"] == "p5.48xlarge"


def test_case_18_the_group_has_one_zone_one_version_and_no_mix() -> None:
    group = group_of(block_fleet())
    assert "MixedInstancesPolicy" not in group
    assert "CapacityReservationSpecification" not in group
    assert len(group["VPCZoneIdentifier"]) == 1
    assert text_of_version(group) == "<FleetLaunchTemplate.LatestVersionNumber>"


def test_case_26_no_cluster_placement_group_is_forced() -> None:
    made = block_fleet()
    assert resources(made, "AWS::EC2::PlacementGroup") == {}
    assert "PlacementGroup" not in group_of(made)
    assert "Placement" not in launch_data(made)


@pytest.mark.parametrize("deadline", [Duration.seconds(30), Duration.minutes(5), Duration.minutes(115)])
def test_case_18_sizes_are_zero_before_ec2_takes_the_machines(deadline: Duration) -> None:
    made = block_fleet(drain=Drain(deadline=deadline))
    (end,) = actions(made)
    at = moment(end.pop("StartTime"))
    assert end == {"MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0}
    (hook,) = group_of(made)["LifecycleHookSpecificationList"]
    taken_from = moment(END) - timedelta(minutes=30)
    # Two minutes for the action, five until the function looks, and as long for the pass, then the whole drain.
    assert taken_from - at >= timedelta(seconds=hook["HeartbeatTimeout"], minutes=12)
    assert taken_from - at <= timedelta(seconds=hook["HeartbeatTimeout"], minutes=20)


NEW: dict[str, Any] = {"kind": "nvidia", "model": "R100", "accelerators": 4, "accelerator_memory_mib": 294_912}


def newer(**facts: Any) -> AcceleratedType:
    return AcceleratedType(name="p7.48xlarge", architecture="x86_64", **NEW, **facts)


@pytest.mark.parametrize(
    ("of_type", "minutes"),
    [
        ("p5.48xlarge", 30),
        ("trn2u.48xlarge", 60),
        (newer(), 30),
        (newer(block_end_minutes=60), 60),
        (newer(block_end_minutes=0), 0),
    ],
    ids=["an instance", "an UltraServer", "nobody said", "said", "none"],
)
def test_case_18_ultraservers_are_ended_earlier_and_so_is_their_fleet(
    of_type: str | AcceleratedType, minutes: int
) -> None:
    usual = moment("2027-03-08T11:30:00Z") - timedelta(minutes=15 + 6)  # room, and the usual drain's hook
    made = block_fleet(instance_types=of_type, purchase=block(start=START))
    _, end = actions(made)
    assert moment(end["StartTime"]) == usual - timedelta(minutes=minutes)
    variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert variables["LEAVE_FROM"] == end["StartTime"]


def test_case_18_the_room_is_checked_by_the_types_own_time() -> None:
    purchase = block(start="2027-03-08T10:15Z")
    assert block_fleet(purchase=purchase)
    with pytest.raises(ArgumentError, match=r"purchase\.start must be before 2027-03-08T10:09:00Z"):
        block_fleet(instance_types=newer(block_end_minutes=60), purchase=purchase)


def test_case_18_the_release_function_ends_all_from_the_same_time_on() -> None:
    made = block_fleet()
    (end,) = actions(made)
    variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert variables["LEAVE_FROM"] == end["StartTime"] == "2027-03-08T10:39:00Z"


def test_case_18_instances_stay_protected_so_that_none_at_work_is_chosen() -> None:
    assert group_of(block_fleet())["NewInstancesProtectedFromScaleIn"] is True


def test_a_block_that_has_begun_is_open_from_the_deploy_on() -> None:
    group = group_of(block_fleet())
    assert (group["MinSize"], group["MaxSize"]) == ("0", "4")
    assert "DesiredCapacity" not in group


def test_a_block_to_come_is_closed_until_it_begins() -> None:
    made = block_fleet(purchase=block(start=START))
    assert (group_of(made)["MinSize"], group_of(made)["MaxSize"]) == ("0", "0")
    begin, end = actions(made)
    assert begin == {"StartTime": START, "MinSize": 0, "MaxSize": 4}
    assert end["MaxSize"] == 0


def test_the_next_block_has_actions_of_its_own() -> None:
    """One that has run is gone in Auto Scaling: CloudFormation could not update it, but create another."""
    first = resources(block_fleet(purchase=block(start=START)), ACTION)
    again = resources(block_fleet(purchase=block(start=START)), ACTION)
    later = resources(block_fleet(purchase=block(start="2027-04-01T11:30Z", end="2027-04-08T11:30Z")), ACTION)
    assert set(first) == set(again)
    assert not set(first) & set(later)


def test_instances_can_start_with_the_block() -> None:
    begin, _ = actions(block_fleet(purchase=block(start=START, instances_at_start=4)))
    assert begin["DesiredCapacity"] == 4


@pytest.mark.parametrize(
    "arguments", [{}, {"purchase": block(start=START, instances_at_start=2)}, {"queue": {"messages_per_instance": 1}}]
)
def test_cfn_lint_finds_nothing(arguments: dict[str, Any]) -> None:
    assert findings(block_fleet(**arguments)) == []


@pytest.mark.parametrize(
    "end",
    [
        "2027-03-08T11:30Z",
        "2027-03-08T11:30:00+00:00",
        "2027-03-08T12:30:00+01:00",
        datetime(2027, 3, 8, 11, 30, tzinfo=timezone.utc),
        datetime(2027, 3, 8, 3, 30, tzinfo=timezone(timedelta(hours=-8))),
    ],
)
def test_the_same_end_however_it_is_written(end: str | datetime) -> None:
    assert block_fleet(purchase=block(end=end)) == block_fleet()


OFFICE = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"instance_types": ["p5.48xlarge", "p5e.48xlarge"]}, "instance_types must be one type for a Capacity Block"),
        ({"instance_types": FlexibleTypes(kind="nvidia", models=["H100"])}, "instance_types must be one type"),
        ({"instance_types": "g6.xlarge"}, "instance_types must be a type that AWS sells in Capacity Blocks"),
        ({"vpc_subnets": None}, "vpc_subnets must select one subnet for a Capacity Block"),
        (
            {"vpc_subnets": ec2.SubnetSelection(availability_zones=["us-east-1a", "us-east-1b"])},
            "vpc_subnets must select one subnet",
        ),
        ({"min_capacity": 1}, "min_capacity must be 0 for a Capacity Block"),
        ({"warm_pool": WarmPool(min_size=1)}, "warm_pool must be left out where instances are not bought On-Demand"),
        ({"schedule": FleetSchedule(office_hours=[OFFICE])}, "schedule must be left out for a Capacity Block"),
        (
            {"schedule": FleetSchedule(wake_ups=[WakeUp(at="08:00", instances=1, time_zone="UTC")])},
            "schedule must be left out for a Capacity Block",
        ),
        ({"schedule": FleetSchedule()}, "schedule must be left out for a Capacity Block"),
        (
            {"purchase": block(start=START, instances_at_start=5)},
            r"purchase.instances_at_start must not exceed max_capacity \(4\)",
        ),
        (
            {"purchase": block(start="2027-03-08T10:00Z"), "drain": Drain(deadline=Duration.minutes(60))},
            "purchase.start must be before 2027-03-08T09:44:00Z",
        ),
    ],
)
def test_case_18_what_a_block_cannot_be_combined_with(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as raised:
        block_fleet(**arguments)
    assert "; " in str(raised.value)


def test_case_18_spot_cannot_be_asked_for_beside_it() -> None:
    """The ways to buy are one argument, so there is nothing to combine."""
    assert block().uses_spot is False
    assert "SpotOptions" not in launch_data(block_fleet())["InstanceMarketOptions"]


def test_a_type_newer_than_the_catalogue_is_taken_at_the_users_word() -> None:
    facts: dict[str, Any] = {"kind": "nvidia", "model": "R100", "accelerators": 8, "accelerator_memory_mib": 294_912}
    made = block_fleet(instance_types=AcceleratedType(name="p7.48xlarge", architecture="x86_64", **facts))
    assert launch_data(made)["InstanceType"] == "p7.48xlarge"


def test_synth_asks_no_clock() -> None:
    """A block of the past is Auto Scaling's to refuse: the same input gives the same template on any day."""
    past = Purchase.capacity_block(reservation_id=RESERVATION, end="2024-03-08T11:30Z")
    assert actions(block_fleet(purchase=past))[0]["StartTime"] == "2024-03-08T10:39:00Z"


def test_a_block_that_starts_its_instances_needs_nothing_else_to_start_them() -> None:
    from aws_cdk.assertions import Annotations, Match

    def warned(purchase: Purchase) -> bool:
        test_stack = stack()
        fleet(test_stack, instance_types="p5.48xlarge", vpc_subnets=ONE_ZONE, purchase=purchase)
        found = Annotations.from_stack(test_stack).find_warning("*", Match.string_like_regexp(".*fleet:NoWayUp.*"))
        return bool(found)

    assert warned(block(start=START))
    assert not warned(block(start=START, instances_at_start=4))
