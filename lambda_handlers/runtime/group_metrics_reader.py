"""Reading numbers of instances that are published of a group: Auto Scaling's own, one point a minute, and ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from runtime.metric_data import MetricClient, MetricQuery, MetricResult, metric_pages
from runtime.patience import Patience

_AUTO_SCALING = "AWS/AutoScaling"
_MINUTE = 60


class UnreadableMetrics(Exception):
    """CloudWatch did not answer in full, or with something that is no number of instances."""


@dataclass(frozen=True, kw_only=True)
class GroupMetric:
    """A metric of a group. Of several samples in a period the statistic takes one."""

    group_name: str
    name: Literal["GroupDesiredCapacity", "GroupInServiceInstances", "MembersInUse"]
    statistic: Literal["Minimum", "Maximum"]
    namespace: str = _AUTO_SCALING
    period_seconds: int = _MINUTE


@dataclass
class _Gathered:
    """What the pages have said about one metric so far. No status means no answer."""

    status: str | None = None
    points: dict[datetime, float] = field(default_factory=dict)


def read_group_metrics(
    client: MetricClient, metrics: Sequence[GroupMetric], start: datetime, end: datetime, patience: Patience
) -> list[Mapping[datetime, float]]:
    """Return the value of each metric in each period that has one, from `start` to before `end`.

    Both are whole periods. A period without a point is left out. Raises `UnreadableMetrics` for an answer that may lack
    points, or that cannot be true.
    """
    queries = [_query(f"m{number}", metric) for number, metric in enumerate(metrics)]
    gathered = {query["Id"]: _Gathered() for query in queries}
    for page in metric_pages(client, queries, start, end, patience, "reading the group's metrics"):
        complaints = [message.get("Code", "message") for message in page.get("Messages", [])]
        if complaints:
            # About the call as a whole: nobody can say which metric is whole.
            raise UnreadableMetrics(f"GetMetricData: {', '.join(complaints)}")
        for result in page.get("MetricDataResults", []):
            if result.get("Id") not in gathered:
                raise UnreadableMetrics("GetMetricData answered what it was not asked for")
            _gather(gathered[result["Id"]], result)
    for metric, each in zip(metrics, gathered.values(), strict=True):
        # After the last page anything but Complete means that points may be missing, and which ones nobody knows.
        if each.status != "Complete":
            raise UnreadableMetrics(
                f"GetMetricData: {metric.name} of {metric.group_name}: {each.status or 'no answer'}"
            )
    return [each.points for each in gathered.values()]


def _gather(gathered: _Gathered, result: MetricResult) -> None:
    stamps = result.get("Timestamps", [])
    values: Sequence[object] = result.get("Values", [])
    gathered.status = result.get("StatusCode")
    if len(stamps) != len(values):
        raise UnreadableMetrics("GetMetricData returned more or fewer values than timestamps")
    for at, value in zip(stamps, values, strict=True):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise UnreadableMetrics(f"GetMetricData returned {value!r} for a number of instances")
        gathered.points[at] = float(value)


def _query(query_id: str, metric: GroupMetric) -> MetricQuery:
    return {
        "Id": query_id,
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": "AutoScalingGroupName", "Value": metric.group_name}],
            },
            "Period": metric.period_seconds,
            "Stat": metric.statistic,
        },
        "ReturnData": True,
    }
