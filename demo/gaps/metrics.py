"""CloudWatch: a metric is found by its exact dimensions, an expression is refused, no alarm is evaluated."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ministack.services import cloudwatch

Response = tuple[int, dict[str, str], bytes]

MOST_QUERIES = 500


def apply() -> None:
    """Register the calls of this module with the emulator."""
    cloudwatch._get_metric_data = _get_metric_data
    cloudwatch._evaluate_alarm = _leave_unevaluated


def _leave_unevaluated(alarm: dict[str, Any]) -> None:
    """Keep the alarm in INSUFFICIENT_DATA.

    The emulator would judge it on the points of every series of that name, whatever the dimensions, which is
    worse than not judging it.
    """


def _get_metric_data(
    parameters: dict[str, Any], request: dict[str, Any], is_cbor: bool, is_json: bool = False
) -> Response:
    if not (is_cbor or is_json):
        return _refused("GetMetricData over the query protocol is not modelled", is_cbor, is_json)
    queries = request["MetricDataQueries"]
    if len(queries) > MOST_QUERIES:
        return _refused(f"MetricDataQueries must hold at most {MOST_QUERIES}, got {len(queries)}", is_cbor, is_json)
    for query in queries:
        if "Expression" in query:
            return _refused(f"the demo's emulator evaluates no expression: {query['Expression']}", is_cbor, is_json)
    start, end = cloudwatch._parse_ts(request["StartTime"]), cloudwatch._parse_ts(request["EndTime"])
    ascending = request.get("ScanBy") == "TimestampAscending"
    results = [_result(q, start, end, ascending) for q in queries if q.get("ReturnData", True)]
    answer: Response = (
        cloudwatch._cbor_ok({"MetricDataResults": [cloudwatch._cbor_metric_data_result(r) for r in results]})
        if is_cbor
        else cloudwatch._json_ok({"MetricDataResults": results})
    )
    return answer


def _refused(message: str, is_cbor: bool, is_json: bool) -> Response:
    response: Response = cloudwatch._error("ValidationError", message, 400, use_json=is_json, use_cbor=is_cbor)
    return response


def _result(query: dict[str, Any], start: float, end: float, ascending: bool) -> dict[str, Any]:
    """The values of one series, newest first unless asked otherwise."""
    asked = query["MetricStat"]
    metric, period = asked["Metric"], int(asked["Period"])
    dimensions = {d["Name"]: d["Value"] for d in metric.get("Dimensions", [])}
    series = (metric["Namespace"], metric["MetricName"], cloudwatch._dims_key(dimensions))
    periods: dict[int, list[Any]] = defaultdict(list)
    for point in cloudwatch._metrics.get(series, []):
        if start <= point["Timestamp"] < end:
            periods[int(point["Timestamp"] // period) * period].append(point)
    values = {
        begin: cloudwatch._stat_value(cloudwatch._calc_stats(points), asked["Stat"], points)
        for begin, points in sorted(periods.items(), reverse=not ascending)
    }
    return {
        "Id": query["Id"],
        "Label": query.get("Label", metric["MetricName"]),
        "StatusCode": "Complete",
        "Timestamps": [cloudwatch._ts_iso(begin) for begin in values],
        "Values": list(values.values()),
    }
