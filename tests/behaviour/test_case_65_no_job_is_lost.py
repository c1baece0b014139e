"""Field case 65: bursts, then sparse jobs that any free instance may take: no job is ever cut off by a release."""

from __future__ import annotations

import random
from functools import cache, partial
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from tests.behaviour.fleets import HOUR
from tests.behaviour.simulator.work_queue import Workers, WorkQueue
from tests.behaviour.simulator.world import World
from tests.handlers.removed_guards import (
    count_every_busy_member_as_at_work,
    count_messages_by_capacity,
    see_everybody_at_work,
)
from tests.support.stacks import fleet_template

_WINDOW = 15
_LENGTH = 6 * HOUR
_SEEDS = range(3)


@cache
def _template(messages_per_instance: int) -> dict[str, Any]:
    return fleet_template(
        queue={"messages_per_instance": messages_per_instance},
        idle=IdlePolicy(window=Duration.minutes(_WINDOW)),
    )


def _bursts_then_sparse_jobs(messages_per_instance: int, seed: int) -> tuple[Workers, int]:
    """Run a burst that brings up several instances each three hours, and jobs of ten minutes now and then between."""
    template = _template(messages_per_instance)
    url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
    workers = Workers(WorkQueue(url), at_once=messages_per_instance, gpus=4, seed=seed)
    world = World(template, workers=workers)
    dice = random.Random(seed)
    sends = [(minute, 20, 4 * messages_per_instance) for minute in range(2, _LENGTH, 3 * HOUR)]
    minute = 30.0
    while minute < _LENGTH:
        sends.append((int(minute), 10, 1))
        minute += dice.expovariate(1 / 7)
    for minute, length, count in sends:
        world.at(minute, partial(_send, world, length, count))
    world.run(_LENGTH + 3 * HOUR)
    assert world.failures == []
    assert world.group.members == []
    assert {ending.cause for ending in world.group.endings} == {"released"}
    assert bool(world.killed_at_work) == bool(workers.lost)
    return workers, sum(count for _, _, count in sends)


def _send(world: World, minutes: int, count: int) -> None:
    world.queue.send(world.now, minutes, count)


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("messages_per_instance", [1, 4])
def test_case_65_every_job_is_finished_where_it_began(messages_per_instance: int, seed: int) -> None:
    workers, sent = _bursts_then_sparse_jobs(messages_per_instance, seed)

    assert workers.lost == 0
    assert workers.finished == sent


@pytest.mark.parametrize(
    ("messages_per_instance", "remove"),
    [
        (1, count_every_busy_member_as_at_work),
        (4, count_every_busy_member_as_at_work),
        (4, count_messages_by_capacity),
        (1, see_everybody_at_work),
        (4, see_everybody_at_work),
    ],
)
def test_case_65_without_each_guard_jobs_are_cut_off(
    messages_per_instance: int, remove: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove(monkeypatch)

    lost = sum(_bursts_then_sparse_jobs(messages_per_instance, seed)[0].lost for seed in _SEEDS)

    assert lost > 0
