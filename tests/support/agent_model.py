"""What the CloudWatch agent publishes for a configuration (rule SR-2), written from the agent's own behaviour.

The model says names again on purpose: it must not repeat a mistake of :mod:`constructs_lib.telemetry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Series = tuple[str, str, frozenset[tuple[str, str]]]
"""Namespace, metric name, dimensions."""

NVIDIA_MEASUREMENTS = frozenset(
    {
        "utilization_gpu",
        "utilization_memory",
        "temperature_gpu",
        "power_draw",
        "fan_speed",
        "memory_total",
        "memory_used",
        "memory_free",
        "pcie_link_gen_current",
        "pcie_link_width_current",
        "encoder_stats_session_count",
        "encoder_stats_average_fps",
        "encoder_stats_average_latency",
        "clocks_current_graphics",
        "clocks_current_sm",
        "clocks_current_memory",
        "clocks_current_video",
    }
)
FRACTION_MEASUREMENTS = NVIDIA_MEASUREMENTS - {
    "temperature_gpu",
    "power_draw",
    "fan_speed",
    "pcie_link_gen_current",
    "pcie_link_width_current",
}
"""What a slice of a GPU answers; the rest reads N/A (nvidia-smi on g6f.large, driver 580)."""

_PREFIXES = {"cpu": "cpu_", "mem": "mem_", "disk": "disk_", "nvidia_gpu": "nvidia_smi_"}
# The schema knows this key, the translator has no rule for it.
_IGNORED = "nvidia_smi"


def published_series(
    config: Mapping[str, Any],
    *,
    instance_id: str,
    group: str,
    gpus: int,
    answers: frozenset[str] = NVIDIA_MEASUREMENTS,
    gpu_name: str = "NVIDIA L4",
    arch: str | None = "Ada Lovelace",
) -> set[Series]:
    """Every series that one instance publishes in one interval.

    Args:
        config: the agent's configuration, parsed.
        instance_id: of the instance.
        group: name of its Auto Scaling group.
        gpus: how many GPUs ``nvidia-smi`` lists.
        answers: the measurements that the GPUs have a value for. Default: all.
        gpu_name: product name of the GPUs.
        arch: as the driver says it; None for drivers that do not.
    """
    metrics = config["metrics"]
    values = {"InstanceId": instance_id, "AutoScalingGroupName": group, "ImageId": "ami-1", "InstanceType": "g6.xlarge"}
    appended = {
        name: values[name]
        for name, placeholder in metrics.get("append_dimensions", {}).items()
        if name in values and placeholder == f"${{aws:{name}}}"
    }
    common = appended if "append_dimensions" in metrics else {"host": f"ip-{instance_id}"}
    namespace = metrics.get("namespace", "CWAgent")
    rollups = metrics.get("aggregation_dimensions", [])
    gpu_tags = [_gpu(index, gpu_name, arch) for index in range(gpus)]
    series: set[Series] = set()
    for section, fields in metrics["metrics_collected"].items():
        if section == _IGNORED:
            continue
        known = answers if section == "nvidia_gpu" else None
        for measurement, name in _names(section, fields, known):
            for tags in _tags(section, fields, gpu_tags):
                raw = {**common, **fields.get("append_dimensions", {}), **tags}
                if not _dropped(section, fields, measurement):
                    series.add((namespace, name, frozenset(raw.items())))
                series |= {(namespace, name, rolled) for rolled in _rolled_up(raw, rollups)}
    return series


def _gpu(index: int, name: str, arch: str | None) -> dict[str, str]:
    return {"index": str(index), "name": name, **({} if arch is None else {"arch": arch})}


def _names(section: str, fields: Mapping[str, Any], known: frozenset[str] | None) -> Iterator[tuple[str, str]]:
    """Bare measurement and metric name of what the section can publish."""
    prefix = _PREFIXES[section]
    for item in fields["measurement"]:
        entry = {"name": item} if isinstance(item, str) else item
        bare = entry["name"].removeprefix(prefix)
        if known is None or bare in known:
            yield bare, entry.get("rename", f"{prefix}{bare}")


def _tags(section: str, fields: Mapping[str, Any], gpus: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    if section == "nvidia_gpu":
        return gpus
    if section == "mem":
        return [{}]
    if section == "cpu":
        cores = [{"cpu": "cpu0"}, {"cpu": "cpu1"}] if fields.get("resources") == ["*"] else []
        return [*cores, *([{"cpu": "cpu-total"}] if fields.get("totalcpu", True) else [])]
    device = {} if fields.get("drop_device") else {"device": "nvme0n1p1"}
    return [{"path": path, "fstype": "xfs", **device} for path in fields.get("resources", ["/", "/boot"])]


def _dropped(section: str, fields: Mapping[str, Any], measurement: str) -> bool:
    dropped = fields.get("drop_original_metrics", [])
    # The prefix is put before the GPU section's names even where it stands already.
    optional = "" if section == "nvidia_gpu" else _PREFIXES[section]
    return "*" in dropped or measurement in [name.removeprefix(optional) for name in dropped]


def _rolled_up(raw: Mapping[str, str], rollups: Sequence[Sequence[str]]) -> Iterator[frozenset[tuple[str, str]]]:
    for names in rollups:
        if len(names) < len(raw) and all(name in raw for name in names):
            yield frozenset((name, raw[name]) for name in names)
