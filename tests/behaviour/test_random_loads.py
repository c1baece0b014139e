"""Random work, silence and broken drivers under random conditions: what may never happen, whatever happens."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from constructs_lib.rehearsal.cloud.group import Ending, Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.fleets import BUSY, IDLE, MINUTE, SILENT_AT_WORK, fleet

_MINUTES = 300
_AGENT_DOWN = Load(agent=False, working=True)
_UNSEEN = 3
"""Minutes of work that nobody can know of: the sample is on its way."""


def _conditions(dice: random.Random) -> Conditions:
    return Conditions(
        extra_periods=dice.choice([0, 1, 2, 5]),
        boot_seconds=dice.choice([60, 120, 300]),
        delays=dice.choice([None, {"AWS/AutoScaling": 60}, {"AcceleratedFleet": 120, "AWS/AutoScaling": 120}]),
        deliveries=dice.choice([1, 2]),
        alarm_delivery_seconds=dice.choice([0, 60, 180]),
        fill_empty=dice.choice([True, False]),
    )


def _random_load(seed: int, window: int) -> Callable[[Instance, int], Load]:
    @cache
    def minutes(instance_id: str) -> list[Load]:
        dice = random.Random(f"{seed} {instance_id}")
        course: list[Load] = []
        while len(course) < 2 * _MINUTES:
            course += [dice.choice([BUSY, IDLE, IDLE, _AGENT_DOWN, SILENT_AT_WORK])] * dice.randint(1, window + 10)
        return course

    return lambda instance, now: minutes(instance.id)[now // MINUTE]


@pytest.mark.parametrize("window", [5, 7, 15, 30])
@pytest.mark.parametrize("seed", range(4))
def test_instance_is_released_only_when_it_was_seen_idle_for_the_window(window: int, seed: int) -> None:
    load = _random_load(seed, window)
    world = World(fleet(window=window, warm_up=5), load=load, conditions=_conditions(random.Random(seed)))
    world.start(4)
    for minute in range(30, _MINUTES, 60):
        world.at(minute, lambda: world.group.set_desired(max(world.group.desired, 3)))
    world.run(_MINUTES)

    def seen_idle(ending: Ending) -> int:
        """Return the minutes with an idle sample in the window that ended when work could last go unseen."""
        instance = next(each for each in world.group.everyone if each.id == ending.id)
        minutes = range(ending.at - (window + _UNSEEN + 1) * MINUTE, ending.at + 1, MINUTE)
        return sum(load(instance, minute) is IDLE for minute in minutes)

    assert {ending.cause for ending in world.group.endings} <= {"released"}
    assert [(ending.id, ending.at) for ending in world.released if seen_idle(ending) < window] == []
    assert world.failures == []
