"""Field case 11: boot, driver install and data staging must not count as idle."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import scaled_in_by_capacity, with_setting
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet

_DAY = 24 * HOUR
_STAGING = Load(accelerators=(0.0, 0.0, 0.0, 0.0), cpu=2.0, working=True)


def _stages_for_20_minutes(instance: Instance, now: int) -> Load:
    return _STAGING if now - instance.launched < 20 * MINUTE else BUSY


@pytest.mark.parametrize(("window", "warm_up"), [(30, 25), (25, 25)])
def test_case_11a_instance_survives_a_set_up_shorter_than_the_warm_up(window: int, warm_up: int) -> None:
    world = World(fleet(window=window, warm_up=warm_up), load=_stages_for_20_minutes)
    world.run(_DAY)

    world.start(1)
    world.run(2 * HOUR)

    assert world.group.endings == []


def test_case_11a_without_warm_up_and_with_a_short_window_it_would_be_released() -> None:
    hasty = with_setting(fleet(window=5, warm_up=5), "release_idle", WARM_UP_SECONDS="0")
    world = World(hasty, load=_stages_for_20_minutes)

    world.start(1)
    world.run(HOUR)

    assert [ending.busy for ending in world.released] == [True]


def _comes_back_after_a_night(template: dict[str, Any]) -> World:
    """Idle until the group is at zero, a night at zero, then one new instance that stages data for 20 minutes."""
    morning = 12 * HOUR

    def load(instance: Instance, now: int) -> Load:
        return _stages_for_20_minutes(instance, now) if instance.launched >= morning * MINUTE else IDLE

    world = World(template, load=load)
    world.start(1)
    world.run(morning - world.now // MINUTE)
    if template is not fleet():
        world.group.set_desired(0)
        world.run(1)
    world.start(1)
    return world.run(2 * HOUR)


def test_case_11b_alarm_state_of_the_night_does_not_take_the_new_instance() -> None:
    world = _comes_back_after_a_night(fleet())

    assert len(world.group.in_service) == 1
    assert world.killed_at_work == []
    assert len(world.released) == 1


@pytest.mark.parametrize("missing", ["ignore", "breaching"])
def test_case_11c_policy_on_the_raw_metric_would_take_it(missing: str) -> None:
    """The simulator itself: an alarm that stays in ALARM at zero acts again every minute."""
    world = _comes_back_after_a_night(scaled_in_by_capacity(fleet(), missing=missing, guarded=False))

    assert world.killed_at_work != []


def test_case_11c_the_same_policy_would_spare_it_if_silence_counted_as_busy() -> None:
    world = _comes_back_after_a_night(scaled_in_by_capacity(fleet(), missing="notBreaching", guarded=False))

    assert world.killed_at_work == []


def test_case_11d_only_the_old_idle_one_goes() -> None:
    world = World(fleet(warm_up=25), load=lambda _i, _now: IDLE)
    (old,) = world.start(1)
    world.run(20)

    _, booting = world.start(2)
    world.run(20)

    assert [ending.id for ending in world.released] == [old.id]
    assert booting in world.group.in_service
