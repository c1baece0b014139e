"""Lines of embedded metric format (CloudWatch user guide, "Specification: Embedded metric format").

The metrics' names, units and values are used. What a line says of namespace, dimensions and time gives way to what the
fleet publishes everything under: its own namespace and dimensions, now.
"""

from __future__ import annotations

import json
from typing import Any

from .application import LARGEST_VALUE, MetricError, application_metric, check_name, shown
from .statsd import COUNTER, GAUGE, TIMING, Metric

LONGEST_LINE_BYTES = 1024 * 1024
"""An event of CloudWatch Logs, and so a line of embedded metric format, is no longer (quotas, 2026)."""

_MILLISECONDS = {"Seconds": 1000.0, "Milliseconds": 1.0, "Microseconds": 0.001}
_SIZES = tuple(f"{scale}{size}" for size in ("bytes", "bits") for scale in ("Kilo", "Mega", "Giga", "Tera"))
_AMOUNTS = ("Bytes", "Bits", *_SIZES)
_UNITS = {
    *_MILLISECONDS,
    *_AMOUNTS,
    *(f"{amount}/Second" for amount in (*_AMOUNTS, "Count")),
    "Percent",
    "Count",
    "None",
}


def metrics_of(line: bytes) -> tuple[list[Metric], list[str]]:
    """Return the metrics of a line, and what is wrong with those that are left out.

    Raises MetricError if it is no such line. A metric that several directives name, for several sets of dimensions, is
    one metric here. An array's values are a metric each.
    """
    document = _document(line)
    metrics: list[Metric] = []
    problems: list[str] = []
    units: dict[str, str] = {}
    for definition in _definitions(document):
        try:
            _add_unit(units, definition)
        except MetricError as problem:
            problems.append(f"{problem}")
    for name, unit in units.items():
        try:
            metrics += _metrics_with_unit(name, unit, document)
        except MetricError as problem:
            problems.append(f"{problem}")
    return metrics, problems


def _document(line: bytes) -> dict[str, Any]:
    if len(line) > LONGEST_LINE_BYTES:
        raise MetricError(f"a line must not be longer than {LONGEST_LINE_BYTES} bytes; write one event a line")
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        raise MetricError(f"a line must be JSON, got {shown(line)} ({problem}); write one event a line") from None
    if not isinstance(document, dict):
        raise MetricError(f"a line must be a JSON object, got {shown(document)}; write one event a line")
    return document


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")


def _definitions(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every metric definition of the line."""
    metadata = document.get("_aws")
    directives = metadata.get("CloudWatchMetrics") if isinstance(metadata, dict) else None
    found: list[dict[str, Any]] = []
    for directive in _objects("_aws.CloudWatchMetrics", directives):
        found += _objects("_aws.CloudWatchMetrics[].Metrics", directive.get("Metrics"))
    return found


def _objects(where: str, value: object) -> list[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise MetricError(f"{where} must be a list of objects, got {shown(value)}; write embedded metric format")


def _add_unit(units: dict[str, str], definition: dict[str, Any]) -> None:
    name = check_name(definition.get("Name"))
    unit = definition.get("Unit", "None")
    if not isinstance(unit, str) or unit not in _UNITS:
        raise MetricError(f"{name}: Unit must be one of CloudWatch's, got {shown(unit)}; write it like 'Milliseconds'")
    if units.setdefault(name, unit) != unit:
        raise MetricError(f"{name} must have one unit, got {units[name]} and {unit}; the first is used")


def _metrics_with_unit(name: str, unit: str, document: dict[str, Any]) -> list[Metric]:
    value = document.get(name)
    values = [_number(name, item) for item in (value if isinstance(value, list) else [value])]
    if unit in _MILLISECONDS:
        return [application_metric(name, number * _MILLISECONDS[unit], TIMING) for number in values]
    return [application_metric(name, number, COUNTER if unit == "Count" else GAUGE) for number in values]


def _number(name: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST_VALUE:
        return float(value)
    raise MetricError(
        f"{name} must be a number up to 2**360 or a list of such, got {shown(value)}; leave it out if unknown"
    )
