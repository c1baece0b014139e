"""Field case 74: scale-out and scale-in must not fight."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import HOUR, fleet

_VALUES = [None, 0.0, 1.0, 4.9, 5.0, 5.1, 100.0]


@pytest.mark.parametrize("capacity", [0, 1, 8])
@pytest.mark.parametrize("value", _VALUES)
def test_case_74_idle_alarm_only_speaks_of_instances_known_to_be_idle(value: float | None, capacity: int) -> None:
    gpus = None if value is None else (value,) * 4
    world = World(fleet(window=15), load=lambda _i, _now: Load(accelerators=gpus, cpu=1.0))
    world.start(capacity)

    world.run(2 * HOUR)

    alarm = world.template.alarm_invoking(world.template.function("release_idle"))
    expected = capacity > 0 and value is not None and value < 5
    assert bool(world.went_to(alarm, "ALARM")) is expected
    assert (world.released != []) is expected
    assert world.states[alarm.name] == "OK"


def test_case_74_no_alarm_raises_capacity_and_demand_is_another_trigger() -> None:
    template = Template(fleet())

    assert template.resources("AWS::AutoScaling::ScalingPolicy") == {}
    assert all("set_desired" not in function.handler for function in template.functions().values())


@pytest.mark.parametrize("seed", range(2))
def test_case_74_noise_around_the_threshold_changes_capacity_at_most_once_an_instance(seed: int) -> None:
    noise = random.Random(seed)

    def load(_instance: Instance, _now: int) -> Load:
        return Load(accelerators=[max(0.0, noise.gauss(5.0, 1.0)) for _ in range(4)], cpu=1.0, working=False)

    world = World(fleet(), load=load)
    world.start(2)
    before = len(world.group.desired_history)

    world.run(24 * HOUR)

    changes = world.group.desired_history[before:]
    assert all(later < earlier for (_, earlier), (_, later) in pairwise(changes))
    assert len(changes) <= 2
