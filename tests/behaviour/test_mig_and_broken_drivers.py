"""Field cases 24 and 66: no utilisation at all, from the first minute on, is never idleness."""

from __future__ import annotations

import pytest

from tests.behaviour.edits import scaled_in_by_capacity
from tests.behaviour.fleets import HOUR, MINUTE, fleet
from tests.behaviour.simulator.load import Load
from tests.behaviour.simulator.world import World
from tests.behaviour.test_case_06_driver_update_ends_gpu_metrics import gap_alarm

_MIG = Load(accelerators=(95.0,) * 4, mig=True, cpu=3.0, memory=20_000.0, working=True)
_NOTHING = Load(agent=False, working=True)


@pytest.mark.parametrize("load", [_MIG, _NOTHING], ids=["no utilisation", "no agent"])
def test_case_24_instance_without_utilisation_is_never_released(load: Load) -> None:
    world = World(fleet(), load=lambda _instance, _now: load)
    world.start(2)

    world.run(24 * HOUR)

    assert world.group.endings == []


def test_case_66_it_is_reported_within_15_minutes_of_the_warm_up() -> None:
    world = World(fleet(warm_up=10), load=lambda _instance, _now: _MIG)
    world.start(2)
    started = world.now // MINUTE

    world.run(2 * HOUR)

    (minute,) = world.went_to(gap_alarm(world), "ALARM")
    assert minute <= started + 10 + 15


def test_case_24_capacity_based_scale_in_on_silence_would_end_it() -> None:
    template = scaled_in_by_capacity(fleet(), missing="breaching")
    world = World(template, load=lambda _instance, _now: _MIG)
    world.start(2)

    world.run(24 * HOUR)

    assert len(world.killed_at_work) == 2
