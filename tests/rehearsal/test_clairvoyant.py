"""A run beside its optimum: what is taken from the record, and the record that comes back."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.clairvoyant import (
    Span,
    best_run,
    best_run_without_waiting,
    optimum_of,
    shortest_start_s,
    spans_of,
)
from constructs_lib.rehearsal.figures import Hours, figures_of
from constructs_lib.rehearsal.optimum import Life
from constructs_lib.rehearsal.record import InstanceRecord, JobRecord, Record, Slice
from constructs_lib.rehearsal.rooms import nobody_waits
from constructs_lib.rehearsal.trace import Job


def record_of(
    jobs: Sequence[JobRecord], instances: Sequence[InstanceRecord], accelerators: int = 1, maximum: int = 3
) -> Record:
    return Record("Fleet", accelerators, 0, maximum, jobs=list(jobs), instances=list(instances), end_s=10_000.0)


def node(launched: float, ready: float | None, ended: float | None = None) -> InstanceRecord:
    return InstanceRecord("i-1", "g6.xlarge", "on-demand", launched, ready_s=ready, ended_s=ended)


def test_run_is_measured_by_its_shortest_start() -> None:
    run = record_of([], [node(0, 300), node(100, 250), node(200, None)])

    assert shortest_start_s(run) == 150
    assert shortest_start_s(record_of([], [])) == 0


def test_work_of_a_run_is_its_last_tries() -> None:
    done = JobRecord(0, 60, 1.0, started_s=400.0, ended_s=460.0, instance=0, cuts=1, lost_s=30.0)
    at_work = JobRecord(0, 20_000, 1.0, started_s=500.0, instance=1)
    waiting = JobRecord(0, 60, 1.0)

    assert spans_of(record_of([done, at_work, waiting], [])) == [Span(400, 460, 1), Span(500, 10_000, 1)]


def test_run_that_releases_late_pays_more() -> None:
    # Launched at 60, ready at 180, work until 240, kept for 15 minutes: 1,080 s. The optimum pays 120 + 60.
    run = record_of([JobRecord(30, 60, 1.0, 180.0, 240.0, 0, first_started_s=180.0)], [node(60, 180, 1_140)])

    best = optimum_of(run)

    assert best.node_seconds == 180
    assert best.lives == (Life(60, 180, 240),)


def test_optimum_is_told_with_the_figures_of_a_run() -> None:
    # Two jobs of a minute, 40 s apart, which cost less than a start of 120 s: the node is kept for them.
    jobs = [
        JobRecord(0, 60, 1.0, 180.0, 240.0, 0, 0, 0.0, 180.0),
        JobRecord(200, 60, 1.0, 280.0, 340.0, 0, 0, 0.0, 280.0),
    ]
    run = record_of(jobs, [node(60, 180, 1_240)])

    figures = figures_of(best_run(run), cost_usd=None)

    assert figures.hours == Hours(
        busy=round(120 / 3_600, 6), idle=round(40 / 3_600, 6), starting=round(120 / 3_600, 6), draining=0.0
    )
    assert (figures.launches, figures.cold_starts, figures.releases) == (1, 1, 1)
    assert (figures.waits.max, figures.time_to_zero_s) == (180, 0)
    assert (figures.done, figures.interrupted, figures.unfinished) == (2, 0, 0)


def test_optimum_cuts_no_work_off() -> None:
    # The first try of 30 s was lost; the second began at 300.
    job = JobRecord(0, 60, 1.0, 300.0, 360.0, 1, cuts=1, lost_s=30.0, first_started_s=120.0)
    run = record_of([job], [node(0, 120, 150), node(180, 300, 1_200)])
    run.slices = [Slice(120, 150, 0, 1.0)]

    best = best_run(run)

    assert [(each.launched_s, each.ready_s, each.ended_s) for each in best.instances] == [(180, 300, 360)]
    figures = figures_of(best, cost_usd=None)
    assert (figures.done, figures.interrupted, figures.lost_hours) == (1, 0, 0)
    assert run.jobs == [job], "the run itself is left as it is"
    assert job.cuts == 1


def test_work_of_no_length_needs_no_node() -> None:
    run = record_of([JobRecord(0, 0, 1.0, 120.0, 120.0, 0, first_started_s=120.0)], [node(0, 120, 240)])

    best = best_run(run)

    assert best.instances == []
    assert [(job.started_s, job.instance) for job in best.jobs] == [(120, None)]
    assert figures_of(best, cost_usd=None).done == 1


def test_optimum_is_paid_on_the_market_that_the_run_paid_most_of() -> None:
    spot = InstanceRecord("i-2", "g5.xlarge", "spot", 0, ready_s=120, ended_s=9_000)
    run = record_of([JobRecord(0, 60, 1.0, 120.0, 180.0, 1)], [node(0, 120, 240), spot])

    assert {(each.instance_type, each.market) for each in best_run(run).instances} == {("g5.xlarge", "spot")}


def test_nobody_waits_for_a_launch_in_the_second_optimum() -> None:
    jobs = [JobRecord(30, 60, 1.0, 180.0, 240.0, 0), JobRecord(40, 60, 1.0, 240.0, 300.0, 0)]
    run = record_of(jobs, [node(60, 180, 1_200)])

    best = best_run_without_waiting(run)

    assert [job.started_s for job in best.jobs] == [30, 40]
    assert [(each.launched_s, each.ended_s) for each in best.instances] == [(-90, 90), (-80, 100)]


def test_maximum_holds_for_the_second_optimum_too() -> None:
    run = record_of([JobRecord(0, 60, 1.0), JobRecord(10, 60, 1.0)], [node(0, 120)], maximum=1)

    best = best_run_without_waiting(run)

    assert [job.wait_s for job in best.jobs] == [0, 50]
    assert [(each.launched_s, each.ended_s) for each in best.instances] == [(-120, 120)]


def test_size_that_a_schedule_gave_counts_for_the_second_optimum() -> None:
    run = record_of([JobRecord(0, 60, 1.0), JobRecord(0, 60, 1.0)], [], maximum=0)
    assert [job.wait_s for job in best_run_without_waiting(run).jobs] == [0, 60]

    run.desired = [(0, 0), (3_600, 2)]
    assert [job.wait_s for job in best_run_without_waiting(run).jobs] == [0, 0]


JOBS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 60), st.sampled_from([0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=25
)


@settings(max_examples=80)
@given(works=JOBS, cold=st.integers(0, 60), whole=st.booleans())
def test_record_of_an_optimum_pays_what_the_optimum_pays(
    works: list[tuple[int, int, float]], cold: int, whole: bool
) -> None:
    jobs = [Job(at, length, 2.0 if whole else share) for at, length, share in sorted(works)]
    starts = nobody_waits(jobs, 2, 3).starts_s
    records = [JobRecord(*job, at, at + job.service_s, 0) for job, at in zip(jobs, starts, strict=True)]
    run = record_of(records, [node(0, cold, 9_000)], accelerators=2)

    best, record = optimum_of(run), best_run(run)

    ends = [0.0 if each.ended_s is None else each.ended_s for each in record.instances]
    assert sum(end - each.launched_s for each, end in zip(record.instances, ends, strict=True)) == best.node_seconds
    figures = figures_of(record, cost_usd=None)
    assert abs(figures.hours.busy * 3_600 - best.busy_accelerator_s) < 0.01
    assert abs(figures.hours.paid * 3_600 - best.paid_accelerator_s) < 0.02
    assert figures.hours.draining == 0
    if whole:
        for job in record.jobs:
            assert job.instance is not None
            assert job.started_s is not None
            home = record.instances[job.instance]
            assert home.ready_s is not None
            assert home.ready_s <= job.started_s <= job.started_s + job.service_s <= ends[job.instance]
