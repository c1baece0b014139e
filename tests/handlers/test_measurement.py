"""What a signal says over a window, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from release_idle.measurement import (
    Busy,
    Finding,
    Idle,
    Point,
    Reading,
    Series,
    Signal,
    Statistic,
    Unknown,
    Unreadable,
    difference,
    examine,
    span_to_read,
    window_before,
)
from tests.handlers.fake_aws import START

NOW = START
GPU = Signal(name="gpu", metric="nvidia_smi_utilization_gpu", statistic="Maximum", idle_below=5, means="work")
LONG_AGO = NOW - timedelta(days=30)


def series(values: dict[int, float], period: int = 60) -> Series:
    """Return a series of values by how many minutes ago they were measured."""
    points = tuple(Point(NOW - timedelta(minutes=ago), value) for ago, value in values.items())
    return Series(points, period)


def idle(first: int = 40, last: int = 1) -> dict[int, float]:
    """Return an idle value for each minute from `first` to `last` minutes ago."""
    return dict.fromkeys(range(last, first + 1), 0.0)


def look(reading: Reading, *, window: int = 30, launched_minutes_ago: int | None = None) -> Finding:
    warm_from = LONG_AGO
    if launched_minutes_ago is not None:
        warm_from = NOW - timedelta(minutes=launched_minutes_ago) + timedelta(minutes=10)
    over = window_before(NOW, window_seconds=window * 60, period_seconds=60)
    return examine(GPU, reading, over, expected_from=warm_from, now=NOW)


def test_the_window_ends_before_the_two_newest_periods() -> None:
    window = window_before(NOW, window_seconds=1800, period_seconds=60)
    assert window.end == NOW - timedelta(minutes=2)
    assert window.start == NOW - timedelta(minutes=32)


@pytest.mark.parametrize(
    ("values", "verdict", "told"),
    [
        (idle(), Idle, "below 5 for 40 min"),
        (idle(32), Idle, ""),
        (idle(31), Unknown, "was seen idle for 29 of 30 min"),
        (idle(29), Unknown, "was seen idle for 27 of 30 min"),
        (idle(28), Unknown, "from 2026-11-30T11:28Z to 2026-11-30T11:32Z"),
        ({}, Unknown, "has no data"),
        ({1: 0.0}, Unknown, "has no data"),
        (idle(40, last=5), Idle, ""),
        (idle(32, last=4), Unknown, "was seen idle for 29 of 30 min"),
        ({**idle(), 33: 95.0, 20: float("nan")}, Unknown, "nan"),
        (idle(40, last=6), Unknown, "no data since 2026-11-30T11:55Z"),
        (idle(40, last=20), Unknown, "no data since"),
        # Provisional points may be absent or there: neither completes the window nor makes a gap.
        ({**idle(40, last=5), 1: 0.0}, Idle, ""),
        ({**idle(40, last=6), 1: 0.0}, Unknown, "no data since 2026-11-30T11:55Z"),
        # Three periods between two points are tolerated, four are not.
        ({**idle(40, 20), **idle(17, 1)}, Idle, ""),
        ({**idle(40, 20), **idle(16, 1)}, Unknown, "from 2026-11-30T11:41Z to 2026-11-30T11:44Z"),
        # A silence counts as idle only when idle points before the window make up for it.
        ({**idle(40, 20), **idle(18, 1), 33: 95.0}, Unknown, "was seen idle for 29 of 30 min"),
        ({**idle(40, 20), **idle(18, 1), 34: 95.0}, Idle, ""),
        # One value at the threshold is busy; just below it is not.
        ({**idle(), 15: 5.0}, Busy, "was 5 at 2026-11-30T11:45Z, idle is below 5"),
        ({**idle(), 15: 4.999}, Idle, ""),
        # The newest, provisional minutes can make it busy, and cannot make it idle.
        ({**idle(), 1: 95.0}, Busy, "was 95"),
        ({**idle(), 2: 95.0}, Busy, "was 95"),
        # Busy before the window is not busy now.
        ({**idle(), 33: 95.0}, Idle, "for 32 min"),
        ({**idle(), 32: 95.0}, Busy, ""),
        # Busy in an otherwise broken window is still busy, but not once the series has ended: silence is unknown, and
        # an unknown that lasts is told.
        ({20: 95.0, 3: 0.0}, Busy, "was 95"),
        ({20: 95.0}, Unknown, "was 95 at 2026-11-30T11:40Z and has had no data since 2026-11-30T11:41Z"),
        ({20: 95.0, 6: 0.0}, Unknown, "no data since 2026-11-30T11:55Z"),
        ({20: 95.0, 5: 0.0}, Busy, ""),
        ({**idle(), 10: float("nan"), 12: 95.0}, Busy, ""),
        ({**idle(), 10: float("nan")}, Unknown, "nan"),
        ({**idle(), 10: -1.0}, Unknown, "-1"),
        ({**idle(), 10: float("inf")}, Busy, ""),
        ({**idle(), 10: float("-inf")}, Unknown, "-inf"),
        ({**idle(), 38: float("nan")}, Idle, "for 37 min"),
    ],
)
def test_case_07_only_a_complete_idle_window_is_idle(
    values: dict[int, float], verdict: type[Finding], told: str
) -> None:
    finding = look(series(values))
    assert isinstance(finding, verdict)
    assert told in finding.reason
    assert "gpu (nvidia_smi_utilization_gpu Maximum)" in finding.reason


@pytest.mark.parametrize(
    ("values", "at_work"),
    [
        # Both of the newest points, provisional ones included, and nothing older.
        ({**idle(), 2: 95.0, 1: 95.0}, True),
        ({**idle(), 2: 5.0, 1: 5.0}, True),
        ({**idle(), 2: 95.0, 1: 4.0}, False),
        ({**idle(), 2: 4.0, 1: 95.0}, False),
        ({**idle(), **dict.fromkeys(range(3, 30), 95.0)}, False),
        # The newest two that are there may be a metric's delay old, but no older: nobody knows what came after.
        ({**idle(40, 5), 4: 95.0, 3: 95.0}, True),
        ({**idle(40, 6), 5: 95.0, 4: 95.0}, False),
        # A hole before the newest is no doubt about it.
        ({**idle(40, 7), 4: 95.0, 1: 95.0}, True),
        ({1: 95.0}, True),
    ],
)
def test_case_65_only_the_newest_points_say_who_works_now(values: dict[int, float], at_work: bool) -> None:
    finding = look(series(values))
    assert isinstance(finding, Busy)
    assert finding.at_work is at_work


@pytest.mark.parametrize(
    ("newest", "at_work"),
    [({}, False), ({2: 95.0, 1: 95.0}, True), ({2: 95.0, 1: 0.0}, False), ({5: 95.0, 4: 95.0}, False)],
)
def test_case_65_of_a_coarse_series_only_its_newest_minutes_say_who_works_now(
    newest: dict[int, float], at_work: bool
) -> None:
    coarse = series({5 * step: 95.0 for step in range(60)}, period=300)
    finding = look(replace(coarse, newest=series(newest).points), window=240)
    assert isinstance(finding, Busy)
    assert finding.at_work is at_work


def test_a_reading_that_failed_is_unknown_with_its_reason() -> None:
    finding = look(Unreadable("GetMetricData: Throttling"))
    assert finding == Unknown("gpu (nvidia_smi_utilization_gpu Maximum) could not be read: GetMetricData: Throttling")


@pytest.mark.parametrize(
    ("launched", "first_point", "verdict", "whole"),
    [
        # 25 minutes old and silent for its first 12: idle, but not for a whole window yet.
        (25, 13, Idle, False),
        # Its agent began later than warm-up and slack allow: that is silence, not youth.
        (25, 11, Unknown, None),
        # 40 minutes old: the whole window has to be there, from the end of the warm-up on.
        (40, 27, Idle, False),
        (40, 31, Idle, False),
        (40, 32, Idle, True),
        (60, 27, Unknown, None),
        # Still warming up when the window ends.
        (11, 3, Idle, False),
    ],
)
def test_case_11_a_young_instance_is_not_idle_for_the_whole_window(
    launched: int, first_point: int, verdict: type[Finding], whole: bool | None
) -> None:
    finding = look(series(idle(first_point)), launched_minutes_ago=launched)
    assert isinstance(finding, verdict)
    if isinstance(finding, Idle):
        assert finding.whole_window is whole


def test_a_period_that_the_window_begins_in_belongs_to_it() -> None:
    """At 12:00:30 the window begins at 11:28:30, and the point of 11:28 covers that."""
    now = NOW + timedelta(seconds=30)
    window = window_before(now, window_seconds=1800, period_seconds=60)
    finding = examine(GPU, series({**idle(), 32: 95.0}), window, expected_from=LONG_AGO, now=now)
    assert isinstance(finding, Busy)


def test_the_order_of_points_and_pages_does_not_matter() -> None:
    values = {**idle(), 33: 95.0}
    backwards = Series(tuple(reversed(series(values).points)), 60)
    assert look(backwards) == look(series(values))


def test_case_08_work_that_begins_with_a_silent_agent_is_not_idle() -> None:
    """Six idle minutes, then the agent restarts and work begins: a window of seven is never full."""
    for silent_minutes in range(1, 11):
        values = dict.fromkeys(range(silent_minutes, silent_minutes + 6), 0.0)
        values.update(dict.fromkeys(range(silent_minutes + 6, 60), 95.0))
        assert not isinstance(look(series(values), window=7), Idle)


def test_a_point_that_comes_twice_counts_once() -> None:
    twice = Series(series(idle(31)).points * 2, 60)
    assert look(twice) == look(series(idle(31)))
    assert isinstance(look(twice), Unknown)


def test_a_long_window_bears_a_tenth_of_silence() -> None:
    """A day of CPU averages in which the agent restarted for two minutes each hour."""
    day = {ago: 0.0 for ago in range(1, 1600) if ago % 60 not in (0, 1)}
    assert isinstance(look(series(day), window=1440), Idle)
    lossy = {ago: 0.0 for ago in range(1, 1600) if ago % 8 not in (0, 1)}
    assert isinstance(look(series(lossy), window=1440), Unknown)


def test_points_from_the_future_prove_nothing() -> None:
    ahead = {-ago: 0.0 for ago in range(1, 40)}
    assert isinstance(look(series(ahead)), Unknown)


def test_idle_since_is_the_end_of_the_last_busy_period() -> None:
    finding = look(series({**idle(60), 45: 95.0}))
    assert isinstance(finding, Idle)
    assert finding.since == NOW - timedelta(minutes=44)


@pytest.mark.parametrize(
    ("window_minutes", "statistic", "period", "reaches_back_minutes", "queries"),
    [
        # Twice the window as long as 201 points hold it.
        (5, "Maximum", 60, 12, 500),
        (30, "Maximum", 60, 62, 500),
        (90, "Maximum", 60, 182, 500),
        (180, "Maximum", 60, 200, 500),
        # Longer windows: coarser periods for Maximum, smaller calls for everything else.
        (240, "Maximum", 300, 482, 500),
        (1440, "Maximum", 900, 2882, 500),
        (10080, "Maximum", 3600, 11999, 500),
        (240, "Average", 60, 266, 378),
        (1440, "Average", 60, 1586, 63),
        (1440, "Minimum", 60, 1586, 63),
        (1440, "Sum", 60, 1586, 63),
    ],
)
def test_a_call_stays_within_the_points_of_one_page(
    window_minutes: int, statistic: Statistic, period: int, reaches_back_minutes: int, queries: int
) -> None:
    signal = Signal(name="gpu", metric="m", statistic=statistic, idle_below=5, means="work")
    window = window_before(NOW, window_seconds=window_minutes * 60, period_seconds=60)
    span = span_to_read(signal, window, NOW)
    assert span.period_seconds == period
    assert span.start <= window.start
    assert span.end == NOW
    assert (NOW - span.start) - timedelta(minutes=reaches_back_minutes) < timedelta(seconds=period)
    assert NOW - span.start >= timedelta(minutes=reaches_back_minutes)
    assert span.start.timestamp() % period == 0
    assert span.queries_per_call == queries
    assert span.points * span.queries_per_call <= 100_800


def test_a_coarse_series_needs_every_period_and_tolerates_no_empty_one() -> None:
    """Four hours in periods of 300 s: an empty one is five silent minutes, more than the three allowed."""
    whole = {5 * step: 0.0 for step in range(60)}
    assert isinstance(look(series(whole, period=300), window=240), Idle)
    assert isinstance(look(series({**whole, 60: 95.0}, period=300), window=240), Busy)
    del whole[60]
    assert isinstance(look(series(whole, period=300), window=240), Unknown)


def test_case_68_use_that_needs_no_job_is_never_work() -> None:
    # Somebody may be logged in on an instance whose worker has nothing: a queue's messages are not with this one.
    logins = Signal(name="logins", metric="interactive_sessions", statistic="Maximum", idle_below=1, means="presence")
    reading = series(dict.fromkeys(range(1, 41), 1.0))
    over = window_before(NOW, window_seconds=1800, period_seconds=60)
    for signal, at_work in ((logins, False), (replace(logins, means="work"), True)):
        finding = examine(signal, reading, over, expected_from=LONG_AGO, now=NOW)
        assert isinstance(finding, Busy)
        assert finding.at_work is at_work


DOUBT = Signal(name="doubt", metric="accelerators_unknown", statistic="Maximum", idle_below=1, means="doubt")


@pytest.mark.parametrize(
    ("doubtful", "finding"),
    [
        ((), Idle),
        # As a silence of that length: what an instance cannot tell of itself is neither use nor idleness.
        ((20,), Idle),
        ((20, 19, 18), Unknown),
        (range(1, 41), Unknown),
        (range(1, 6), Unknown),
    ],
    ids=["never", "for a minute", "for three", "always", "at the end"],
)
def test_case_24_what_the_instance_cannot_tell_is_silence(doubtful: Sequence[int], finding: type[Finding]) -> None:
    # Seven GPUs at rest say nothing about the eighth, which is in MIG mode or does not answer.
    over = window_before(NOW, window_seconds=1800, period_seconds=60)
    told = {**dict.fromkeys(range(1, 41), 0.0), **dict.fromkeys(doubtful, 1.0)}
    assert isinstance(examine(DOUBT, series(told), over, expected_from=LONG_AGO, now=NOW), finding)
    assert isinstance(examine(DOUBT, series({}), over, expected_from=LONG_AGO, now=NOW), Unknown)


def test_case_24_samples_that_one_figure_lacks_against_another_are_a_difference() -> None:
    memory, use = series({3: 8.0, 2: 8.0, 1: 8.0}), series({3: 8.0, 2: 7.0})
    assert difference(memory, use) == series({3: 0.0, 2: 1.0, 1: 8.0})
    assert difference(Unreadable("throttled"), use) == Unreadable("throttled")
    assert difference(memory, Unreadable("throttled")) == Unreadable("throttled")


# ---- a signal that counts its own idle seconds

IDLE_TIME = Signal(name="idle", metric="idle_seconds", statistic="Minimum", idle_below=1, means="idle_time")


def told(values: dict[int, float]) -> Finding:
    over = window_before(NOW, window_seconds=1800, period_seconds=60)
    return examine(IDLE_TIME, series(values), over, expected_from=LONG_AGO, now=NOW)


def test_the_newest_settled_value_says_since_when_an_instance_has_been_idle() -> None:
    finding = told({9: 5.0, 3: 1800.0, 1: 1920.0})
    assert isinstance(finding, Idle)
    assert (finding.since, finding.whole_window) == (NOW - timedelta(seconds=1800), True)
    assert finding.reason == "idle (idle_seconds Minimum) says idle for 30 min"


@pytest.mark.parametrize(
    ("values", "at_work"),
    [
        ({3: 1799.0}, False),
        ({3: 180.0}, False),
        ({3: 179.0}, True),
        ({3: 0.0, 2: 60.0}, True),
        # Work that began within the newest two minutes.
        ({3: 4000.0, 1: 10.0}, True),
        ({3: 4000.0, 2: 10.0, 1: 200.0}, False),
    ],
)
def test_less_than_the_window_is_busy_and_at_work_when_it_is_very_new(values: dict[int, float], at_work: bool) -> None:
    finding = told(values)
    assert isinstance(finding, Busy)
    assert finding.at_work is at_work


@pytest.mark.parametrize(
    "values",
    [{}, {1: 4000.0}, {2: 4000.0}, {9: 4000.0}, {3: -1.0}, {3: float("nan")}, {3: 4000.0, 1: float("nan")}],
)
def test_case_07_silence_and_nonsense_say_nothing_of_idle_time(values: dict[int, float]) -> None:
    assert isinstance(told(values), Unknown)


def test_idle_time_is_read_only_of_the_newest_points() -> None:
    over = window_before(NOW, window_seconds=7 * 24 * 3600, period_seconds=60)
    span = span_to_read(IDLE_TIME, over, NOW)
    assert (span.period_seconds, span.start) == (60, NOW - timedelta(minutes=5))
