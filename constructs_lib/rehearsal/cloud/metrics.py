"""The metric store: a series is (namespace, name, exact dimension set) and nothing is ever rolled up (SR-1).

Most figures stay the same for hours, so a series is stored as runs: what is held, from when on and how often it is
sampled. Nothing is kept per minute, and a question costs what changed in its span.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

from constructs_lib.rehearsal.cloud.levels import Lane
from constructs_lib.rehearsal.cloud.metric_math import (
    Context,
    Expression,
    MathReading,
    Series,
    UnsupportedExpression,
    read,
)
from constructs_lib.rehearsal.cloud.series import MetricSeries
from constructs_lib.rehearsal.cloud.statistics import check

Key = tuple[str, str, frozenset[tuple[str, str]]]
_MINUTE = 60
_OF_SOME_MESSAGES = ("ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
_USUAL = MathReading()


class MetricStore:
    """Samples by exact series; those of a minute can be read once the delay of their namespace has passed since it."""

    def __init__(self, delays: Mapping[str, int]) -> None:
        self._delays = dict(delays)
        self._series: dict[Key, MetricSeries] = {}
        self.upsets = 0
        """While it is the same number, so is the version of each series."""

    def put(self, namespace: str, name: str, dimensions: Mapping[str, str], timestamp: int, value: float) -> None:
        """Store one sample of a series given by its parts."""
        self.add((namespace, name, frozenset(dimensions.items())), timestamp, value)

    def add(self, key: Key, timestamp: int, value: float, *, delay: int | None = None) -> None:
        """Store one sample; ``delay`` defaults to the namespace's, else to a minute."""
        delayed = self._delays.get(key[0], _MINUTE) if delay is None else delay
        self._of(key).add(timestamp, timestamp + delayed, value)

    def hold(
        self,
        key: Key,
        at: float,
        value: float,
        *,
        every: int = _MINUTE,
        slope: float = 0.0,
        delay: int | None = None,
        hidden_until: float = 0,
        source: Hashable = None,
    ) -> None:
        """Have a sample of this value at each multiple of ``every`` seconds from ``at`` on, until a hold or stop.

        The value grows by ``slope`` a second from ``at`` on. Several sources hold a value of one series side by side,
        as the instances of a group do. ``delay`` is as for :meth:`add`; none of the samples can be read before
        ``hidden_until``.
        """
        delayed = self._delays.get(key[0], _MINUTE) if delay is None else delay
        lane = Lane(every, delayed, hidden_until, value - slope * at if slope else value, slope)
        self._of(key).hold(source, at, lane)

    def hold_each(
        self, keys: Sequence[Key], at: float, value: float, *, every: int, slope: float, source: Hashable
    ) -> None:
        """Do what :meth:`hold` does in several series of one namespace."""
        if keys:
            delayed = self._delays.get(keys[0][0], _MINUTE)
            lane = Lane(every, delayed, 0, value - slope * at if slope else value, slope)
            for key in keys:
                self._of(key).hold(source, at, lane)

    def stop(self, key: Key, at: float, *, source: Hashable = None) -> None:
        """End what a source holds: it has no sample at ``at`` or later. Nothing held, nothing to do."""
        series = self._series.get(key)
        if series is not None:
            series.hold(source, at, None)

    def knows(self, key: Key) -> bool:
        """Return whether a series has any sample that is not forgotten."""
        return key in self._series

    def changed_at(self, key: Key, cycle: int = _MINUTE, statistic: str = "") -> float:
        """Return since when each ``cycle`` of a series, in seconds, has been like the one before it.

        Infinity while it grows, or comes less often than that. Only what the statistic shows counts, if one is given.
        """
        series = self._series.get(key)
        return float("-inf") if series is None else series.changed_at(cycle, statistic)

    def steady_span(self, key: Key, statistic: str, period: int, now: int) -> tuple[float, float]:
        """Return from when until when periods of so many seconds all come to the same; none do if it ends before.

        It is so for good, as far as is known now: what makes it otherwise makes another version of the series.
        """
        series = self._series.get(key)
        return (float("-inf"), now) if series is None else series.steady_span(statistic, period, now)

    def version(self, key: Key) -> int:
        """Return what is another number as soon as a period may come to something else than it was settled to."""
        series = self._series.get(key)
        return -1 if series is None else series.version()

    def settled(self, key: Key, statistic: str, period: int) -> Mapping[int, float | None] | None:
        """Return what periods have come to that stay so, by their start; None for a series that does not exist."""
        series = self._series.get(key)
        return None if series is None else series.settled(statistic, period)

    def forget_before(self, at: float) -> None:
        """Drop what no question about ``at`` or later can need."""
        for key, series in list(self._series.items()):
            if not series.forget_before(at):
                del self._series[key]
                self._upset()

    def published(self, namespace: str) -> set[tuple[str, frozenset[str]]]:
        """Return (metric name, dimension names) of every series of a namespace."""
        return {
            (name, frozenset(key for key, _ in dimensions))
            for space, name, dimensions in self._series
            if space == namespace
        }

    def series(self, key: Key, statistic: str, period: int, grid: Sequence[int], now: int) -> Series:
        """Return the points that can be read now, one for each slot start in ``grid`` that has samples."""
        series = self._series.get(key)
        return {} if series is None else series.points(statistic, period, grid, now)

    def answer(self, queries: Sequence[Mapping[str, Any]], grid: Sequence[int], now: int) -> dict[str, Series]:
        """Answer metric data queries (MetricStat and Expression, in the API's own shape) by id."""
        return Questions(queries).answer(self, grid, now)

    def _of(self, key: Key) -> MetricSeries:
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = MetricSeries(self._upset)
            self._upset()
        return series

    def _upset(self) -> None:
        self.upsets += 1


class Questions:
    """Metric data queries, read once: what they ask of which series, and the expressions in the order of their use.

    :raises UnsupportedExpression: an expression that cannot be evaluated, or that names no query.
    :raises ArgumentError: a statistic that is not known.
    """

    def __init__(self, queries: Sequence[Mapping[str, Any]]) -> None:
        stats = {query["Id"]: query["MetricStat"] for query in queries if "MetricStat" in query}
        self.metrics = {
            name: (metric_key(stat["Metric"]), str(stat["Stat"]), int(stat["Period"])) for name, stat in stats.items()
        }
        for _, statistic, _ in self.metrics.values():
            check(statistic)
        read_ = {query["Id"]: read(query["Expression"]) for query in queries if "MetricStat" not in query}
        for expression in read_.values():
            unknown = sorted(expression.ids - self.metrics.keys() - read_.keys())
            if unknown:
                raise UnsupportedExpression(f"{expression.text}: unknown id {unknown[0]!r}")
        self.expressions = _after_what_they_use(read_)
        self._ids = tuple(self.metrics)

    @cached_property
    def open(self) -> frozenset[str]:
        """Return what of :class:`MathReading` can matter to the answers."""
        found = {question for expression in self.expressions.values() for question in expression.open}
        if any(_may_be_silent_at_zero(key) for key, _, _ in self.metrics.values()):
            found.add("queue_zeros")
        return frozenset(found)

    def answer(
        self, store: MetricStore, grid: Sequence[int], now: int, reading: MathReading = _USUAL
    ) -> dict[str, Series]:
        """Return the points that can be read now, by the id of the query."""
        answers: dict[str, Series] = {}
        period = 60
        for name, (key, statistic, period) in self.metrics.items():
            points = store.series(key, statistic, period, grid, now)
            if not reading.queue_zeros and _may_be_silent_at_zero(key):
                points = {slot: point for slot, point in points.items() if point}
            answers[name] = points
        context = Context(answers, grid, reading, self._ids, period)
        for name, expression in self.expressions.items():
            silenced = not reading.silence_is_zeros and "silence_is_zeros" in expression.open
            is_silent = silenced and not all(answers[each] for each in expression.ids)
            answers[name] = {} if is_silent else expression.evaluate(context)
        return answers


def _may_be_silent_at_zero(key: Key) -> bool:
    """Return whether AWS says of a queue's metric both that it is reported while the queue is active, and that it is if
    there are such messages."""
    namespace, metric, _ = key
    return namespace == "AWS/SQS" and metric in _OF_SOME_MESSAGES


def _after_what_they_use(expressions: Mapping[str, Expression]) -> dict[str, Expression]:
    """Return the expressions, each one after those that it names, in whatever order they were given."""
    left, sorted_ = dict(expressions), dict[str, Expression]()
    while left:
        ready = {name: expression for name, expression in left.items() if left.keys().isdisjoint(expression.ids)}
        if not ready:
            raise UnsupportedExpression(f"expressions in a circle: {', '.join(sorted(left))}")
        sorted_.update(ready)
        left = {name: expression for name, expression in left.items() if name not in ready}
    return sorted_


def metric_key(metric: Mapping[str, Any]) -> Key:
    """Return the identity of a metric given in the API's (and the template's) shape."""
    dimensions = frozenset((d["Name"], d["Value"]) for d in metric.get("Dimensions", ()))
    return metric["Namespace"], metric["MetricName"], dimensions
