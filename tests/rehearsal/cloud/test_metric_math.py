"""Functions of metric math, each value worked out by hand from its description."""

from __future__ import annotations

from pathlib import Path

import pytest

from constructs_lib.rehearsal.cloud.metric_math import Context, Series, UnsupportedExpression, evaluate, read
from constructs_lib.rehearsal.cloud.metrics import MetricStore, Questions

_GRID = (0, 60, 120, 180, 240)
_HOUR = 3_600


def _evaluate(expression: str, **series: Series) -> Series:
    return evaluate(expression, Context(series, _GRID))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ABS(a)", {0: 2.0, 120: 3.5, 180: 1.0}),
        ("CEIL(a)", {0: -2.0, 120: 4.0, 180: 1.0}),
        ("FLOOR(a)", {0: -2.0, 120: 3.0, 180: 1.0}),
        # From -2 over two minutes to 3.5, and over one to 1.
        ("DIFF(a)", {120: 5.5, 180: -2.5}),
        ("RATE(a)", {120: 5.5 / 120, 180: -2.5 / 60}),
        ("RUNNING_SUM(a)", {0: -2.0, 120: 1.5, 180: 2.5}),
        ("a ^ 2", {0: 4.0, 120: 12.25, 180: 1.0}),
        ("FILL(a, LINEAR)", {0: -2.0, 60: 0.75, 120: 3.5, 180: 1.0}),
        ("FILL(a, REPEAT)", {0: -2.0, 60: -2.0, 120: 3.5, 180: 1.0, 240: 1.0}),
        ("FILL(a, b)", {0: -2.0, 60: 9.0, 120: 3.5, 180: 1.0, 240: 0.0}),
        # One number of a series, beside the series itself.
        ("a - MIN(a)", {0: 0.0, 120: 5.5, 180: 3.0}),
        ("a * 0 + MAX(a)", {0: 3.5, 120: 3.5, 180: 3.5}),
        ("a * 0 + SUM(a)", {0: 2.5, 120: 2.5, 180: 2.5}),
        ("a * 0 + AVG(a) * 3", {0: 2.5, 120: 2.5, 180: 2.5}),
        ("a * 0 + DATAPOINT_COUNT(a)", {0: 3.0, 120: 3.0, 180: 3.0}),
        ("a * 0 + PERIOD(a)", {0: 60.0, 120: 60.0, 180: 60.0}),
        ("TIME_SERIES(7)", {0: 7.0, 60: 7.0, 120: 7.0, 180: 7.0, 240: 7.0}),
        # Arrays: of the members that have a point.
        ("AVG([a, b])", {0: -2.0, 60: 9.0, 120: 3.5, 180: 1.0}),
        ("SUM(METRICS()) ", {0: -2.0, 60: 9.0, 120: 3.5, 180: 1.0}),
        ('SUM(METRICS("b"))', {60: 9.0}),
        ("SUM(FILL(METRICS(), 0))", {0: -2.0, 60: 9.0, 120: 3.5, 180: 1.0, 240: 0.0}),
        ("DATAPOINT_COUNT([a, b])", {0: 1.0, 60: 1.0, 120: 1.0, 180: 1.0}),
        ("MAX([a, 2])", {0: 2.0, 120: 3.5, 180: 2.0}),
        ("STDDEV([b, b - 4])", {60: 2.0}),
        ("IF(1, a, b)", {0: -2.0, 120: 3.5, 180: 1.0}),
        ("IF(0, a, b)", {60: 9.0}),
        ("a > 0 && a < 2 || a == 3.5", {0: 0.0, 120: 1.0, 180: 1.0}),
        ("-a", {0: 2.0, 120: -3.5, 180: -1.0}),
        ("1 / (a - 1)", {0: -1 / 3, 120: 0.4}),
    ],
)
def test_function(expression: str, expected: Series) -> None:
    a, b = {0: -2.0, 120: 3.5, 180: 1.0}, {60: 9.0}

    assert _evaluate(expression, a=a, b=b) == pytest.approx(expected)


def test_time_functions_have_a_point_everywhere_and_are_in_utc() -> None:
    # Second 0 is 2026-01-01 00:00 UTC, a Thursday.
    day = 24 * _HOUR
    grid = (8 * _HOUR, day + 23 * _HOUR + 120, 4 * day, 31 * day)
    context = Context({"a": {}}, grid)

    assert list(evaluate("HOUR(a)", context).values()) == [8, 23, 0, 0]
    assert list(evaluate("MINUTE(a)", context).values()) == [0, 2, 0, 0]
    assert list(evaluate("DAY(a)", context).values()) == [4, 5, 1, 7]
    assert list(evaluate("DATE(a)", context).values()) == [1, 2, 5, 1]
    assert list(evaluate("MONTH(a)", context).values()) == [1, 1, 1, 2]
    assert list(evaluate("IF(HOUR(a) >= 8 AND DAY(a) < 6, a + 5, 100)", context).values()) == [0, 0, 100, 100]


@pytest.mark.parametrize("expression", ["IF(NOT a, 1, 0)", "(a + 1", "a b", "a +", ""])
def test_what_is_no_expression_is_told_without_the_words_of_another_language(expression: str) -> None:
    with pytest.raises(UnsupportedExpression, match=r"^[^<>]*: it cannot be read as metric math$"):
        read(expression)


def test_id_may_be_a_word_of_python() -> None:
    assert evaluate("in + is", Context({"in": {0: 1.0}, "is": {0: 2.0}}, _GRID)) == {0: 3.0}


def test_average_of_nothing_is_no_point() -> None:
    assert _evaluate("AVG(a)", a={}) == {}


@pytest.mark.parametrize(
    ("expression", "follows_range", "follows_clock"),
    [
        ("IF(in_service < 1, 100, busiest)", False, False),
        ("a - MAX(a)", True, False),
        ("FILL(a, REPEAT)", True, False),
        ("RATE(a)", True, False),
        ("IF(HOUR(a) > 8, a)", False, True),
    ],
)
def test_what_may_change_without_its_points(expression: str, follows_range: bool, follows_clock: bool) -> None:
    assert (read(expression).follows_the_range, read(expression).follows_the_clock) == (follows_range, follows_clock)


@pytest.mark.parametrize(
    "expression",
    [
        "ANOMALY_DETECTION_BAND(a, 2)",
        "SEARCH('{N} m', 'Sum', 300)",
        "INSIGHT_RULE_METRIC('rule', 'Sum')",
        "LAMBDA('function')",
        "SERVICE_QUOTA(a)",
        "METRICS(a)",
        "IF(a)",
        "a if a else a",
        "NOT a",
    ],
)
def test_what_is_not_simulated_is_named_before_anything_runs(expression: str) -> None:
    with pytest.raises(UnsupportedExpression) as caught:
        read(expression)

    assert str(caught.value).startswith(f"{expression}: ")


def test_metrics_are_those_of_the_request_and_no_expressions() -> None:
    store = MetricStore({})
    store.put("N", "m", {}, 0, 4.0)
    stat = {"Metric": {"Namespace": "N", "MetricName": "m"}, "Period": 60, "Stat": "Sum"}
    queries: list[dict[str, object]] = [
        {"Id": "total", "Expression": "SUM(METRICS())"},
        {"Id": "a", "MetricStat": stat},
        {"Id": "half", "Expression": "a / 2"},
    ]

    assert store.answer(queries, [0], 60)["total"] == {0: 4.0}


def test_expression_of_an_unknown_id_is_named() -> None:
    with pytest.raises(UnsupportedExpression, match="a \\+ nowhere: unknown id 'nowhere'"):
        Questions([{"Id": "e", "Expression": "a + nowhere"}, {"Id": "a", "Expression": "TIME_SERIES(1)"}])


def test_every_expression_of_this_repository_can_be_read() -> None:
    root = Path(__file__).parents[3]
    snapshots = root / "tests" / "constructs" / "__snapshots__"
    texts = {
        line.split('"Expression": ', 1)[1].strip().rstrip(",").strip('"')
        for path in sorted(snapshots.rglob("*.json"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if '"Expression": ' in line
    }

    assert len(texts) >= 8
    for text in sorted(texts):
        assert read(text).text == text
