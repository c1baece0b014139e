"""The machines of a group: each one's software, from its first minute in service to its end."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from constructs_lib.node.names import DRAIN_HOOK
from constructs_lib.rehearsal.cloud.group import Group, Instance
from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.machine.drain import DrainService
from constructs_lib.rehearsal.machine.instance import Image, Machine
from constructs_lib.rehearsal.machine.load import Load

_MINUTE = 60


class Evidence(NamedTuple):
    """What an instance's series should hold by a minute ago: the minute of the first sample, and of the last one that
    shows work.

    ``load`` is the one of a minute ago, and ``since`` the minute in which it began. ``busy_since`` is the first of the
    minutes in a row that show work up to then, None if the newest does not.
    """

    first: int
    last_busy: int | None
    busy_since: int | None
    load: Load
    since: int


@dataclass
class _Running:
    """A machine that publishes, under which load, and what it has published so far."""

    instance: Instance
    machine: Machine
    since: int
    load: Load
    load_since: int
    earlier: tuple[Load, int] | None = None
    """The load before, and since when it lasted."""
    last_busy: int | None = None
    busy_since: int | None = None


class Crew:
    """What runs on the instances of one group. ``load`` says what each of them is doing at a time."""

    def __init__(self, group: Group, store: MetricStore, image: Image, load: Callable[[Instance, int], Load]) -> None:
        self.image = image
        self._group = group
        self._store = store
        self._load = load
        self._machines: dict[str, Machine] = {}
        self._running: dict[str, _Running] = {}
        self._drains: dict[str, DrainService] = {}
        self._told: list[Instance] | None = None
        """Who was at work a minute ago, if those and nobody else publish."""

    def busyness(self, instance: Instance, now: int) -> float:
        """Return how much ending an instance would hurt, 0 for not at all."""
        load = self._load(instance, now)
        return load.busiest + load.cpu + 1 if load.busy else 0.0

    def drain(self, now: int) -> None:
        """Let the drain service of each instance that is to go do its part, if it lives."""
        for instance in self._group.draining:
            load = self._load(instance, now)
            waits = instance.waiting is not None and DRAIN_HOOK in instance.waiting.open
            if waits and load.drain_service and self.image.settings is not None:
                self._drains.setdefault(instance.id, DrainService(self.image.settings)).pass_minute(
                    now, load, partial(self._group.complete, instance.id, DRAIN_HOOK)
                )

    def publish(self, now: int, changed: Collection[str] | None = None) -> None:
        """Have the store told of what the software of each instance in service, or draining, says from now on.

        ``changed`` are the instances with another load than a minute ago, None if that is not known.
        """
        running, there = self._running, 0
        at_work = self._group.at_work
        if changed is not None and at_work == self._told:
            # In most minutes nobody has come or gone.
            for instance in at_work if changed else ():
                if instance.id in changed:
                    self._note(running[instance.id], now, self._load(instance, now))
            return
        for instance in at_work:
            known = running.get(instance.id)
            if known is None:
                machine = self._machine(instance)
                # The first sample comes a minute later.
                if instance.in_service_since == now:
                    continue
                load = self._load(instance, now)
                known = running[instance.id] = _Running(instance, machine, now, load, now)
                self._note(known, now, load)
            elif changed is None or instance.id in changed:
                self._note(known, now, self._load(instance, now))
            there += 1
        if there < len(running):
            self._end(set(running) - {instance.id for instance in at_work}, now)
        self._told = at_work if there == len(at_work) else None

    def _end(self, identities: Collection[str], now: int) -> None:
        for identity in sorted(identities):
            gone = self._running.pop(identity)
            gone.machine.end(self._store, now)
            if not gone.instance.runs:
                self._machines.pop(identity, None)
                self._drains.pop(identity, None)

    def evidence(self, instance: Instance, now: int) -> Evidence | None:
        """Return what the series of an instance should hold by a minute ago; None for one that has none."""
        running = self._running.get(instance.id)
        if running is None or running.since >= now:
            return None
        load, since = running.load, running.load_since
        if since >= now and running.earlier is not None:
            load, since = running.earlier
        if load.busiest > 0:
            return Evidence(running.since, now - _MINUTE, running.busy_since, load, since)
        return Evidence(running.since, running.last_busy, None, load, since)

    def _note(self, running: _Running, now: int, load: Load) -> None:
        if running.load.busiest > 0 and now > running.since:
            running.last_busy = now - _MINUTE
        if load.busiest > 0 and (running.load.busiest <= 0 or running.busy_since is None):
            running.busy_since = now
        if running.machine.note(self._store, now, load):
            running.earlier = running.load, running.load_since
            running.load, running.load_since = load, now

    def _machine(self, instance: Instance) -> Machine:
        if instance.id not in self._machines:
            identity = {"InstanceId": instance.id, "AutoScalingGroupName": self._group.name}
            self._machines[instance.id] = Machine(self.image, identity, instance.launched_at)
        return self._machines[instance.id]
