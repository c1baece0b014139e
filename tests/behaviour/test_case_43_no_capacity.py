"""Field case 43: the cloud gives one instance of four; nothing may lower the one that works, and somebody is told."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR, MINUTE, fleet
from tests.behaviour.workers import Workers, workers_of
from tests.support.stacks import fleet_template

_WINDOW = 15


def _shortfall_alarm(world: World) -> Alarm:
    def watches(alarm: Alarm, metric: str) -> bool:
        return any(q.get("MetricStat", {}).get("Metric", {}).get("MetricName") == metric for q in alarm.queries)

    (alarm,) = (a for a in world.alarms.values() if watches(a, "GroupDesiredCapacity"))
    return alarm


def test_case_43_the_one_that_works_stays_and_the_shortfall_is_reported() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.group.capacity = 1
    world.run(30)

    world.start(4)
    world.run(2 * HOUR)

    assert world.group.endings == []
    assert len(world.group.in_service) == 1
    assert world.group.desired == 4
    alarm = _shortfall_alarm(world)
    (minute,) = world.went_to(alarm, "ALARM")
    assert 30 + 15 <= minute <= 30 + 20
    assert (minute * MINUTE, alarm.name) in {(at, name) for at, name, _ in world.notifications}


def test_case_43_an_ordinary_start_is_no_shortfall() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.run(30)

    world.start(4)
    world.run(2 * HOUR)

    assert world.went_to(_shortfall_alarm(world), "ALARM") == []


@pytest.fixture(scope="module")
def with_queue() -> dict[str, Any]:
    return fleet_template(
        queue={"messages_per_instance": 1}, max_capacity=40, idle=IdlePolicy(window=Duration.minutes(_WINDOW))
    )


def _world(template: dict[str, Any]) -> World:
    url = World(template).template.function("wake_on_demand").environment["QUEUE_URL"]
    return World(template, workers=Workers(WorkQueue(url), accelerators=4))


def _after_the_last_job(template: dict[str, Any], capacity: int, jobs: int) -> World:
    """Let the cloud give fewer instances than the jobs ask for until all are done; then it has plenty again."""
    world = _world(template)
    world.group.capacity = capacity
    world.at(5, lambda: world.queue.send(world.now, 5, jobs))
    while world.workers is not None and workers_of(world).finished < jobs:
        world.run(1)
    world.group.capacity = None
    return world


@pytest.mark.parametrize(("capacity", "jobs"), [(1, 8), (2, 40)])
def test_case_43_what_was_never_filled_is_taken_back_with_the_work(
    with_queue: dict[str, Any], capacity: int, jobs: int
) -> None:
    world = _after_the_last_job(with_queue, capacity, jobs)
    launched = len(world.group.everyone)

    world.run(_WINDOW + 10)

    assert world.group.desired == 0
    assert world.group.members == []
    assert len(world.group.everyone) == launched == capacity
    assert world.killed_at_work == []
    assert world.failures == []


def _never_filled(template: dict[str, Any]) -> World:
    """Ask for eight instances that no work needs, give none, and have plenty again a little later."""
    world = _world(template)
    world.group.capacity = 0
    world.group.set_desired(8)
    world.run(10)
    world.group.capacity = None
    return world.run(1 * HOUR)


def test_case_43_an_empty_group_gives_back_what_it_never_got(with_queue: dict[str, Any]) -> None:
    world = _never_filled(with_queue)

    assert (world.group.desired, world.group.everyone, world.failures) == (0, [], [])


def test_case_43_without_it_instances_that_nobody_needs_are_launched(
    with_queue: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("release_idle.acting.filled_capacity", lambda *numbers: None)

    world = _never_filled(with_queue)

    assert len(world.group.everyone) == 8
