"""Waking from zero: exactly what the backlog needs, in time, never lowering while work runs (field cases 58, 74)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import without_schedule
from tests.behaviour.fleets import HOUR, MINUTE, UTILIZATION_ALONE
from tests.behaviour.workers import Workers, workers_of
from tests.support.stacks import fleet_template

_WINDOW = 15


@pytest.fixture(scope="module", params=[1, 4])
def messages_per_instance(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def template(messages_per_instance: int) -> dict[str, Any]:
    return fleet_template(
        queue={"messages_per_instance": messages_per_instance},
        telemetry=UTILIZATION_ALONE,
        idle=IdlePolicy(window=Duration.minutes(_WINDOW)),
    )


@pytest.fixture
def fresh(template: dict[str, Any], messages_per_instance: int) -> Callable[..., World]:
    def make(body: dict[str, Any] | None = None) -> World:
        url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
        workers = Workers(WorkQueue(url), at_once=messages_per_instance, accelerators=4)
        return World(body or template, workers=workers)

    return make


def _send(world: World, count: int, minutes: int = 10) -> None:
    world.queue.send(world.now, minutes, count)


def test_case_58_one_job_starts_exactly_one_instance(fresh: Callable[..., World]) -> None:
    world = fresh()
    world.run(10)

    _send(world, 1, minutes=20)
    world.run(30)

    assert len(world.group.everyone) == 1
    assert world.workers is not None
    assert workers_of(world).finished == 1


@pytest.mark.parametrize("jobs", [1, 4, 5, 8, 9, 31, 100])
def test_backlog_starts_exactly_what_it_needs_within_the_maximum(
    fresh: Callable[..., World], messages_per_instance: int, jobs: int
) -> None:
    world = fresh()
    world.run(10)

    _send(world, jobs, minutes=120)
    world.run(30)

    needed = min(8, -(-jobs // messages_per_instance))
    assert world.group.desired == needed
    assert len(world.group.everyone) == needed


def test_job_on_a_queue_that_slept_all_night_leads_to_a_decision_within_two_minutes(
    fresh: Callable[..., World],
) -> None:
    world = fresh()
    world.run(12 * HOUR)
    assert world.group.everyone == []

    _send(world, 1)
    world.run(2)

    assert world.group.desired == 1


def test_a_metric_of_the_sleeping_queue_would_come_15_minutes_late(fresh: Callable[..., World]) -> None:
    world = fresh(without_schedule(fresh().template.body, "wake_on_demand"))
    dimensions = frozenset({("QueueName", f"{world.queue.name}.QueueName")})
    series = ("AWS/SQS", "ApproximateNumberOfMessagesVisible", dimensions)
    world.run(12 * HOUR)

    _send(world, 1)
    sent = world.now
    seen = None
    while seen is None:
        world.run(1)
        points = world.store.series(series, "Maximum", MINUTE, range(sent, world.now, MINUTE), world.now)
        seen = world.now if points else None

    assert (seen - sent) // MINUTE >= 15


def test_capacity_is_not_lowered_while_work_runs_and_no_job_is_lost(
    fresh: Callable[..., World], messages_per_instance: int
) -> None:
    world = fresh()
    _send(world, 3 * messages_per_instance, minutes=90)
    world.run(30)
    _send(world, messages_per_instance, minutes=10)
    world.run(60)

    lowered = [b for (_, a), (_, b) in pairwise(world.group.desired_history) if b < a]
    assert all(level >= 3 for level in lowered)

    world.run(4 * HOUR)
    assert world.workers is not None
    assert workers_of(world).finished == 4 * messages_per_instance
    assert workers_of(world).lost == 0
    assert world.killed_at_work == []


def test_fleet_is_at_zero_soon_after_the_last_work(fresh: Callable[..., World], messages_per_instance: int) -> None:
    world = fresh()
    _send(world, 2 * messages_per_instance, minutes=60)
    while world.workers is not None and workers_of(world).finished < 2 * messages_per_instance:
        world.run(1)
    last_work = world.now

    world.run(_WINDOW + 10)

    assert world.group.desired == 0
    assert world.group.members == []
    assert all(ending.at - last_work <= (_WINDOW + 8) * MINUTE for ending in world.released)


def test_steady_trickle_keeps_one_instance_and_does_not_flap(fresh: Callable[..., World]) -> None:
    world = fresh()
    for minute in range(5, 8 * HOUR, 8):
        world.at(minute, lambda: _send(world, 1, minutes=6))

    world.run(8 * HOUR)

    assert len(world.group.everyone) <= 2
    assert world.workers is not None
    assert workers_of(world).lost == 0


@pytest.mark.parametrize("members", [1, 2, 3])
def test_case_65_job_taken_by_an_idle_instance_in_the_last_minute_is_not_lost(
    fresh: Callable[..., World], members: int
) -> None:
    """Whoever took the message still looks idle; the queue says that somebody did, not who."""
    lost = {}
    for minute in range(_WINDOW, 2 * _WINDOW):
        world = fresh()
        world.start(members)
        world.at(minute, partial(_send_one, world))
        world.run(4 * _WINDOW)
        assert world.workers is not None
        lost[minute] = workers_of(world).lost

    assert {minute: count for minute, count in lost.items() if count} == {}


def _send_one(world: World) -> None:
    _send(world, 1, minutes=30)
