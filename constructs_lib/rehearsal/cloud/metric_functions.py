"""The functions of metric math, by name, for those that take values (and not an id, a word or a search).

They follow what CloudWatch's user guide says of them ("Using math expressions with CloudWatch metrics"). Where it is
silent, as on the first point of RATE, what is here is a reading of it; others are in the context.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise

from constructs_lib.rehearsal.cloud.calendar import moment
from constructs_lib.rehearsal.cloud.metric_values import (
    Array,
    Context,
    Series,
    Value,
    number,
    of_each,
    series,
)

Function = Callable[[Context, Sequence[Value]], Value]

_OVER: dict[str, Callable[[Sequence[float]], float]] = {
    "AVG": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "STDDEV": statistics.pstdev,
    "SUM": sum,
}
"""One number out of a series; one series out of an array, of the members that have a point at a slot."""

_OF_POINT: dict[str, Callable[[float], float]] = {"ABS": abs, "CEIL": math.ceil, "FLOOR": math.floor}

_OF_TIME: dict[str, Callable[[datetime], float]] = {
    "MINUTE": lambda at: at.minute,
    "HOUR": lambda at: at.hour,
    "DAY": lambda at: at.isoweekday(),
    "DATE": lambda at: at.day,
    "MONTH": lambda at: at.month,
    "YEAR": lambda at: at.year,
    "EPOCH": lambda at: at.timestamp(),
}
"""In UTC, and for every slot of the range, with a point or without."""


def _over(function: Callable[[Sequence[float]], float], _context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if not isinstance(value, Array):
        points = list(series(value).values())
        return float(function(points)) if points else {}
    return {
        slot: float(function([member[slot] for member in value if slot in member]))
        for slot in sorted({slot for member in value for slot in member})
    }


def _of_point(function: Callable[[float], float], _context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if not isinstance(value, (dict, Array)):
        return float(function(value))
    return of_each(lambda points: {slot: float(function(point)) for slot, point in points.items()}, value)


def _of_time(function: Callable[[datetime], float], context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    series(value)
    return {slot: float(function(moment(slot))) for slot in context.grid}


def _change(per_second: bool, _context: Context, arguments: Sequence[Value]) -> Value:
    """Return the difference from the point before, whenever that was: none for the first point."""

    def changes(points: Series) -> Series:
        found: Series = {}
        for before, slot in pairwise(sorted(points)):
            found[slot] = (points[slot] - points[before]) / (slot - before if per_second else 1)
        return found

    (value,) = arguments
    return of_each(changes, value)


def _count(_context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if not isinstance(value, Array):
        return float(len(series(value)))
    return {slot: float(sum(slot in member for member in value)) for slot in sorted({s for m in value for s in m})}


def _running_sum(_context: Context, arguments: Sequence[Value]) -> Value:
    def sums(points: Series) -> Series:
        total, found = 0.0, Series()
        for slot in sorted(points):
            total += points[slot]
            found[slot] = total
        return found

    (value,) = arguments
    return of_each(sums, value)


def _time_series(context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    return dict.fromkeys(context.grid, number(value))


def _period(context: Context, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    series(value)
    return float(context.period)


def _if(_context: Context, arguments: Sequence[Value]) -> Value:
    condition, chosen = arguments[:2]
    otherwise: Value = arguments[2] if len(arguments) == 3 else {}
    if not isinstance(condition, dict):
        return chosen if number(condition) else otherwise
    found: Series = {}
    for slot, truth in condition.items():
        if truth:
            found[slot] = chosen.get(slot, 0.0) if isinstance(chosen, dict) else number(chosen)
        elif not isinstance(otherwise, dict):
            found[slot] = number(otherwise)
        elif slot in otherwise:
            found[slot] = otherwise[slot]
    return found


def fill(context: Context, value: Value, filler: Value | str) -> Value:
    """Return a series with its gaps filled: by a number or a series, or by ``REPEAT`` or ``LINEAR``.

    Nothing is repeated before the first point, unless that is read another way, and no line is drawn before it or after
    the last one.
    """
    return of_each(lambda points: _filled(context, points, filler), value)


def _filled(context: Context, points: Series, filler: Value | str) -> Series:
    if not points and not context.reading.fill_empty:
        return {}
    if filler == "LINEAR":
        return _lines_between(context, points)
    found: Series = {}
    latest = points[min(points)] if points and context.reading.repeat_reaches_back else None
    for slot in context.grid:
        if slot in points:
            latest = points[slot]
            found[slot] = latest
        elif isinstance(filler, dict):
            found[slot] = filler.get(slot, 0.0)
        elif not isinstance(filler, str):
            found[slot] = number(filler)
        elif latest is not None:
            found[slot] = latest
    return found


def _lines_between(context: Context, points: Series) -> Series:
    found = dict(points)
    for before, after in pairwise(sorted(points)):
        slope = (points[after] - points[before]) / (after - before)
        found.update({s: points[before] + slope * (s - before) for s in context.grid if before < s < after})
    return {slot: found[slot] for slot in sorted(found)}


FUNCTIONS: dict[str, tuple[Function, tuple[int, ...]]] = {
    **{name: (partial(_over, function), (1,)) for name, function in _OVER.items()},
    **{name: (partial(_of_point, function), (1,)) for name, function in _OF_POINT.items()},
    **{name: (partial(_of_time, function), (1,)) for name, function in _OF_TIME.items()},
    "DATAPOINT_COUNT": (_count, (1,)),
    "DIFF": (partial(_change, False), (1,)),
    "IF": (_if, (2, 3)),
    "PERIOD": (_period, (1,)),
    "RATE": (partial(_change, True), (1,)),
    "RUNNING_SUM": (_running_sum, (1,)),
    "TIME_SERIES": (_time_series, (1,)),
}
"""By name: what it does, and how many arguments it can have."""

OF_THE_CLOCK = frozenset(_OF_TIME)
OF_THE_RANGE = frozenset({*_OVER, "DATAPOINT_COUNT", "DIFF", "FILL", "RATE", "RUNNING_SUM"})
"""Functions whose result may be another one over a longer range: those of an array are not, but nobody need know."""
