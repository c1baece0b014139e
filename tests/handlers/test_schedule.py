"""The schedule function: pausing and opening again, by the clock and by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fleet_schedule.memory import Sizes
from fleet_schedule.run import ScheduleObstructed
from runtime.triggers import MalformedEvent
from tests.handlers.driving import GROUP, MANUAL, SCHEDULED, alarm_event
from tests.handlers.fake_aws import FakeAws
from tests.handlers.removed_guards import take_everybody_for_protected
from tests.handlers.scheduling import (
    DAY,
    EVENING,
    NEXT_DAY,
    NIGHT,
    PARAMETER,
    PAUSE,
    RESUME,
    Schedule,
    hours,
    wake_up,
    work,
)
from tests.handlers.test_wake_on_demand import Wake


def test_in_office_hours_nothing_is_changed_or_written(aws: FakeAws) -> None:
    work(aws, "i-1", low=1)
    assert Schedule(aws).run(at=DAY)["reason"] == "open"
    assert aws.operations() == ["DescribeAutoScalingGroups", "GetParameter"]


def test_outside_them_the_sizes_are_saved_and_set_to_0_in_one_call(aws: FakeAws) -> None:
    work(aws, "i-1", "i-2", low=1)
    schedule = Schedule(aws)
    told = schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=2)
    assert [call.parameters for call in aws.changes()] == [
        {"AutoScalingGroupName": GROUP, "MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0}
    ]
    assert told["reason"] == "outside the office hours: paused"
    assert told["paused"] is True


def test_case_03_members_at_work_survive_a_pause(aws: FakeAws) -> None:
    work(aws, "i-1", "i-2")
    Schedule(aws).run(at=EVENING)
    assert aws.terminated() == []


@pytest.mark.parametrize("protects_new", [True, False])
def test_case_03_nobody_is_paused_away_without_protection(aws: FakeAws, protects_new: bool) -> None:
    group = work(aws, "i-1", "i-2")
    group.members[0].protected = not protects_new
    group.protects_new = protects_new
    schedule = Schedule(aws)
    with pytest.raises(ScheduleObstructed, match="not protected from scale-in"):
        schedule.run(at=EVENING)
    assert schedule.sizes == (0, 8, 2)
    assert aws.terminated() == []
    (line,) = schedule.lines.documents("schedule decision")
    assert line["level"] == "ERROR"


def test_case_03_without_that_guard_a_member_at_work_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    take_everybody_for_protected(monkeypatch)
    group = work(aws, "i-1", "i-2")
    group.members[0].protected = False
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)
    assert aws.terminated() == ["i-1"]


def test_while_it_is_paused_nothing_is_changed_or_written(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    aws.calls.clear()
    assert schedule.tick()["reason"] == "outside the office hours, and paused"
    assert aws.operations() == ["DescribeAutoScalingGroups", "GetParameter"]


def test_in_office_hours_the_sizes_come_back_with_the_minimum_desired(aws: FakeAws) -> None:
    work(aws, "i-1", "i-2", "i-3", low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)
    told = schedule.run(at=NEXT_DAY)
    # What was desired was for yesterday's work.
    assert schedule.sizes == (1, 8, 1)
    assert told["paused"] is False
    assert schedule.memory.paused is False


def test_any_number_of_times(aws: FakeAws) -> None:
    work(aws, low=2, high=5)
    schedule = Schedule(aws)
    for day in range(7):
        schedule.run(at=EVENING + timedelta(days=day))
        assert schedule.sizes == (0, 0, 0)
        schedule.run(at=NIGHT + timedelta(days=day + 1, hours=3))
        assert schedule.sizes == ((0, 0, 0) if day in (4, 5) else (2, 5, 2)), f"day {day + 1}"


def test_an_exception_is_a_day_off(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, office=[hours(but=["2026-12-01"])])
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 0, 0)
    schedule.run(at=NEXT_DAY + timedelta(days=1))
    assert schedule.sizes == (1, 8, 1)


def test_several_office_hours_are_open_together(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, office=[hours("08:00", "12:00"), hours("13:00", "18:00", zone="Europe/Berlin")])
    opened = []
    for hour in range(24):
        schedule.run(at=NIGHT.replace(hour=0) + timedelta(hours=hour))
        opened += [hour] if schedule.sizes[1] else []
    assert opened == [8, 9, 10, 11, 12, 13, 14, 15, 16]


def test_without_office_hours_it_is_always_open(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, office=None)
    schedule.run(at=EVENING)
    assert schedule.sizes == (1, 8, 1)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_pause_by_hand_holds_over_office_hours_until_it_is_resumed(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, wake_ups=[wake_up("08:30", 3)])
    assert schedule.run(PAUSE, at=DAY)["reason"] == "paused by hand: paused"
    assert schedule.sizes == (0, 0, 0)
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY.replace(hour=8, minute=20))
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 0, 0)
    schedule.run(RESUME)
    assert schedule.sizes == (1, 8, 1)
    assert schedule.memory.open_until is None


def test_resumed_outside_office_hours_it_stays_open_until_they_end_next(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    schedule.run(RESUME, at=EVENING + timedelta(hours=1))
    assert schedule.sizes == (1, 8, 1)
    schedule.run(at=EVENING + timedelta(hours=6))
    assert schedule.sizes == (1, 8, 1)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)
    schedule.run(at=EVENING + timedelta(days=1))
    assert schedule.sizes == (0, 0, 0)


def test_the_last_word_counts(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(RESUME, at=EVENING)
    schedule.run(PAUSE)
    assert schedule.sizes == (0, 0, 0)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 0, 0)


@pytest.mark.parametrize("event", [PAUSE, RESUME])
def test_a_word_that_comes_twice_changes_nothing_more(aws: FakeAws, event: dict[str, Any]) -> None:
    work(aws, "i-1", low=1)
    schedule = Schedule(aws)
    schedule.run(PAUSE, at=DAY)
    schedule.run(event)
    sizes, memory = schedule.sizes, schedule.memory
    aws.calls.clear()
    schedule.run(event)
    assert (schedule.sizes, schedule.memory) == (sizes, memory)
    assert aws.changes() == []


def test_without_office_hours_it_can_be_paused_by_hand(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, office=None)
    schedule.run(PAUSE, at=DAY)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 0, 0)
    schedule.run(RESUME)
    assert schedule.sizes == (1, 8, 1)


def test_a_dry_run_tells_and_changes_nothing(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    told = schedule.run({**PAUSE, "dry_run": True}, at=DAY)
    assert told["set_to"] == {"min": 0, "max": 0, "desired": 0}
    assert aws.operations() == ["DescribeAutoScalingGroups", "GetParameter"]


def test_a_person_may_ask_for_a_run(aws: FakeAws) -> None:
    work(aws)
    Schedule(aws).run(MANUAL, at=EVENING)
    assert aws.autoscaling.groups[GROUP].max_size == 0


@pytest.mark.parametrize(
    "event", [None, {}, alarm_event(), {**MANUAL, "action": "stop"}, {**MANUAL, "action": 1}, {"action": "pause"}]
)
def test_an_event_that_is_not_ours_makes_no_call(aws: FakeAws, event: object) -> None:
    work(aws)
    with pytest.raises(MalformedEvent):
        Schedule(aws).run(event)
    assert aws.calls == []


def test_a_scheduled_event_cannot_pause(aws: FakeAws) -> None:
    work(aws)
    schedule = Schedule(aws)
    schedule.run({**SCHEDULED, "action": "pause"}, at=DAY)
    assert schedule.sizes == (0, 8, 0)


# --- wake-ups --------------------------------------------------------------------------------------------------------


def test_a_wake_up_raises_ahead_of_need(aws: FakeAws) -> None:
    work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3, ahead_minutes=20)])
    schedule.run(at=DAY.replace(hour=9, minute=39))
    assert schedule.sizes == (0, 8, 0)
    told = schedule.run(at=DAY.replace(hour=9, minute=40))
    assert schedule.sizes == (0, 8, 3)
    assert told["raised_to"] == 3
    assert aws.changes()[0].parameters == {
        "AutoScalingGroupName": GROUP,
        "DesiredCapacity": 3,
        "HonorCooldown": False,
    }


def test_a_wake_up_never_lowers(aws: FakeAws) -> None:
    work(aws, "i-1", "i-2", "i-3", "i-4")
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    schedule.run(at=DAY.replace(hour=9, minute=40))
    assert schedule.sizes == (0, 8, 4)
    assert aws.changes() == []


def test_a_wake_up_goes_no_higher_than_the_maximum(aws: FakeAws) -> None:
    work(aws, high=2)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    schedule.run(at=DAY.replace(hour=9, minute=40))
    assert schedule.sizes == (0, 2, 2)


def test_case_74_a_wake_up_asks_once(aws: FakeAws) -> None:
    group = work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3, ahead_minutes=60)])
    schedule.run(at=DAY.replace(hour=9, minute=0))
    # The release function finds nobody at work: raising it again would start a machine for each that it ends.
    group.desired = 0
    schedule.run_through(DAY)
    assert schedule.sizes == (0, 8, 0)
    assert len(aws.changes()) == 1
    schedule.run(at=NEXT_DAY.replace(hour=9, minute=0))
    assert schedule.sizes == (0, 8, 3)


def test_a_wake_up_that_was_missed_is_made_up_for_soon_after(aws: FakeAws) -> None:
    work(aws)
    late = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    late.run(at=DAY.replace(hour=10, minute=9))
    assert late.sizes == (0, 8, 3)


def test_a_wake_up_that_was_missed_for_long_is_over(aws: FakeAws) -> None:
    work(aws)
    late = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    late.run(at=DAY.replace(hour=10, minute=10))
    assert late.sizes == (0, 8, 0)


def test_a_wake_up_for_the_beginning_of_office_hours_opens_the_fleet(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, wake_ups=[wake_up("08:00", 3, ahead_minutes=20)])
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY.replace(hour=7, minute=39))
    assert schedule.sizes == (0, 0, 0)
    told = schedule.run(at=NEXT_DAY.replace(hour=7, minute=40))
    assert schedule.sizes == (1, 8, 3)
    assert told["reason"] == "open again, from 1 to 8, 3 desired, woken: 3 instances for 08:00 UTC"
    schedule.run_through(NEXT_DAY)
    assert len(aws.changes()) == 2, "one pause, one opening"


def test_a_wake_up_outside_office_hours_asks_for_nothing(aws: FakeAws) -> None:
    work(aws)
    schedule = Schedule(aws, office=[hours(but=["2026-12-01"])], wake_ups=[wake_up("08:30", 3), wake_up("20:00", 3)])
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY.replace(hour=8, minute=20))
    schedule.run(at=NEXT_DAY.replace(hour=19, minute=50))
    assert schedule.sizes == (0, 0, 0)


def test_two_wake_ups_at_once_ask_for_the_larger(aws: FakeAws) -> None:
    work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3), wake_up("10:00", 2), wake_up("10:10", 1)])
    schedule.run(at=DAY.replace(hour=9, minute=45))
    assert schedule.sizes == (0, 8, 3)
    schedule.tick()
    assert len(aws.changes()) == 1


def test_a_wake_up_with_launches_suspended_is_warned_about(aws: FakeAws) -> None:
    work(aws).suspended = ["Launch"]
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    schedule.run(at=DAY.replace(hour=9, minute=45))
    (line,) = schedule.lines.documents("schedule decision")
    assert (line["level"], line["launch_suspended"]) == ("WARN", True)


# --- beside others ---------------------------------------------------------------------------------------------------


def test_case_33_work_that_waits_cannot_raise_a_paused_fleet(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    aws.sqs.hold(visible=5)
    assert Wake(aws).run()["set_desired_to"] is None
    assert schedule.sizes == (0, 0, 0)
    schedule.run(at=NEXT_DAY)
    Wake(aws).run()
    schedule.tick()
    assert schedule.sizes == (1, 8, 5)


def test_case_33_who_went_higher_before_the_wake_up_is_not_lowered(aws: FakeAws) -> None:
    group = work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])

    def somebody_goes_higher(call: Any) -> None:
        if call.operation == "GetParameter":
            group.desired = 6

    aws.before.append(somebody_goes_higher)
    schedule.run(at=DAY.replace(hour=9, minute=45))
    assert schedule.sizes == (0, 8, 6)


@pytest.mark.parametrize("status", [None, "Delete in progress"])
@pytest.mark.parametrize("event", [SCHEDULED, PAUSE, RESUME])
def test_a_group_that_is_gone_or_going_is_left_alone(aws: FakeAws, status: str | None, event: object) -> None:
    if status:
        work(aws).status = status
    Schedule(aws).run(event, at=EVENING)
    assert aws.operations() == ["DescribeAutoScalingGroups"]


def test_case_04_a_group_that_is_cleared_for_its_deletion_is_not_opened_again(aws: FakeAws) -> None:
    group = work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY)
    # The clean-up closes the group for good, and takes the protection with it.
    group.min_size = group.max_size = group.desired = 0
    group.protects_new = False
    told = schedule.tick()
    assert told["reason"] == "the group is being cleared for its deletion"
    assert schedule.sizes == (0, 0, 0)


def test_a_paused_fleet_that_lost_its_protection_is_not_opened_and_says_so_once_it_is_due(aws: FakeAws) -> None:
    group = work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    # The clean-up, or a person who does not know what it is for.
    group.protects_new = False
    assert schedule.tick()["reason"] == "the group is being cleared for its deletion"
    with pytest.raises(ScheduleObstructed, match="new instances are not protected from scale-in"):
        schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 0, 0)
    group.protects_new = True
    schedule.tick()
    assert schedule.sizes == (1, 8, 1)


def test_a_maximum_of_0_that_somebody_else_set_stays(aws: FakeAws) -> None:
    work(aws, high=0)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    for moment in (DAY.replace(hour=9, minute=45), DAY, EVENING, NEXT_DAY):
        schedule.run(at=moment)
    assert aws.changes() == []
    assert schedule.aws.ssm.parameters[PARAMETER].version == 1
