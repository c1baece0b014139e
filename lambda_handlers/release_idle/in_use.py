"""How many members were in use at once in the newest minutes. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from release_idle.measurement import (
    PROVISIONAL_PERIODS,
    TOLERATED_PERIODS,
    Point,
    Reading,
    Series,
    Signal,
    period_start,
)
from release_idle.members import Member, State, Verdict

PASSES_APART = timedelta(minutes=5)
"""Passes come so far apart, and each one counts who was in use since the one before."""


def most_in_use(
    members: Iterable[Member],
    verdicts: Mapping[str, Verdict],
    readings: Mapping[str, Mapping[str, Reading]],
    signals: Sequence[Signal],
    *,
    period_seconds: int,
    now: datetime,
) -> int:
    """Return the most members in service that were in use in the same period since the pass before.

    Whoever is not known to be idle counts as in use: a signal that could not be read or is silent, a member that is
    held, one that has not reported yet. Who is on the way in or out does not count at all.
    """
    periods = _newest_periods(period_seconds, now)
    counts = [0] * len(periods)
    for member in members:
        verdict = verdicts.get(member.instance_id)
        if member.lifecycle_state != "InService" or (verdict is not None and verdict.state is State.LEAVING):
            continue
        idle = _idle_in(member, verdict, readings.get(member.instance_id, {}), signals, periods, period_seconds)
        launched_at = periods[0] if member.machine is None else member.machine.launched_at
        for index, period in enumerate(periods):
            there = launched_at < period + timedelta(seconds=period_seconds)
            counts[index] += there and not idle[index]
    return max(counts)


def _newest_periods(period_seconds: int, now: datetime) -> Sequence[datetime]:
    """Return the beginning of each period since the pass before, and of those that passes saw only in part."""
    period = timedelta(seconds=period_seconds)
    number = math.ceil(PASSES_APART / period) + PROVISIONAL_PERIODS
    newest = period_start(now, period_seconds)
    return [newest - back * period for back in range(number, 0, -1)]


def _idle_in(
    member: Member,
    verdict: Verdict | None,
    readings: Mapping[str, Reading],
    signals: Sequence[Signal],
    periods: Sequence[datetime],
    period_seconds: int,
) -> Sequence[bool]:
    """Return in which of the periods a member is known to have been idle by every signal."""
    # A session has no past that could be read, and who is held is nobody's to judge.
    is_told_of = member.machine is not None and member.in_session is False
    if not is_told_of or verdict is None or verdict.state is State.HELD:
        return [False] * len(periods)
    of_each = [_idle_by(each, readings.get(each.name), periods, period_seconds) for each in signals]
    return [all(findings) for findings in zip(*of_each, strict=True)]


def _idle_by(
    signal: Signal, reading: Reading | None, periods: Sequence[datetime], period_seconds: int
) -> Sequence[bool]:
    if not isinstance(reading, Series):
        return [False] * len(periods)
    # A series may be silent for a while: its last point holds on for so long, and no longer.
    holds = timedelta(seconds=reading.period_seconds + TOLERATED_PERIODS * period_seconds)
    points = sorted(point for point in reading.points if point.at + holds > periods[0])
    idle = []
    for period in periods:
        newest = max((point for point in points if point.at <= period), default=None)
        idle.append(newest is not None and newest.at + holds > period and _is_idle(signal, newest, period_seconds))
    return idle


def _is_idle(signal: Signal, point: Point, period_seconds: int) -> bool:
    if not math.isfinite(point.value) or point.value < 0:
        return False
    if signal.means == "idle_time":
        return point.value >= period_seconds
    return point.value < signal.idle_below
