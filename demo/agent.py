"""What the CloudWatch agent of an instance would publish, computed from the configuration that was deployed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# Metric name prefix, and the tags beside the appended dimensions, of each section of the configuration.
_SECTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "nvidia_gpu": ("nvidia_smi_", {"index": "0", "name": "NVIDIA L4", "arch": "Ada Lovelace"}),
    "cpu": ("cpu_", {"cpu": "cpu-total"}),
    "mem": ("mem_", {}),
    "disk": ("disk_", {"path": "/", "device": "nvme0n1p1", "fstype": "xfs"}),
}


@dataclass(frozen=True)
class Load:
    """How an instance is used: the value of each metric, by name."""

    title: str
    values: Mapping[str, float]


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
)


def published(
    configuration: Mapping[str, Any], identity: Mapping[str, str], load: Load, minutes: Sequence[datetime]
) -> list[dict[str, Any]]:
    """The metric data of one instance, one point a minute, in PutMetricData's form.

    Args:
        configuration: the agent's configuration, parsed.
        identity: the dimensions that the agent can append, by name: what the instance is.
        load: how the instance is used.
        minutes: when the points are taken.

    Raises:
        KeyError: the configuration asks for a section or a metric that this model does not know.
    """
    return [
        {
            "MetricName": metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
            "Timestamp": minute,
            "Value": load.values[metric],
        }
        for metric, dimensions in _series(configuration["metrics"], identity)
        for minute in minutes
    ]


def _series(metrics: Mapping[str, Any], identity: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Every metric name with every dimension set under which it is published: the raw one and the roll-ups."""
    appended = {name: identity[name] for name in metrics["append_dimensions"]}
    for section, wanted in metrics["metrics_collected"].items():
        prefix, tags = _SECTIONS[section]
        for measurement in wanted["measurement"]:
            raw = {**appended, **tags}
            if measurement not in wanted.get("drop_original_metrics", []):
                yield prefix + measurement, raw
            for names in metrics.get("aggregation_dimensions", []):
                # A roll-up needs a raw set that has all of its dimensions, and more.
                if set(names) < raw.keys():
                    yield prefix + measurement, {name: raw[name] for name in names}
