"""What a run comes to: hours paid and used, cost, waiting, starts and ends, work that was cut off.

Accelerator-hours are hours of instances times the accelerators of one. Paid hours fall into four parts, and nothing
else: busy (an accelerator works for a job), starting (until the instance takes work), draining (its end has begun, and
the accelerator works no more) and idle (all the rest).

A job waits from its arrival to its first start; one that never started counts with what it had waited when the run was
over. Percentiles are nearest rank: the smallest wait that at least so many percent of the jobs did not exceed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from constructs_lib.rehearsal.record import Record

_HOUR = 3_600
_DIGITS = 6
_AS_ASKED = frozenset({"", "released", "scale-in"})
PREPARED = "prepared"
"""Why a stay in a warm pool ended: the instance was switched off, or taken out. Its hours there are starting ones."""


class Use(NamedTuple):
    """Accelerators of an instance at work for one try of a job."""

    begin_s: float
    end_s: float
    instance: int
    accelerators: float


def uses(record: Record) -> Iterator[Use]:
    """Each try of each job, those that were cut off too."""
    for each in record.slices:
        yield Use(*each)
    for job in record.jobs:
        if job.started_s is not None and job.instance is not None:
            end = record.end_s if job.ended_s is None else job.ended_s
            yield Use(job.started_s, end, job.instance, job.accelerators)


@dataclass(frozen=True, kw_only=True)
class Hours:
    """Accelerator-hours, rounded so that the parts add up to what was paid."""

    busy: float
    idle: float
    starting: float
    draining: float

    @property
    def paid(self) -> float:
        """All that was paid."""
        return round(self.busy + self.idle + self.starting + self.draining, _DIGITS)

    @property
    def used(self) -> float | None:
        """The share that was busy; None if nothing was paid."""
        return self.busy / self.paid if self.paid else None

    @staticmethod
    def of(record: Record) -> Hours:
        """The hours of a run."""
        busy: list[list[float]] = [[] for _ in record.instances]
        late: list[list[float]] = [[] for _ in record.instances]
        for use in uses(record):
            busy[use.instance].append(use.accelerators * (use.end_s - use.begin_s))
            leaving = record.instances[use.instance].drain_from_s
            if leaving is not None and use.end_s > leaving:
                late[use.instance].append(use.accelerators * (use.end_s - max(use.begin_s, leaving)))
        idle, starting, draining = [], [], []
        for number, each in enumerate(record.instances):
            end = record.end_s if each.ended_s is None else each.ended_s
            drains = end if each.drain_from_s is None else min(each.drain_from_s, end)
            ready = drains if each.ready_s is None else min(each.ready_s, drains)
            at_work, at_the_end = math.fsum(busy[number]), math.fsum(late[number])
            starting.append(record.accelerators * (ready - each.launched_s))
            idle.append(record.accelerators * (drains - ready) - (at_work - at_the_end))
            draining.append(record.accelerators * (end - drains) - at_the_end)
        return Hours(
            busy=_hours(second for instance in busy for second in instance),
            idle=_hours(idle),
            starting=_hours(starting),
            draining=_hours(draining),
        )


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How long jobs waited, in seconds; None where there were none.

    Attributes:
        p50: so long half of them at most; p95 and p99 likewise.
        goal: that was set, or None.
        within_goal: share of all jobs that started within it.
        jobs: how many there were.
    """

    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    mean: float | None
    goal: float | None = None
    within_goal: float | None = None
    jobs: int = 0

    @staticmethod
    def of(record: Record, goal_s: float | None = None) -> Waits:
        """Sum up the waits of a run, against a wait in seconds that is hoped for."""
        told = sorted(waits(record))
        within = None
        if goal_s is not None and told:
            started = (job.wait_s for job in record.jobs if job.wait_s is not None)
            within = sum(wait <= goal_s for wait in started) / len(told)
        return Waits(
            p50=percentile(told, 50),
            p95=percentile(told, 95),
            p99=percentile(told, 99),
            max=told[-1] if told else None,
            mean=math.fsum(told) / len(told) if told else None,
            goal=goal_s,
            within_goal=within,
            jobs=len(told),
        )

    def as_json(self) -> dict[str, float | None]:
        """As the report has it."""
        found = {name: rounded(getattr(self, name)) for name in ("p50", "p95", "p99", "max", "mean")}
        if self.goal is not None:
            found |= {"goal": rounded(self.goal), "within_goal": rounded(self.within_goal)}
        return found


def waits(record: Record) -> list[float]:
    """How long each job waited, in the order of the jobs; one that never started until the run was over."""
    return [record.end_s - job.arrival_s if job.wait_s is None else job.wait_s for job in record.jobs]


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The nearest rank in ordered values: the smallest that ``percent`` of them do not exceed. None if there are none.

    Whole numbers decide the rank: 0.95 times a count need not be the number that it should be.
    """
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)] if ordered else None


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a run comes to.

    Attributes:
        hours: paid accelerator-hours, and what they were.
        node_hours: hours of instances paid.
        cost_usd: of them; None where a price is not known.
        waits: of the jobs.
        launches: instances that AWS started to work, from a warm pool or anew.
        prepared: instances that were booted in a warm pool.
        cold_starts: those of them that got as far as taking work.
        failed_launches: that AWS refused.
        endings: instances by why they ended.
        done: jobs that ran to their end and were never cut off.
        interrupted: jobs that were cut off at least once.
        redone: those of them that were done in the end.
        unfinished: jobs that were neither done nor cut off.
        lost_hours: accelerator-hours of work that was thrown away with what was cut off; they are busy hours.
        time_to_zero_s: from the end of the last work to the end of the last instance; None if some remain, or nothing
            was done.
        alarms: how often each went off, by logical id.
        power: energy and carbon, or why they are not told.
    """

    hours: Hours
    node_hours: float
    cost_usd: float | None
    waits: Waits
    launches: int
    cold_starts: int
    failed_launches: int = 0
    prepared: int = 0
    endings: Mapping[str, int] = field(default_factory=dict)
    done: int = 0
    interrupted: int = 0
    redone: int = 0
    unfinished: int = 0
    lost_hours: float = 0.0
    time_to_zero_s: float | None = None
    alarms: Mapping[str, int] = field(default_factory=dict)
    power: Mapping[str, Any] = field(default_factory=dict)

    @property
    def releases(self) -> int:
        """Instances that were released as idle."""
        return self.endings.get("released", 0)

    @property
    def replacements(self) -> int:
        """Instances that went without having been asked to: taken back, unhealthy, rebalanced."""
        return sum(count for cause, count in self.endings.items() if cause not in _AS_ASKED)

    @property
    def jobs(self) -> int:
        """All jobs."""
        return self.done + self.interrupted + self.unfinished

    def as_json(self) -> dict[str, Any]:
        """As the report has it."""
        return {
            "paid_accelerator_hours": self.hours.paid,
            "busy_accelerator_hours": self.hours.busy,
            "idle_accelerator_hours": self.hours.idle,
            "starting_accelerator_hours": self.hours.starting,
            "draining_accelerator_hours": self.hours.draining,
            "paid_node_hours": self.node_hours,
            "busy_share": rounded(self.hours.used),
            "cost_usd": rounded(self.cost_usd),
            **self.power,
            "wait_s": self.waits.as_json(),
            "launches": self.launches,
            "cold_starts": self.cold_starts,
            "failed_launches": self.failed_launches,
            "prepared_instances": self.prepared,
            "releases": self.releases,
            "replacements": self.replacements,
            "endings": dict(sorted(self.endings.items())),
            "jobs": self.jobs,
            "done_jobs": self.done,
            "interrupted_jobs": self.interrupted,
            "redone_jobs": self.redone,
            "unfinished_jobs": self.unfinished,
            "lost_accelerator_hours": self.lost_hours,
            "time_to_zero_s": rounded(self.time_to_zero_s),
            "alarms": dict(sorted(self.alarms.items())),
        }


def figures_of(
    record: Record,
    *,
    cost_usd: float | None,
    power: Mapping[str, Any] | None = None,
    goal_s: float | None = None,
) -> Figures:
    """What a run comes to.

    Args:
        record: of the run.
        cost_usd: of its instances. None: a price is not known.
        power: energy and carbon, or why they are not told, with the report's keys. Default: none.
        goal_s: the wait that is hoped for. Default: none.
    """
    interrupted = [job for job in record.jobs if job.cuts]
    members = [each for each in record.instances if each.cause != PREPARED]
    ends = [record.end_s if each.ended_s is None else each.ended_s for each in record.instances]
    return Figures(
        hours=Hours.of(record),
        node_hours=_hours(end - each.launched_s for each, end in zip(record.instances, ends, strict=True)),
        cost_usd=cost_usd,
        waits=Waits.of(record, goal_s),
        launches=len(members),
        cold_starts=sum(each.ready_s is not None for each in members),
        failed_launches=len(record.launch_failures),
        prepared=len(record.instances) - len(members),
        endings=Counter(each.cause for each in members if each.ended_s is not None),
        done=sum(job.is_finished and not job.cuts for job in record.jobs),
        interrupted=len(interrupted),
        redone=sum(job.is_finished for job in interrupted),
        unfinished=sum(not job.is_finished and not job.cuts for job in record.jobs),
        lost_hours=_hours(use.accelerators * (use.end_s - use.begin_s) for use in record.slices),
        time_to_zero_s=_time_to_zero(record, ends),
        alarms=Counter(alarm for _, alarm, state in record.alarms if state == "ALARM"),
        power={} if power is None else power,
    )


def _time_to_zero(record: Record, ends: Sequence[float]) -> float | None:
    last = max((job.ended_s for job in record.jobs if job.ended_s is not None), default=None)
    if last is None or any(each.ended_s is None for each in record.instances):
        return None
    return max(0.0, max(ends, default=last) - last)


def _hours(seconds: Iterable[float]) -> float:
    return _settled(math.fsum(seconds) / _HOUR)


def rounded(value: float | None) -> float | None:
    """As the report has it."""
    return None if value is None else _settled(value)


def _settled(value: float) -> float:
    """Rounded as the report has it, without a negative zero, of which nobody knows what it means."""
    return round(value, _DIGITS) + 0.0
