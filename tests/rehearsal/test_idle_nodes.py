"""What an owner of nodes does in one minute: launches what waits, ends what is idle, and never what is at work."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from constructs_lib.rehearsal.idle_nodes import IdleNodes
from constructs_lib.rehearsal.trace import Job
from constructs_lib.rehearsal.world import World

MINUTES = 60


@dataclass
class Nodes:
    """A fleet of up to four nodes with two accelerators each; ``in_use`` and ``idle_since`` are by name."""

    in_use: dict[str, float] = field(default_factory=dict)
    idle_since: dict[str, float] = field(default_factory=dict)
    starting: tuple[str, ...] = ()
    waiting: tuple[float, ...] = ()
    now: int = 100 * MINUTES
    desired: int = -1
    ended: list[str] = field(default_factory=list)

    def world(self) -> World:
        there = [SimpleNamespace(id=name) for name in self.in_use]
        self.desired = len(there) + len(self.starting)

        def terminate(name: str, *, decrement: bool) -> None:
            assert decrement
            self.ended.append(name)
            there.remove(SimpleNamespace(id=name))
            group.in_service, group.alive = list(there), there + coming
            self.desired -= 1
            group.desired = self.desired

        def set_desired(desired: int) -> None:
            self.desired = group.desired = desired

        coming = [SimpleNamespace(id=name) for name in self.starting]
        group: Any = SimpleNamespace(
            minimum=0,
            maximum=4,
            desired=self.desired,
            in_service=list(there),
            alive=there + coming,
            terminate=terminate,
            set_desired=set_desired,
        )
        work = SimpleNamespace(
            accelerators=2,
            jobs=[Job(0, 60, need) for need in self.waiting],
            queue=SimpleNamespace(visible=deque(range(len(self.waiting)))),
            in_use=lambda name: self.in_use.get(name, 0.0),
            idle_since=self.idle_since.get,
        )
        return cast(World, SimpleNamespace(group=group, staff=SimpleNamespace(work=work), now=self.now))


def after_a_minute(nodes: Nodes, idle_minutes: int = 10) -> Nodes:
    IdleNodes(idle_minutes).minute(nodes.world())
    return nodes


def test_nothing_waits_and_nothing_happens() -> None:
    assert after_a_minute(Nodes()).desired == 0


def test_three_jobs_of_one_accelerator_ask_for_two_nodes_of_two() -> None:
    assert after_a_minute(Nodes(waiting=(1, 1, 1))).desired == 2


def test_what_starts_already_is_not_asked_for_again() -> None:
    assert after_a_minute(Nodes(waiting=(1, 1, 1), starting=("a", "b"))).desired == 2


def test_room_beside_work_is_used_first() -> None:
    # One accelerator is free: the first job takes it as soon as it asks, the other two need a node.
    assert after_a_minute(Nodes(in_use={"a": 1}, waiting=(1, 1, 1))).desired == 2


def test_job_of_a_whole_node_does_not_fit_beside_another() -> None:
    assert after_a_minute(Nodes(in_use={"a": 1}, waiting=(2,))).desired == 2


def test_maximum_is_the_most_that_is_asked_for() -> None:
    assert after_a_minute(Nodes(waiting=(2,) * 100)).desired == 4


def test_node_ends_when_it_has_been_idle_for_the_time() -> None:
    ten, nine = 90 * MINUTES, 91 * MINUTES
    nodes = after_a_minute(Nodes(in_use={"a": 0, "b": 0, "c": 2}, idle_since={"a": ten, "b": nine}))

    assert (nodes.ended, nodes.desired) == (["a"], 2)


def test_node_that_was_busy_a_moment_ago_stays_for_five_minutes() -> None:
    nodes = Nodes(in_use={"a": 0}, idle_since={"a": 95.5 * MINUTES})

    assert after_a_minute(nodes, idle_minutes=5).ended == []
    nodes.now += MINUTES
    assert after_a_minute(nodes, idle_minutes=5).ended == ["a"]


def test_node_that_is_no_longer_needed_is_asked_for_no_longer() -> None:
    # Two were wanted, one came and did all the work.
    nodes = Nodes(in_use={"a": 2})
    world = nodes.world()
    world.group.desired = 2

    IdleNodes(10).minute(world)

    assert nodes.desired == 1
