"""Field case 6: a driver update silently ends GPU metrics while the instances work on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.edits import scaled_in_by_capacity, with_signals
from tests.behaviour.fleets import BUSY, HOUR, MINUTE, SILENT_AT_WORK, fleet

_SILENT_FROM = 1 * HOUR
_WINDOW = 30


def _silent_after_an_hour(_instance: Instance, now: int) -> Load:
    return BUSY if now < _SILENT_FROM * MINUTE else SILENT_AT_WORK


def gap_alarm(world: World) -> Alarm:
    """Return the alarm that compares capacity with accelerator samples."""

    def counts_samples(alarm: Alarm) -> bool:
        stats = [query["MetricStat"] for query in alarm.queries if "MetricStat" in query]
        return any("utilization" in s["Metric"]["MetricName"] and s["Stat"] == "SampleCount" for s in stats)

    (found,) = (alarm for alarm in world.alarms.values() if counts_samples(alarm))
    return found


@pytest.mark.parametrize("extra", [0, 1, 2, 5])
@pytest.mark.parametrize("fill_empty", [True, False])
def test_case_06_silence_ends_nobody_and_is_reported_within_15_minutes(extra: int, fill_empty: bool) -> None:
    delays = {"AWS/AutoScaling": 60} if extra == 0 else None
    conditions = Conditions(extra_periods=extra, fill_empty=fill_empty, delays=delays)
    world = World(fleet(), load=_silent_after_an_hour, conditions=conditions)
    world.start(2)

    world.run(7 * HOUR)

    assert world.group.endings == []
    alarm = gap_alarm(world)
    minutes = world.went_to(alarm, "ALARM")
    assert len(minutes) == 1
    assert _SILENT_FROM < minutes[0] <= _SILENT_FROM + 15
    assert (minutes[0] * MINUTE, alarm.name) in {(at, name) for at, name, _ in world.notifications}


def test_case_06_gap_alarm_is_quiet_while_the_accelerators_report_and_at_zero() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.run(30)
    world.start(2)
    world.run(1 * HOUR)

    assert world.went_to(gap_alarm(world), "ALARM") == []


def test_case_06_an_unknown_member_is_reported_when_the_rest_of_the_group_speaks() -> None:
    """The group's alarm counts samples of the whole group; one silent member among four-GPU ones hides in it.

    That member counts as busy while its last busy sample is in the window, then as unknown.
    """

    def load(instance: Instance, now: int) -> Load:
        return _silent_after_an_hour(instance, now) if instance.id.endswith("1") else BUSY

    world = World(fleet(), load=load)
    world.start(3)

    world.run(3 * HOUR)

    assert world.group.endings == []
    reported = [at // MINUTE for at, _, _ in world.notifications]
    assert reported
    assert _SILENT_FROM < reported[0] <= _SILENT_FROM + _WINDOW + 20


def test_case_06_a_release_that_does_not_ask_the_accelerators_would_end_both() -> None:
    world = World(with_signals(fleet(), "cpu"), load=_silent_after_an_hour)
    world.start(2)

    world.run(7 * HOUR)

    assert len(world.killed_at_work) == 2


def test_case_06_counting_silence_as_idle_would_end_both() -> None:
    world = World(scaled_in_by_capacity(fleet(), missing="breaching"), load=_silent_after_an_hour)
    world.start(2)

    world.run(7 * HOUR)

    assert len(world.killed_at_work) == 2


def test_case_06_utilisation_in_the_other_branch_of_the_expression_would_read_silence_as_zero() -> None:
    world = World(fleet(), load=_silent_after_an_hour)
    alarm = world.template.alarm_invoking(world.template.function("release_idle"))
    swapped = tuple(
        {**query, "Expression": "IF(in_service >= 1, busiest, 100)"} if "Expression" in query else query
        for query in alarm.queries
    )
    world.alarms["swapped"] = replace(alarm, name="swapped", queries=swapped, actions=dict.fromkeys(alarm.actions, ()))
    world.states["swapped"] = "OK"
    world.start(2)

    world.run(3 * HOUR)

    assert world.went_to(alarm, "ALARM") == []
    assert world.went_to(world.alarms["swapped"], "ALARM") != []
