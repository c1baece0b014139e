"""Reading one signal of many instances from CloudWatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from release_idle.measurement import Point, Reading, Series, Signal, Span, Unreadable
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.metric_data import MetricClient, MetricQuery, MetricResult, metric_pages
from runtime.patience import OutOfTime, Patience


@dataclass
class _Gathered:
    """What the pages of one call have said about one instance so far. No status means no answer."""

    status: str | None = None
    stamps: list[datetime] = field(default_factory=list)
    values: list[object] = field(default_factory=list)
    lengths_differ: bool = False


def read_signal(
    client: MetricClient,
    namespace: str,
    signal: Signal,
    instance_ids: Sequence[str],
    span: Span,
    patience: Patience,
) -> dict[str, Reading]:
    """Return a reading for each instance, in as few calls as CloudWatch's limits allow.

    Nothing is raised for what AWS refuses or does not answer: those instances are `Unreadable`, the others
    are read.
    """
    readings: dict[str, Reading] = {}
    for batch in _batches(instance_ids, span.queries_per_call):
        try:
            readings.update(_read_batch(client, namespace, signal, batch, span, patience))
        except (*AWS_ERRORS, OutOfTime) as error:
            reason = str(error) if isinstance(error, OutOfTime) else error_code(error)
            readings.update(dict.fromkeys(batch, Unreadable(f"GetMetricData: {reason}")))
    return readings


def _read_batch(
    client: MetricClient,
    namespace: str,
    signal: Signal,
    instance_ids: Sequence[str],
    span: Span,
    patience: Patience,
) -> Mapping[str, Reading]:
    queries = [_query(namespace, signal, span, f"i{n}", each) for n, each in enumerate(instance_ids)]
    gathered = {query["Id"]: _Gathered() for query in queries}
    stamps: dict[datetime, datetime] = {}
    complaints: list[str] = []
    for page in metric_pages(client, queries, span.start, span.end, patience, "reading metrics"):
        complaints += [message.get("Code", "message") for message in page.get("Messages", [])]
        results = page.get("MetricDataResults")
        if results is None or any(result.get("Id") not in gathered for result in results):
            # Whose points these are nobody can say, so any of the series may lack some.
            complaints.append("an answer without results, or one that names no query")
            continue
        for result in results:
            _gather(gathered[result["Id"]], result, stamps)
    if complaints:
        # About the call as a whole ("maximum number of allowed metrics exceeded"): nobody can say which
        # result is whole.
        return dict.fromkeys(instance_ids, Unreadable(f"GetMetricData: {', '.join(complaints)}"))
    # An answer without any result tells nothing about anybody.
    absent = any(each.status is not None for each in gathered.values())
    return {
        instance_id: _reading(each, span, absent=absent)
        for instance_id, each in zip(instance_ids, gathered.values(), strict=True)
    }


def _gather(gathered: _Gathered, result: MetricResult, known: dict[datetime, datetime]) -> None:
    stamps, values = result.get("Timestamps", []), result.get("Values", [])
    gathered.status = result.get("StatusCode")
    gathered.lengths_differ |= len(stamps) != len(values)
    # Hundreds of series have their points at the same times; each time is kept once.
    gathered.stamps += map(known.setdefault, stamps, stamps)
    gathered.values += values


def _reading(gathered: _Gathered, span: Span, *, absent: bool) -> Reading:
    """Return the reading of one instance; with `absent`, one without a result was left out alone."""
    if gathered.status is None:
        return Unreadable("GetMetricData left the instance out of its answer", absent=absent)
    # After the last page anything but Complete means that points may be missing, and which ones nobody knows.
    if gathered.status != "Complete":
        return Unreadable(f"GetMetricData: {gathered.status}")
    if gathered.lengths_differ:
        return Unreadable("GetMetricData returned more or fewer values than timestamps")
    for value in gathered.values:
        if type(value) is not float and (isinstance(value, bool) or not isinstance(value, (int, float))):
            return Unreadable(f"GetMetricData returned {value!r} for a value")
    values = map(float, cast(Sequence[float], gathered.values))
    return Series(tuple(map(Point, gathered.stamps, values)), span.period_seconds)


def _query(namespace: str, signal: Signal, span: Span, query_id: str, instance_id: str) -> MetricQuery:
    dimensions = (("InstanceId", instance_id), *signal.dimensions)
    return {
        "Id": query_id,
        "MetricStat": {
            "Metric": {
                "Namespace": signal.namespace or namespace,
                "MetricName": signal.metric,
                # Exactly the set that is published (the agent's roll-up has the instance alone); any other set is
                # another, empty series.
                "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions],
            },
            "Period": span.period_seconds,
            "Stat": signal.statistic,
        },
        "ReturnData": True,
    }


def _batches(instance_ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(instance_ids), size):
        yield instance_ids[start : start + size]
