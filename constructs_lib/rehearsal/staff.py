"""Brings the group's instances and the work together: who takes jobs from when on, and what the cloud does to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

from constructs_lib.rehearsal.agenda import Agenda
from constructs_lib.rehearsal.cloud.group import Boot, Group, Instance
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.cold_start import Start
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.record import InstanceRecord
from constructs_lib.rehearsal.work import Work, exact

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cold_start import ColdStart

_NOTICE = 120
"""Seconds between the notice of a Spot interruption and its end ("Spot Instance interruption notices")."""
_HOUR = 3_600
_FAILED_LAUNCH = "The launch failed in this scenario (Server.InternalError)"


class Launches:
    """How long each launch takes, and which of them fail: drawn from a seed, each from dice of its own."""

    def __init__(self, cold_start: ColdStart, *, failures: float, seed: int) -> None:
        self._cold = cold_start
        self._warm: dict[str, ColdStart] = {}
        self._failures = failures
        self._starts = random.Random(f"starts {seed}")
        self._failing = random.Random(f"failures {seed}")
        self._drawn: dict[str, Start] = {}
        self.pool_state = "Stopped"

    def boot(self, instance: Instance) -> Boot:
        """Return how long the launch of an instance takes, and remember when it is ready."""
        start = Start(*map(exact, self._of(instance).sample(self._starts)))
        self._drawn[instance.id] = start
        return Boot(start.capacity_wait_s, start.boot_s, start.ready_s)

    def fails(self, _instance: Instance) -> str | None:
        """Return why a launch fails, None if it does not."""
        return _FAILED_LAUNCH if self._failing.random() < self._failures else None

    def ready_s(self, instance: Instance) -> float:
        """Return the seconds from an instance's launch until it can take work."""
        return self._drawn[instance.id].ready_s

    def _of(self, instance: Instance) -> ColdStart:
        if not instance.is_warm:
            return self._cold
        if self.pool_state not in self._warm:
            self._warm[self.pool_state] = self._cold.from_pool(self.pool_state)
        return self._warm[self.pool_state]


class Staff:
    """The instances of one run. ``drains`` is whether one that will be taken away stops taking work at the notice."""

    def __init__(
        self,
        agenda: Agenda,
        group: Group,
        work: Work,
        *,
        ready_s: Callable[[Instance], float],
        accelerators: int,
        reclaims_per_hour: float,
        drains: bool,
        seed: int,
    ) -> None:
        self.records: list[InstanceRecord] = []
        self._agenda = agenda
        self._begin = agenda.now
        self._group = group
        self._work = work
        self._ready_s = ready_s
        self._reclaims_per_hour = reclaims_per_hour
        self._drains = drains
        self._dice = random.Random(f"reclaims {seed}")
        self._seen = 0
        self._settled_at = -1
        """How often something had happened to the group when note was last taken of it."""
        self._told: set[str] = set()
        """Who has heard that it will be taken away, and takes nothing new."""
        self._present: dict[str, tuple[Instance, InstanceRecord]] = {}
        self._stays: list[tuple[Instance, InstanceRecord]] = []
        """What is in the warm pool and bills there."""
        self._seen_stays = 0
        self._loads = [
            Load(
                accelerators=tuple(95.0 if index < used else 0.0 for index in range(accelerators)),
                cpu=30.0 if used else 1.0,
                working=used > 0,
            )
            for used in range(accelerators + 1)
        ]

    @property
    def queue(self) -> WorkQueue:
        """The queue that its jobs wait in."""
        return self._work.queue

    def go_on(self, until: int) -> None:
        """Let everything happen that is due until a second, that second with it."""
        self._agenda.go_on(until)

    def changed(self) -> frozenset[str]:
        """Return the instances that have begun or ended something since this was asked before."""
        changed = frozenset(self._work.changed)
        self._work.changed.clear()
        return changed

    @property
    def work(self) -> Work:
        """Return the jobs, and who has which."""
        return self._work

    def load(self, instance: Instance, _now: int) -> Load:
        """Return what the software on an instance sees of its work now."""
        used = self._work.in_use(instance.id)
        return self._loads[min(self._work.accelerators, ceil(used))] if used else self._loads[0]

    def settle(self) -> None:
        """Take note of what has become of the group: who is new, who takes nothing new any more, who is gone."""
        if self._group.stirred == self._settled_at and self._group.pool is None:
            return
        self._settled_at = self._group.stirred
        everyone = self._group.everyone
        while self._seen < len(everyone):
            self._launched(everyone[self._seen])
            self._seen += 1
        self._settle_pool()
        # Nearly everybody is in service, and has been.
        others = [
            each for each in self._present.values() if each[0].state != "InService" or each[1].in_service_s is None
        ]
        for instance, record in others:
            if instance.state != "InService":
                if not instance.counts:
                    self._leaves(instance, record)
            elif instance.in_service_at is not None:
                record.in_service_s = instance.in_service_at - self._begin

    def _settle_pool(self) -> None:
        """Take note of the warm pool: each stay in it is paid from its launch until it is switched off or taken out."""
        stays = [] if self._group.pool is None else self._group.pool.stays
        for instance in stays[self._seen_stays :]:
            launched = instance.launched_at - self._begin
            record = InstanceRecord(instance.id, instance.instance_type, instance.market, launched, cause="prepared")
            self.records.append(record)
            self._stays.append((instance, record))
        self._seen_stays = len(stays)
        for instance, record in self._stays:
            if instance.ended is not None:
                record.ended_s = max(instance.ended - self._begin, record.launched_s)
        self._stays = [(instance, record) for instance, record in self._stays if record.ended_s is None]

    def _launched(self, instance: Instance) -> None:
        launched = instance.launched_at
        number = len(self.records)
        record = InstanceRecord(instance.id, instance.instance_type, instance.market, launched - self._begin)
        self.records.append(record)
        self._present[instance.id] = instance, record
        self._agenda.enter(launched + self._ready_s(instance), lambda: self._ready(instance, record, number))
        if self._reclaims_per_hour and (instance.market == "spot" or not self._group.purchasing.uses_spot):
            end = launched + exact(self._dice.expovariate(self._reclaims_per_hour / _HOUR))
            self._agenda.enter(end - _NOTICE, lambda: self._noticed(instance))
            self._agenda.enter(end, lambda: self._reclaimed(instance, record))

    def _ready(self, instance: Instance, record: InstanceRecord, number: int) -> None:
        if instance.counts and instance.runs and instance.id not in self._told:
            record.ready_s = self._agenda.now - self._begin
            self._work.open(instance.id, number)

    def _noticed(self, instance: Instance) -> None:
        if instance.counts and instance.runs:
            self._group.warn(instance.id)
            if self._drains:
                self._told.add(instance.id)
                self._work.close(instance.id)

    def _reclaimed(self, instance: Instance, record: InstanceRecord) -> None:
        if not instance.runs or instance.ended is not None:
            return
        now = self._agenda.now - self._begin
        self._group.lose(instance.id, "reclaimed")
        self._work.remove(instance.id)
        if record.drain_from_s is None:
            record.drain_from_s, record.cause = now, "reclaimed"
        self._gone(instance, record, now)

    def _leaves(self, instance: Instance, record: InstanceRecord) -> None:
        if record.drain_from_s is None and instance.drain_from is not None:
            record.drain_from_s, record.cause = instance.drain_from - self._begin, instance.cause
            self._work.close(instance.id)
        if not instance.runs:
            self._work.remove(instance.id)
        if instance.paid_until is not None:
            self._gone(instance, record, instance.paid_until - self._begin)

    def _gone(self, instance: Instance, record: InstanceRecord, at: float) -> None:
        """Close the record. Who was given up before EC2 had it was never paid."""
        del self._present[instance.id]
        record.ended_s = max(at, record.launched_s)
        for name in ("drain_from_s", "in_service_s", "ready_s"):
            reached = getattr(record, name)
            if reached is not None:
                setattr(record, name, min(max(reached, record.launched_s), record.ended_s))
