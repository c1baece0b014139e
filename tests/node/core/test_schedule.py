"""When readings are taken, and that a signal ends the wait."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.schedule import StopRequest, seconds_to_next

MINUTE = 1_796_040_000


@pytest.mark.parametrize(
    ("now", "interval", "wait"),
    [
        (MINUTE, 60, 20),
        (MINUTE + 19, 60, 1),
        (MINUTE + 20, 60, 60),
        (MINUTE + 20.2, 60, 59.8),
        (MINUTE + 59, 60, 21),
        (MINUTE + 19.999, 60, 60.001),
        (MINUTE, 30, 10),
        (MINUTE + 45, 30, 25),
    ],
)
def test_readings_have_a_place_in_the_minute(now: float, interval: int, wait: float) -> None:
    assert seconds_to_next(now, interval) == pytest.approx(wait)


@given(st.floats(0, 1e10), st.integers(10, 600))
def test_every_reading_comes_after_a_third_of_an_interval(now: float, interval: int) -> None:
    wait = seconds_to_next(now, interval)
    assert 1 <= wait < interval + 1
    phase = (now + wait) % interval
    assert phase == pytest.approx(interval / 3, abs=1e-4)


@given(st.floats(0, 1e9), st.lists(st.floats(-2, 2), min_size=10, max_size=10))
def test_no_minute_has_two_readings_or_none(now: float, jitters: list[float]) -> None:
    """Whatever a reading takes and the clock is off by, up to some seconds."""
    minutes = []
    for jitter in jitters:
        now += seconds_to_next(now, 60) + abs(jitter)
        minutes.append(now // 60)
    assert [after - before for before, after in pairwise(minutes)] == [1] * 9


@pytest.fixture
def handlers() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_wait_ends_with_its_time() -> None:
    waited: list[float] = []

    def wait(files: object, seconds: float) -> list[int]:
        waited.append(seconds)
        return []

    with closing(StopRequest(wait)) as stop:
        assert stop.wait(20.5) is False
    assert waited == [20.5]


@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_this_wait_and_all_others() -> None:
    with closing(StopRequest()) as stop:
        stop.listen_to([signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1)
        assert stop.wait(60) is True
        assert stop.wait(60) is True
