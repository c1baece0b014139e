"""The clairvoyant optimum: sums by hand, exhaustive search on small cases, and that nothing is cheaper."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.optimum import Life, optimum
from constructs_lib.rehearsal.rooms import nobody_waits
from constructs_lib.rehearsal.trace import Job

COLD = 120


# By hand


def test_nothing_costs_nothing() -> None:
    best = optimum([], 1, COLD)

    assert (best.node_seconds, best.starts, best.lives, best.capacity()) == (0, 0, (), [])


def test_one_job_pays_one_start_and_its_work() -> None:
    best = optimum([(1_000, 1_600, 4)], 4, COLD)

    assert (best.needed_s, best.bridged_s, best.starting_s) == (600, 0, 120)
    assert best.node_seconds == 720
    assert best.paid_accelerator_s == 2_880
    assert best.busy_accelerator_s == 2_400
    assert best.capacity() == [(880, 1), (1_600, 0)]


def test_gap_shorter_than_the_cold_start_is_bridged_and_a_longer_one_is_not() -> None:
    # 100 s without work cost less than another start of 120 s; 200 s cost more.
    best = optimum([(1_000, 1_100, 1), (1_200, 1_300, 1), (1_500, 1_600, 1)], 1, COLD)

    assert (best.needed_s, best.bridged_s, best.starts) == (300, 100, 2)
    assert best.node_seconds == 300 + 100 + 2 * 120
    assert best.lives == (Life(880, 1_000, 1_300), Life(1_380, 1_500, 1_600))
    assert best.capacity() == [(880, 1), (1_300, 0), (1_380, 1), (1_600, 0)]


def test_gap_as_long_as_the_cold_start_is_bridged() -> None:
    # Both cost the same; the one with fewer launches is told.
    best = optimum([(0, 10, 1), (130, 140, 1)], 1, COLD)

    assert (best.node_seconds, best.starts) == (10 + 120 + 10 + 120, 1)


def test_second_node_stops_in_a_gap_that_the_first_works_through() -> None:
    # Level 1 is needed from 0 to 1,000, level 2 from 0 to 100, 150 to 300 and 700 to 800: gaps of 50 and 400 s.
    best = optimum([(0, 1_000, 1), (0, 100, 1), (150, 300, 1), (700, 800, 1)], 1, COLD)

    assert best.needed_s == 1_000 + 100 + 150 + 100
    assert (best.bridged_s, best.starts) == (50, 3)
    assert best.capacity() == [(-120, 2), (300, 1), (580, 2), (800, 1), (1_000, 0)]


def test_work_that_follows_at_once_needs_no_second_start() -> None:
    best = optimum([(0, 10, 1), (10, 20, 1)], 1, 5)

    assert (best.node_seconds, best.starts, best.bridged_s) == (25, 1, 0)


def test_jobs_share_a_node_and_the_fifth_accelerator_takes_another() -> None:
    together = optimum([(0, 60, 1)] * 4, 4, COLD)
    one_more = optimum([(0, 60, 1)] * 5, 4, COLD)

    assert (together.node_seconds, together.starts) == (60 + 120, 1)
    assert (one_more.node_seconds, one_more.starts) == (2 * (60 + 120), 2)


@pytest.mark.parametrize("shares", [(0.1, 0.2, 0.7), (1 / 6,) * 6, (0.3,) * 3, (0.29, 0.71), (1 / 3,) * 3])
def test_fractions_that_make_up_a_node_take_one(shares: tuple[float, ...]) -> None:
    assert optimum([(0, 60, share) for share in shares], 1, COLD).starts == 1


@pytest.mark.parametrize("shares", [(0.1, 0.2, 0.701), (0.5, 0.50001), (0.34,) * 3])
def test_fractions_that_are_more_than_a_node_take_two(shares: tuple[float, ...]) -> None:
    assert optimum([(0, 60, share) for share in shares], 1, COLD).starts == 2


def test_free_starts_pay_the_work_alone() -> None:
    best = optimum([(0, 10, 1), (10.5, 20, 1)], 1, 0)

    assert (best.node_seconds, best.starts) == (19.5, 2)


def test_order_of_the_work_does_not_matter() -> None:
    spans = [(5.0, 9.0, 1.0), (0.0, 3.0, 2.0), (2.0, 6.0, 0.5), (40.0, 41.0, 1.0)]

    assert optimum(spans, 2, 3) == optimum(reversed(spans), 2, 3)


# Against exhaustive search

TIMES = st.integers(0, 40)
WHOLE_JOBS = st.lists(st.tuples(TIMES, st.integers(1, 12)), min_size=1, max_size=8)
COLD_STARTS = st.integers(0, 15)


def at_most_three_nodes(jobs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of work that three nodes can do, as an always-on fleet of three would."""
    works = [Job(float(at), float(length)) for at, length in sorted(jobs)]
    starts = nobody_waits(works, 1, 3).starts_s
    return [(int(at), int(at + job.service_s)) for at, job in zip(starts, works, strict=True)]


def cheapest_by_hand(spans: Sequence[tuple[int, int]], cold: int) -> int:
    """Try every way to give the jobs to three nodes, and in each gap of each node to stop or to keep it."""

    @cache
    def alone(mask: int) -> float:
        """Return the least that one node pays for the jobs of a mask: every choice in every gap is tried."""
        mine = sorted(span for number, span in enumerate(spans) if mask >> number & 1)
        if not mine:
            return 0
        gaps = [after[0] - before[1] for before, after in pairwise(mine)]
        if any(gap < 0 for gap in gaps):
            return math.inf
        kept = product([True, False], repeat=len(gaps))
        return (
            cold
            + sum(end - begin for begin, end in mine)
            + min(sum(gap if keep else cold for gap, keep in zip(gaps, choice, strict=True)) for choice in kept)
        )

    everything = (1 << len(spans)) - 1
    best = min(
        alone(first) + alone(second) + alone(everything ^ first ^ second)
        for first in range(everything + 1)
        for second in subsets(everything ^ first)
    )
    return int(best)


def subsets(mask: int) -> Iterator[int]:
    part = mask
    while True:
        yield part
        if part == 0:
            return
        part = (part - 1) & mask


@settings(max_examples=120)
@given(jobs=WHOLE_JOBS, cold=COLD_STARTS)
def test_optimum_is_the_cheapest_of_all_assignments_to_nodes(jobs: list[tuple[int, int]], cold: int) -> None:
    """No work moves in the search, so no migration is needed where a job takes a whole node."""
    spans = at_most_three_nodes(jobs)

    best = optimum([(*span, 1.0) for span in spans], 1, cold)

    assert best.node_seconds == cheapest_by_hand(spans, cold)


def cheapest_course(spans: Sequence[tuple[int, int, float]], accelerators: int, cold: int) -> int:
    """Try every course of the number of nodes, up to one more than all jobs need, from each second to the next."""
    last = max(end for _, end, _ in spans)
    tenths = [sum(round(10 * share) for begin, end, share in spans if begin <= at < end) for at in range(last)]
    needed = [math.ceil(used / (10 * accelerators)) for used in tenths]
    most = max(needed) + 1

    @cache
    def from_here(at: int, running: int) -> int:
        if at == last:
            return 0
        return min(
            nodes + cold * max(0, nodes - running) + from_here(at + 1, nodes) for nodes in range(needed[at], most + 1)
        )

    return from_here(0, 0)


SHARED_JOBS = st.lists(
    st.tuples(TIMES, st.integers(1, 12), st.sampled_from([0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0])), min_size=1, max_size=8
)


@settings(max_examples=80)
@given(jobs=SHARED_JOBS, cold=COLD_STARTS)
def test_optimum_is_the_cheapest_course_of_capacity_where_jobs_share_nodes(
    jobs: list[tuple[int, int, float]], cold: int
) -> None:
    spans = [(at, at + length, share) for at, length, share in jobs]

    best = optimum(spans, 2, cold)

    assert best.node_seconds == cheapest_course(spans, 2, cold)


@settings(max_examples=60)
@given(jobs=SHARED_JOBS, cold=COLD_STARTS)
def test_capacity_is_what_is_paid_and_never_less_than_the_work(jobs: list[tuple[int, int, float]], cold: int) -> None:
    spans = [(at, at + length, share) for at, length, share in jobs]
    best = optimum(spans, 2, cold)
    steps = best.capacity()

    assert sum(nodes * (until - at) for (at, nodes), (until, _) in pairwise(steps)) == best.node_seconds
    assert steps[-1][1] == 0
    assert sum(life.ended_s - life.launched_s for life in best.lives) == best.node_seconds
    for at, _, _ in spans:
        in_use = sum(share for begin, end, share in spans if begin <= at < end)
        ready = sum(life.ready_s <= at < life.ended_s for life in best.lives)
        assert 2 * ready >= in_use - 1e-9


# Nothing is cheaper

MANY_JOBS = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), min_size=1, max_size=40)


def paid_by(
    spans: Sequence[tuple[int, int]], cold: int, dice: random.Random, *, keep_s: Sequence[int], newest_first: bool
) -> int:
    """What a fleet pays that gives each job to an idle node, and keeps each idle one for a time out of ``keep_s``.

    A new node is started, in time, where no idle one is left. ``newest_first`` gives work to the node that was at work
    last; else to any.
    """
    paid = 0
    nodes: list[tuple[int, int]] = []
    """Of each node that has not stopped: when its work ends, and how long it is kept then."""
    for begin, end in sorted(spans):
        stopped = [each for each in nodes if sum(each) < begin]
        paid += sum(keep for _, keep in stopped)
        nodes = [each for each in nodes if each not in stopped]
        idle = sorted(each for each in nodes if each[0] <= begin)
        if idle:
            taken = idle[-1] if newest_first else dice.choice(idle)
            nodes.remove(taken)
            paid += begin - taken[0]
        else:
            paid += cold
        paid += end - begin
        nodes.append((end, dice.choice(keep_s)))
    return paid + sum(keep for _, keep in nodes)


@settings(max_examples=150)
@given(jobs=MANY_JOBS, cold=st.integers(0, 60), seed=st.integers(0, 999), newest_first=st.booleans())
def test_no_fleet_with_these_starts_pays_less(
    jobs: list[tuple[int, int]], cold: int, seed: int, newest_first: bool
) -> None:
    spans = [(at, at + length) for at, length in jobs]
    best = optimum([(*span, 1.0) for span in spans], 1, cold)

    paid = paid_by(spans, cold, random.Random(seed), keep_s=[0, 0, 5, 30, 100, 500], newest_first=newest_first)

    assert paid >= best.node_seconds


@settings(max_examples=150)
@given(jobs=MANY_JOBS, cold=st.integers(1, 60))
def test_keeping_an_idle_node_for_as_long_as_a_start_pays_twice_the_optimum_at_most(
    jobs: list[tuple[int, int]], cold: int
) -> None:
    """The classic bound of rent or buy, if work goes to the node that was at work last."""
    spans = [(at, at + length) for at, length in jobs]
    best = optimum([(*span, 1.0) for span in spans], 1, cold)

    paid = paid_by(spans, cold, random.Random(0), keep_s=[cold], newest_first=True)

    assert best.node_seconds <= paid <= 2 * best.node_seconds


def test_bound_of_two_is_reached() -> None:
    # Each gap is one second longer than a start of 1,000 s: the fleet pays the wait and the start. The work is nothing.
    spans = [(2_002 * n, 2_002 * n + 1) for n in range(50)]
    best = optimum([(*span, 1.0) for span in spans], 1, 1_000)

    paid = paid_by(spans, 1_000, random.Random(0), keep_s=[1_000], newest_first=True)

    assert best.node_seconds == 50 * 1_001
    assert paid == 50 * 2_001


def test_bound_of_two_is_lost_where_work_goes_to_any_idle_node() -> None:
    """Five nodes are up after a burst, one job in ten seconds keeps them all awake: each is idle for too short a time.

    One would do for the 1,000 jobs, at 10 s each; five are paid all the while, nearly.
    """
    burst = [(0, 10)] * 5
    trickle = [(10 * n, 10 * n + 10) for n in range(1, 1_000)]
    spans = burst + trickle
    best = optimum([(*span, 1.0) for span in spans], 1, 200)

    paid = paid_by(spans, 200, random.Random(1), keep_s=[200], newest_first=False)

    assert best.node_seconds == 5 * (200 + 10) + 9_990
    assert paid > 3 * best.node_seconds
