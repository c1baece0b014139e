"""Plays a trace of work through the fleet of a template, and returns the record of what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from constructs_lib.collecting import without_collecting
from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.agenda import Agenda
from constructs_lib.rehearsal.cloud.clients import EPOCH
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.cloud.stack import create
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.machine.instance import Image
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.staff import Launches, Staff
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.work import Work, as_records
from constructs_lib.rehearsal.world import MINUTE, Conditions, Controller, World
from constructs_lib.validation import complaint, number

__all__ = ["Controller", "Scenario", "simulate"]

_DAY = 24 * 3_600
_WEEK = 7 * _DAY
"""For so long work that is not done is waited for: a fleet's opening hours are those of a week."""
_TIDY_EVERY = _DAY
_MOST_NAMED = 5
_FIRST_YEAR, _LAST_YEAR = 2000, 2100
"""Cron expressions of AWS reach until 2199, and a trace may be long."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What the cloud does during the run, beside what the template asks of it.

    Raises:
        ArgumentError: a rate, a share or a period makes no sense, or the start is no full minute with a time zone.
    """

    cold_start: ColdStart
    reclaims_per_hour: float = 0.0
    """How often an instance-hour ends in a reclaim: of Spot instances, or of all in a fleet that buys no Spot."""
    no_capacity: tuple[tuple[float, float], ...] = ()
    """From when until when nothing can be launched, in seconds from the start of the trace."""
    launch_failures: float = 0.0
    """The share of launches that fail, 0 to 1."""
    start: datetime = datetime(2026, 1, 5, tzinfo=timezone.utc)
    """The clock time of second 0, a Monday by default: opening hours and schedules depend on it."""

    def __post_init__(self) -> None:
        who = "Scenario"
        cure = "leave it out for none"
        number(who, "reclaims_per_hour", self.reclaims_per_hour, minimum=0, cure=cure)
        number(who, "launch_failures", self.launch_failures, minimum=0, maximum=1, cure=cure)
        for period in self.no_capacity:
            if not 0 <= period[0] < period[1]:
                raise ArgumentError(complaint(who, "no_capacity", "hold periods (from, until)", period, cure))
        if self.start.tzinfo is None or self.start.timestamp() % MINUTE:
            rule = "be a full minute with a time zone"
            raise ArgumentError(complaint(who, "start", rule, self.start.isoformat(), "give one in UTC"))
        if not _FIRST_YEAR <= self.start.year <= _LAST_YEAR:
            rule = f"be in a year from {_FIRST_YEAR} to {_LAST_YEAR}"
            raise ArgumentError(complaint(who, "start", rule, self.start.isoformat(), "give one near to today"))

    @property
    def begin(self) -> int:
        """Return second 0 on the clock of the simulated account."""
        return int(self.start.timestamp()) - EPOCH


def simulate(
    template: Mapping[str, Any],
    trace: Trace,
    *,
    fleet: str | None = None,
    scenario: Scenario,
    seed: int = 0,
    controller: Controller | None = None,
    conditions: Conditions | None = None,
    said: Callable[[float], None] | None = None,
    thorough: bool = False,
) -> Record:
    """Play a trace through a fleet.

    Args:
        template: a synthesized template, as JSON reads it.
        trace: the jobs.
        fleet: the logical id of the Auto Scaling group, or its beginning. Default: the only one.
        scenario: what the cloud does.
        seed: of every choice that is left to chance. The same seed gives the same record.
        controller: acts in place of the template's alarms and functions. Default: they act.
        conditions: how AWS behaves where its documentation leaves it open. Default: as it usually does.
        said: is told the share of the trace that is over, now and then.
        thorough: run also what provably changes nothing, which takes much longer and gives the same record.

    Raises:
        ArgumentError: a job needs more accelerators than an instance has, or the template has no such fleet.
        ValueError: the template uses something that is not simulated, which the message names.
    """
    return _Run(template, trace, fleet, scenario, seed, controller, conditions, said, thorough).record()


class _Run:
    """One run, from the trace's first second until all is done and the fleet rests."""

    def __init__(
        self,
        template: Mapping[str, Any],
        trace: Trace,
        fleet: str | None,
        scenario: Scenario,
        seed: int,
        controller: Controller | None,
        conditions: Conditions | None,
        said: Callable[[float], None] | None,
        thorough: bool,
    ) -> None:
        self._trace = trace
        self._scenario = scenario
        self._begin = scenario.begin
        self._said = said
        self._leaves_out = not thorough
        self._failed: dict[str, list[str]] = {}
        parsed = Template(template, fleet=fleet)
        self._image = Image(parsed)
        self._queue_url = _queue_of(parsed)
        _check(trace, self._image.accelerators)
        self._agenda = Agenda(self._begin)
        self._launches = Launches(scenario.cold_start, failures=scenario.launch_failures, seed=seed)
        self._seed = seed
        self.world = World(
            template,
            fleet=fleet,
            conditions=conditions,
            begin=self._begin,
            hire=self._hire,
            boot=self._launches.boot,
            controller=controller,
            leaves_out=self._leaves_out,
        )
        if self.world.group.pool is not None:
            self._launches.pool_state = self.world.group.pool.state
        create(self.world)
        self.world.group.launch_failure = self._launches.fails

    def _hire(self, group: Group) -> Staff:
        jobs = as_records(self._trace.jobs)
        queue = WorkQueue(self._queue_url or "Jobs")
        self._work = Work(self._agenda, queue, jobs, accelerators=self._image.accelerators, seed=self._seed)
        return Staff(
            self._agenda,
            group,
            self._work,
            ready_s=self._launches.ready_s,
            accelerators=self._image.accelerators,
            reclaims_per_hour=self._scenario.reclaims_per_hour,
            drains=self._image.settings is not None and self._image.settings.drain is not None,
            seed=self._seed,
        )

    def record(self) -> Record:
        """Let the time pass, and return what it left."""
        # What is made in millions goes without being collected, and most of the rest lasts until the end.
        with without_collecting():
            return self._record()

    def _record(self) -> Record:
        world, trace = self.world, self._trace
        minimum, maximum = world.group.minimum, world.group.maximum
        last = self._begin + trace.span_s + trace.longest_job_s
        while not (self._work.is_done and self._rests()) and world.now < last + (_DAY if self._work.is_done else _WEEK):
            world.group.capacity = 0 if self._has_no_capacity(world.now + MINUTE) else None
            self._skip()
            world.tick()
            if (world.now - self._begin) % _TIDY_EVERY == 0:
                self._tidy()
                if self._said is not None:
                    self._said(min(1.0, (world.now - self._begin) / max(1.0, trace.span_s)))
        self._tidy()
        if self._said is not None:
            self._said(1.0)
        begin = self._begin
        failed = [
            each for each in world.group.activities if each.status == "Failed" and "Launching" in each.description
        ]
        staff = world.staff
        assert staff is not None, "it was hired"
        return Record(
            fleet=world.group.name,
            accelerators=self._image.accelerators,
            minimum=minimum,
            maximum=maximum,
            jobs=self._work.jobs,
            instances=staff.records,
            end_s=float(world.now - begin),
            desired=[(float(at - begin), desired) for at, desired in world.group.desired_history],
            alarms=[(float(at - begin), name, state) for at, name, state in world.alarm_history],
            launch_failures=[(float(each.started - begin), each.message) for each in failed],
            slices=self._work.slices,
            notes=self._notes(),
            conditions=world.conditions.describe(),
            doubts=sorted(world.doubts),
        )

    def _skip(self) -> None:
        """Go to the last minute before something can happen."""
        if self._leaves_out and self._work.next_arrival is not None:
            until = int(-(-self.world.sleeps_until() // MINUTE) - 1) * MINUTE
            if until > self.world.now:
                self.world.skip_to(until)

    def _rests(self) -> bool:
        """Return whether nothing is left that could change by itself."""
        group = self.world.group
        smallest = group.desired == group.minimum and len(group.members) == group.desired
        return smallest and len(group.in_service) == group.desired

    def _has_no_capacity(self, at: int) -> bool:
        since = at - self._begin
        return any(begin <= since < end for begin, end in self._scenario.no_capacity)

    def _tidy(self) -> None:
        """Forget what nobody will ask for, and keep which functions failed."""
        world = self.world
        for outcome in world.failures:
            if isinstance(outcome.error, (AttributeError, TypeError, NotImplementedError)):
                rule, cure = "do what is simulated alone", "rehearse the template without it"
                said = complaint(outcome.function, "function", rule, str(outcome.error), cure)
                raise ArgumentError(said) from outcome.error
            self._failed.setdefault(outcome.function, []).append(f"{outcome.error!r}")
        world.outcomes.clear()
        world.account.calls.clear()
        reach = max((alarm.reach_seconds for alarm in world.alarms.values()), default=0)
        world.store.forget_before(world.now - max(2 * _DAY, reach))

    def _notes(self) -> list[str]:
        notes = [*self.world.template.notes, *self.world.lambdas.notes]
        notes += [note for alarm in self.world.alarms.values() for note in alarm.notes]
        notes += self.world.watch.notes
        if self._queue_url is None:
            notes.append("no function of the fleet reads a queue: each job was handed to any instance that was ready")
        for process in sorted(self.world.group.suspended & {"Launch", "Terminate"}):
            reason = self.world.group.suspension_reasons.get(process, "")
            notes.append(f"{process} of the group was suspended in the end: {reason}")
        for function, errors in self._failed.items():
            notes.append(f"the function {function} failed {len(errors)} times, at first with {errors[0]}")
        return notes


def _check(trace: Trace, accelerators: int) -> None:
    too_large = [(number, job) for number, job in enumerate(trace.jobs, 1) if job.accelerators > accelerators]
    if too_large:
        named = ", ".join(f"job {number} needs {job.accelerators:g}" for number, job in too_large[:_MOST_NAMED])
        rule = f"hold jobs that fit on one instance, which has {accelerators} accelerators"
        cure = "choose a larger instance type, or split the job"
        raise ArgumentError(complaint("simulate", "trace", rule, named, cure))


def _queue_of(template: Template) -> str | None:
    """Return the queue that a function of the fleet reads, else the one that its alarms watch, else the only one."""
    urls = {each.environment["QUEUE_URL"] for each in template.functions().values() if "QUEUE_URL" in each.environment}
    if not urls:
        queues = set(template.resources("AWS::SQS::Queue"))
        wanted = queues & _watched(template) or queues
        return wanted.pop() if len(wanted) == 1 else None
    return min(urls)


def _watched(template: Template) -> set[str]:
    """Return what the alarms that start a scaling policy of the fleet have in their dimensions."""
    policies, found = set(template.policies()), set[str]()
    for name in template.resources("AWS::CloudWatch::Alarm"):
        alarm = template.body["Resources"][name].get("Properties", {})
        if policies & template.referred_to(alarm.get("AlarmActions", [])):
            found |= template.referred_to([alarm.get("Dimensions", []), alarm.get("Metrics", [])])
    return found
