"""Field case 12: the alarm is delivered three minutes late, and meanwhile work has arrived."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from release_idle.decision import State, Verdict
from tests.behaviour.edits import without_schedule
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet

_LATE = Conditions(alarm_delivery_seconds=3 * MINUTE)


class _BusyFromTheAlarmOn:
    """Idle, until work arrives in the minute in which the alarm goes off."""

    def __init__(self) -> None:
        self.world: World | None = None

    def __call__(self, instance: Instance, now: int) -> Load:
        assert self.world is not None
        function = self.world.template.function("release_idle")
        alarmed = self.world.went_to(self.world.template.alarm_invoking(function), "ALARM")
        return BUSY if alarmed and now > alarmed[0] * MINUTE else IDLE


def _only_the_late_alarm() -> World:
    load = _BusyFromTheAlarmOn()
    load.world = World(without_schedule(fleet(), "release_idle"), load=load, conditions=_LATE)
    load.world.start(2)
    return load.world


def test_case_12_late_alarm_ends_nobody_who_works_by_then() -> None:
    world = _only_the_late_alarm()

    world.run(2 * HOUR)

    assert len(world.outcomes) == 1
    assert world.failures == []
    assert world.group.endings == []


def test_case_12_late_alarm_releases_what_is_still_idle() -> None:
    world = World(without_schedule(fleet(), "release_idle"), load=lambda _i, _now: IDLE, conditions=_LATE)
    world.start(2)

    world.run(2 * HOUR)

    assert len(world.outcomes) == 1
    assert len(world.released) == 2


def test_case_12_handler_that_trusts_the_message_would_end_both() -> None:
    def trusting(*_: Any, **__: Any) -> Verdict:
        return Verdict(state=State.IDLE, reason="the alarm says so", idle_seconds=1_800)

    world = _only_the_late_alarm()
    with patch("release_idle.decision.judge", trusting):
        world.run(2 * HOUR)

    assert len(world.killed_at_work) == 2
