"""A trace: the work that a fleet is asked to do, as one job after another.

Times are seconds from the start of the trace; ``service_s`` is seconds of work on one instance, ``accelerators`` how
many of the instance's accelerators the job holds meanwhile (a share, such as 0.25, when several fit on one).
:mod:`constructs_lib.rehearsal.traces` reads traces, makes them and writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from constructs_lib.errors import FleetError


class Job(NamedTuple):
    """One piece of work: when it comes, how long it takes, how many accelerators of one instance it holds."""

    arrival_s: float
    service_s: float
    accelerators: float = 1.0


class BadRow(NamedTuple):
    """A row of a file that is no job: its line, counted from 1, and why. A format without lines counts its entries."""

    line: int
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.line}: {self.reason}"


class TraceError(FleetError):
    """A trace cannot be read or made. ``bad_rows`` are the first of the rows that are no jobs, if that is why."""

    def __init__(self, message: str, bad_rows: tuple[BadRow, ...] = ()) -> None:
        super().__init__(message)
        self.bad_rows = bad_rows


@dataclass(frozen=True)
class Trace:
    """Jobs in the order of their arrival. Jobs that arrive together stay in the order they were given in.

    ``source`` says in a sentence where the jobs come from and what was assumed; ``skipped`` are the rows that were
    left out because the reader was asked to.
    """

    jobs: tuple[Job, ...]
    name: str
    source: str = ""
    skipped: tuple[BadRow, ...] = ()

    def __post_init__(self) -> None:
        if any(later.arrival_s < earlier.arrival_s for earlier, later in pairwise(self.jobs)):
            object.__setattr__(self, "jobs", tuple(sorted(self.jobs, key=lambda job: job.arrival_s)))

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def span_s(self) -> float:
        """Seconds from the start of the trace to the last arrival."""
        return self.jobs[-1].arrival_s if self.jobs else 0.0

    @cached_property
    def work_s(self) -> float:
        """Accelerator-seconds of work in all jobs."""
        return sum(job.service_s * job.accelerators for job in self.jobs)

    @cached_property
    def largest_job(self) -> float:
        """The most accelerators that one job needs."""
        return max((job.accelerators for job in self.jobs), default=0.0)

    @cached_property
    def longest_job_s(self) -> float:
        """Seconds of work of the longest job."""
        return max((job.service_s for job in self.jobs), default=0.0)

    def peak(self) -> float:
        """Return the most accelerators in use at a time if every job started on arrival."""
        ends = sorted((job.arrival_s + job.service_s, job.accelerators) for job in self.jobs)
        in_use = most = 0.0
        ended = 0
        for job in self.jobs:
            while ended < len(ends) and ends[ended][0] <= job.arrival_s:
                in_use -= ends[ended][1]
                ended += 1
            in_use += job.accelerators
            most = max(most, in_use)
        return most
