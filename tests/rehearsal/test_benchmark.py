"""What the benchmark measures with: the work that it makes, and the plain queue that it compares with."""

from __future__ import annotations

import pytest

from benchmarks.rehearsal_measurement import INSTANCES, LOAD, SPAN_S, plain, trace
from constructs_lib.rehearsal.trace import Job, Trace


@pytest.mark.parametrize("jobs", [2_000, 20_000])
def test_the_work_fills_half_of_the_instances_whatever_the_number_of_jobs(jobs: int) -> None:
    work = trace(jobs)
    assert len(work) == jobs
    assert work.span_s <= SPAN_S
    assert work.work_s == pytest.approx(LOAD * INSTANCES * SPAN_S, rel=0.1)


def test_the_same_seed_makes_the_same_work() -> None:
    assert trace(100, seed=1) == trace(100, seed=1) != trace(100, seed=2)


def test_more_comes_at_noon_than_at_night() -> None:
    hours = [int(job.arrival_s // 3_600) % 24 for job in trace(5_000).jobs]
    assert sum(hour in (11, 12) for hour in hours) > 10 * sum(hour in (23, 0) for hour in hours)


def test_the_plain_queue_does_all_the_work() -> None:
    work = Trace(tuple(Job(0.0, 10.0) for _ in range(INSTANCES + 1)), name="one more than there are servers")
    assert plain(work, {})() == INSTANCES + 1
