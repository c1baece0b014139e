"""Jobs on nodes that are always on: first come, first served."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.rooms import nobody_waits
from constructs_lib.rehearsal.trace import Job


def test_jobs_wait_only_where_the_maximum_is_at_work() -> None:
    jobs = [Job(0, 100), Job(10, 100), Job(20, 5), Job(30, 5), Job(500, 5)]

    assert nobody_waits(jobs, 1, 2) == ([0, 10, 100, 105, 500], 2)
    assert nobody_waits(jobs, 1, 9) == ([0, 10, 20, 30, 500], 3)


def test_job_goes_to_the_fullest_node_that_has_room() -> None:
    # The half fits beside the quarters of the first node, so the whole one finds the second node empty.
    jobs = [Job(0, 100, 0.25), Job(0, 100, 0.25), Job(1, 100, 0.5), Job(2, 100, 1.0)]

    assert nobody_waits(jobs, 1, 2) == ([0, 0, 1, 2], 2)


def test_first_come_is_first_served_though_a_smaller_one_would_fit() -> None:
    jobs = [Job(0, 100, 3), Job(1, 10, 2), Job(2, 10, 1)]

    assert nobody_waits(jobs, 4, 1).starts_s == [0, 100, 100]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 1 / 3, 1 / 6])
def test_as_many_fractions_as_make_up_a_node_share_it(share: float) -> None:
    jobs = [Job(0, 100, share)] * round(1 / share)

    assert nobody_waits(jobs, 1, 9).nodes == 1
    assert nobody_waits([*jobs, Job(0, 100, 0.001)], 1, 9).nodes == 2


def test_work_that_ends_makes_room_at_that_moment() -> None:
    assert nobody_waits([Job(0, 100), Job(100, 100)], 1, 5) == ([0, 100], 1)


def test_no_jobs_need_no_node() -> None:
    assert nobody_waits([], 1, 5) == ([], 0)
