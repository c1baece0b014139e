"""When things arrive: as many as expected where they are expected, as regularly as asked for."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import mean, pstdev

import pytest

from constructs_lib.rehearsal.traces.arrivals import Window, arrivals, spread


@pytest.mark.parametrize("variation", [0.2, 1.0, 3.0])
def test_gaps_have_the_mean_and_the_variation(variation: float) -> None:
    times = list(arrivals(random.Random(1), [Window(40_000, 20_000, variation)]))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert mean(gaps) == pytest.approx(2, rel=0.02 * max(variation, 1))
    assert pstdev(gaps) / mean(gaps) == pytest.approx(variation, rel=0.08)


def test_windows_get_what_they_expect() -> None:
    windows = [Window(100, 3000), Window(50, 0), Window(100, 9000, 2.0)]
    times = list(arrivals(random.Random(2), windows))
    assert sum(at < 100 for at in times) == pytest.approx(3000, abs=4 * 55)
    assert not [at for at in times if 100 <= at < 150]
    assert sum(at >= 150 for at in times) == pytest.approx(9000, abs=4 * 190)


def test_a_process_that_has_always_run_expects_as_much_in_a_short_window() -> None:
    """Gaps that vary fivefold: a window that expects a tenth of an arrival gets one in ten on average, not at once."""
    counts = [len(list(arrivals(random.Random(seed), [Window(60, 0.1, 5.0)]))) for seed in range(10_000)]
    assert mean(counts) == pytest.approx(0.1, rel=0.25)


def test_windows_without_anything_are_empty() -> None:
    assert list(arrivals(random.Random(3), [Window(60, 0), Window(60, 0)])) == []
    assert list(arrivals(random.Random(3), [])) == []


@pytest.mark.parametrize("variation", [1.0, 13.0])
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_so_many_come_as_are_asked_for(variation: float, count: int) -> None:
    windows = [Window(100, 1), Window(50, 0), Window(100, 3)]
    for seed in range(50):
        times = list(spread(random.Random(seed), windows, count, variation))
        assert len(times) == count
        assert times == sorted(times)
        assert all(0 <= at < 100 or 150 <= at <= 250 for at in times)


def test_neither_end_is_special() -> None:
    """One burst of a few jobs lies anywhere: as often in the first tenth as in any other."""
    firsts = [next(spread(random.Random(seed), [Window(100, 1)], 3, 13.0)) for seed in range(2000)]
    tenths = [sum(10 * place <= at < 10 * place + 10 for at in firsts) for place in range(10)]
    assert max(tenths) < 330
    assert min(tenths[:9]) > 100


def test_arrivals_follow_the_weights() -> None:
    times = list(spread(random.Random(4), [Window(100, 1), Window(100, 3)], 8000, 1.0))
    assert sum(at < 100 for at in times) == pytest.approx(2000, abs=4 * 39)
