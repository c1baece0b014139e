"""What the CloudWatch agent of an instance would publish, computed from the configuration that was deployed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from constructs_lib.node.statsd import COUNTER, GAUGE, Metric

# Metric name prefix, and the tags beside the appended dimensions, of each section of the configuration.
_SECTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "nvidia_gpu": ("nvidia_smi_", {"index": "0", "name": "NVIDIA L4", "arch": "Ada Lovelace"}),
    "cpu": ("cpu_", {"cpu": "cpu-total"}),
    "mem": ("mem_", {}),
    "disk": ("disk_", {"path": "/", "device": "nvme0n1p1", "fstype": "xfs"}),
}
_METRIC_TYPES = {GAUGE: "gauge", COUNTER: "counter"}

Figure = tuple[str, float, list[dict[str, str]]]
"""Name and value of what is published in a minute, and every dimension set that it is published under."""


@dataclass(frozen=True)
class Load:
    """How an instance is used: the value of each metric that the agent reads, by name, and the busy marks held."""

    title: str
    values: Mapping[str, float]
    busy_marks: int


_HOST = {"disk_used_percent": 31.0, "nvidia_smi_memory_total": 23034.0}
BUSY = Load(
    "busy",
    {
        **_HOST,
        "nvidia_smi_utilization_gpu": 87.0,
        "nvidia_smi_utilization_memory": 54.0,
        "nvidia_smi_memory_used": 17420.0,
        "nvidia_smi_power_draw": 69.0,
        "nvidia_smi_temperature_gpu": 71.0,
        "nvidia_smi_encoder_stats_session_count": 0.0,
        "cpu_usage_active": 34.0,
        "mem_used_percent": 48.0,
    },
    busy_marks=1,
)
IDLE = Load(
    "idle",
    {
        **_HOST,
        "nvidia_smi_utilization_gpu": 0.0,
        "nvidia_smi_utilization_memory": 0.0,
        "nvidia_smi_memory_used": 1.0,
        "nvidia_smi_power_draw": 16.0,
        "nvidia_smi_temperature_gpu": 33.0,
        "nvidia_smi_encoder_stats_session_count": 0.0,
        "cpu_usage_active": 1.5,
        "mem_used_percent": 9.0,
    },
    busy_marks=0,
)


def published(
    configuration: Mapping[str, Any],
    identity: Mapping[str, str],
    load: Load,
    minutes: Sequence[datetime],
    sent: Sequence[Sequence[Metric]],
) -> list[dict[str, Any]]:
    """The metric data of one instance, one point a minute, in PutMetricData's form.

    Args:
        configuration: the agent's configuration, parsed.
        identity: the dimensions that the agent can append, by name: what the instance is.
        load: how the instance is used.
        minutes: when the points are taken.
        sent: what the node program sends to the agent in each of the minutes.

    Raises:
        KeyError: the configuration asks for a section or a metric that this model does not know.
    """
    metrics = configuration["metrics"]
    collected = dict(metrics["metrics_collected"])
    statsd = collected.pop("statsd")
    read = list(_read(metrics, collected, identity, load))
    return [
        {
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": dimension} for key, dimension in dimensions.items()],
            "Timestamp": minute,
            "Value": value,
        }
        for minute, received in zip(minutes, sent, strict=True)
        for name, value, sets in [*read, *_received(metrics, statsd, identity, received)]
        for dimensions in sets
    ]


def _read(
    metrics: Mapping[str, Any], collected: Mapping[str, Any], identity: Mapping[str, str], load: Load
) -> Iterator[Figure]:
    """What the agent reads by itself."""
    for section, wanted in collected.items():
        prefix, tags = _SECTIONS[section]
        for measurement in wanted["measurement"]:
            name, kept = prefix + measurement, measurement not in wanted.get("drop_original_metrics", [])
            yield name, load.values[name], _dimension_sets(metrics, identity, tags, kept=kept)


def _received(
    metrics: Mapping[str, Any], statsd: Mapping[str, Any], identity: Mapping[str, str], received: Sequence[Metric]
) -> Iterator[Figure]:
    """What the agent receives by StatsD. Each bucket comes once a minute, so there is nothing to aggregate."""
    for metric in received:
        tags = {"metric_type": _METRIC_TYPES[metric.type]}
        if metric.index is not None:
            tags["index"] = str(metric.index)
        kept = metric.name not in statsd["drop_original_metrics"]
        yield metric.name, metric.value, _dimension_sets(metrics, identity, tags, kept=kept)


def _dimension_sets(
    metrics: Mapping[str, Any], identity: Mapping[str, str], tags: Mapping[str, str], *, kept: bool
) -> list[dict[str, str]]:
    """Every dimension set under which a figure is published: its own, unless dropped, and the roll-ups."""
    raw = {**{name: identity[name] for name in metrics["append_dimensions"]}, **tags}
    # A roll-up needs a raw set that has all of its dimensions, and more.
    rolled_up = [names for names in metrics.get("aggregation_dimensions", []) if set(names) < raw.keys()]
    return [*([raw] if kept else []), *({name: raw[name] for name in names} for names in rolled_up)]
