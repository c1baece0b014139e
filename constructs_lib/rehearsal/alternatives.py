"""The usual ways to run the same work on the same instances, each played through the same simulation as the fleet.

Trace, cold starts, seed and what the cloud does are those of the fleet's own run, and each takes its instance type,
its largest size and its queue from the fleet's template, so that they can be compared. What they stand for is the idea
of a kind of tool with its usual setting; none of them imitates a product in its details. Jobs go to any instance with
room, as they do in the fleet: a scheduler that packs them on few nodes would leave more nodes idle for long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from constructs_lib.rehearsal.idle_nodes import IdleNodes
from constructs_lib.rehearsal.plain_templates import at_once, group_idle_alarm, plain_group, target_tracking
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.rooms import nobody_waits
from constructs_lib.rehearsal.simulate import Controller, Scenario, simulate
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.world import Conditions


class Fleet(NamedTuple):
    """What an alternative takes from the fleet that it is compared with."""

    template: Mapping[str, Any]
    logical_id: str
    accelerators: int
    """Of one instance."""
    maximum: int


class Plan(NamedTuple):
    """A template to simulate, and who acts on its group besides."""

    template: Mapping[str, Any]
    controller: Controller | None = None


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One of the usual ways. ``says`` is a sentence about what it does."""

    name: str
    title: str
    says: str
    plan: Callable[[Fleet, Trace], Plan]

    def run(
        self,
        template: Mapping[str, Any],
        trace: Trace,
        *,
        like: Record,
        scenario: Scenario,
        seed: int = 0,
        conditions: Conditions | None = None,
        said: Callable[[float], None] | None = None,
    ) -> Record:
        """Play a trace through it.

        Args:
            template: the fleet's.
            trace: that the fleet was given.
            like: the record of the fleet's own run.
            scenario: of that run.
            seed: of that run. Default: 0.
            conditions: how AWS behaves where its documentation leaves it open. Default: as it usually does.
            said: is told of the progress, 0 to 1. Default: nobody is.
        """
        fleet = Fleet(template, like.fleet, like.accelerators, like.maximum)
        plan = self.plan(fleet, trace)
        return simulate(
            plan.template,
            trace,
            fleet=like.fleet,
            scenario=scenario,
            seed=seed,
            controller=plan.controller,
            conditions=conditions,
            said=said,
        )


def _always_on(fleet: Fleet, trace: Trace) -> Plan:
    """Plan as many instances as the trace needs at its busiest, at most the fleet's maximum, all the time."""
    nodes = nobody_waits(trace.jobs, fleet.accelerators, max(1, fleet.maximum)).nodes
    return Plan(plain_group(fleet.template, fleet.logical_id, minimum=min(nodes, fleet.maximum), protected=True))


def _target_tracking(fleet: Fleet, trace: Trace) -> Plan:
    """Plan a backlog for each instance of as many jobs as it works on at a time: they wait for one round of work."""
    return Plan(target_tracking(fleet.template, fleet.logical_id, backlog=_at_once(fleet, trace)))


def _group_idle_alarm(fleet: Fleet, trace: Trace) -> Plan:
    return Plan(group_idle_alarm(fleet.template, fleet.logical_id, at_once=_at_once(fleet, trace)))


def _idle_nodes(minutes: int) -> Callable[[Fleet, Trace], Plan]:
    def plan(fleet: Fleet, _trace: Trace) -> Plan:
        return Plan(plain_group(fleet.template, fleet.logical_id, protected=True), IdleNodes(minutes))

    return plan


def _at_once(fleet: Fleet, trace: Trace) -> int:
    """Return how many jobs an instance works on at a time: as its template tells, else as many average ones as fit."""
    told = at_once(fleet.template, fleet.logical_id)
    if told is not None or not trace.jobs:
        return told or 1
    average = sum(job.accelerators for job in trace.jobs) / len(trace.jobs)
    return max(1, int(fleet.accelerators / average))


ALTERNATIVES: tuple[Alternative, ...] = (
    Alternative(
        name="always_on",
        title="always on at the peak",
        says="as many instances as the busiest moment needs, from the beginning to the end",
        plan=_always_on,
    ),
    Alternative(
        name="target_tracking",
        title="target tracking on the backlog",
        says="a plain group of at least one instance with a target of waiting messages for each; the group picks who "
        "ends",
        plan=_target_tracking,
    ),
    Alternative(
        name="group_idle_alarm",
        title="idle alarm of the group",
        says="a plain group that steps out with the queue and ends all instances when their average CPU use has been "
        "below 5 % for 15 minutes, whoever is at work",
        plan=_group_idle_alarm,
    ),
    Alternative(
        name="idle_10_min",
        title="10 minutes idle per node",
        says="launches at once what the queue needs and ends a node without work for 10 minutes, as cluster managers "
        "usually do",
        plan=_idle_nodes(10),
    ),
    Alternative(
        name="idle_5_min",
        title="5 minutes idle per node",
        says="launches at once what the queue needs and ends a node without work for 5 minutes, as auto-stop tools "
        "usually do",
        plan=_idle_nodes(5),
    ),
)
"""Cluster managers: AWS ParallelCluster and AWS Parallel Computing Service end a node that has been idle for 10 minutes
unless told otherwise. Auto-stop tools: SkyPilot's autostop takes 5 minutes by default. (Documentation, 2026-11.)"""


def alternative(name: str) -> Alternative:
    """Return an alternative by its name. Raises KeyError."""
    return {each.name: each for each in ALTERNATIVES}[name]
