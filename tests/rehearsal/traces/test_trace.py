"""A trace: its order, and what is asked of it."""

from __future__ import annotations

from constructs_lib.rehearsal.trace import Job, Trace


def test_jobs_are_put_in_the_order_of_arrival() -> None:
    trace = Trace((Job(30, 1), Job(10, 2), Job(20, 3)), "t")
    assert [job.service_s for job in trace.jobs] == [2, 3, 1]


def test_jobs_that_arrive_together_stay_in_the_order_given() -> None:
    trace = Trace((Job(10, 5), Job(10, 1), Job(0, 9), Job(10, 3)), "t")
    assert [job.service_s for job in trace.jobs] == [9, 5, 1, 3]


def test_span_and_work() -> None:
    trace = Trace((Job(0, 100, 2), Job(50, 10, 0.5)), "t")
    assert trace.span_s == 50
    assert trace.work_s == 205
    assert trace.longest_job_s == 100
    assert trace.largest_job == 2
    assert len(trace) == 2


def test_peak_counts_what_is_in_use_at_once() -> None:
    """From 5 to 10 the first two overlap; the third begins when the first ends, and holds what it gave back."""
    trace = Trace((Job(0, 10, 1), Job(5, 10, 0.5), Job(10, 10, 1)), "t")
    assert trace.peak() == 1.5


def test_a_trace_without_jobs_asks_for_nothing() -> None:
    trace = Trace((), "t")
    assert (trace.span_s, trace.work_s, trace.peak(), trace.longest_job_s) == (0, 0, 0, 0)
