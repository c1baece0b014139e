"""CloudWatch metric math, as far as alarms use it: what a missing side becomes is the whole point.

Arithmetic and comparisons read a missing side as 0; ``IF`` drops a point without a condition or without a
chosen false branch and reads a gap in the true branch as 0; a division by zero drops the point. The syntax
in use here is also Python's, so Python's parser reads it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

Series = dict[int, float]
Value = Series | float
_Operation = Callable[[float, float], float]
_ARITHMETIC: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
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
    try:
        value = _Evaluator(context).visit(_parse(expression))
    except (SyntaxError, UnsupportedExpression) as error:
        raise UnsupportedExpression(f"{expression}: {error}") from error
    if not isinstance(value, dict):
        raise UnsupportedExpression(f"{expression}: the result is one number, not a time series")
    return value


@cache
def _parse(expression: str) -> ast.expr:
    python = re.sub(r"\bAND\b|&&", " and ", re.sub(r"\bOR\b|\|\|", " or ", expression))
    return ast.parse(python.strip(), mode="eval").body


def _slots(value: Value) -> Sequence[int]:
    return list(value) if isinstance(value, dict) else []


def _at(value: Value, slot: int, missing: float) -> float:
    return value.get(slot, missing) if isinstance(value, dict) else value


def _combine(operation: _Operation, left: Value, right: Value) -> Value:
    if not isinstance(left, dict) and not isinstance(right, dict):
        return float(operation(left, right))
    result: Series = {}
    for slot in sorted({*_slots(left), *_slots(right)}):
        a, b = _at(left, slot, 0.0), _at(right, slot, 0.0)
        if operation is not operator.truediv or b != 0:
            result[slot] = float(operation(a, b))
    return result


class _Evaluator(ast.NodeVisitor):
    """Evaluates a syntax tree; every kind of node without a method here is unsupported."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def visit(self, node: ast.AST) -> Value:
        value: Value = super().visit(node)
        return value

    def generic_visit(self, node: ast.AST) -> Value:
        raise UnsupportedExpression(f"cannot evaluate {ast.unparse(node)}")

    def visit_Constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, int | float):
            raise UnsupportedExpression(f"cannot evaluate {node.value!r}")
        return float(node.value)

    def visit_Name(self, node: ast.Name) -> Value:
        if node.id not in self._context.series:
            raise UnsupportedExpression(f"unknown id {node.id!r}")
        return self._context.series[node.id]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if not isinstance(node.op, ast.USub):
            raise UnsupportedExpression(f"cannot evaluate {ast.unparse(node)}")
        return _combine(operator.sub, 0.0, self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        if type(node.op) not in _ARITHMETIC:
            raise UnsupportedExpression(f"cannot evaluate {ast.unparse(node)}")
        return _combine(_ARITHMETIC[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISON:
            raise UnsupportedExpression(f"cannot evaluate {ast.unparse(node)}")
        return _combine(_COMPARISON[type(node.ops[0])], self.visit(node.left), self.visit(node.comparators[0]))

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        value = self.visit(node.values[0])
        for other in node.values[1:]:
            value = _combine(_LOGIC[type(node.op)], value, self.visit(other))
        return value

    def visit_Call(self, node: ast.Call) -> Value:
        name = ast.unparse(node.func)
        if name in _ARRAY and len(node.args) == 1 and isinstance(node.args[0], ast.List):
            return self._array(_ARRAY[name], [self.visit(each) for each in node.args[0].elts])
        if name == "IF" and len(node.args) in (2, 3):
            return self._if(*(self.visit(each) for each in node.args))
        if name == "FILL" and len(node.args) == 2:
            repeats = ast.unparse(node.args[1]) == "REPEAT"
            return self._fill(self.visit(node.args[0]), None if repeats else self.visit(node.args[1]))
        if name == "TIME_SERIES" and len(node.args) == 1:
            number = self.visit(node.args[0])
            return {slot: _at(number, slot, 0.0) for slot in self._context.grid}
        raise UnsupportedExpression(f"cannot evaluate {ast.unparse(node)}")

    def _array(self, function: Callable[[Sequence[float]], float], members: Sequence[Value]) -> Value:
        return {
            slot: function([_at(m, slot, 0.0) for m in members if not isinstance(m, dict) or slot in m])
            for slot in sorted({slot for member in members for slot in _slots(member)})
        }

    def _if(self, condition: Value, chosen: Value, otherwise: Value | None = None) -> Value:
        if not isinstance(condition, dict):
            raise UnsupportedExpression("the condition of IF is one number")
        other: Value = {} if otherwise is None else otherwise
        result: Series = {}
        for slot, truth in condition.items():
            if truth:
                result[slot] = _at(chosen, slot, 0.0)
            elif not isinstance(other, dict) or slot in other:
                result[slot] = _at(other, slot, 0.0)
        return result

    def _fill(self, series: Value, filler: Value | None) -> Value:
        if not isinstance(series, dict):
            raise UnsupportedExpression("FILL needs a series")
        if not series and not self._context.fill_empty:
            return {}
        result = dict(series)
        for before, slot in pairwise([None, *self._context.grid]):
            if slot is None or slot in result:
                continue
            if filler is not None:
                result[slot] = _at(filler, slot, 0.0)
            elif before in result:
                result[slot] = result[before]
        return result
