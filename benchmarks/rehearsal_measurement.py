"""One run over a trace in a fresh process; prints its figures as a line of JSON. Called by ``benchmarks.rehearsal``."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Generator, Mapping
from time import process_time
from typing import Any

from benchmarks.release_measurement import peak_mib
from constructs_lib.rehearsal.trace import Job, Trace

INSTANCES = 64
SPAN_S = 30 * 24 * 3_600
LOAD = 0.5
"""Of what 64 instances could do in the time, whatever the number of jobs."""

_DAY_S = 24 * 3_600
_SPREAD = 1.0


def trace(jobs: int, seed: int = 1) -> Trace:
    """So many jobs of one accelerator in 30 days: nearly none at night, most at noon, and some take far longer."""
    dice = random.Random(seed)
    mean = LOAD * INSTANCES * SPAN_S / jobs
    # A log-normal's mean is exp(mu + sigma^2 / 2).
    mu = math.log(mean) - _SPREAD**2 / 2
    arrivals = sorted(_arrival(dice) for _ in range(jobs))
    return Trace(tuple(Job(at, dice.lognormvariate(mu, _SPREAD)) for at in arrivals), name=f"{jobs} jobs")


def _arrival(dice: random.Random) -> float:
    while True:
        at = dice.uniform(0, SPAN_S)
        if dice.random() < (1 - math.cos(2 * math.pi * at / _DAY_S)) / 2:
            return at


def ours(work: Trace, template: Mapping[str, Any]) -> Callable[[], int]:
    """Return a rehearsal of a template; it counts the jobs that were done."""
    from constructs_lib.rehearsal.cold_start import ColdStart
    from constructs_lib.rehearsal.simulate import Scenario, simulate

    scenario = Scenario(cold_start=ColdStart.default())

    def run() -> int:
        record = simulate(template, work, scenario=scenario, seed=1)
        return sum(job.is_finished for job in record.jobs)

    return run


def plain(work: Trace, template: Mapping[str, Any]) -> Callable[[], int]:
    """Return what is written by hand: a queue before 64 servers that are always there, without any AWS."""
    import simpy

    environment = simpy.Environment()
    servers = simpy.Resource(environment, capacity=INSTANCES)
    done = 0

    def serve(job: Job) -> Generator[Any, Any, None]:
        nonlocal done
        with servers.request() as turn:
            yield turn
            yield environment.timeout(job.service_s)
        done += 1

    def arrive() -> Generator[Any, Any, None]:
        for job in work.jobs:
            yield environment.timeout(job.arrival_s - environment.now)
            environment.process(serve(job))

    def run() -> int:
        environment.process(arrive())
        environment.run()
        return done

    return run


def main() -> None:
    """Measure what the command line names: a way, and how many jobs. The template comes on standard input."""
    way, jobs = sys.argv[1:]
    template: Mapping[str, Any] = json.load(sys.stdin)
    run = {"ours": ours, "plain": plain}[way](trace(int(jobs)), template)
    began = process_time()
    done = run()
    print(json.dumps({"seconds": process_time() - began, "peak_mib": peak_mib(), "done": done}))


if __name__ == "__main__":
    main()
