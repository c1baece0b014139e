"""Jobs in continuous time: they arrive, wait in the queue, are taken by an instance with room, and finish.

First in, first out: who is at the head goes to any instance with room for it, and nobody overtakes it. Which instance
that is decides a seeded choice, since a queue hands its messages to whoever asks and packs nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial

from constructs_lib.rehearsal.agenda import Agenda
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.record import JobRecord, Slice

_PARTS = 2**20
_ROUNDING = 1e-9
"""Shares of accelerators are added up and taken away again; ten tenths are one."""


class Place:
    """One instance as work sees it. ``number`` is its index in the record, ``free`` what nobody uses of it."""

    __slots__ = ("accelerators", "free", "id", "idle_since", "number", "running", "takes", "turn")

    def __init__(self, identity: str, number: int, accelerators: int) -> None:
        self.id = identity
        self.number = number
        self.accelerators = accelerators
        self.free = float(accelerators)
        self.running: dict[int, JobRecord] = {}
        """By their numbers, the jobs that it has."""
        self.takes = False
        self.idle_since = 0.0
        """Since when, on the simulated clock, it has had nothing to do; of no meaning while it has."""
        self.turn = -1
        """Where it stands among those with room; -1 while it has none or takes nothing."""

    @property
    def in_use(self) -> float:
        """Return how many accelerators are in use."""
        return self.accelerators - self.free if self.running else 0.0


class Work:
    """All jobs of a run. ``changed`` are the places that have begun or ended something since somebody cleared it."""

    def __init__(
        self, agenda: Agenda, queue: WorkQueue, jobs: list[JobRecord], *, accelerators: int, seed: int = 0
    ) -> None:
        self.agenda = agenda
        self.queue = queue
        self.jobs = jobs
        self.slices: list[Slice] = []
        self.changed: dict[str, Place] = {}
        self.finished = 0
        self.accelerators = accelerators
        self._begin = agenda.now
        self._dice = random.Random(seed)
        self._places: dict[str, Place] = {}
        self._with_room: list[Place] = []
        self._arrived = 0
        agenda.enter(agenda.now, self._arrive)

    @property
    def is_done(self) -> bool:
        """Return whether every job has arrived and is finished."""
        return self.finished == len(self.jobs)

    @property
    def next_arrival(self) -> float | None:
        """Return when the next job arrives, on the simulated clock; None after the last one."""
        return None if self._arrived == len(self.jobs) else self._begin + self.jobs[self._arrived].arrival_s

    def in_use(self, identity: str) -> float:
        """Return how many accelerators of an instance are in use."""
        place = self._places.get(identity)
        return place.accelerators - place.free if place is not None and place.running else 0.0

    def idle_since(self, identity: str) -> float | None:
        """Return since when an instance that takes work has had none, on the simulated clock; None if it is not so."""
        place = self._places.get(identity)
        return place.idle_since if place is not None and place.takes and not place.running else None

    def open(self, identity: str, number: int) -> None:
        """Let an instance take work from now on."""
        place = self._places[identity] = Place(identity, number, self.accelerators)
        place.takes = True
        place.idle_since = self.agenda.now
        self._offer(place)
        self._hand_out()

    def close(self, identity: str) -> None:
        """Let an instance finish what it has, and take nothing new."""
        place = self._places.get(identity)
        if place is not None:
            place.takes = False
            self._withdraw(place)

    def remove(self, identity: str) -> int:
        """Take an instance away; return how many jobs that cut off. They go back to the front of the queue, in turn."""
        place = self._places.pop(identity, None)
        if place is None:
            return 0
        self._withdraw(place)
        self.changed.pop(identity, None)
        for number, job in reversed(place.running.items()):
            self._cut_off(place, number, job)
        self._hand_out()
        return len(place.running)

    def _cut_off(self, place: Place, number: int, job: JobRecord) -> None:
        now = self._seconds()
        assert job.started_s is not None, "what runs has begun"
        self.slices.append(Slice(job.started_s, now, place.number, job.accelerators))
        job.cuts += 1
        job.lost_s += now - job.started_s
        job.started_s = job.instance = None
        self.queue.visible.appendleft(number)
        self.queue.in_flight -= 1

    def _arrive(self) -> None:
        """Take in all that has arrived by now, and come again for the next."""
        now = self.agenda.now
        while (arrival := self.next_arrival) is not None and arrival <= now:
            self.queue.send(int(now), self._arrived)
            self._arrived += 1
            self._hand_out()
        if arrival is not None:
            self.agenda.enter(arrival, self._arrive)

    def _hand_out(self) -> None:
        visible = self.queue.visible
        while visible and self._with_room:
            need = self.jobs[visible[0]].accelerators
            enough = need - _ROUNDING
            room = [place for place in self._with_room if place.free >= enough]
            if not room:
                return
            self._start(room[0] if len(room) == 1 else self._dice.choice(room), visible.popleft())

    def _start(self, place: Place, number: int) -> None:
        job = self.jobs[number]
        job.started_s = self._seconds()
        if job.first_started_s is None:
            job.first_started_s = job.started_s
        job.instance = place.number
        self.queue.in_flight += 1
        place.free -= job.accelerators
        if place.free <= _ROUNDING:
            place.free = 0.0
            self._withdraw(place)
        place.running[number] = job
        self.agenda.enter(self.agenda.now + job.service_s, partial(self._finish, place, number, job.cuts))
        self.changed[place.id] = place

    def _finish(self, place: Place, number: int, cuts: int) -> None:
        job = self.jobs[number]
        if job.cuts > cuts:
            return  # this try was cut off before
        del place.running[number]
        job.ended_s = self._seconds()
        self.finished += 1
        self.queue.in_flight -= 1
        place.free = place.free + job.accelerators if place.running else float(place.accelerators)
        place.idle_since = self.agenda.now
        self.changed[place.id] = place
        if place.takes:
            self._offer(place)
            self._hand_out()

    def _offer(self, place: Place) -> None:
        if place.turn < 0 and place.free > _ROUNDING:
            place.turn = len(self._with_room)
            self._with_room.append(place)

    def _withdraw(self, place: Place) -> None:
        if place.turn >= 0:
            last = self._with_room.pop()
            if last is not place:
                self._with_room[place.turn] = last
                last.turn = place.turn
            place.turn = -1

    def _seconds(self) -> float:
        """Return the time since the start of the trace."""
        return self.agenda.now - self._begin


def exact(seconds: float) -> float:
    """Return a time to the nearest 2**-20 s, a microsecond about.

    Sums and differences of such times have no rounding error, whatever clock they are told on. Without that a job
    could start before it came, and parts would not add up to what was paid.
    """
    return round(seconds * _PARTS) / _PARTS


def as_records(jobs: Iterable[tuple[float, float, float]]) -> list[JobRecord]:
    """Return a record for each job of a trace, in its order; their times are exact."""
    return [JobRecord(exact(arrival), exact(service), accelerators) for arrival, service, accelerators in jobs]
