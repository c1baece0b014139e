"""Field case 8: with gaps CloudWatch looks at older points; the idle alarm must stay on the safe side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet

_SILENT = Load(agent=False, working=True)
_RANGES = [0, 1, 2, 5]
_WINDOWS = [7, 30]


def idle_alarm(world: World) -> Alarm:
    """Return the alarm that invokes the release handler."""
    return world.template.alarm_invoking(world.template.function("release_idle"))


def _world(window: int, extra: int, load: Callable[[Instance, int], Load]) -> World:
    return World(fleet(window=window, warm_up=5), load=load, conditions=Conditions(extra_periods=extra))


@pytest.mark.parametrize("extra", _RANGES)
@pytest.mark.parametrize("window", _WINDOWS)
def test_case_08a_one_idle_sample_then_silence_is_no_idleness(window: int, extra: int) -> None:
    first_sample = 4 * MINUTE
    world = _world(window, extra, lambda _i, now: IDLE if now <= first_sample else _SILENT)
    world.start(1)

    world.run(2 * window + 10)

    assert world.went_to(idle_alarm(world), "ALARM") == []
    assert world.group.endings == []


@pytest.mark.parametrize("missing", ["missing", "breaching"])
def test_case_08a_would_alarm_under_other_settings(missing: str) -> None:
    window = 30
    world = _world(window, 2, lambda _i, now: IDLE if now <= 4 * MINUTE else _SILENT)
    alarm = idle_alarm(world)
    world.alarms[alarm.name] = alarm.treating_missing_as(missing)
    world.start(1)

    world.run(3 * window)

    assert "ALARM" in {state for _, name, state in world.alarm_history if name == alarm.name}


def _idle_then_restart(idle_from: int, idle_minutes: int) -> Callable[[Instance, int], Load]:
    """Return a load: work, some idle minutes, ten silent minutes in which work has begun again, work."""
    silent_from = idle_from + idle_minutes

    def load(_instance: Instance, now: int) -> Load:
        if idle_from * MINUTE <= now < silent_from * MINUTE:
            return IDLE
        return _SILENT if silent_from * MINUTE <= now < (silent_from + 10) * MINUTE else BUSY

    return load


@pytest.mark.parametrize("extra", _RANGES)
@pytest.mark.parametrize("window", _WINDOWS)
def test_case_08b_agent_restart_one_period_before_the_window_is_full(window: int, extra: int) -> None:
    period = 1 if window < 15 else 5
    world = _world(window, extra, _idle_then_restart(HOUR, window - period))
    assert idle_alarm(world).period == period * MINUTE
    world.start(1)

    world.run(HOUR + 4 * window)

    assert world.went_to(idle_alarm(world), "ALARM") == []
    assert world.group.endings == []


@pytest.mark.parametrize("idle_from", range(HOUR, HOUR + 5))
@pytest.mark.parametrize("window", [5, 7, 30])
def test_case_08b_one_idle_minute_short_of_the_window_releases_nobody_at_any_phase(window: int, idle_from: int) -> None:
    """The silence in the newest minutes is the moment in which work begins: it must not be counted as idle."""
    world = _world(window, 2, _idle_then_restart(idle_from, window - 1))
    world.start(1)

    world.run(HOUR + 4 * window)

    assert world.group.endings == []


@pytest.mark.parametrize("extra", _RANGES)
@pytest.mark.parametrize("window", _WINDOWS)
def test_case_08c_idle_points_of_a_fleet_that_is_gone_do_not_reach_a_new_instance(window: int, extra: int) -> None:
    world = _world(window, extra, lambda _i, now: IDLE if now < 2 * HOUR * MINUTE else BUSY)
    world.start(1)
    world.run(2 * HOUR)
    assert world.group.members == []
    at_zero = len(world.went_to(idle_alarm(world), "ALARM"))
    world.run(3 * HOUR)

    world.start(1)
    world.run(2 * window)

    assert len(world.went_to(idle_alarm(world), "ALARM")) == at_zero
    assert len(world.group.in_service) == 1
    assert world.killed_at_work == []


@pytest.mark.parametrize("extra", _RANGES)
@pytest.mark.parametrize("window", _WINDOWS)
def test_case_08d_truly_idle_instance_alarms_within_window_plus_five(window: int, extra: int) -> None:
    idle_from = HOUR
    prompt = {"AWS/AutoScaling": 60} if extra == 0 else None
    conditions = Conditions(extra_periods=extra, delays=prompt)
    load = lambda _i, now: BUSY if now < idle_from * MINUTE else IDLE  # noqa: E731
    world = World(fleet(window=window, warm_up=5), load=load, conditions=conditions)
    world.start(1)

    world.run(idle_from + window + 15)

    minutes = world.went_to(idle_alarm(world), "ALARM")
    assert len(minutes) == 1
    assert idle_from + window <= minutes[0] <= idle_from + window + 5


@pytest.mark.parametrize("extra", _RANGES)
def test_case_08d_release_does_not_depend_on_the_alarm(extra: int) -> None:
    """With a range no longer than N and late group metrics the alarm never has N points: the schedule releases."""
    world = _world(30, extra, lambda _i, now: BUSY if now < HOUR * MINUTE else IDLE)
    world.start(1)

    world.run(HOUR + 60)

    assert [HOUR + 30 < e.at // MINUTE <= HOUR + 40 for e in world.released] == [True]
