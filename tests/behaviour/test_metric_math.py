"""Metric math against the documented treatment of missing points."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.metric_math import Context, MathReading, Series, UnsupportedExpression, evaluate

_GRID = (0, 60, 120)


_USUAL = MathReading()


def _evaluate(expression: str, reading: MathReading = _USUAL, **series: Series) -> Series:
    return evaluate(expression, Context(series, _GRID, reading))


def test_arithmetic_reads_a_missing_side_as_zero() -> None:
    assert _evaluate("a - b", a={0: 5.0, 60: 5.0}, b={0: 2.0, 120: 1.0}) == {0: 3.0, 60: 5.0, 120: -1.0}


def test_comparison_of_two_series_reads_a_missing_side_as_zero() -> None:
    assert _evaluate("a > b", a={0: 1.0}, b={60: 1.0}) == {0: 1.0, 60: 0.0}


def test_both_sides_missing_is_no_point() -> None:
    assert _evaluate("a + b", a={0: 1.0}, b={0: 1.0}) == {0: 2.0}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", {0: 2.0, 60: 0.0, 120: 0.0}),
        ("a >= b", {0: 1.0, 60: 1.0, 120: 1.0}),
        ("a AND b", {0: 1.0, 60: 0.0, 120: 0.0}),
        ("a / b", {0: 1.0}),
        ("a + 1", {0: 2.0}),
    ],
)
def test_both_sides_missing_may_be_zeros_and_a_number_is_never_missing(expression: str, expected: Series) -> None:
    """Undocumented, so both are possible."""
    reading = MathReading(both_missing_is_zero=True)
    assert _evaluate(expression, reading, a={0: 1.0}, b={0: 1.0}) == expected


def test_number_beside_a_series_makes_no_point_where_the_series_has_none() -> None:
    assert _evaluate("a < 1", a={60: 0.0}) == {60: 1.0}


def test_division_by_zero_drops_the_point() -> None:
    assert _evaluate("a / b", a={0: 4.0, 60: 4.0}, b={0: 2.0, 60: 0.0}) == {0: 2.0}


def test_if_drops_a_point_without_a_condition() -> None:
    assert _evaluate("IF(c, 100, a)", c={0: 1.0}, a={60: 3.0}) == {0: 100.0}


def test_if_reads_a_gap_of_the_true_branch_as_zero() -> None:
    assert _evaluate("IF(c, a, 100)", c={0: 1.0, 60: 0.0}, a={}) == {0: 0.0, 60: 100.0}


@pytest.mark.parametrize("expression", ["IF(c, 100, a)", "IF(c, 100)"])
def test_if_drops_a_gap_of_the_false_branch(expression: str) -> None:
    assert _evaluate(expression, c={0: 0.0, 60: 1.0}, a={}) == {60: 100.0}


def test_fill_with_a_number_and_with_the_last_value() -> None:
    assert _evaluate("FILL(a, 7)", a={60: 1.0}) == {0: 7.0, 60: 1.0, 120: 7.0}
    assert _evaluate("FILL(a, REPEAT)", a={60: 1.0}) == {60: 1.0, 120: 1.0}


def test_repeat_before_the_first_point_is_undocumented_so_both_are_possible() -> None:
    reading = MathReading(repeat_reaches_back=True)
    assert _evaluate("FILL(a, REPEAT)", reading, a={60: 1.0, 120: 2.0}) == {0: 1.0, 60: 1.0, 120: 2.0}
    assert _evaluate("FILL(a, REPEAT)", reading, a={}) == {}
    assert _evaluate("FILL(a, LINEAR)", reading, a={60: 1.0}) == {60: 1.0}


def test_fill_of_a_series_without_any_point_is_undocumented_so_both_are_possible() -> None:
    assert _evaluate("FILL(a, 0)", a={}) == {0: 0.0, 60: 0.0, 120: 0.0}
    assert _evaluate("FILL(a, 0)", MathReading(fill_empty=False), a={}) == {}


def test_array_forms_take_the_members_that_have_a_point() -> None:
    assert _evaluate("MAX([a, b])", a={0: 1.0}, b={0: 3.0, 60: 2.0}) == {0: 3.0, 60: 2.0}
    assert _evaluate("MIN([a, b])", a={0: 1.0}, b={0: 3.0}) == {0: 1.0}
    assert _evaluate("SUM([a, TIME_SERIES(0)])", a={0: 1.0}) == {0: 1.0, 60: 0.0, 120: 0.0}


def test_precedence_and_logic() -> None:
    assert _evaluate("1 + a * 2 > 4 AND (a == 2 OR a < -1)", a={0: 2.0, 60: 1.0}) == {0: 1.0, 60: 0.0}
    assert _evaluate("a - 1 - 1", a={0: 5.0}) == {0: 3.0}


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("MAX(a)", r"MAX\(a\)"),
        ("RATE(a, 2)", "RATE"),
        ("a + nowhere", "nowhere"),
        ("SEARCH('{x}', 'Sum')", "SEARCH"),
        ("FILL(a, LAST)", "LAST"),
        ("a % 2", "a % 2"),
        ("1 < a < 3", "1 < a < 3"),
        ("a +", "a \\+"),
        ("a b", "a b"),
        ("1 + 1", "one number"),
    ],
)
def test_what_cannot_be_evaluated_is_named(expression: str, named: str) -> None:
    with pytest.raises(UnsupportedExpression, match=named):
        _evaluate(expression, a={0: 1.0})
