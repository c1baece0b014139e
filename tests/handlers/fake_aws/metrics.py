"""CloudWatch metrics: identified by their exact dimensions, paged by points, never rolled up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

from tests.handlers.fake_aws.calls import Parameters, refusal

QUERIES_PER_CALL = 500
POINTS_PER_PAGE = 100_800

Identity: TypeAlias = tuple[str, str, frozenset[tuple[str, str]]]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: sum(values) / len(values),
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "Sum": sum,
}


class FakeMetrics:
    """The CloudWatch service. `statuses` and `raw_values` make it answer badly for one instance."""

    def __init__(self) -> None:
        self.samples: dict[Identity, dict[datetime, float]] = {}
        self.points_per_page = POINTS_PER_PAGE
        self.statuses: dict[str, str] = {}
        self.raw_values: dict[str, list[Any]] = {}
        self.left_out: set[str] = set()
        self.messages: list[dict[str, str]] = []

    def publish(
        self, namespace: str, metric: str, dimensions: Mapping[str, str], samples: Mapping[datetime, float]
    ) -> None:
        identity = (namespace, metric, frozenset(dimensions.items()))
        self.samples.setdefault(identity, {}).update(samples)

    def get_metric_data(self, parameters: Parameters) -> dict[str, Any]:
        queries = parameters["MetricDataQueries"]
        if len(queries) > QUERIES_PER_CALL:
            raise refusal("ValidationError", "The collection MetricDataQueries must not exceed 500")
        results = [self._result(query, parameters["StartTime"], parameters["EndTime"]) for query in queries]
        page, more = self._page([r for r in results if r is not None], int(parameters.get("NextToken", "0")))
        messages = {"Messages": self.messages} if self.messages else {}
        return {"MetricDataResults": page, **more, **messages}

    def _result(self, query: Any, start: datetime, end: datetime) -> dict[str, Any] | None:
        if "Expression" in query:
            raise NotImplementedError("this fake evaluates no expressions, and does not pretend to")
        stat = query["MetricStat"]
        metric = stat["Metric"]
        if stat["Period"] % 60:
            raise refusal("ValidationError", "Period must be a multiple of 60")
        dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
        instance_id = dimensions.get("InstanceId", "")
        if instance_id in self.left_out:
            return None
        identity = (metric["Namespace"], metric["MetricName"], frozenset(dimensions.items()))
        points = _aggregate(self.samples.get(identity, {}), stat["Stat"], stat["Period"], start, end)
        # Newest first, as CloudWatch orders by default.
        stamps = sorted(points, reverse=True)
        values = self.raw_values.get(instance_id, [points[stamp] for stamp in stamps])
        return {
            "Id": query["Id"],
            "StatusCode": self.statuses.get(instance_id, "Complete"),
            "Timestamps": stamps[: len(values)] if instance_id in self.raw_values else stamps,
            "Values": values,
        }

    def _page(self, results: list[dict[str, Any]], skip: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Return one page of at most `points_per_page` points; a series that does not fit is PartialData."""
        left, position, page = self.points_per_page, 0, []
        for result in results:
            length = len(result["Timestamps"])
            begin, position = position, position + length
            take_from = max(0, skip - begin)
            if take_from >= length and length:
                continue
            if not length and skip:
                continue
            took = min(length - take_from, left)
            if length and took == 0:
                break
            left -= took
            cut = slice(take_from, take_from + took)
            whole = take_from + took == length
            page.append(
                {
                    **result,
                    "Timestamps": result["Timestamps"][cut],
                    "Values": result["Values"][cut],
                    "StatusCode": result["StatusCode"] if whole else "PartialData",
                }
            )
        given = self.points_per_page - left
        total = sum(len(result["Timestamps"]) for result in results)
        return page, {"NextToken": str(skip + given)} if skip + given < total else {}


def _aggregate(
    samples: Mapping[datetime, float], statistic: str, period: int, start: datetime, end: datetime
) -> dict[datetime, float]:
    def bucket(at: datetime) -> datetime:
        return at - (at - _EPOCH) % timedelta(seconds=period)

    inside = sorted(at for at in samples if start <= at < end)
    return {
        at: float(_STATISTICS[statistic]([samples[each] for each in group]))
        for at, group in itertools.groupby(inside, key=bucket)
    }
