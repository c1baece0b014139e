"""Launches: how long they take, what they cost, on which market, and what happens when the cloud has nothing."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Boot, Group, Instance
from constructs_lib.rehearsal.cloud.purchasing import Purchasing
from constructs_lib.rehearsal.cloud.retries import TRIES_AGAIN
from tests.rehearsal.cloud.groups import DAY, HOUR, MINUTE, hook, make_group, run, started


def _failed(group: Group) -> list[int]:
    """The minutes in which launches failed."""
    return [each.started // MINUTE for each in group.activities if each.status == "Failed"]


def test_each_launch_takes_its_own_time_to_the_second() -> None:
    times = iter([Boot(7.5, 100.25), Boot(0.0, 61.0)])
    group = make_group(boot=lambda _instance: next(times))
    group.set_desired(2)
    run(group, 4)

    first, second = group.in_service
    assert (first.launched, first.launched_at, first.in_service_at) == (60, 67.5, 167.75)
    assert (second.launched_at, second.in_service_at) == (60, 121.0)
    assert (first.in_service_since, second.in_service_since) == (180, 180)


def test_group_without_capacity_tries_again_after_a_minute_and_then_less_often() -> None:
    group = make_group()
    group.capacity = 0
    group.set_desired(3)

    run(group, 30)

    assert _failed(group) == [1, 2, 4, 8, 13, 18, 23, 28]
    assert "sufficient g6.xlarge capacity" in group.activities[0].message


@pytest.mark.parametrize(
    ("longest", "tries"),
    [(60, list(range(1, 13))), (300, [1, 2, 4, 8]), (900, [1, 2, 4, 8])],
)
def test_delays_are_not_published_and_may_grow_less_or_more(longest: int, tries: list[int]) -> None:
    """Seen were about a minute at first, and several minutes later."""
    group = make_group(longest_retry=longest)
    group.capacity = 0
    group.set_desired(1)
    run(group, 12)
    assert _failed(group) == tries
    run(group, 3 * HOUR)
    assert _failed(group)[-1] - _failed(group)[-2] == longest // MINUTE


def test_delay_is_in_doubt_from_the_second_failure_on() -> None:
    """The second try comes after a minute, however the delays grow."""
    group = make_group()
    group.capacity = 0
    group.set_desired(1)
    run(group, 1)
    assert group.doubts == set()
    run(group, 1)
    assert group.doubts == {TRIES_AGAIN}


def test_failures_with_a_success_between_them_leave_no_doubt() -> None:
    answers = iter(["no capacity", None, "no capacity", None])
    group = make_group()
    group.launch_failure = lambda _instance: next(answers)
    group.set_desired(1)
    run(group, 3)
    group.set_desired(2)
    run(group, 3)
    assert len(group.alive) == 2
    assert group.doubts == set()


def test_capacity_that_comes_back_is_found_by_the_next_try() -> None:
    group = make_group(boot=0)
    group.capacity = 0
    group.set_desired(3)
    run(group, 9)
    group.capacity = None

    run(group, 3)
    assert group.members == []
    run(group, 1)
    assert len(group.members) == 3


def test_partial_capacity_is_taken_and_the_rest_tried_again() -> None:
    group = make_group()
    group.capacity = 2
    group.set_desired(5)

    run(group, 4)

    assert len(group.in_service) == 2
    assert group.desired == 5, "a failed launch does not lower what is desired"


def test_more_that_is_wanted_is_tried_at_once() -> None:
    group = make_group()
    group.capacity = 0
    group.set_desired(1)
    run(group, 9)
    group.set_desired(2)
    run(group, 1)
    assert _failed(group)[-1] == 10


def test_group_that_could_launch_nothing_for_a_day_is_suspended_with_a_reason() -> None:
    group = make_group()
    group.capacity = 0
    group.set_desired(1)

    run(group, DAY - 10)
    assert group.suspended == set()
    run(group, 20)
    assert group.suspended == {"Launch"}
    assert not group.suspension_reasons["Launch"].startswith("User suspended")
    group.capacity = None
    run(group, HOUR)
    assert group.members == [], "until somebody resumes it"
    group.suspended.clear()
    run(group, 10)
    assert len(group.in_service) == 1


def test_one_success_within_the_day_keeps_the_group_going() -> None:
    group = make_group()
    group.capacity = 0
    group.set_desired(2)
    run(group, DAY - HOUR)
    group.capacity = 1
    run(group, 2 * HOUR)
    assert group.suspended == set()


def test_launch_that_fails_is_told_with_its_message_and_tried_again() -> None:
    answers = iter(["You have requested more vCPU capacity than your current vCPU limit", None])
    group = make_group()
    group.launch_failure = lambda _instance: next(answers)
    group.set_desired(1)

    run(group, 5)

    assert [each.message for each in group.activities if each.status == "Failed"] == [
        "You have requested more vCPU capacity than your current vCPU limit"
    ]
    assert [each.launched // MINUTE for each in group.everyone] == [2]
    assert len(group.in_service) == 1


@pytest.mark.parametrize(
    ("base", "percentage", "on_demand"),
    [(0, 100, 8), (0, 0, 0), (2, 0, 2), (0, 25, 2), (0, 30, 3), (1, 50, 5), (10, 0, 8)],
)
def test_on_demand_base_comes_first_and_fractions_round_towards_on_demand(
    base: int, percentage: int, on_demand: int
) -> None:
    purchasing = Purchasing(types=("g6.xlarge",), on_demand_base=base, on_demand_percentage=percentage)
    group = started(8, purchasing=purchasing)
    assert sum(each.market == "on-demand" for each in group.in_service) == on_demand
    assert [each.market for each in group.in_service][:base] == ["on-demand"] * min(base, 8)


def test_lost_on_demand_instance_is_bought_on_demand_again() -> None:
    group = started(4, purchasing=Purchasing(types=("g6.xlarge",), on_demand_base=1, on_demand_percentage=0))
    (bought,) = [each for each in group.in_service if each.market == "on-demand"]
    group.lose(bought.id, "a crash")
    run(group, 1)
    assert group.everyone[-1].market == "on-demand"


def test_types_are_taken_in_their_order() -> None:
    group = make_group(purchasing=Purchasing(types=("g6.xlarge", "g5.xlarge")))
    group.set_desired(1)
    run(group, 1)
    group.unavailable.add("g6.xlarge")
    group.set_desired(2)
    run(group, 1)
    group.unavailable.add("g5.xlarge")
    group.set_desired(3)
    run(group, 1)

    assert [each.instance_type for each in group.members] == ["g6.xlarge", "g5.xlarge"]
    assert len(_failed(group)) == 1


def test_reclaimed_spot_instance_stops_billing_at_once_whatever_the_hook_and_is_replaced() -> None:
    hooks = [
        {
            "LifecycleHookName": "Drain",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
            "HeartbeatTimeout": 3600,
        }
    ]
    group = started(1, LifecycleHookSpecificationList=hooks, NewInstancesProtectedFromScaleIn=True)
    (lost,) = group.in_service
    at = group.now

    group.lose(lost.id, "reclaimed")
    run(group, 1)

    assert lost.paid_until == at
    assert lost.cause == "reclaimed"
    assert len(group.alive) == 1
    assert group.alive[0] is not lost


def test_work_on_a_reclaimed_instance_is_cut_off() -> None:
    group = started(2, busy=lambda each: float(each.id.endswith("1")))
    for instance in list(group.in_service):
        group.lose(instance.id, "reclaimed")
    assert [each.id[-1] for each in group.cut_off] == ["1"]


def test_ended_instances_are_kept_for_the_record_and_looked_at_no_more() -> None:
    def boot(_instance: Instance) -> Boot:
        return Boot(0.0, 0.0)

    group = make_group(boot=boot)
    for _ in range(50):
        group.set_desired(2)
        run(group, 2)
        group.set_desired(0)
        run(group, 3)
    assert len(group.everyone) == len(group.gone) == 100
    assert group.members == group.alive == []


def test_group_tells_its_instances_in_capacity_too_and_that_it_retains_none() -> None:
    """All that "Group metrics" of the guide lists; instances that all weigh one are as many units of capacity."""
    group = started(3, MetricsCollection=[{"Granularity": "1Minute"}], LifecycleHookSpecificationList=[hook("Drain")])
    group.set_desired(4)
    group.terminate(group.in_service[0].id, decrement=False)
    run(group, 1)
    metrics = group.metrics()
    states = {"InService": 2, "Pending": 2, "Standby": 0, "Terminating": 1, "TerminatingRetained": 0, "Total": 5}
    for state, count in states.items():
        assert metrics[f"Group{state}Instances"] == metrics[f"Group{state}Capacity"] == count
