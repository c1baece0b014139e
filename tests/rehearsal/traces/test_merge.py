"""Requests put together: the same work, no more than one accelerator, none far from its own arrival."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.rehearsal.trace import Job
from constructs_lib.rehearsal.traces.merge import merged


def test_requests_that_come_together_become_one_batch() -> None:
    """Eighths of an accelerator for 8, 16 and 24 seconds are three eighths for 16."""
    jobs = [Job(0, 8, 0.125), Job(10, 16, 0.125), Job(59, 24, 0.125), Job(61, 5, 0.125)]
    assert list(merged(jobs, 60)) == [Job(0, 16, 0.375), Job(61, 5, 0.125)]


def test_a_batch_is_full_at_one_accelerator() -> None:
    """Thirds of one are three in a batch, though their sum in floating point is not exactly one."""
    assert [job.accelerators for job in merged([Job(0, 9, 1 / 3)] * 7, 60)] == [1, 1, 1 / 3]


def test_a_job_of_a_whole_accelerator_stays_by_itself() -> None:
    jobs = [Job(0, 8, 1), Job(1, 8, 4), Job(2, 8, 0.5)]
    assert list(merged(jobs, 60)) == jobs


def test_nothing_comes_of_nothing() -> None:
    assert list(merged([], 60)) == []


jobs_of_shares = st.lists(
    st.builds(
        Job,
        st.floats(0, 1000),
        st.floats(0, 1e6),
        st.one_of(st.sampled_from([0.1, 0.125, 1 / 3, 1, 2, 8]), st.floats(1e-6, 9)),
    ),
    max_size=60,
)


@given(jobs_of_shares, st.floats(0.001, 200))
def test_work_is_kept_whatever_is_merged(jobs: list[Job], within_s: float) -> None:
    jobs = sorted(jobs)
    batches = list(merged(jobs, within_s))
    work = sum(job.service_s * job.accelerators for job in jobs)
    assert sum(job.service_s * job.accelerators for job in batches) == pytest.approx(work, rel=1e-6)
    assert len(batches) <= len(jobs)
    assert all(job.accelerators <= 1 or job in jobs for job in batches)
    assert {job.arrival_s for job in batches} <= {job.arrival_s for job in jobs}
    for job in jobs:
        assert any(0 <= job.arrival_s - batch.arrival_s <= within_s for batch in batches)
