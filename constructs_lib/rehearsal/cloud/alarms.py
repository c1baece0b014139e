"""Metric alarms as the template states them: what they look at, when, and the state that it puts them into (SR-3)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.metric_math import MathReading, Series, UnsupportedExpression
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore, Questions
from constructs_lib.rehearsal.cloud.slots import Slots
from constructs_lib.rehearsal.cloud.verdicts import TREATMENTS, State, verdict
from constructs_lib.rehearsal.resolving import is_true
from constructs_lib.rehearsal.value_shapes import MissingEntryError
from constructs_lib.validation import complaint

__all__ = ["OPEN", "Alarm", "Judgement", "State", "verdict"]

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
}
_EFFECTS: dict[State, str] = {
    "OK": "OKActions",
    "ALARM": "AlarmActions",
    "INSUFFICIENT_DATA": "InsufficientDataActions",
}
_MINUTE, _HOUR, _DAY, _WEEK = 60, 3_600, 86_400, 604_800
_NEVER = float("inf")
_SHORT_PERIODS = (10, 20, 30)
_MOST_METRICS = 10
_EXTRAS = (1, 2, 5)
"""How many periods more than N CloudWatch may look at: its guide says some, has 2 in an example, and has no formula."""
_USUAL = MathReading()
OPEN = {
    "both_missing_is_zero": "whether an operation has a point where both its sides are missing",
    "fill_empty": "whether FILL fills a metric without any point",
    "queue_zeros": "whether a queue reports that nothing is in flight or delayed",
    "repeat_reaches_back": "whether FILL with REPEAT fills what is before the first point",
    "silence_is_zeros": "whether TIME_SERIES makes up for a metric without any point",
}
"""What AWS leaves open of metric math, by the field of MathReading."""
_NOT_SIMULATED = {
    "EvaluationWindow": "a window on the wall clock",
    "WarmUpConfiguration": "a warm-up of the alarm",
    "EvaluationCriteria": "an alarm on PromQL",
    "ThresholdMetricId": "a band of anomaly detection",
    "EvaluateLowSampleCountPercentile": "leaving out percentiles of few samples",
}


class Judgement(NamedTuple):
    """What one evaluation came to: the values seen, the state, and which open questions would change it."""

    points: list[float | None]
    state: State
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class Alarm:
    """One alarm as the template states it."""

    name: str
    queries: tuple[Mapping[str, Any], ...]
    returned: str
    period: int
    n: int
    m: int
    threshold: float
    comparison: str
    missing: str
    actions: Mapping[State, tuple[str, ...]]

    @classmethod
    def from_properties(cls, name: str, properties: Mapping[str, Any]) -> Alarm:
        """Read resolved ``AWS::CloudWatch::Alarm`` properties.

        Raises:
            ArgumentError: the alarm uses something that is not simulated, or that CloudWatch refuses.
        """
        _refuse_what_is_not_simulated(name, properties)
        queries = properties["Metrics"] if "Metrics" in properties else [_single(properties)]
        periods = {int(q["MetricStat"]["Period"]) for q in queries if "MetricStat" in q}
        returned = [q["Id"] for q in queries if is_true(q.get("ReturnData", True))]
        _refuse_other_than_one(name, queries, periods, returned)
        n = int(properties["EvaluationPeriods"])
        alarm = cls(
            name=name,
            queries=tuple(queries),
            returned=returned[0],
            period=periods.pop(),
            n=n,
            m=int(properties.get("DatapointsToAlarm", n)),
            threshold=float(properties["Threshold"]),
            comparison=properties["ComparisonOperator"],
            missing=properties.get("TreatMissingData", "missing"),
            actions={
                state: tuple(properties.get(key, ())) if is_true(properties.get("ActionsEnabled", True)) else ()
                for state, key in _EFFECTS.items()
            },
        )
        alarm._check()
        return alarm

    def _check(self) -> None:
        cure = "CloudWatch refuses it"
        if self.missing not in TREATMENTS:
            rule = f"be one of {', '.join(TREATMENTS)}"
            raise ArgumentError(complaint(self.name, "TreatMissingData", rule, self.missing, cure))
        if self.period not in _SHORT_PERIODS and (self.period <= 0 or self.period % _MINUTE):
            rule = "be 10, 20, 30 or a multiple of 60 seconds"
            raise ArgumentError(complaint(self.name, "Period", rule, self.period, cure))
        if not 1 <= self.m <= self.n:
            rule = f"be from 1 to the {self.n} EvaluationPeriods"
            raise ArgumentError(complaint(self.name, "DatapointsToAlarm", rule, self.m, cure))
        if sum("MetricStat" in query for query in self.queries) > _MOST_METRICS:
            rule = f"ask for at most {_MOST_METRICS} metrics"
            raise ArgumentError(complaint(self.name, "Metrics", rule, len(self.queries), cure))
        longest = _DAY if self.period < _HOUR else _WEEK
        if self.window_seconds > longest:
            rule = f"make at most {longest:,} seconds of EvaluationPeriods and Period"
            raise ArgumentError(complaint(self.name, "EvaluationPeriods", rule, self.window_seconds, cure))
        # Read now, so that what cannot be evaluated is told before anything runs.
        self._questions  # noqa: B018

    @cached_property
    def _questions(self) -> Questions:
        try:
            return Questions(self.queries)
        except UnsupportedExpression as error:
            raise self._named(error) from error
        except MissingEntryError:
            raise
        except ArgumentError as error:
            raise ArgumentError(f"alarm {self.name}: {error}") from error

    @property
    def window_seconds(self) -> int:
        """Return the time that the alarm judges."""
        return self.n * self.period

    @property
    def metrics(self) -> list[Key]:
        """Return the series that it asks for."""
        return [key for key, _, _ in self._questions.metrics.values()]

    @property
    def reach_seconds(self) -> int:
        """Return how far back the alarm may look, in seconds."""
        return self.window_seconds + _EXTRAS[-1] * self.period + _HOUR

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is simplified in evaluating this alarm."""
        notes = []
        if self.period in _SHORT_PERIODS:
            notes.append(f"{self.name}: CloudWatch evaluates it each 10 seconds; here it is each minute")
        if any("Unit" in query.get("MetricStat", ()) for query in self.queries):
            notes.append(f"{self.name}: CloudWatch finds only data of the alarm's unit; here every unit will do")
        if any(self._counts_twice(query.get("MetricStat", {})) for query in self.queries):
            notes.append(f"{self.name}: SQS may publish two points in a minute, and Sum counts both; here there is one")
        return tuple(notes)

    @staticmethod
    def _counts_twice(stat: Mapping[str, Any]) -> bool:
        metric = stat.get("Metric", {})
        level = metric.get("Namespace") == "AWS/SQS" and str(metric.get("MetricName")).startswith("Approximate")
        return level and stat.get("Stat") == "Sum"

    @property
    def leaves_open(self) -> bool:
        """Return whether its metric math can be read in several ways."""
        return bool(self._questions.open)

    def treating_missing_as(self, missing: str) -> Alarm:
        """Return the same alarm with another TreatMissingData: the guard taken away."""
        return replace(self, missing=missing)

    def points(
        self,
        store: MetricStore,
        now: int,
        *,
        extra: int = 2,
        reading: MathReading = _USUAL,
        slots: Slots | None = None,
    ) -> list[float | None]:
        """Return the values of the evaluation range (N + ``extra`` slots ending now), oldest first.

        The window slides by the tick, whatever the period: slots are aligned to it, not to the clock. One of more than
        a day is looked at once an hour, up to the last full hour. ``slots`` are those of :meth:`slots`, if kept.
        """
        end = self.looks_at(now)
        grid = range(end - (self.n + extra) * self.period, end, self.period)

        if slots is not None:
            return slots.values(store, grid, end, lambda wanted: self.answer(store, wanted, end, reading))
        series = self.answer(store, grid, end, reading)
        return [series.get(slot) for slot in grid]

    def answer(self, store: MetricStore, wanted: Sequence[int], end: int, reading: MathReading) -> Series:
        """Return the values of these slots, as they are seen at the end of the range."""
        try:
            return self._questions.answer(store, wanted, end, reading)[self.returned]
        except UnsupportedExpression as error:
            raise self._named(error) from error

    def slots(self, reading: MathReading = _USUAL) -> Slots | None:
        """Return where its slots can be kept, from one evaluation to the next; None if they depend on each other."""
        return None if self._follows_the_range(reading) else Slots(self._questions, self.returned)

    def _named(self, error: UnsupportedExpression) -> UnsupportedExpression:
        return UnsupportedExpression(f"alarm {self.name}: {error}; write it another way, or leave the alarm out")

    def looks_at(self, now: int) -> int:
        """Return the end of the range that is looked at now."""
        return now - now % _HOUR if self.window_seconds > _DAY else now

    def breaches(self, point: float) -> bool:
        """Return whether a point is beyond the threshold."""
        return _COMPARISONS[self.comparison](point, self.threshold)

    @property
    def breaches_below(self) -> bool:
        """Return whether it is what lies below the threshold that breaches it."""
        return self.comparison.startswith("Less")

    def evaluate(self, points: Sequence[float | None], state: State) -> State:
        """Return the next state from the values of the range."""
        judged = [None if value is None else self.breaches(value) for value in points]
        return verdict(judged, n=self.n, m=self.m, missing=self.missing, state=state)

    def judge(
        self,
        store: MetricStore,
        now: int,
        state: State,
        *,
        extra: int = 2,
        reading: MathReading = _USUAL,
        slots: Slots | None = None,
    ) -> Judgement:
        """Evaluate once, and say which of the questions that AWS leaves open would make another state of it."""
        ranges = self._ranges(store, now, {*_EXTRAS, extra}, reading=reading, slots=slots)
        points = ranges[extra]
        next_state = self.evaluate(points, state)
        doubts = []
        matters = self._follows_the_range(reading) or None in points[-self.n :]
        if matters and any(self.evaluate(other, state) != next_state for other in ranges.values()):
            doubts.append(f"{self.name}: how many periods more than {self.n} CloudWatch looks at")
        for question in sorted(self._questions.open):
            other = self.points(store, now, extra=extra, reading=reading.other(question))
            if self.evaluate(other, state) != next_state:
                doubts.append(f"{self.name}: {OPEN[question]}")
        return Judgement(points, next_state, tuple(doubts))

    def _ranges(
        self, store: MetricStore, now: int, extras: Iterable[int], *, reading: MathReading, slots: Slots | None
    ) -> dict[int, list[float | None]]:
        """Return the values of ranges of several lengths; most are the end of the longest one."""
        if self._follows_the_range(reading):
            return {extra: self.points(store, now, extra=extra, reading=reading) for extra in extras}
        most = max(extras)
        longest = self.points(store, now, extra=most, reading=reading, slots=slots)
        return {extra: longest[most - extra :] for extra in extras}

    def _follows_the_range(self, reading: MathReading) -> bool:
        """Return whether a point may be another one over a longer range."""
        silenced = not reading.silence_is_zeros and "silence_is_zeros" in self._questions.open
        return silenced or self._reaches_over_slots

    @cached_property
    def _reaches_over_slots(self) -> bool:
        return any(expression.follows_the_range for expression in self._questions.expressions.values())

    @cached_property
    def _follows_the_clock(self) -> bool:
        return any(expression.follows_the_clock for expression in self._questions.expressions.values())

    def is_steady(
        self, store: MetricStore, now: int, *, cycle: int = _MINUTE, cycles: int = 1, extra: int = _EXTRAS[-1]
    ) -> bool:
        """Return whether the points of N + ``extra`` periods are sure to be those of so many ``cycle`` seconds ago.

        It stays so for as long as nothing is published that differs.
        """
        if self._follows_the_clock:
            return False
        since = self.looks_at(now - cycles * cycle) - (self.n + extra) * self.period
        for key, statistic, _ in self._questions.metrics.values():
            if store.changed_at(key, cycle, statistic) > since:
                return False
        return True

    def steady_span(self, store: MetricStore, end: int) -> tuple[float, float]:
        """Return from when until when its slots all have the same value, seen at the end of a range; none if it ends
        before.

        It is so for good, until the version of one of its series is another one.
        """
        since, until = (_NEVER, 0.0) if self._follows_the_clock else (-_NEVER, float(end))
        for key, statistic, period in self._questions.metrics.values():
            began, ended = store.steady_span(key, statistic, period, end)
            since, until = max(since, began), min(until, ended)
        return since, until


def _refuse_what_is_not_simulated(name: str, properties: Mapping[str, Any]) -> None:
    for key, what in _NOT_SIMULATED.items():
        value = properties.get(key)
        if value is not None and value != "evaluate":
            raise ArgumentError(complaint(name, key, "not be there", value, f"{what} is not simulated"))
    if properties["ComparisonOperator"] not in _COMPARISONS:
        rule = f"be one of {', '.join(_COMPARISONS)}"
        cure = "a band of anomaly detection is not simulated"
        raise ArgumentError(complaint(name, "ComparisonOperator", rule, properties["ComparisonOperator"], cure))
    for query in properties.get("Metrics", ()):
        expression = str(query.get("Expression", ""))
        if expression.lstrip().upper().startswith("SELECT"):
            cure = "a query of Metrics Insights is not simulated"
            raise ArgumentError(complaint(name, "Metrics", "be metrics and metric math", expression, cure))


def _refuse_other_than_one(
    name: str, queries: Sequence[Mapping[str, Any]], periods: Collection[int], returned: Sequence[str]
) -> None:
    cure = "CloudWatch refuses it"
    if not periods:
        alone = ", ".join(str(each["Expression"]) for each in queries) or "no entry"
        raise ArgumentError(complaint(name, "Metrics", "have metrics beside expressions", alone, cure))
    if len(periods) > 1:
        several = ", ".join(map(str, sorted(periods)))
        raise ArgumentError(complaint(name, "Metrics", "be of one period", f"{several} seconds", cure))
    if len(returned) != 1:
        rule = "have exactly one entry with ReturnData: true, which is the default"
        raise ArgumentError(complaint(name, "Metrics", rule, ", ".join(returned) or "none", cure))


def _single(properties: Mapping[str, Any]) -> dict[str, Any]:
    metric = {key: properties[key] for key in ("Namespace", "MetricName", "Dimensions") if key in properties}
    statistic = properties["Statistic"] if "Statistic" in properties else properties["ExtendedStatistic"]
    stat = {"Metric": metric, "Period": properties["Period"], "Stat": statistic}
    if "Unit" in properties:
        stat["Unit"] = properties["Unit"]
    return {"Id": "metric", "MetricStat": stat, "ReturnData": True}
