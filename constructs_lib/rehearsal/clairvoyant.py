"""A run as a clairvoyant would have had it: the same work on the fewest paid hours, as a record like that of the run.

Two of them stand beside each run. One starts each job when it started in the run, so that it serves as well, and pays
what :mod:`constructs_lib.rehearsal.optimum` proves to be the least. In the other nobody waits for a launch: each job
starts on arrival, unless the maximum of the fleet is at work already.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from constructs_lib.rehearsal.optimum import Optimum, billionths, optimum
from constructs_lib.rehearsal.record import InstanceRecord, JobRecord, Market, Record
from constructs_lib.rehearsal.rooms import Rooms, nobody_waits
from constructs_lib.rehearsal.trace import Job


class Span(NamedTuple):
    """Work that runs: from when until when, in seconds, with how many accelerators."""

    begin_s: float
    end_s: float
    accelerators: float


def spans_of(record: Record) -> list[Span]:
    """Return when the work of a run was done. Tries that were cut off are not in it: the optimum loses no work."""
    return [
        Span(job.started_s, record.end_s if job.ended_s is None else job.ended_s, job.accelerators)
        for job in record.jobs
        if job.started_s is not None
    ]


def shortest_start_s(record: Record) -> float:
    """Return the shortest time from a launch until work could begin, in seconds; 0 if no instance came that far."""
    return min((each.ready_s - each.launched_s for each in record.instances if each.ready_s is not None), default=0.0)


def optimum_of(record: Record) -> Optimum:
    """Return the optimum for the work of a run, when it was done and with the shortest start of the run."""
    return optimum(spans_of(record), record.accelerators, shortest_start_s(record))


def best_run(record: Record) -> Record:
    """Return the run at its optimum: each job starts when it did, in its last try, and none is cut off."""
    jobs = [
        JobRecord(
            job.arrival_s,
            job.service_s,
            job.accelerators,
            started_s=job.started_s,
            ended_s=job.ended_s,
            first_started_s=job.started_s,
        )
        for job in record.jobs
    ]
    return _on_its_nodes(replace(record, jobs=jobs), optimum_of(record))


def best_run_without_waiting(record: Record) -> Record:
    """Return the run at the optimum in which no job waits for a launch, at most the maximum of nodes at a time.

    The maximum is the largest size that the run's fleet has had or asked for, and one node at least.
    """
    works = [Job(job.arrival_s, job.service_s, job.accelerators) for job in record.jobs]
    most = max([1, record.maximum, *(desired for _, desired in record.desired)])
    starts = nobody_waits(works, record.accelerators, most).starts_s
    jobs = [
        JobRecord(*work, started_s=at, ended_s=at + work.service_s, first_started_s=at)
        for at, work in zip(starts, works, strict=True)
    ]
    end = max((at + work.service_s for at, work in zip(starts, works, strict=True)), default=0.0)
    run = replace(record, jobs=jobs, end_s=end)
    return _on_its_nodes(run, optimum(spans_of(run), run.accelerators, shortest_start_s(record)))


def _on_its_nodes(run: Record, best: Optimum) -> Record:
    """Return the record of an optimum: its nodes in place of the run's, and each job on the one where it starts."""
    nodes = _Nodes(run.accelerators)
    launches = sorted(life.ready_s for life in best.lives)
    stops = sorted(life.ended_s for life in best.lives)
    begins = sorted((job.started_s, number) for number, job in enumerate(run.jobs) if job.started_s is not None)
    # What happens at one moment: work ends, nodes stop, nodes start, work begins.
    events = [(at, 0, 0) for at in stops] + [(at, 1, 0) for at in launches]
    events += [(at, 2, number) for at, number in begins]
    for at, kind, number in sorted(events):
        if kind == 0:
            nodes.stop(at)
        elif kind == 1:
            nodes.start(at)
        else:
            job = run.jobs[number]
            end = run.end_s if job.ended_s is None else job.ended_s
            job.instance = nodes.place(at, end, billionths(job.accelerators))
    kind_of_node = _mostly_paid(run)
    instances = [
        InstanceRecord(
            f"node-{number + 1}",
            *kind_of_node,
            launched_s=ready - best.cold_s,
            in_service_s=ready,
            ready_s=ready,
            ended_s=end,
            cause="released",
        )
        for number, (ready, end) in enumerate(nodes.stays)
    ]
    return replace(
        run,
        minimum=0,
        instances=instances,
        desired=best.capacity(),
        alarms=[],
        launch_failures=[],
        slices=[],
        doubts=[],
    )


class _Nodes:
    """The nodes of an optimum. Jobs that share nodes may move, so that one can stop; where each began is kept."""

    def __init__(self, accelerators: int) -> None:
        self.stays: list[tuple[float, float]] = []
        """From when until when each was ready."""
        self._rooms = Rooms(accelerators)
        self._running: list[tuple[float, int, int]] = []
        self._moved: dict[int, int] = {}

    def start(self, at: float) -> None:
        self._rooms.open(len(self.stays))
        self.stays.append((at, at))

    def stop(self, at: float) -> None:
        """Stop an idle node; where there is none, that with the least work, which goes to another."""
        self._finish_until(at)
        node = self._rooms.emptiest()
        held = self._rooms.close(node)
        self.stays[node] = (self.stays[node][0], at)
        if held:
            self._moved[node] = self._rooms.emptiest()
            self._rooms.hold(self._moved[node], held)

    def place(self, at: float, end: float, held: int) -> int | None:
        """Put work on a node; on none if it takes no time, so that no node need be there."""
        self._finish_until(at)
        if not len(self._rooms):
            return None
        node = self._rooms.fullest_for(held)
        if node is None:
            node = self._rooms.emptiest()
        self._rooms.hold(node, held)
        heapq.heappush(self._running, (end, node, held))
        return node

    def _finish_until(self, at: float) -> None:
        while self._running and self._running[0][0] <= at:
            _, node, held = heapq.heappop(self._running)
            while node in self._moved:
                node = self._moved[node]
            self._rooms.hold(node, -held)


def _mostly_paid(run: Record) -> tuple[str, Market]:
    """Return the instance type and the market that the run paid most time of."""
    paid: Counter[tuple[str, Market]] = Counter()
    for each in run.instances:
        end = run.end_s if each.ended_s is None else each.ended_s
        paid[each.instance_type, each.market] += end - each.launched_s  # type: ignore[assignment]
    return max(paid, key=lambda kind: (paid[kind], kind), default=("", "on-demand"))
