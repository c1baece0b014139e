"""CloudWatch metric math, as far as alarms use it: what a missing side becomes is the whole point.

Arithmetic and comparisons read a missing side as 0; ``IF`` drops a point without a condition or without a
chosen false branch and reads a gap in the true branch as 0; a division by zero drops the point.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Series = dict[int, float]
Value = Series | float
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*|\.\d+)|([A-Za-z_]\w*)|(<=|>=|==|!=|&&|\|\||[-+*/^<>(),\[\]]))")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("OR", "||"),
    ("AND", "&&"),
    ("<", ">", "<=", ">=", "==", "!="),
    ("+", "-"),
    ("*", "/"),
)
_BINARY: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": lambda a, b: float(a < b),
    ">": lambda a, b: float(a > b),
    "<=": lambda a, b: float(a <= b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "AND": lambda a, b: float(bool(a) and bool(b)),
    "OR": lambda a, b: float(bool(a) or bool(b)),
}
_ARRAY: dict[str, Callable[[Sequence[float]], float]] = {
    "MAX": max,
    "MIN": min,
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
}


class UnsupportedExpression(ValueError):
    """The expression uses something that the simulator cannot evaluate."""


@dataclass(frozen=True)
class Context:
    """What an expression is evaluated over.

    ``grid`` holds every slot start of the range. ``fill_empty`` says whether FILL fills a metric that has no
    point at all in the range; AWS does not document it, so callers try both.
    """

    series: Mapping[str, Series]
    grid: Sequence[int]
    fill_empty: bool = True


def evaluate(expression: str, context: Context) -> Series:
    """Return the points of an expression; raise UnsupportedExpression naming what cannot be evaluated."""
    parser = _Parser(expression, context)
    value = parser.binary(0)
    if parser.peek() is not None:
        raise UnsupportedExpression(f"{expression}: cannot read from {parser.peek()!r} on")
    if not isinstance(value, dict):
        raise UnsupportedExpression(f"{expression}: the result is one number, not a time series")
    return value


def _tokens(expression: str) -> list[str]:
    tokens, position = [], 0
    text = expression.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnsupportedExpression(f"{expression}: cannot read {text[position:]!r}")
        tokens.append(match.group(match.lastindex or 0))
        position = match.end()
    return tokens


def _combine(symbol: str, left: Value, right: Value) -> Value:
    apply = _BINARY[{"||": "OR", "&&": "AND"}.get(symbol, symbol)]
    if not isinstance(left, dict) and not isinstance(right, dict):
        return apply(left, right)
    result: Series = {}
    for slot in sorted({*_slots(left), *_slots(right)}):
        numerator, denominator = _at(left, slot, 0.0), _at(right, slot, 0.0)
        if symbol != "/" or denominator != 0:
            result[slot] = apply(numerator, denominator)
    return result


def _slots(value: Value) -> Sequence[int]:
    return list(value) if isinstance(value, dict) else []


def _at(value: Value, slot: int, missing: float) -> float:
    return value.get(slot, missing) if isinstance(value, dict) else value


class _Parser:
    """Recursive descent; evaluates while it reads."""

    def __init__(self, expression: str, context: Context) -> None:
        self._expression = expression
        self._context = context
        self._tokens = _tokens(expression)
        self._next = 0

    def peek(self) -> str | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def binary(self, level: int) -> Value:
        if level == len(_LEVELS):
            return self._unary()
        value = self.binary(level + 1)
        while (symbol := self.peek()) in _LEVELS[level]:
            self._next += 1
            value = _combine(str(symbol), value, self.binary(level + 1))
        return value

    def _unary(self) -> Value:
        if self.peek() == "-":
            self._next += 1
            return _combine("-", 0.0, self._unary())
        return self._primary()

    def _primary(self) -> Value:
        token = self._take()
        if token == "(":
            value = self.binary(0)
            self._expect(")")
            return value
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        if self.peek() == "(":
            return self._call(token)
        if token not in self._context.series:
            raise UnsupportedExpression(f"{self._expression}: unknown id {token!r}")
        return self._context.series[token]

    def _call(self, name: str) -> Value:
        self._expect("(")
        if name in _ARRAY:
            return self._array(name)
        if name == "IF":
            return self._if()
        if name == "FILL":
            return self._fill()
        if name == "TIME_SERIES":
            number = self.binary(0)
            self._expect(")")
            return {slot: _at(number, slot, 0.0) for slot in self._context.grid}
        raise UnsupportedExpression(f"{self._expression}: unknown function {name}")

    def _array(self, name: str) -> Series:
        if self.peek() != "[":
            raise UnsupportedExpression(f"{self._expression}: {name} of one series changes with the range read")
        self._expect("[")
        members = [self.binary(0)]
        while self.peek() == ",":
            self._next += 1
            members.append(self.binary(0))
        self._expect("]")
        self._expect(")")
        slots = sorted({slot for member in members for slot in _slots(member)})
        return {
            slot: _ARRAY[name]([_at(m, slot, 0.0) for m in members if not isinstance(m, dict) or slot in m])
            for slot in slots
        }

    def _if(self) -> Series:
        condition = self.binary(0)
        self._expect(",")
        chosen = self.binary(0)
        otherwise: Value = {}
        if self.peek() == ",":
            self._next += 1
            otherwise = self.binary(0)
        self._expect(")")
        if not isinstance(condition, dict):
            raise UnsupportedExpression(f"{self._expression}: the condition of IF is one number")
        result: Series = {}
        for slot, truth in condition.items():
            if truth:
                result[slot] = _at(chosen, slot, 0.0)
            elif not isinstance(otherwise, dict) or slot in otherwise:
                result[slot] = _at(otherwise, slot, 0.0)
        return result

    def _fill(self) -> Series:
        series = self.binary(0)
        self._expect(",")
        filler: Value | None = None
        if self.peek() == "REPEAT":
            self._next += 1
        else:
            filler = self.binary(0)
        self._expect(")")
        if not isinstance(series, dict):
            raise UnsupportedExpression(f"{self._expression}: FILL needs a series")
        if not series and not self._context.fill_empty:
            return {}
        result: Series = {}
        last: float | None = None
        for slot in self._context.grid:
            last = series.get(slot, last)
            value = series.get(slot, last if filler is None else _at(filler, slot, 0.0))
            if value is not None:
                result[slot] = value
        return result

    def _take(self) -> str:
        token = self.peek()
        if token is None:
            raise UnsupportedExpression(f"{self._expression}: ends too early")
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise UnsupportedExpression(f"{self._expression}: expected {token!r}, found {found!r}")
