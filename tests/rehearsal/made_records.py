"""Records made by hand, and a long one made by a rule."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import count

from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.cost import Prices
from constructs_lib.rehearsal.energy import energy
from constructs_lib.rehearsal.figures import figures_of
from constructs_lib.rehearsal.record import InstanceRecord, JobRecord, Record, Slice
from constructs_lib.rehearsal.report import Rehearsal, Way, ratio
from constructs_lib.rehearsal.simulate import Scenario
from constructs_lib.rehearsal.trace import Job, Trace

HOUR = 3_600.0
MONDAY = datetime(2026, 1, 5, tzinfo=timezone.utc)
PROMISED = {
    "paid_accelerator_hours",
    "busy_accelerator_hours",
    "idle_accelerator_hours",
    "cost_usd",
    "wait_s",
    "cold_starts",
    "launches",
    "releases",
    "interrupted_jobs",
    "unfinished_jobs",
    "time_to_zero_s",
}
"""What each part of the report has at least, whatever its number."""
PRICES = Prices(region="us-east-1", usd_per_hour=2.0)


def job(
    arrival: float, start: float | None, end: float | None, *, instance: int | None = 0, **more: object
) -> JobRecord:
    """A job that was never cut off unless ``more`` says so."""
    service = 100.0 if start is None or end is None else end - start
    made = JobRecord(arrival, service, 1.0, started_s=start, ended_s=end, instance=instance, first_started_s=start)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def instance(
    launched: float, ready: float | None, drains: float | None, ended: float | None, cause: str = "released"
) -> InstanceRecord:
    """An instance of type g6.xlarge."""
    return InstanceRecord(
        "i-1",
        "g6.xlarge",
        "on-demand",
        launched_s=launched,
        in_service_s=ready,
        ready_s=ready,
        drain_from_s=drains,
        ended_s=ended,
        cause=cause if ended is not None else "",
    )


def record(*, accelerators: int = 1, **more: object) -> Record:
    """A run of one hour of a fleet of up to four instances."""
    made = Record(fleet="FleetASG", accelerators=accelerators, minimum=0, maximum=4, end_s=HOUR)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def two_jobs() -> Record:
    """One instance of two accelerators: ready after 300 s, two jobs one upon the other, released after 15 idle minutes.

    Paid are 2,000 s x 2 = 4,000. Starting 300 x 2 = 600. Busy 600 + 200 = 800, none of it while it drains (100 x 2 =
    200). Idle is the rest, 2,400.
    """
    return record(
        accelerators=2,
        jobs=[job(0, 300, 900), job(600, 800, 1_000)],
        instances=[instance(0, 300, 1_900, 2_000)],
        desired=[(0, 1), (1_900, 0)],
        alarms=[(1_860, "IdleAlarm", "ALARM"), (1_980, "IdleAlarm", "OK")],
        end_s=2_000.0,
    )


def cut_off() -> Record:
    """One job loses 400 s of work with its instance, and is done on the next one; a second job is never done."""
    again = job(0, 1_000, 1_600, instance=1, cuts=1, lost_s=400.0, first_started_s=100.0)
    return record(
        jobs=[again, job(50, None, None, instance=None)],
        instances=[instance(0, 100, None, 500, "reclaimed"), instance(600, 900, None, None)],
        slices=[Slice(100, 500, 0, 1.0)],
        launch_failures=[(550, "no capacity")],
        end_s=2_000.0,
    )


def long_run(*, days: int = 30, nodes: int = 64) -> Record:
    """Each node is on for some hours of each day, with jobs of ten minutes one after the other, but every eighth."""
    made = record(end_s=days * 24 * HOUR + 2_000, maximum=nodes)
    for day in range(days):
        for node in range(nodes):
            begin = (day * 24 + 6 + node % 8) * HOUR + node * 37
            end = begin + (2 + (node + day) % 9) * HOUR
            made.instances.append(instance(begin, begin + 400, end - 120, end))
            starts = (begin + 400 + 700 * n for n in count())
            for n, start in enumerate(starts):
                if start + 600 > end - 120:
                    break
                if n % 8:
                    wait = (n * 7 + node) % 900
                    made.jobs.append(job(start - wait, start, start + 600, instance=len(made.instances) - 1))
    made.jobs.sort(key=lambda each: each.arrival_s)
    made.alarms = [(day * 24 * HOUR + 60 * n, "IdleAlarm", "ALARM") for day in range(days) for n in range(6)]
    return made


def rehearsal(
    of: Record, *, trace: str = "by hand", source: str = "", goal_s: float | None = None, **more: object
) -> Rehearsal:
    """A rehearsal of a run, beside which stands the run itself."""
    cost = PRICES.of(of)
    figures = figures_of(of, cost_usd=cost.usd, goal_s=goal_s)
    way = Way(title="optimum", figures=figures, ratio=ratio(figures, figures), says="knows the future")
    jobs = tuple(Job(each.arrival_s, each.service_s, each.accelerators) for each in of.jobs)
    stated: dict[str, object] = {
        "record": of,
        "figures": figures,
        "trace": Trace(jobs, trace, source),
        "scenario": Scenario(cold_start=ColdStart.fixed(boot_s=120, ready_s=300), start=MONDAY),
        "seed": 0,
        "region": "us-east-1",
        "cost": cost,
        "energy": energy(of, "us-east-1"),
        "optimum": way,
        "nobody_waits": way,
        "alternatives": {"always_on": Way(title="always on at the peak", figures=figures, ratio=2.5)},
    }
    return Rehearsal(**{**stated, **more})  # type: ignore[arg-type]
