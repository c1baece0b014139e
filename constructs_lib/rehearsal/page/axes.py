"""Axes: round numbers for amounts, and moments that a clock shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from constructs_lib.rehearsal.wording import day, weekday

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_TIME_STEPS = (
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 14, 28, 56, 112, 364)),
)


@dataclass(frozen=True)
class Scale:
    """Where on a picture a value stands, in the picture's units."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return round(self.begin + share * (self.end - self.begin), 1)


def amounts(most: float, number: int = 4) -> list[float]:
    """Round amounts from zero to at least ``most``, about so many steps."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / number
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [round(step * count, 12) for count in range(math.ceil(most / step - 1e-9) + 1)]


def moments(start: datetime, seconds: float, most: int) -> list[tuple[float, str]]:
    """Moments of a run at which a clock shows something round: seconds from the start, and what it shows.

    Args:
        start: clock time of second 0.
        seconds: that the run takes.
        most: so many moments at most.
    """
    step = next((each for each in _TIME_STEPS if seconds / each <= most), _TIME_STEPS[-1])
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight
    found = []
    while (passed := (at - start).total_seconds()) <= seconds:
        if passed >= 0:
            found.append((passed, _shown(at, step, seconds)))
        at += timedelta(seconds=step)
    return found


def _shown(at: datetime, step: float, seconds: float) -> str:
    if step >= _DAY:
        return day(at)
    return f"{at:%H:%M}" if seconds <= _DAY else f"{weekday(at)} {at:%H:%M}"


def spaced(labels: Sequence[tuple[float, str]], *, width: float, least: float, most: float) -> list[tuple[float, str]]:
    """Leave out labels that would stand in each other's place or outside.

    Args:
        labels: middle and text, in order.
        width: of a letter.
        least: where the first one may begin.
        most: where the last one may end.
    """
    kept: list[tuple[float, str]] = []
    free = least
    for middle, label in labels:
        half = len(label) * width / 2
        if middle - half >= free and middle + half <= most:
            kept.append((middle, label))
            free = middle + half + width
    return kept
