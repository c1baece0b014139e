"""Field case 61: one long job must not keep nine idle nodes up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import scaled_in_by_capacity
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, ONE_GPU_BUSY, fleet

_WINDOW = 30
_FINISH = 1 * HOUR
_STRAGGLER = 6 * HOUR


def _straggler(at_work: Load, which: int) -> Callable[[Instance, int], Load]:
    def load(instance: Instance, now: int) -> Load:
        if now < _FINISH * MINUTE:
            return BUSY
        works_on = int(instance.id.removeprefix("i-"), 16) == which
        return at_work if works_on and now < (_FINISH + _STRAGGLER) * MINUTE else IDLE

    return load


@pytest.mark.parametrize("which", [1, 10], ids=["oldest", "newest"])
def test_case_61_nine_go_the_straggler_stays_and_idle_hours_are_bounded(which: int) -> None:
    """The straggler uses one of its four GPUs: that node is busy."""
    world = World(fleet(window=_WINDOW, max_capacity=10), load=_straggler(ONE_GPU_BUSY, which))
    world.start(10)
    world.run(_FINISH - world.now // MINUTE)
    paid_until_then = world.billed_hours()

    world.run(_STRAGGLER)

    idle_hours = world.billed_hours() - paid_until_then - _STRAGGLER / 60
    assert idle_hours <= 9 * (_WINDOW + 10) / 60
    assert [int(i.id.removeprefix("i-"), 16) for i in world.group.in_service] == [which]
    assert world.killed_at_work == []

    world.run(_WINDOW + 10)

    assert world.group.members == []


def test_case_61_average_would_call_forty_gpus_idle_while_one_trains() -> None:
    """1 of 40 GPUs at 95 % is 2.4 % on average, below the threshold of 5 %."""
    template = fleet(window=_WINDOW, max_capacity=10)
    load = _straggler(ONE_GPU_BUSY, 10)
    world = World(scaled_in_by_capacity(template, statistic="Average"), load=load)
    world.start(10)

    world.run(_FINISH + 2 * _WINDOW)

    assert [int(e.id.removeprefix("i-"), 16) for e in world.killed_at_work] == [10]


def test_case_61_maximum_at_group_level_spares_it_but_keeps_all_ten() -> None:
    template = fleet(window=_WINDOW, max_capacity=10)
    load = _straggler(ONE_GPU_BUSY, 10)
    world = World(scaled_in_by_capacity(template, statistic="Maximum"), load=load)
    world.start(10)

    world.run(_FINISH + _STRAGGLER - world.now // MINUTE)

    assert world.group.endings == []
    assert len(world.group.in_service) == 10
