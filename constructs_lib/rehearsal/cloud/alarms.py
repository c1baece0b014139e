"""Alarm evaluation with missing data (SR-3), calibrated on the published tables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from constructs_lib.rehearsal.cloud.metrics import MetricStore

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
}
_EFFECTS = {"OK": "OKActions", "ALARM": "AlarmActions", "INSUFFICIENT_DATA": "InsufficientDataActions"}


def verdict(points: Sequence[bool | None], *, n: int, m: int, missing: str, state: State) -> State:
    """Return the alarm's next state from the points of the evaluation range.

    ``points`` runs from oldest to newest: True breaches, False does not, None is missing. Points are real
    first; ``missing`` (the template's TreatMissingData) only fills what N still lacks.
    """
    if missing not in ("missing", "ignore", "breaching", "notBreaching"):
        raise ValueError(f"TreatMissingData {missing!r} is not simulated")
    real = [point for point in points if point is not None][-n:]
    lacking = n - len(real)
    breaching = sum(real)
    if lacking and missing == "breaching":
        breaching += lacking
    if not real and missing in ("missing", "ignore"):
        return state if missing == "ignore" else "INSUFFICIENT_DATA"
    if breaching >= m:
        return "ALARM"
    if lacking and all(real):
        # Only breaching points, but too few. Undocumented below the age of M; `ignore` keeps the state all the same.
        if missing == "ignore":
            return state
        if missing == "missing" and _age_of_oldest(points) >= m:
            return "ALARM"
    return "OK"


def _age_of_oldest(points: Sequence[bool | None]) -> int:
    """Return the age in periods (newest slot = 1) of the oldest real point."""
    return len(points) - next(index for index, point in enumerate(points) if point is not None)


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
        """Read resolved ``AWS::CloudWatch::Alarm`` properties."""
        queries = properties["Metrics"] if "Metrics" in properties else [_single(properties)]
        periods = {int(q["MetricStat"]["Period"]) for q in queries if "MetricStat" in q}
        returned = [q["Id"] for q in queries if q.get("ReturnData", True)]
        if len(periods) != 1 or len(returned) != 1:
            raise ValueError(f"{name}: an alarm needs one period and one returned series, not {periods}, {returned}")
        enabled = properties.get("ActionsEnabled", True)
        n = int(properties["EvaluationPeriods"])
        return cls(
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
                state: tuple(properties.get(key, ())) if enabled else ()  # type: ignore[misc]
                for state, key in _EFFECTS.items()
            },
        )

    @property
    def window_seconds(self) -> int:
        """Return the time that the alarm judges."""
        return self.n * self.period

    def treating_missing_as(self, missing: str) -> Alarm:
        """Return the same alarm with another TreatMissingData: the guard taken away."""
        return replace(self, missing=missing)

    def points(self, store: MetricStore, now: int, *, extra: int = 2, fill_empty: bool = True) -> list[float | None]:
        """Return the values of the evaluation range (N + ``extra`` slots ending now), oldest first.

        The window slides by the tick, whatever the period: slots are aligned to it, not to the clock.
        """
        grid = [now - age * self.period for age in range(self.n + extra, 0, -1)]
        series = store.answer(self.queries, grid, now, fill_empty=fill_empty)[self.returned]
        return [series.get(slot) for slot in grid]

    def evaluate(self, points: Sequence[float | None], state: State) -> State:
        """Return the next state from the values of the range."""
        breaches = _COMPARISONS[self.comparison]
        judged = [None if value is None else breaches(value, self.threshold) for value in points]
        return verdict(judged, n=self.n, m=self.m, missing=self.missing, state=state)


def _single(properties: Mapping[str, Any]) -> dict[str, Any]:
    metric = {key: properties[key] for key in ("Namespace", "MetricName", "Dimensions") if key in properties}
    stat = {"Metric": metric, "Period": properties["Period"], "Stat": properties["Statistic"]}
    return {"Id": "metric", "MetricStat": stat, "ReturnData": True}
