"""The metric store: a series is (namespace, name, exact dimension set) and nothing is ever rolled up (SR-1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from constructs_lib.rehearsal.cloud.metric_math import Context, Series, evaluate

Key = tuple[str, str, frozenset[tuple[str, str]]]
_WORD = re.compile(r"\b[a-z]\w*\b")


_STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: sum(values) / len(values),
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "Sum": sum,
}


class _Samples:
    """The samples of one series by minute, and what periods that are over and readable in full have come to."""

    __slots__ = ("by_minute", "settled", "settled_until")

    def __init__(self) -> None:
        self.by_minute: dict[int, list[tuple[int, float]]] = {}
        self.settled: dict[tuple[str, int, int], float | None] = {}
        self.settled_until = 0

    def add(self, timestamp: int, visible_at: int, value: float) -> None:
        if timestamp < self.settled_until:
            self.settled.clear()
            self.settled_until = 0
        found = self.by_minute.get(timestamp)
        if found is None:
            self.by_minute[timestamp] = [(visible_at, value)]
        else:
            found.append((visible_at, value))

    def value(self, statistic: str, period: int, start: int, now: int) -> float | None:
        slot = (statistic, period, start)
        if slot in self.settled:
            return self.settled[slot]
        by_minute = self.by_minute
        samples = [s for minute in range(start, start + period, 60) if minute in by_minute for s in by_minute[minute]]
        values = [value for visible_at, value in samples if visible_at <= now]
        result = _STATISTICS[statistic](values) if values else None
        if start + period <= now and len(values) == len(samples):
            self.settled[slot] = result
            self.settled_until = max(self.settled_until, start + period)
        return result


class MetricStore:
    """Samples by exact series; a sample can be read once the delay of its namespace has passed."""

    def __init__(self, delays: Mapping[str, int]) -> None:
        self._delays = dict(delays)
        self._series: dict[Key, _Samples] = {}

    def put(self, namespace: str, name: str, dimensions: Mapping[str, str], timestamp: int, value: float) -> None:
        """Store one sample of a series given by its parts."""
        self.add((namespace, name, frozenset(dimensions.items())), timestamp, value)

    def add(self, key: Key, timestamp: int, value: float, *, delay: int | None = None) -> None:
        """Store one sample; ``delay`` defaults to the namespace's, else to a minute."""
        visible_at = timestamp + (self._delays.get(key[0], 60) if delay is None else delay)
        samples = self._series.get(key)
        if samples is None:
            samples = self._series[key] = _Samples()
        samples.add(timestamp, visible_at, value)

    def published(self, namespace: str) -> set[tuple[str, frozenset[str]]]:
        """Return (metric name, dimension names) of every series of a namespace."""
        return {
            (name, frozenset(key for key, _ in dimensions))
            for space, name, dimensions in self._series
            if space == namespace
        }

    def series(self, key: Key, statistic: str, period: int, grid: Sequence[int], now: int) -> Series:
        """Return the points that can be read now, one for each slot start in ``grid`` that has samples."""
        samples = self._series.get(key)
        if samples is None:
            return {}
        result: Series = {}
        for start in grid:
            value = samples.value(statistic, period, start, now)
            if value is not None:
                result[start] = value
        return result

    def answer(
        self, queries: Sequence[Mapping[str, Any]], grid: Sequence[int], now: int, *, fill_empty: bool = True
    ) -> dict[str, Series]:
        """Answer metric data queries (MetricStat and Expression, in the API's own shape) by id."""
        answers: dict[str, Series] = {}
        for query in queries:
            if "MetricStat" in query:
                stat = query["MetricStat"]
                answers[query["Id"]] = self.series(
                    metric_key(stat["Metric"]), stat["Stat"], int(stat["Period"]), grid, now
                )
        pending = [query for query in queries if "MetricStat" not in query]
        for query in _after_what_they_use(pending):
            answers[query["Id"]] = evaluate(query["Expression"], Context(answers, grid, fill_empty))
        return answers


def _after_what_they_use(expressions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the expressions, each one after those that it names, in whatever order they were given."""
    left, sorted_ = list(expressions), list[Mapping[str, Any]]()
    while left:
        waiting = {each["Id"] for each in left}
        ready = [each for each in left if waiting.isdisjoint(_WORD.findall(each["Expression"]))]
        if not ready:
            raise ValueError(f"expressions in a circle: {sorted(waiting)}")
        sorted_ += ready
        left = [each for each in left if each not in ready]
    return sorted_


def metric_key(metric: Mapping[str, Any]) -> Key:
    """Return the identity of a metric given in the API's (and the template's) shape."""
    dimensions = frozenset((d["Name"], d["Value"]) for d in metric.get("Dimensions", ()))
    return metric["Namespace"], metric["MetricName"], dimensions
