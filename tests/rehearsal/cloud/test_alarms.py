"""Metric alarms: AWS's documented examples, the moments at which they are evaluated, and what is left open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.metric_math import MathReading, UnsupportedExpression
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.cloud.verdicts import TREATMENTS, State, verdict
from tests.rehearsal.cloud.missing_data import PUBLISHED, points

MINUTE, HOUR, DAY = 60, 3_600, 86_400
_STATES: tuple[State, ...] = ("OK", "ALARM", "INSUFFICIENT_DATA")
_KEY: Key = ("N", "m", frozenset())
_SILENCE_IS_FINE = {"TreatMissingData": "notBreaching"}


@pytest.mark.parametrize(("m", "row", "expected"), PUBLISHED)
@pytest.mark.parametrize("more", [1, 3])
def test_published_row_over_a_range_with_nothing_older(m: int, row: str, expected: tuple[str, ...], more: int) -> None:
    longer = [None] * more + points(row)

    for state in _STATES:
        states = [verdict(longer, n=3, m=m, missing=setting, state=state) for setting in TREATMENTS]
        assert states == [state if value == "keep" else value for value in expected]


# "Alarm evaluation": with enough points, M of the newest N decide, in any order, and the setting is not used.


@given(
    newest=st.lists(st.booleans(), min_size=1, max_size=6),
    older=st.lists(st.none() | st.booleans(), max_size=5),
    m=st.integers(1, 6),
    setting=st.sampled_from(TREATMENTS),
    state=st.sampled_from(_STATES),
)
def test_enough_points_decide_alone(
    newest: list[bool], older: list[bool | None], m: int, setting: str, state: State
) -> None:
    n = len(newest)
    m = min(m, n)

    found = verdict([*older, *newest], n=n, m=m, missing=setting, state=state)

    assert found == ("ALARM" if sum(newest) >= m else "OK")


@given(
    newest=st.lists(st.none() | st.booleans(), min_size=3, max_size=3),
    older=st.lists(st.none() | st.booleans(), min_size=5, max_size=5),
    m=st.integers(1, 3),
)
def test_silence_that_is_not_breaching_needs_m_breaching_points(
    newest: list[bool | None], older: list[bool | None], m: int
) -> None:
    found = verdict([*older, *newest], n=3, m=m, missing="notBreaching", state="OK")

    real = [point for point in [*older, *newest] if point is not None][-3:]
    assert (found == "ALARM") == (sum(real) >= m)


# A threshold of three units, over three periods, as drawn in "Using Amazon CloudWatch alarms": the alarm goes on when
# three in a row are above it, and is off again with the first that is not. One point above it is not enough.


def test_alarm_of_three_periods_in_a_row() -> None:
    values = [2, 2, 4, 5, 4, 4, 2, 4, 2, 2]
    store, alarm = MetricStore({"N": 0}), _alarm(EvaluationPeriods=3, Threshold=3)
    state: State = "OK"
    seen = []
    for minute, value in enumerate(values):
        store.add(_KEY, minute * MINUTE, value)
        state = alarm.judge(store, (minute + 1) * MINUTE, state).state
        seen.append(state)

    assert seen == ["OK"] * 4 + ["ALARM"] * 2 + ["OK"] * 4


def _alarm(**properties: Any) -> Alarm:
    given_ = {
        "Namespace": "N",
        "MetricName": "m",
        "Statistic": "Average",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        **properties,
    }
    return Alarm.from_properties("Hot", {key: value for key, value in given_.items() if value is not None})


def _math(expression: str, *, period: int = 60, **properties: Any) -> Alarm:
    metric = {"Namespace": "N", "MetricName": "m"}
    queries = [
        {"Id": "e", "Expression": expression},
        {"Id": "m", "MetricStat": {"Metric": metric, "Period": period, "Stat": "Maximum"}, "ReturnData": False},
    ]
    return _alarm(Metrics=queries, Namespace=None, MetricName=None, Statistic=None, Period=None, **properties)


def test_window_slides_by_the_minute_whatever_the_period() -> None:
    store, alarm = MetricStore({"N": 0}), _alarm(Period=300, Statistic="Maximum")
    store.hold(_KEY, 0, 0.0)
    store.add(_KEY, 7 * MINUTE, 9.0)

    on = [minute for minute in range(1, 20) if alarm.judge(store, minute * MINUTE, "OK").state == "ALARM"]

    # From the minute after the sample until five minutes have passed: not from 10:00 to 15:00 on the clock.
    assert on == [8, 9, 10, 11, 12]


def test_point_that_comes_late_is_seen_late() -> None:
    store, alarm = (
        MetricStore({"N": 180}),
        _alarm(TreatMissingData="notBreaching", EvaluationPeriods=5, DatapointsToAlarm=1),
    )
    store.add(_KEY, 0, 9.0)

    on = [minute for minute in range(1, 12) if alarm.judge(store, minute * MINUTE, "OK").state == "ALARM"]

    # Readable from minute 3 on; then in the range (N and two more) until minute 7.
    assert on == [3, 4, 5, 6, 7]


def test_alarm_over_more_than_a_day_looks_once_an_hour_at_full_hours() -> None:
    store, alarm = (
        MetricStore({"N": 0}),
        _alarm(Period=HOUR, EvaluationPeriods=25, DatapointsToAlarm=1, Statistic="Sum"),
    )
    store.hold(_KEY, 0, 0.0)
    store.add(_KEY, 30 * HOUR + 5 * MINUTE, 1.0)

    on = [minute for minute in range(30 * 60, 33 * 60) if alarm.judge(store, minute * MINUTE, "OK").state == "ALARM"]

    # 25 hours, the five more that CloudWatch may look at, and up to an hour since the last full one.
    assert alarm.reach_seconds == 31 * HOUR
    assert on[0] == 31 * 60
    assert len(on) == 2 * 60


def test_high_resolution_is_evaluated_each_minute_and_says_so() -> None:
    store, alarm = MetricStore({"N": 0}), _alarm(Period=10, EvaluationPeriods=6, DatapointsToAlarm=2)
    store.hold(_KEY, 0, 0.0, every=10)
    store.hold(_KEY, 100, 5.0, every=10)

    assert alarm.judge(store, 60, "OK").state == "OK"
    assert alarm.judge(store, 120, "OK").state == "ALARM"
    assert alarm.notes == ("Hot: CloudWatch evaluates it each 10 seconds; here it is each minute",)
    assert _alarm().notes == ()


def test_unit_is_not_looked_at_and_says_so() -> None:
    assert _alarm(Unit="Percent").notes == (
        "Hot: CloudWatch finds only data of the alarm's unit; here every unit will do",
    )


def test_sum_of_a_queues_level_may_count_twice_and_says_so() -> None:
    of_a_queue = {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible"}
    (note,) = _alarm(**of_a_queue, Statistic="Sum").notes
    assert "two points" in note
    assert _alarm(**of_a_queue, Statistic="Maximum").notes == ()
    assert _alarm(Namespace="AWS/SQS", MetricName="NumberOfMessagesSent", Statistic="Sum").notes == ()


def _stat(name: str, period: int = 60) -> dict[str, Any]:
    metric = {"Namespace": "N", "MetricName": name, "Dimensions": []}
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": period, "Stat": "Maximum"}}


def test_more_than_ten_metrics_are_refused() -> None:
    def of(count: int) -> Alarm:
        stat = {"Metric": {"Namespace": "N", "MetricName": "M"}, "Period": 60, "Stat": "Sum"}
        metrics = [{"Id": f"m{n}", "MetricStat": stat, "ReturnData": False} for n in range(count)]
        return _alarm(
            MetricName=None, Statistic=None, Period=None, Metrics=[*metrics, {"Id": "e", "Expression": "m0 + m1"}]
        )

    assert of(10).n == 1
    with pytest.raises(ArgumentError, match="Hot: Metrics must ask for at most 10 metrics"):
        of(11)


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("Average", 4.0), ("Sum", 8.0), ("SampleCount", 2.0), ("Minimum", 1.0), ("Maximum", 7.0)],
)
def test_statistic_of_one_metric(statistic: str, expected: float) -> None:
    store = MetricStore({"N": 0})
    for value in (1.0, 7.0):
        store.add(_KEY, 0, value)

    assert _alarm(Statistic=statistic).points(store, 60, extra=0) == [expected]
    assert _alarm(Statistic=None, ExtendedStatistic="p50").points(store, 60, extra=0) == [1.0]


@pytest.mark.parametrize("enabled", [False, "false"])
def test_actions_that_are_not_enabled_are_none(enabled: object) -> None:
    assert _alarm(AlarmActions=["Topic"]).actions["ALARM"] == ("Topic",)
    assert _alarm(AlarmActions=["Topic"], ActionsEnabled=enabled).actions["ALARM"] == ()


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"EvaluationWindow": {"Type": "WallClockWindow"}}, "EvaluationWindow .* window on the wall clock"),
        ({"WarmUpConfiguration": {"Minutes": 5}}, "WarmUpConfiguration .* warm-up"),
        ({"EvaluationCriteria": {"PromQL": "up"}}, "EvaluationCriteria .* PromQL"),
        ({"ThresholdMetricId": "ad1"}, "ThresholdMetricId .* anomaly detection"),
        ({"ComparisonOperator": "GreaterThanUpperThreshold"}, "ComparisonOperator .* anomaly detection"),
        ({"EvaluateLowSampleCountPercentile": "ignore"}, "EvaluateLowSampleCountPercentile .* percentiles"),
        ({"Statistic": None, "ExtendedStatistic": "wm90"}, "statistic must be one of"),
        ({"TreatMissingData": "notbreaching"}, "TreatMissingData must be one of missing, ignore"),
        ({"Period": 45}, "Period must be 10, 20, 30 or a multiple of 60"),
        ({"DatapointsToAlarm": 2}, "DatapointsToAlarm must be from 1 to the 1"),
        ({"Period": 300, "EvaluationPeriods": 289}, "EvaluationPeriods must make at most 86,400"),
        ({"Period": DAY, "EvaluationPeriods": 8}, "EvaluationPeriods must make at most 604,800"),
    ],
)
def test_what_is_not_simulated_or_refused_by_cloudwatch_names_the_alarm(properties: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=rf"\bHot: (metric: )?{said}"):
        _alarm(**properties)


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ([{"Id": "e", "Expression": "SEARCH('{N} m', 'Maximum')"}], "have metrics beside expressions, got .*SEARCH"),
        ([], "have metrics beside expressions, got 'no entry'"),
        (
            [_stat("a", period=60), {**_stat("b", period=300), "ReturnData": False}],
            "be of one period, got '60, 300 seconds'",
        ),
        ([_stat("a"), _stat("b")], "have exactly one entry with ReturnData: true, which is the default, got 'a, b'"),
        ([{**_stat("a"), "ReturnData": False}], "have exactly one entry with ReturnData: true, .* got 'none'"),
    ],
)
def test_metrics_that_make_no_alarm_are_told_one_by_one(metrics: list[dict[str, Any]], said: str) -> None:
    judged = {"ComparisonOperator": "LessThanThreshold", "Threshold": 5, "EvaluationPeriods": 1}
    with pytest.raises(ArgumentError, match=rf"^Hot: Metrics must {said}"):
        Alarm.from_properties("Hot", {**judged, "Metrics": metrics})


def test_query_of_metrics_insights_is_refused_by_name() -> None:
    with pytest.raises(ArgumentError, match=r"^Hot: Metrics must be metrics and metric math, .* Metrics Insights"):
        _math('SELECT MAX(m) FROM "N"')


def test_expression_that_cannot_be_evaluated_names_alarm_expression_and_function() -> None:
    with pytest.raises(UnsupportedExpression, match=r"^alarm Hot: SEARCH\('x', 'Sum'\) \+ m: .*SEARCH"):
        _math("SEARCH('x', 'Sum') + m")


# What AWS leaves open.


def test_length_of_the_range_is_in_doubt_where_older_points_decide() -> None:
    store, alarm = MetricStore({"N": 0}), _alarm(EvaluationPeriods=3, TreatMissingData="breaching")
    store.add(_KEY, 0, -1.0)

    doubted = {minute: alarm.judge(store, minute * MINUTE, "OK").doubts for minute in range(1, 12)}

    # The good point has left the shortest range (N + 1) after minute 4, and the longest (N + 5) after minute 8.
    assert [minute for minute, doubts in doubted.items() if doubts] == [5, 6, 7, 8]
    assert doubted[5] == ("Hot: how many periods more than 3 CloudWatch looks at",)


def test_fill_of_nothing_is_in_doubt() -> None:
    store, alarm = MetricStore({"N": 0}), _math("FILL(m, 1)", TreatMissingData="notBreaching")

    assert alarm.judge(store, 600, "OK").doubts == ("Hot: whether FILL fills a metric without any point",)
    store.hold(_KEY, 600, 0.0)
    assert alarm.judge(store, 1_200, "OK") == ([0.0, 0.0, 0.0], "OK", ())


def test_repeat_before_the_first_point_is_in_doubt_until_the_range_has_begun() -> None:
    """The first point is a breach: it alone is not three of three, repeated back it is."""
    store, alarm = MetricStore({"N": 0}), _math("FILL(m, REPEAT)", EvaluationPeriods=3, TreatMissingData="notBreaching")
    store.hold(_KEY, 10 * MINUTE, 9.0)

    doubted = {minute: alarm.judge(store, minute * MINUTE, "OK").doubts for minute in range(10, 16)}

    assert [minute for minute, doubts in doubted.items() if any("REPEAT" in each for each in doubts)] == [11, 12]
    assert alarm.judge(store, 11 * MINUTE, "OK", reading=MathReading(repeat_reaches_back=True)).state == "ALARM"


def test_operation_whose_sides_are_both_missing_is_in_doubt_where_zero_would_breach() -> None:
    store = MetricStore({"N": 0})
    idle: dict[str, Any] = {"ComparisonOperator": "LessThanThreshold", "Threshold": 1, **_SILENCE_IS_FINE}

    assert _math("m + m", **idle).judge(store, 600, "OK").doubts == (
        "Hot: whether an operation has a point where both its sides are missing",
    )
    assert _math("m + 0", **idle).judge(store, 600, "OK").doubts == (), "a number is not missing"
    store.hold(_KEY, 0, 5.0)
    assert _math("m + m", **idle).judge(store, 600, "OK").doubts == ()


@pytest.mark.parametrize("expression", ["TIME_SERIES(0) + m", "SUM([m, TIME_SERIES(0)])"])
def test_time_series_beside_a_metric_without_any_point_is_in_doubt(expression: str) -> None:
    store = MetricStore({"N": 0})
    idle: dict[str, Any] = {"ComparisonOperator": "LessThanThreshold", "Threshold": 1, **_SILENCE_IS_FINE}
    alarm, other = _math(expression, **idle), MathReading(silence_is_zeros=False)
    doubt = "Hot: whether TIME_SERIES makes up for a metric without any point"

    assert alarm.judge(store, 600, "OK") == ([0.0, 0.0, 0.0], "ALARM", (doubt,))
    assert alarm.judge(store, 600, "OK", reading=other).state == "OK"
    assert alarm.slots(other) is None, "whether there is any point is seen in the whole range alone"
    store.add(_KEY, 480, 0.0)
    assert alarm.judge(store, 600, "OK", reading=other).state == "ALARM"
    assert doubt not in alarm.judge(store, 600, "OK").doubts


def test_zeros_of_a_queue_are_in_doubt_for_what_is_in_flight_and_not_for_what_waits() -> None:
    idle = {"Namespace": "AWS/SQS", "ComparisonOperator": "LessThanThreshold", "Threshold": 1}
    doubts = {}
    for which in ("Visible", "NotVisible", "Delayed"):
        metric = f"ApproximateNumberOfMessages{which}"
        store = MetricStore({"AWS/SQS": 0})
        store.hold(("AWS/SQS", metric, frozenset()), 0, 0.0)
        alarm = _alarm(**idle, MetricName=metric, TreatMissingData="notBreaching")
        doubts[which] = alarm.judge(store, 600, "OK").doubts

    said = ("Hot: whether a queue reports that nothing is in flight or delayed",)
    assert doubts == {"Visible": (), "NotVisible": said, "Delayed": said}


@given(
    changes=st.lists(st.tuples(st.integers(0, 40), st.none() | st.sampled_from([0.0, 1.0])), max_size=4),
    singles=st.lists(st.integers(0, 40), max_size=2),
    n=st.integers(1, 4),
    period=st.sampled_from([60, 120, 300]),
    expression=st.sampled_from(["m", "FILL(m, REPEAT) - 1", "m - MIN(m)", "IF(m > 0, 1)"]),
    setting=st.sampled_from(TREATMENTS),
)
def test_steady_alarm_has_the_points_of_a_minute_ago(
    changes: list[tuple[int, float | None]],
    singles: list[int],
    n: int,
    period: int,
    expression: str,
    setting: str,
) -> None:
    store = MetricStore({"N": 120})
    alarm = _math(expression, period=period, EvaluationPeriods=n, TreatMissingData=setting)
    for minute in singles:
        store.add(_KEY, minute * MINUTE, 1.0)
    for minute, value in sorted(changes, key=lambda change: change[0]):
        if value is None:
            store.stop(_KEY, minute * MINUTE)
        else:
            store.hold(_KEY, minute * MINUTE, value)

    for now, extra in product(range(0, 120 * MINUTE, 7 * MINUTE), (0, 2, 5)):
        if alarm.is_steady(store, now):
            before = alarm.points(store, now - MINUTE, extra=extra)
            assert alarm.points(store, now, extra=extra) == before


def test_alarm_becomes_steady_when_the_change_has_left_its_range() -> None:
    store, alarm = MetricStore({"N": 120}), _alarm(Period=300, EvaluationPeriods=6)
    store.hold(_KEY, 0, 0.0)
    store.hold(_KEY, HOUR, 95.0)

    steady = [minute for minute in range(60, 180) if alarm.is_steady(store, minute * MINUTE)]

    # Six periods and the five more that CloudWatch may look at are 55 minutes, and a minute for the one before.
    assert steady == list(range(60 + 56, 180))


def test_alarm_on_the_clock_or_on_a_growing_figure_is_never_steady() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 0.0, slope=1.0)

    assert not _alarm().is_steady(store, DAY)
    assert not _math("IF(HOUR(m) > 8, 1)").is_steady(MetricStore({}), DAY)
    assert _alarm().is_steady(MetricStore({}), DAY)


def _states_over(alarm: Alarm, store: MetricStore, minutes: Sequence[int]) -> list[State]:
    state: State = "INSUFFICIENT_DATA"
    found = []
    for minute in minutes:
        state = alarm.judge(store, minute * MINUTE, state).state
        found.append(state)
    return found


def test_one_sample_and_then_silence_is_enough_under_the_default_setting() -> None:
    """SR-3: the premature rule, and the way back when the sample has left the range (N and two more)."""
    store, alarm = MetricStore({"N": 0}), _alarm(EvaluationPeriods=3)
    store.add(_KEY, 0, 9.0)

    assert (
        _states_over(alarm, store, range(1, 8)) == ["OK", "OK", "ALARM", "ALARM", "ALARM"] + ["INSUFFICIENT_DATA"] * 2
    )
