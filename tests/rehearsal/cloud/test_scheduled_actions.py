"""Scheduled actions of a group ("Scheduled scaling for Amazon EC2 Auto Scaling")."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.cloud.scheduled_actions import RUNS_LATE, ScheduledActions, read_action
from tests.rehearsal.cloud.groups import MINUTE, make_group

_HOUR = 3_600


def _actions(group: Group, *properties: dict[str, Any], begin: int = 0, late: int = 0) -> ScheduledActions:
    actions = [read_action(f"Action{number}", each) for number, each in enumerate(properties)]
    return ScheduledActions(actions, group, begin=begin, late=late)


def _play(group: Group, actions: ScheduledActions, *, hours: float, begin: int = 0) -> list[tuple[float, int]]:
    """Let hours pass; return the hours at which the desired capacity changed, and to what."""
    changes, before = [], group.desired
    for now in range(begin + MINUTE, begin + int(hours * _HOUR) + 1, MINUTE):
        actions.tick(now)
        if group.desired != before:
            changes.append((now / _HOUR, group.desired))
            before = group.desired
    return changes


def test_recurring_action_sets_the_size_each_time_and_not_between() -> None:
    group = make_group()
    actions = _actions(
        group,
        {"Recurrence": "0 8 * * *", "DesiredCapacity": "4"},
        {"Recurrence": "0 20 * * *", "DesiredCapacity": "0"},
    )
    assert _play(group, actions, hours=48) == [(8, 4), (20, 0), (32, 4), (44, 0)]


def test_time_zone_is_that_of_the_recurrence_alone() -> None:
    group = make_group()
    actions = _actions(
        group,
        {
            "Recurrence": "0 8 * * *",
            "TimeZone": "America/New_York",
            "DesiredCapacity": 2,
            "StartTime": "2026-01-01T05:00:00Z",
        },
    )
    assert actions.next_due == 5 * _HOUR, "the first time is the start, in UTC"
    actions.tick(5 * _HOUR)
    assert actions.next_due == 13 * _HOUR


def test_how_late_it_runs_is_in_doubt_where_it_changes_something() -> None:
    group = make_group()
    actions = _actions(group, {"Recurrence": "0 8 * * *", "DesiredCapacity": 3})
    _play(group, actions, hours=7)
    assert group.doubts == set()

    _play(group, actions, hours=2, begin=7 * _HOUR)
    assert group.doubts == {RUNS_LATE}


def test_action_that_changes_nothing_leaves_no_doubt() -> None:
    group = make_group()
    _play(group, _actions(group, {"Recurrence": "0 8 * * *", "DesiredCapacity": group.desired}), hours=24)
    assert group.doubts == set()


def test_action_with_a_start_and_no_recurrence_runs_once() -> None:
    group = make_group()
    actions = _actions(group, {"StartTime": "2026-01-01T02:00:00Z", "DesiredCapacity": 3})
    assert _play(group, actions, hours=24) == [(2, 3)]
    assert actions.next_due == float("inf")


def test_recurring_action_ends() -> None:
    group = make_group()
    actions = _actions(
        group, {"Recurrence": "0 * * * *", "EndTime": "2026-01-01T02:30:00Z", "DesiredCapacity": 1, "MinSize": 1}
    )
    actions.tick(2 * _HOUR)
    assert actions.next_due == float("inf")


def test_action_that_was_due_before_the_beginning_has_run() -> None:
    group = make_group()
    actions = _actions(group, {"StartTime": "2026-01-01T02:00:00Z", "DesiredCapacity": 3}, begin=5 * _HOUR)
    actions.tick(5 * _HOUR + MINUTE)
    assert group.desired == 3


def test_new_deploy_does_not_repeat_what_has_run() -> None:
    group = make_group()
    properties = {"StartTime": "2026-01-01T02:00:00Z", "DesiredCapacity": 3}
    actions = _actions(group, properties)
    actions.tick(3 * _HOUR)
    group.set_desired(0)
    actions.read([read_action("Action0", properties)], 3 * _HOUR)
    actions.tick(4 * _HOUR)
    assert group.desired == 0


def test_sizes_change_together_and_desired_stays_within_them() -> None:
    group = make_group(maximum=10)
    group.set_desired(8)
    actions = _actions(group, {"Recurrence": "0 1 * * *", "MinSize": "0", "MaxSize": "4"})
    _play(group, actions, hours=2)
    assert (group.minimum, group.maximum, group.desired) == (0, 4, 4)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"MinSize": 2, "MaxSize": 0, "DesiredCapacity": 2}, "MaxSize must be at least MinSize, which is 2"),
        ({"MinSize": 2, "DesiredCapacity": 0}, "DesiredCapacity must be at least MinSize, which is 2"),
        ({"MaxSize": 4, "DesiredCapacity": 5}, "DesiredCapacity must be at most MaxSize, which is 4"),
    ],
)
def test_action_whose_sizes_exclude_each_other_is_refused_as_by_auto_scaling(sizes: dict[str, int], said: str) -> None:
    """buildkite/terraform-buildkite-elastic-ci-stack-for-aws#139: a ValidationError when the action is put."""
    with pytest.raises(ArgumentError, match=f"Nightly: {said}"):
        read_action("Nightly", {"Recurrence": "0 1 * * *", **sizes})


def test_action_may_be_up_to_two_minutes_late() -> None:
    group = make_group()
    actions = _actions(group, {"Recurrence": "0 8 * * *", "DesiredCapacity": 4}, late=120)
    assert _play(group, actions, hours=10) == [(8 + 2 / 60, 4)]


def test_missed_runs_of_a_suspended_process_are_not_made_up() -> None:
    group = make_group()
    actions = _actions(group, {"Recurrence": "0 8 * * *", "DesiredCapacity": 4})
    group.suspended.add("ScheduledActions")
    _play(group, actions, hours=9)
    group.suspended.clear()
    assert _play(group, actions, hours=24, begin=9 * _HOUR) == [(32, 4)]
