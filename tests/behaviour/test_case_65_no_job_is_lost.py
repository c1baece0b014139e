"""Field case 65: bursts, then sparse jobs that any free instance may take: a release cuts none of them off.

One thing stays out of any reader's sight: a job that an idle instance takes within the minutes in which another one
ends. The queue then counts as many messages as before, and the metrics of both instances still show the time before.
The jobs here are sent apart from each other's ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import Drain, IdlePolicy
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import HOUR, MINUTE, UTILIZATION_ALONE
from tests.behaviour.workers import Workers, workers_of
from tests.handlers.removed_guards import count_every_busy_member_as_at_work, see_everybody_at_work
from tests.support.stacks import fleet_template

_WINDOW = 15
_LENGTH = 6 * HOUR
_UNSEEN = 3 * MINUTE
"""How long metrics may show the time before: their delay and the two newest points."""


@cache
def _template(messages_per_instance: int) -> dict[str, Any]:
    return fleet_template(
        queue={"messages_per_instance": messages_per_instance},
        telemetry=UTILIZATION_ALONE,
        idle=IdlePolicy(window=Duration.minutes(_WINDOW)),
        # Shorter than the jobs, which a longer one would save from a wrong release.
        drain=Drain(deadline=Duration.minutes(5)),
    )


def _bursts_then_sparse_jobs(messages_per_instance: int, seed: int) -> World:
    """Run a burst that brings up several instances each two hours, and jobs of ten minutes now and then between."""
    template = _template(messages_per_instance)
    url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
    world = World(template, workers=Workers(WorkQueue(url), at_once=messages_per_instance, accelerators=4, seed=seed))
    dice = random.Random(seed)
    for minute in range(2, _LENGTH, 2 * HOUR):
        world.at(minute, partial(_send, world, 20, 4 * messages_per_instance))
    sparse = 30.0
    while sparse < _LENGTH:
        world.at(sparse, partial(_send, world, 10, 1))
        sparse += dice.expovariate(1 / 7)
    world.run(_LENGTH + 4 * HOUR)
    assert world.failures == []
    assert world.group.members == []
    assert {ending.cause for ending in world.group.endings} == {"released"}
    return world


def _send(world: World, minutes: int, count: int) -> None:
    workers = workers_of(world)
    ends = workers.finished_at + workers.due_at
    if any(abs(end - world.now) <= _UNSEEN for end in ends):
        world.at(world.now / MINUTE + 1, partial(_send, world, minutes, count))
    else:
        world.queue.send(world.now, minutes, count)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("messages_per_instance", [1, 4])
def test_case_65_every_job_is_finished_where_it_began(messages_per_instance: int, seed: int) -> None:
    world = _bursts_then_sparse_jobs(messages_per_instance, seed)

    assert workers_of(world).lost == 0
    assert world.killed_at_work == []


@pytest.mark.parametrize("messages_per_instance", [1, 4])
@pytest.mark.parametrize("remove", [count_every_busy_member_as_at_work, see_everybody_at_work])
def test_case_65_without_either_guard_jobs_are_cut_off(
    messages_per_instance: int, remove: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    remove(monkeypatch)

    worlds = [_bursts_then_sparse_jobs(messages_per_instance, seed) for seed in range(2)]

    assert all(world.killed_at_work for world in worlds)
