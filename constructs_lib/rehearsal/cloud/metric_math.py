"""CloudWatch metric math, as far as alarms use it: what a missing side becomes is the whole point.

Arithmetic and comparisons read a missing side as 0; ``IF`` drops a point without a condition or without a
chosen false branch and reads a gap in the true branch as 0; a division by zero drops the point. The syntax
in use here is also Python's, so Python's parser reads it, once for each expression.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from constructs_lib.rehearsal.cloud.metric_functions import FUNCTIONS, OF_THE_CLOCK, OF_THE_RANGE, fill
from constructs_lib.rehearsal.cloud.metric_values import (
    Array,
    Context,
    MathReading,
    Series,
    UnsupportedExpression,
    Value,
    combine,
    series,
)

__all__ = ["Context", "Expression", "MathReading", "Series", "UnsupportedExpression", "evaluate", "read"]

_Operation = Callable[[float, float], float]
_Evaluation = Callable[[Context], Value]
_ARITHMETIC: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISON: dict[type[ast.cmpop], _Operation] = {
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LOGIC: dict[type[ast.boolop], _Operation] = {
    ast.And: lambda a, b: bool(a) and bool(b),
    ast.Or: lambda a, b: bool(a) or bool(b),
}
_TEXT = re.compile(r"""("[^"]*"|'[^']*')""")
_PYTHON = ((r"\b([a-z]\w*)\b", r"id_\1"), (r"\bAND\b|&&", " and "), (r"\bOR\b|\|\|", " or "), (r"\^", "**"))
_PREFIX = "id_"
"""An id may be a word that Python keeps to itself."""


@dataclass(frozen=True)
class Expression:
    """An expression, ready to be evaluated: which ids and functions it uses.

    ``open`` names what of :class:`MathReading` can matter to it.
    """

    text: str
    ids: frozenset[str]
    functions: frozenset[str]
    open: frozenset[str]
    _evaluation: _Evaluation

    @property
    def follows_the_clock(self) -> bool:
        """Return whether it may be another value for the same points at another time."""
        return not OF_THE_CLOCK.isdisjoint(self.functions)

    @property
    def follows_the_range(self) -> bool:
        """Return whether its newest points may be other ones over a longer range."""
        return not OF_THE_RANGE.isdisjoint(self.functions)

    def evaluate(self, context: Context) -> Series:
        """Return the points; raise UnsupportedExpression naming what cannot be evaluated."""
        try:
            value = self._evaluation(context)
            if not isinstance(value, dict):
                raise UnsupportedExpression("the result is one number, or several series, and not one time series")
        except UnsupportedExpression as error:
            raise UnsupportedExpression(f"{self.text}: {error}") from error
        return value


def evaluate(expression: str, context: Context) -> Series:
    """Return the points of an expression; raise UnsupportedExpression naming what cannot be evaluated."""
    return read(expression).evaluate(context)


@cache
def read(text: str) -> Expression:
    """Read an expression; raise UnsupportedExpression naming what cannot be evaluated."""
    parts = _TEXT.split(text)
    for index in range(0, len(parts), 2):
        for pattern, python in _PYTHON:
            parts[index] = re.sub(pattern, python, parts[index])
    try:
        reader = _Reader()
        evaluation = reader.visit(ast.parse("".join(parts).strip(), mode="eval").body)
    except (SyntaxError, OverflowError, RecursionError) as error:
        raise UnsupportedExpression(f"{text}: it cannot be read as metric math") from error
    except UnsupportedExpression as error:
        raise UnsupportedExpression(f"{text}: {error}") from error
    return Expression(text, frozenset(reader.ids), frozenset(reader.functions), frozenset(reader.open), evaluation)


class _Reader(ast.NodeVisitor):
    """Makes a function of a syntax tree; every kind of node without a method here is unsupported."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.functions: set[str] = set()
        self.open: set[str] = set()

    def visit(self, node: ast.AST) -> _Evaluation:
        evaluation: _Evaluation = super().visit(node)
        return evaluation

    def generic_visit(self, node: ast.AST) -> _Evaluation:
        raise UnsupportedExpression(f"cannot evaluate {_written(node)}")

    def visit_Constant(self, node: ast.Constant) -> _Evaluation:
        if not isinstance(node.value, (int, float)):
            raise UnsupportedExpression(f"cannot evaluate {node.value!r}")
        value = float(node.value)
        return lambda _context: value

    def visit_Name(self, node: ast.Name) -> _Evaluation:
        name = node.id.removeprefix(_PREFIX)
        if name == node.id:
            raise UnsupportedExpression(f"cannot evaluate {name}")
        self.ids.add(name)

        def points(context: Context) -> Value:
            if name not in context.series:
                raise UnsupportedExpression(f"unknown id {name!r}")
            return context.series[name]

        return points

    def visit_List(self, node: ast.List) -> _Evaluation:
        members = [self.visit(each) for each in node.elts]
        return lambda context: _array([member(context) for member in members])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> _Evaluation:
        if not isinstance(node.op, ast.USub):
            return self.generic_visit(node)
        operand = self.visit(node.operand)
        return lambda context: combine(operator.sub, 0.0, operand(context))

    def visit_BinOp(self, node: ast.BinOp) -> _Evaluation:
        if type(node.op) not in _ARITHMETIC:
            return self.generic_visit(node)
        return self._combined(_ARITHMETIC[type(node.op)], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> _Evaluation:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISON:
            return self.generic_visit(node)
        return self._combined(_COMPARISON[type(node.ops[0])], node.left, node.comparators[0])

    def visit_BoolOp(self, node: ast.BoolOp) -> _Evaluation:
        operation = _LOGIC[type(node.op)]
        first, *others = [self.visit(each) for each in node.values]

        def combined(context: Context) -> Value:
            value = first(context)
            for other in others:
                value = combine(operation, value, other(context), context.both_missing)
            return value

        self._note_operation(node.values)
        return combined

    def _combined(self, operation: _Operation, left: ast.AST, right: ast.AST) -> _Evaluation:
        one, other = self.visit(left), self.visit(right)
        self._note_operation((left, right))
        return lambda context: combine(operation, one(context), other(context), context.both_missing)

    def _note_operation(self, sides: Sequence[ast.AST]) -> None:
        """Note that two sides can both be missing, which a number never is."""
        if sum(not isinstance(side, ast.Constant) for side in sides) > 1:
            self.open.add("both_missing_is_zero")

    def visit_Call(self, node: ast.Call) -> _Evaluation:
        name = _written(node.func)
        self.functions.add(name)
        if name == "TIME_SERIES":
            self.open.add("silence_is_zeros")
        if node.keywords:
            return self.generic_visit(node)
        if name == "FILL" and len(node.args) == 2:
            return self._fill(*node.args)
        if name == "METRICS" and len(node.args) <= 1:
            return _metrics(node)
        if name not in FUNCTIONS or len(node.args) not in FUNCTIONS[name][1]:
            return self.generic_visit(node)
        function, _ = FUNCTIONS[name]
        arguments = [self.visit(each) for each in node.args]
        return lambda context: function(context, [argument(context) for argument in arguments])

    def _fill(self, filled: ast.AST, filler: ast.AST) -> _Evaluation:
        value = self.visit(filled)
        self.open.add("fill_empty")
        if isinstance(filler, ast.Name) and filler.id == "REPEAT":
            self.open.add("repeat_reaches_back")
        if isinstance(filler, ast.Name) and filler.id in ("REPEAT", "LINEAR"):
            way = filler.id
            return lambda context: fill(context, value(context), way)
        with_ = self.visit(filler)
        return lambda context: fill(context, value(context), with_(context))


def _array(values: Sequence[Value]) -> Array:
    """Return the members as series: a number is one with the same point everywhere that another has one."""
    slots = sorted({slot for value in values if isinstance(value, dict) for slot in value})
    found = Array()
    for value in values:
        if isinstance(value, Array):
            found += value
        else:
            found.append(value if isinstance(value, dict) else dict.fromkeys(slots, value))
    return found


def _metrics(node: ast.Call) -> _Evaluation:
    """Return all metrics of the request, or those with a word in their id."""
    word = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
    if not isinstance(word, str) or (node.args and not word):
        raise UnsupportedExpression(f"cannot evaluate {_written(node)}")

    def metrics(context: Context) -> Value:
        ids = context.series if context.metrics is None else context.metrics
        return Array(series(context.series[each]) for each in ids if word in each)

    return metrics


def _written(node: ast.AST) -> str:
    """Return a part of an expression as CloudWatch writes it."""
    return re.sub(rf"\b{_PREFIX}", "", ast.unparse(node)).replace("**", "^")
