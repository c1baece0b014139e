"""Field case 59: a drain lets work finish, and ends when its time is up: not after 48 hours, and not at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import Drain
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import without_termination_hook
from tests.behaviour.fleets import BUSY, IDLE, MINUTE
from tests.support.stacks import fleet_template

_DEADLINE = 5
_BEGINS = 20


def _template(deadline: int = _DEADLINE) -> dict[str, Any]:
    return fleet_template(instance_types=["g5.12xlarge"], drain=Drain(deadline=Duration.minutes(deadline)))


def _works_until(minute: float, *, drain_service: bool = True) -> Callable[[Instance, int], Load]:
    busy = Load(accelerators=BUSY.accelerators, cpu=BUSY.cpu, drain_service=drain_service)
    idle = Load(accelerators=IDLE.accelerators, drain_service=drain_service)
    return lambda _instance, now: busy if now < minute * MINUTE else idle


def _end_one_at_work(world: World) -> Instance:
    (instance,) = world.start(1)
    world.run(_BEGINS - world.now // MINUTE)
    world.group.terminate(instance.id, decrement=True)
    return instance


def _left_after(world: World, instance: Instance) -> int:
    assert instance.ended is not None
    return instance.ended // MINUTE - _BEGINS


def test_case_59_work_that_was_there_finishes() -> None:
    world = World(_template(), load=_works_until(_BEGINS + 3))
    instance = _end_one_at_work(world)
    world.run(10)
    assert world.killed_at_work == []
    assert _left_after(world, instance) in (4, 5), "a minute after its work, not when the time is up"


def test_case_59_without_the_hook_it_is_cut_off() -> None:
    world = World(without_termination_hook(_template()), load=_works_until(_BEGINS + 3))
    instance = _end_one_at_work(world)
    world.run(10)
    assert [ending.id for ending in world.killed_at_work] == [instance.id]


@pytest.mark.parametrize("drain_service", [True, False], ids=["alive", "dead"])
def test_case_59_a_stuck_task_is_gone_when_the_time_is_up(drain_service: bool) -> None:
    world = World(_template(), load=_works_until(10_000, drain_service=drain_service))
    instance = _end_one_at_work(world)
    world.run(30)
    assert _left_after(world, instance) <= _DEADLINE + 1 + 2


def test_case_59_an_idle_instance_bills_no_longer_for_its_hook() -> None:
    world = World(_template(deadline=60), load=_works_until(0))
    instance = _end_one_at_work(world)
    world.run(5)
    assert _left_after(world, instance) <= 2


def test_case_59_the_release_function_answers_for_a_machine_that_is_gone() -> None:
    """A Spot interruption does not wait, but the hook would: its instance counts, and nobody can answer from it."""
    world = World(_template(deadline=60), load=_works_until(10_000))
    (instance,) = world.start(1)
    world.run(_BEGINS - world.now // MINUTE)
    world.group.lose(instance.id, "Spot interruption")
    world.run(10)
    assert _left_after(world, instance) <= 6
    assert len(world.group.in_service) == 1, "replaced once"
