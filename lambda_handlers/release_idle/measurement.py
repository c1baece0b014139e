"""What one signal says about one instance: busy, idle or unknown, with the reason. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

Statistic: TypeAlias = Literal["Average", "Maximum", "Minimum", "SampleCount", "Sum"]

Meaning: TypeAlias = Literal["work", "presence", "doubt", "idle_time"]

PROVISIONAL_PERIODS = 2
"""Points this new may still change or be absent without meaning anything."""

TOLERATED_PERIODS = 3
"""A series may be silent for this many periods between two points, or at either end of the window."""

POINTS_PER_CALL = 100_800
QUERIES_PER_CALL = 500
_POINTS_PER_QUERY = POINTS_PER_CALL // QUERIES_PER_CALL
_COARSER_PERIODS = (300, 900, 3600)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BY_TIME = attrgetter("at")


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A metric that tells whether an instance is in use: it is not while the value is below `idle_below`.

    `means` says what a value at or above that is: `work`; `presence`, which needs no job, such as somebody being logged
    in; or `doubt`, when the instance itself cannot tell. With `less` the value is what this metric exceeds another one
    by, point by point; a point that the other one lacks counts as 0.

    A signal that means `idle_time` is the other way round: its value says for how many seconds the instance has been
    idle, and `idle_below` says nothing. `namespace` is None for the fleet's own, and `dimensions` are those that the
    series has besides the instance's id.
    """

    name: str
    metric: str
    statistic: Statistic
    idle_below: float
    means: Meaning
    less: str | None = None
    namespace: str | None = None
    dimensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Window:
    """The time an instance must have been idle for, and the period in which its signals are published."""

    start: datetime
    end: datetime
    period_seconds: int

    @cached_property
    def length(self) -> timedelta:
        """How long an instance must have been seen idle."""
        return self.end - self.start

    @cached_property
    def slack(self) -> timedelta:
        """How long a series may be silent at a time."""
        return timedelta(seconds=TOLERATED_PERIODS * self.period_seconds)

    @cached_property
    def made_up_from(self) -> datetime:
        """From when on idle points may make up for silence within the window.

        One slack before it, or a tenth of a long window, in which an agent may restart more than once.
        """
        return self.start - max(self.slack, self.length / 10)


@dataclass(frozen=True, kw_only=True)
class Span:
    """What to ask CloudWatch for: the points from `start` to `end`, one for each `period_seconds`."""

    start: datetime
    end: datetime
    period_seconds: int

    @property
    def points(self) -> int:
        """How many points one series can hold at most."""
        return math.ceil((self.end - self.start).total_seconds() / self.period_seconds)

    @property
    def queries_per_call(self) -> int:
        """How many series fit into one call."""
        return max(1, min(QUERIES_PER_CALL, POINTS_PER_CALL // self.points))


# A pass holds hundreds of thousands of these: nothing that is made as fast is as small.
class Point(NamedTuple):
    """One value; `at` is the start of the period that it covers."""

    at: datetime
    value: float


@dataclass(frozen=True)
class Series:
    """All that CloudWatch holds for one signal of one instance in a span, which may be nothing.

    `newest` are the last few points in the signal's own period, for a series that was read in coarser ones.
    """

    points: tuple[Point, ...]
    period_seconds: int
    newest: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """The signal could not be read. Not the same as a series without points.

    `absent` says that AWS answered about others and left this instance out; all else says nothing about it.
    """

    reason: str
    absent: bool = False


Reading: TypeAlias = Series | Unreadable


@dataclass(frozen=True)
class Busy:
    """A value at or above the threshold, within the window or since.

    `at_work` says that the newest points show work too: what was busy earlier in the window may have finished.
    """

    reason: str
    at_work: bool


@dataclass(frozen=True)
class Unknown:
    """Neither busy nor provably idle."""

    reason: str


@dataclass(frozen=True)
class Idle:
    """Below the threshold from `since` on. `whole_window` is false for one younger than the window."""

    since: datetime
    whole_window: bool
    reason: str


Finding: TypeAlias = Busy | Unknown | Idle


# A pass judges hundreds of members at one moment.
@lru_cache(maxsize=4)
def window_before(now: datetime, *, window_seconds: int, period_seconds: int) -> Window:
    """Return the newest window that ends before the provisional points."""
    end = now - timedelta(seconds=PROVISIONAL_PERIODS * period_seconds)
    return Window(start=end - timedelta(seconds=window_seconds), end=end, period_seconds=period_seconds)


def span_to_read(signal: Signal, window: Window, now: datetime) -> Span:
    """Return what to read so that the signal can be judged over the window.

    One call holds 500 queries and 100,800 points, so 201 points for each query. Where that leaves room, up to
    one more window before this one is read as well: it tells who has been idle longest. A window of more than
    about 177 periods is read in coarser ones, and only for `Maximum`: the maximum of 300 s is at or above the
    threshold exactly if one of its minutes is, while a coarser average or minimum would hide a busy minute, and
    a sum would change its meaning. Those keep their period, and fewer of them go into a call
    (`Span.queries_per_call`).
    """
    if signal.means == "idle_time":
        # The newest value tells of all the time before it.
        return newest_span(window, now)
    needed = (now - window.made_up_from).total_seconds()
    period = window.period_seconds
    if signal.statistic == "Maximum":
        coarser = [p for p in _COARSER_PERIODS if p > period and p % period == 0]
        # One point more than the division gives: the start is moved back to the beginning of a period.
        fitting = [p for p in (period, *coarser) if needed / p + 1 <= _POINTS_PER_QUERY]
        period = fitting[0] if fitting else (period, *coarser)[-1]
    fitting_start = now - timedelta(seconds=(_POINTS_PER_QUERY - 1) * period)
    start = min(window.made_up_from, max(fitting_start, window.start - window.length))
    return Span(start=period_start(start, period), end=now, period_seconds=period)


def newest_span(window: Window, now: datetime) -> Span:
    """Return what to read of a signal's newest points: who is at work still."""
    back = timedelta(seconds=(PROVISIONAL_PERIODS + TOLERATED_PERIODS) * window.period_seconds)
    start = period_start(now - back, window.period_seconds)
    return Span(start=start, end=now, period_seconds=window.period_seconds)


def examine(signal: Signal, reading: Reading, window: Window, *, expected_from: datetime, now: datetime) -> Finding:
    """Return what the signal says about an instance that is expected to report from `expected_from` on.

    One value at or above the threshold means busy, also a provisional one, unless the series has ended since: what an
    instance does that fell silent is unknown, however busy it was. Idle needs as many idle periods as the window has.
    A short silence is no reason for alarm, but never counts as idle: work often begins with one, when an agent restarts
    or a host is too loaded to report. Idle points just before the window make up for it. All else is unknown, with what
    is missing. Points of doubt are such silence.
    """
    if isinstance(reading, Unreadable):
        return Unknown(f"{_title(signal)} could not be read: {reading.reason}")
    points = sorted(reading.points, key=_BY_TIME)
    if signal.means == "idle_time":
        return _examine_idle_time(signal, points, timedelta(seconds=reading.period_seconds), window, now)
    if signal.means == "doubt":
        points = [point for point in points if not point.value >= signal.idle_below]
    covers = timedelta(seconds=reading.period_seconds)
    recent = points[bisect_right(points, window.start - covers, key=_BY_TIME) :]
    busy = next((point for point in reversed(recent) if point.value >= signal.idle_below), None)
    if busy is not None:
        was = f"{_title(signal)} was {busy.value:g} at {_clock_time(busy.at)}"
        if _has_ended(points[-1].at, window, covers):
            return Unknown(f"{was} and has had no data since {_clock_time(points[-1].at + covers)}")
        at_work = signal.means == "work" and _is_still_busy(signal, reading, window)
        return Busy(f"{was}, idle is below {signal.idle_below:g}", at_work)
    # Nothing that a fleet measures is negative; tools write -1 for "not available", and that is no idleness.
    nonsense = [point for point in recent if not math.isfinite(point.value) or point.value < 0]
    if nonsense:
        return Unknown(f"{_title(signal)} holds {nonsense[-1].value} at {_clock_time(nonsense[-1].at)}")
    settled = [point.at for point in recent[: bisect_left(recent, window.end, key=_BY_TIME)]]
    silence = _silence(settled, window, max(window.start, expected_from), covers)
    if silence:
        return Unknown(f"{_title(signal)} {silence}")
    since = _idle_since(points, signal, covers)
    begin = max(since, window.made_up_from + timedelta(seconds=window.period_seconds))
    first, end = (bisect_left(points, moment, key=_BY_TIME) for moment in (begin, window.end))
    seen = covers * len({point.at for point in points[first:end]})
    young = expected_from > window.start
    if seen < window.length and not young:
        return Unknown(f"{_title(signal)} was seen idle for {_minutes(seen)} of {_minutes(window.length)} min")
    reason = f"{_title(signal)} below {signal.idle_below:g} for {_minutes(now - since)} min"
    return Idle(since, seen >= window.length, reason)


def _examine_idle_time(
    signal: Signal, points: Sequence[Point], covers: timedelta, window: Window, now: datetime
) -> Finding:
    """Return what an instance says that counts its own idle seconds.

    The newest settled value decides, and each one since may only bring it down: work that began a moment ago.
    """
    settled = [point for point in points if point.at < window.end]
    if not settled:
        return Unknown(f"{_title(signal)} has no data from {_clock_time(window.start)} to {_clock_time(window.end)}")
    if _has_ended(points[-1].at, window, covers):
        return Unknown(f"{_title(signal)} has had no data since {_clock_time(points[-1].at + covers)}")
    newest = [settled[-1], *(point for point in points if point.at >= window.end)]
    nonsense = [point for point in newest if not math.isfinite(point.value) or point.value < 0]
    if nonsense:
        return Unknown(f"{_title(signal)} holds {nonsense[-1].value} at {_clock_time(nonsense[-1].at)}")
    least = min(newest, key=lambda point: point.value)
    if least.value < window.length.total_seconds():
        was = f"{_title(signal)} was {least.value:g} s at {_clock_time(least.at)}"
        at_work = newest[-1].value < window.slack.total_seconds()
        return Busy(f"{was}, the window is {window.length.total_seconds():g} s", at_work)
    since = now - timedelta(seconds=least.value)
    return Idle(since, True, f"{_title(signal)} says idle for {_minutes(now - since)} min")


def difference(reading: Reading, less: Reading) -> Reading:
    """Return by how much the first exceeds the second at each of its points."""
    for each in (reading, less):
        if isinstance(each, Unreadable):
            return each
    assert isinstance(reading, Series)
    assert isinstance(less, Series)
    taken = {point.at: point.value for point in less.points}
    points = tuple(Point(point.at, point.value - taken.get(point.at, 0.0)) for point in reading.points)
    return Series(points, reading.period_seconds)


def _is_still_busy(signal: Signal, reading: Series, window: Window) -> bool:
    # A coarse point says only that there was work somewhere in its period, and an old one nothing about now.
    is_coarse = reading.period_seconds > window.period_seconds
    newest = sorted(reading.newest if is_coarse else reading.points, key=_BY_TIME)[-PROVISIONAL_PERIODS:]
    if not newest or newest[-1].at + timedelta(seconds=window.period_seconds) < window.end:
        return False
    return all(point.value >= signal.idle_below for point in newest)


def _silence(settled: Sequence[datetime], window: Window, begin: datetime, covers: timedelta) -> str | None:
    """Return where the series is silent for longer than tolerated, or None."""
    if not settled:
        return f"has no data from {_clock_time(window.start)} to {_clock_time(window.end)}"
    if settled[0] > begin + window.slack:
        return f"has no data from {_clock_time(begin)} to {_clock_time(settled[0])}"
    tolerated = _tolerated(window, covers)
    for before, after in pairwise(settled):
        if after - before > tolerated:
            return f"has no data from {_clock_time(before + covers)} to {_clock_time(after)}"
    if _has_ended(settled[-1], window, covers):
        return f"has had no data since {_clock_time(settled[-1] + covers)}"
    return None


def _has_ended(newest: datetime, window: Window, covers: timedelta) -> bool:
    return newest + _tolerated(window, covers) < window.end


def _tolerated(window: Window, covers: timedelta) -> timedelta:
    # A coarse point says that there was data somewhere in its period; the doubt is given to it, so that
    # reading in coarser periods asks for no more than "no period empty".
    return window.slack + covers - timedelta(seconds=window.period_seconds)


def _idle_since(points: Sequence[Point], signal: Signal, covers: timedelta) -> datetime:
    """Return the end of the last period that was not idle, or the first point when all are."""
    newest = next((point for point in reversed(points) if not 0 <= point.value < signal.idle_below), None)
    return points[0].at if newest is None else newest.at + covers


def period_start(at: datetime, period_seconds: int) -> datetime:
    """Return the beginning of the period that a moment lies in."""
    return at - (at - _EPOCH) % timedelta(seconds=period_seconds)


def _title(signal: Signal) -> str:
    metric = signal.metric if signal.less is None else f"{signal.metric} less {signal.less}"
    return f"{signal.name} ({metric} {signal.statistic})"


def _clock_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%MZ")


def _minutes(duration: timedelta) -> str:
    return f"{duration.total_seconds() / 60:.0f}"
