"""What a rehearsal takes: 10,000, 100,000 and 1,000,000 jobs in 30 days on up to 64 instances.

    python -m benchmarks.rehearsal [--jobs N ...] [--json]

The template is that of a fleet on a queue with this library's defaults, the work differs over the day and fills half of
64 instances whatever the number of jobs. Plain is what is usually written by hand: the same jobs before 64 servers that
are always there, in the same event library, without alarms, functions, starts or ends. Each run is a process of its
own; seconds are computing time of the run itself, memory is that of the whole process.

Exits with 1 when a run is beyond a bound: 15 s and 500 MiB for 100,000 jobs, and no more time for a job when there are
more of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from aws_cdk import App, Stack
from aws_cdk import aws_sqs as sqs

from benchmarks.rehearsal_measurement import INSTANCES
from benchmarks.surroundings import existing_vpc
from constructs_lib import AcceleratedFleet, QueueDemand

JOBS = (10_000, 100_000, 1_000_000)

MOST_SECONDS = {100_000: 15.0}
MOST_MIB = {100_000: 500.0}
MOST_GROWTH = 1.2
"""Seconds for a job against those of the run with fewer jobs: 1 is linear, less is what a run takes without any."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Seconds of computing, memory of the process, jobs done."""

    seconds: float
    peak_mib: float
    done: int

    def __str__(self) -> str:
        return f"{self.seconds:6.2f} s, {self.peak_mib:5.0f} MiB"


@dataclass(frozen=True, kw_only=True)
class Row:
    """So many jobs, rehearsed and plain."""

    jobs: int
    ours: Run
    plain: Run

    @property
    def microseconds_a_job(self) -> float:
        return self.ours.seconds / self.jobs * 1e6

    @property
    def holds(self) -> bool:
        """Whether all was done, within the bounds."""
        return (
            self.ours.done == self.jobs
            and self.ours.seconds <= MOST_SECONDS.get(self.jobs, 600)
            and self.ours.peak_mib <= MOST_MIB.get(self.jobs, 4_000)
        )

    def __str__(self) -> str:
        return (
            f"{self.jobs:9,} jobs: {self.ours}, {self.microseconds_a_job:7.1f} us a job; plain {self.plain}; "
            f"{self.ours.seconds / self.plain.seconds:5.1f} x time: {'ok' if self.holds else 'BEYOND THE BOUND'}"
        )


def main() -> None:
    """Measure, print, and exit with 1 beyond a bound."""
    parser = argparse.ArgumentParser(description="Measure the rehearsal.")
    parser.add_argument("--jobs", type=int, nargs="+", default=JOBS, help="in each run; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    options = parser.parse_args()
    template = fleet_template()
    rows = []
    for jobs in options.jobs:
        rows.append(Row(jobs=jobs, ours=measure("ours", jobs, template), plain=measure("plain", jobs, template)))
        if not options.json:
            print(rows[-1], flush=True)
    if options.json:
        print(json.dumps([{**asdict(row), "holds": row.holds} for row in rows]))
    sys.exit(0 if all(row.holds for row in rows) and is_linear(rows) else 1)


def is_linear(rows: Sequence[Row]) -> bool:
    """Whether no job takes longer for there being more of them."""
    return all(
        more.microseconds_a_job <= MOST_GROWTH * fewer.microseconds_a_job
        for fewer, more in pairwise(sorted(rows, key=lambda row: row.jobs))
    )


def measure(way: str, jobs: int, template: Mapping[str, Any]) -> Run:
    """One run in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.rehearsal_measurement", way, str(jobs)]
    answer = subprocess.run(command, input=json.dumps(template), check=True, capture_output=True, text=True).stdout
    return Run(**json.loads(answer))


def fleet_template() -> dict[str, Any]:
    """The template of a fleet of up to 64 instances with one accelerator each, with the library's defaults."""
    app = App()
    stack = Stack(app, "Fleet")
    AcceleratedFleet(
        stack,
        "Inference",
        vpc=existing_vpc(stack),
        instance_types=["g6.xlarge", "g5.xlarge"],
        max_capacity=INSTANCES,
        demand=QueueDemand(sqs.Queue(stack, "Jobs"), messages_per_instance=1),
    )
    template: dict[str, Any] = app.synth().stacks[0].template
    return template


if __name__ == "__main__":
    main()
