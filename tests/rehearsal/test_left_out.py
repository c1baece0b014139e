"""What is left out would have changed nothing and told the same: worlds with and without it, minute by minute.

Here members do what no job makes them do: somebody is logged in, the CPU alone is busy, a mark is left lying.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.support.stacks import fleet_template

MINUTE = 60
HOURS = 6
MOST = 6
PASSES = ("Members", "InstancesReleased", "LaunchesStopped", "DrainsAbandoned")
IDLE = Load()
BUSY = Load(accelerators=(95.0,), cpu=30.0)
BY_CPU = Load(cpu=60.0)
BY_MARK = Load(busy_marks=1)
LOGGED_IN = Load(logins=1)
IN_SESSION = Load(session=True)
IN_SESSION_AT_WORK = Load(accelerators=(95.0,), session=True)
LATE = {"AcceleratedFleet": 120, "AWS/AutoScaling": 120, "AWS/SQS": 120, "AWS/Lambda": 120}
A_LITTLE = Load(accelerators=(2.0,))
LOADS = (BUSY, BUSY, IDLE, IDLE, IDLE, BY_CPU, BY_MARK, LOGGED_IN, IN_SESSION, IN_SESSION_AT_WORK, A_LITTLE)

Course = Callable[[Instance, int], Load]


@cache
def fleet(*, least: int, queue: bool, window: int = 15) -> dict[str, Any]:
    return fleet_template(
        instance_types=["g6.xlarge"],
        min_capacity=least,
        max_capacity=MOST,
        idle=IdlePolicy(window=Duration.minutes(window)),
        queue={"messages_per_instance": 1} if queue else None,
    )


class Given:
    """Instances whose loads are given, and a queue in which messages come and go as a seed has it."""

    def __init__(self, template: dict[str, Any], load: Course, seed: int) -> None:
        queues = [name for name, each in template["Resources"].items() if each["Type"] == "AWS::SQS::Queue"]
        self.queue = WorkQueue(min(queues, key=len, default="Jobs"))
        self._given = load
        self._dice = random.Random(f"messages {seed}")

    def load(self, instance: Instance, now: int, /) -> Load:
        return self._given(instance, now)

    def tick(self, now: int, in_service: Sequence[Instance], draining: Sequence[Instance]) -> None:
        if self._dice.random() < 0.1:
            self.queue.send(now, 0, self._dice.randint(1, 3))
        if self.queue.visible and in_service and self._dice.random() < 0.5:
            self.queue.visible.popleft()
            self.queue.in_flight += 1
        if self.queue.in_flight and self._dice.random() < 0.1:
            self.queue.in_flight -= 1


def random_loads(seed: int, lasting: Sequence[int] = (1, 2, 5, 20, 40)) -> Course:
    @cache
    def minutes(identity: str) -> list[Load]:
        dice = random.Random(f"{seed} {identity}")
        course: list[Load] = []
        while len(course) <= HOURS * 60:
            course += [dice.choice(LOADS)] * dice.choice(lasting)
        return course

    return lambda instance, now: minutes(instance.id)[now // MINUTE]


def play(template: dict[str, Any], load: Course, seed: int, *, leaves_out: bool, **conditions: Any) -> World:
    """Let a world pass in which the group is raised again and again."""
    workers = Given(template, load, seed)
    world = World(template, workers=workers, leaves_out=leaves_out, conditions=Conditions(**conditions))
    dice = random.Random(f"sizes {seed}")
    for minute in range(5, HOURS * 60, 45):
        wanted = dice.randint(1, MOST)
        world.at(minute, lambda wanted=wanted: world.group.set_desired(max(world.group.desired, wanted)))  # type: ignore[misc]
    return world.run(HOURS * 60)


def told(world: World) -> dict[Key, dict[int, tuple[float, float]]]:
    """Return by minute what the functions told, and how often."""
    minutes = range(0, world.now, MINUTE)
    figures = [key for key in figures_of(world) if world.store.knows(key)]
    return {
        key: {
            minute: (value, world.store.series(key, "SampleCount", MINUTE, [minute], world.now)[minute])
            for minute, value in world.store.series(key, "Maximum", MINUTE, minutes, world.now).items()
        }
        for key in figures
    }


def figures_of(world: World) -> list[Key]:
    """Return the series of what a pass counts, and of what Lambda counts."""
    group = frozenset({("AutoScalingGroupName", world.group.name)})
    passes = [name for name, _ in world.store.published("AcceleratedFleet") if name.startswith(PASSES)]
    return [
        *(("AcceleratedFleet", name, group) for name in sorted({*passes})),
        *(
            ("AWS/Lambda", metric, frozenset({("FunctionName", name)}))
            for name in world.functions
            for metric in ("Invocations", "Errors")
        ),
    ]


def assert_same(quick: World, thorough: World) -> None:
    assert quick.group.desired_history == thorough.group.desired_history
    assert quick.group.endings == thorough.group.endings
    assert quick.alarm_history == thorough.alarm_history
    assert told(quick) == told(thorough)
    assert quick.failures == thorough.failures == []


@pytest.mark.parametrize("queue", [False, True])
@pytest.mark.parametrize("least", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_out_would_have_changed_and_told_nothing_else(seed: int, least: int, queue: bool) -> None:
    template, load = fleet(least=least, queue=queue), random_loads(seed)
    quick, thorough = (play(template, load, seed, leaves_out=each) for each in (True, False))
    assert_same(quick, thorough)
    assert len(quick.outcomes) < 0.7 * len(thorough.outcomes)


@pytest.mark.parametrize("seed", range(2))
def test_it_is_so_where_metrics_come_late(seed: int) -> None:
    template, load = fleet(least=0, queue=True), random_loads(seed)
    quick, thorough = (play(template, load, seed, leaves_out=each, delays=LATE) for each in (True, False))
    assert_same(quick, thorough)


def test_who_seems_idle_while_nobody_could_go_is_not_taken_for_idle_ever_after() -> None:
    """At the minimum only the first signal is asked, which says nothing of somebody who is logged in."""

    def load(_instance: Instance, now: int) -> Load:
        return BUSY if now < 20 * MINUTE else LOGGED_IN

    def lose_one_and_raise(leaves_out: bool) -> World:
        world = World(fleet(least=2, queue=False), load=load, leaves_out=leaves_out)
        world.at(120, lambda: world.group.lose(world.group.in_service[0].id, "reclaimed"))
        world.at(180, lambda: world.group.set_desired(3))
        return world.run(240)

    quick, thorough = map(lose_one_and_raise, (True, False))
    assert_same(quick, thorough)
    assert quick.released == []


def test_two_runs_in_a_minute_are_counted_once_each() -> None:
    """By an alarm that went off, and by a schedule whose run before was counted as one that comes again and again."""
    world = World(fleet(least=0, queue=True))
    (function,) = (each for each in world.functions.values() if each.handler.startswith("release_idle"))
    (alarm,) = function.invokers & world.alarms.keys()
    world.run(9)
    world.lambdas.alarm_acts(alarm, function.id, world.now, world.now + MINUTE)
    world.run(3)
    invocations = ("AWS/Lambda", "Invocations", frozenset({("FunctionName", function.id)}))
    counted = world.store.series(invocations, "Sum", MINUTE, range(0, world.now, MINUTE), world.now + 10 * MINUTE)
    assert counted == {5 * MINUTE: 1, 10 * MINUTE: 2}
