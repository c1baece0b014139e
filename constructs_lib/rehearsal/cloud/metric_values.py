"""The values of metric math: numbers, series and arrays of series, and how two of them go together."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from constructs_lib.errors import FleetError

Series = dict[int, float]


class Array(list[Series]):
    """Several series, as ``[m1, m2]`` and ``METRICS()`` make them."""


Value = Series | float | Array


class UnsupportedExpression(FleetError):
    """The expression uses something that the simulator cannot evaluate."""


@dataclass(frozen=True)
class MathReading:
    """How that is read which AWS does not document of metric math; callers try both ways of what can matter to them."""

    fill_empty: bool = True
    """Whether FILL fills a metric that has no point at all in the range."""
    repeat_reaches_back: bool = False
    """Whether FILL with REPEAT fills what is before the first point, with that point."""
    both_missing_is_zero: bool = False
    """Whether an operation on two series takes both for 0 where neither has a point. If not, it has none there."""
    silence_is_zeros: bool = True
    """Whether an expression with TIME_SERIES has points though a metric in it has none in the whole range."""
    queue_zeros: bool = True
    """Whether SQS publishes that no message is in flight or delayed. If not, it is silent then."""

    def other(self, question: str) -> MathReading:
        """Return the reading that differs in one of the fields."""
        return replace(self, **{question: not getattr(self, question)})


@dataclass(frozen=True)
class Context:
    """What an expression is evaluated over.

    ``grid`` holds every slot start of the range, ``period`` seconds apart. ``metrics`` are the ids that stand for a
    metric and not for an expression; None is all of them.
    """

    series: Mapping[str, Series]
    grid: Sequence[int]
    reading: MathReading = MathReading()
    metrics: Sequence[str] | None = None
    period: int = 60

    @property
    def both_missing(self) -> Sequence[int]:
        """Return the slots in which an operation has a point although neither of its sides has."""
        return self.grid if self.reading.both_missing_is_zero else ()


def at(value: Value, slot: int, missing: float) -> float:
    """Return what a number or a series is at a slot."""
    if isinstance(value, dict):
        return value.get(slot, missing)
    return number(value)


def number(value: Value) -> float:
    """Return a value that is one number."""
    if isinstance(value, (dict, Array)):
        raise UnsupportedExpression("a series stands where one number belongs")
    return value


def of_each(function: Callable[[Series], Value], value: Value) -> Value:
    """Return what a function makes of a series, or of each one of an array."""
    if isinstance(value, Array):
        return Array(series(function(each)) for each in value)
    return function(series(value))


def series(value: Value) -> Series:
    """Return a value that is a series."""
    if not isinstance(value, dict):
        raise UnsupportedExpression("something else stands where a series belongs")
    return value


def combine(
    operation: Callable[[float, float], float], left: Value, right: Value, both_missing: Sequence[int] = ()
) -> Value:
    """Return what an operation makes of two values, slot by slot. A missing side is 0, no result is no point.

    Two series also have a point in the slots ``both_missing``, if neither has one there.
    """
    if isinstance(left, Array):
        return Array(series(combine(operation, each, right, both_missing)) for each in left)
    if isinstance(right, Array):
        return Array(series(combine(operation, left, each, both_missing)) for each in right)
    if not isinstance(left, dict) and not isinstance(right, dict):
        alone = _careful(operation, left, right)
        return {} if alone is None else alone
    pairs: list[tuple[int, float, float]]
    if not isinstance(right, dict):
        pairs = [(slot, value, right) for slot, value in series(left).items()]
    elif not isinstance(left, dict):
        pairs = [(slot, left, value) for slot, value in right.items()]
    else:
        alike = not both_missing and left.keys() == right.keys()
        slots: Iterable[int] = left if alike else sorted({*left, *right, *both_missing})
        pairs = [(slot, left.get(slot, 0.0), right.get(slot, 0.0)) for slot in slots]
    if operation not in _NOT_FOR_ALL:
        return {slot: float(operation(a, b)) for slot, a, b in pairs}
    found = [(slot, _careful(operation, a, b)) for slot, a, b in pairs]
    return {slot: value for slot, value in found if value is not None}


_NOT_FOR_ALL = (operator.truediv, operator.pow)


def _careful(operation: Callable[[float, float], float], left: float, right: float) -> float | None:
    """Return the result, None if there is none: by 0 nothing is divided."""
    try:
        result = operation(left, right)
    except (ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(result, complex) else float(result)
