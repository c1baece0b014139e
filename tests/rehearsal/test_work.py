"""Jobs and the instances that take them, without any cloud; what happens when is reckoned by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.rehearsal.agenda import Agenda
from constructs_lib.rehearsal.cloud.work_queue import WorkQueue
from constructs_lib.rehearsal.record import Slice
from constructs_lib.rehearsal.work import Work, as_records

Jobs = list[tuple[float, float, float]]

_ALL = 1e6
"""When all is over."""


def _work(jobs: Jobs, *, accelerators: int = 1, seed: int = 0, begin: int = 0) -> Work:
    return Work(Agenda(begin), WorkQueue("Jobs"), as_records(jobs), accelerators=accelerators, seed=seed)


def _spans(work: Work) -> list[tuple[float | None, float | None, int | None]]:
    return [(job.started_s, job.ended_s, job.instance) for job in work.jobs]


def test_job_waits_for_an_instance_and_then_takes_its_time() -> None:
    work = _work([(10, 30, 1)])
    work.agenda.go_on(100)
    assert (len(work.queue.visible), work.queue.in_flight) == (1, 0)

    work.open("a", 0)
    assert (len(work.queue.visible), work.queue.in_flight) == (0, 1)
    work.agenda.go_on(_ALL)

    assert _spans(work) == [(100, 130, 0)]
    assert work.jobs[0].wait_s == 90
    assert work.is_done
    assert work.queue.in_flight == 0


def test_times_are_from_the_start_of_the_trace() -> None:
    work = _work([(10, 30, 1)], begin=345_600)
    work.open("a", 0)
    work.agenda.go_on(_ALL)
    assert _spans(work) == [(10, 40, 0)]


def test_jobs_run_side_by_side_while_there_is_room() -> None:
    work = _work([(0, 100, 0.5), (0, 100, 1), (0, 100, 0.5), (0, 100, 0.5)], accelerators=2)
    work.open("a", 0)
    work.agenda.go_on(50)
    assert work.in_use("a") == 2
    work.agenda.go_on(_ALL)
    assert _spans(work) == [(0, 100, 0)] * 3 + [(100, 200, 0)]


def test_ten_tenths_fill_an_accelerator() -> None:
    work = _work([(0, 10, 0.1)] * 11)
    work.open("a", 0)
    work.agenda.go_on(5)
    assert (work.queue.in_flight, len(work.queue.visible)) == (10, 1)


def test_nobody_overtakes_the_job_at_the_head() -> None:
    """The large job waits for all four; the small one behind it would fit at once."""
    work = _work([(0, 100, 1), (1, 50, 4), (2, 10, 1)], accelerators=4)
    work.open("a", 0)
    work.agenda.go_on(_ALL)
    assert _spans(work) == [(0, 100, 0), (100, 150, 0), (150, 160, 0)]


def test_who_drains_finishes_and_takes_nothing_new() -> None:
    work = _work([(0, 100, 1), (10, 10, 1)])
    work.open("a", 0)
    work.agenda.go_on(5)
    work.close("a")
    work.agenda.go_on(_ALL)
    assert _spans(work) == [(0, 100, 0), (None, None, None)]
    assert not work.is_done


def test_work_that_is_cut_off_goes_back_to_the_front_and_begins_anew() -> None:
    work = _work([(0, 100, 1), (0, 100, 1), (10, 5, 2)], accelerators=2)
    work.open("a", 0)
    work.agenda.go_on(60)
    work.remove("a")
    assert list(work.queue.visible) == [0, 1, 2]
    assert work.queue.in_flight == 0

    work.open("b", 1)
    work.agenda.go_on(_ALL)

    assert _spans(work) == [(60, 160, 1), (60, 160, 1), (160, 165, 1)]
    assert [(job.cuts, job.lost_s, job.wait_s) for job in work.jobs] == [(1, 60, 0), (1, 60, 0), (0, 0, 150)]
    assert sorted(work.slices) == [Slice(0, 60, 0, 1)] * 2


def test_idle_since_the_last_work_ended() -> None:
    work = _work([(10, 30, 1)], begin=60)
    work.open("a", 0)
    assert work.idle_since("a") == 60
    work.agenda.go_on(80)
    assert work.idle_since("a") is None
    work.agenda.go_on(200)
    assert work.idle_since("a") == 100
    work.close("a")
    assert work.idle_since("a") is None


@pytest.mark.parametrize("seed", range(3))
def test_seed_decides_who_takes_a_job(seed: int) -> None:
    def taken_by(seed: int) -> list[int | None]:
        work = _work([(float(n), 0.5, 1) for n in range(30)], seed=seed)
        for number in range(4):
            work.open(f"i-{number}", number)
        work.agenda.go_on(_ALL)
        return [job.instance for job in work.jobs]

    assert taken_by(seed) == taken_by(seed)
    assert taken_by(seed) != taken_by(seed + 1)
    assert set(taken_by(seed)) == {0, 1, 2, 3}


_JOBS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 100), st.sampled_from([0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=12
)
_CHANGES = st.lists(
    st.tuples(st.integers(0, 600), st.sampled_from(["open", "close", "remove"]), st.integers(0, 2)), max_size=10
)


@given(_JOBS, _CHANGES)
def test_no_job_is_lost_and_no_instance_is_overfull(jobs: Jobs, changes: list[tuple[int, str, int]]) -> None:
    work = _work(sorted(jobs), accelerators=2)
    there: dict[int, int] = {}
    opened = 0
    for at, change, which in sorted(changes):
        if at > work.agenda.now:
            work.agenda.go_on(at)
        if change == "open" and which not in there:
            there[which] = opened
            work.open(f"i-{opened}", opened)
            opened += 1
        elif which in there and change == "close":
            work.close(f"i-{there[which]}")
        elif which in there and change == "remove":
            work.remove(f"i-{there.pop(which)}")
    work.agenda.go_on(_ALL)

    unfinished = [job for job in work.jobs if not job.is_finished]
    running = [job for job in work.jobs if job.started_s is not None and job.ended_s is None]
    assert running == []
    assert len(work.queue.visible) == len(unfinished)
    assert work.queue.in_flight == 0
    assert work.finished + len(unfinished) == len(jobs)
    assert sum(job.cuts for job in work.jobs) == len(work.slices)
    starts = [job.first_started_s for job in work.jobs if job.first_started_s is not None]
    assert starts == sorted(starts)
    tries = [Slice(j.started_s, j.ended_s, j.instance, j.accelerators) for j in work.jobs if j.ended_s is not None]  # type: ignore[arg-type]
    for moment in {each.begin_s for each in [*tries, *work.slices]}:
        for number in range(opened):
            now = [e for e in [*tries, *work.slices] if e.instance == number and e.begin_s <= moment < e.end_s]
            assert sum(each.accelerators for each in now) <= 2 + 1e-9
