"""What the CloudWatch agent publishes for a configuration (rule SR-2), written from the agent's own behaviour.

The model says names again on purpose: it must not repeat a mistake of :mod:`constructs_lib.telemetry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

EFA_COUNTERS = frozenset(
    (
        *("tx_bytes", "rx_bytes", "tx_pkts", "rx_pkts", "rx_dropped", "send_bytes", "send_wrs", "recv_bytes"),
        *("recv_wrs", "rdma_read_bytes", "rdma_read_resp_bytes", "rdma_read_wrs", "rdma_read_wr_err"),
        *("rdma_write_bytes", "rdma_write_recv_bytes", "rdma_write_wrs", "rdma_write_wr_err", "retrans_bytes"),
        *("retrans_pkts", "retrans_timeout_events", "impaired_remote_conn_events", "unresponsive_remote_events"),
    )
)
"""What the agent reads from an Elastic Fabric Adapter; it ignores any other name."""

_PREFIXES = {
    "cpu": "cpu_",
    "mem": "mem_",
    "disk": "disk_",
    "swap": "swap_",
    "nvidia_gpu": "nvidia_smi_",
    "efa": "efa_",
    "ethtool": "ethtool_",
    "procstat": "procstat_",
}
# The schema knows this key, the translator has no rule for it.
_IGNORED = "nvidia_smi"
_METRIC_TYPES = {"g": "gauge", "c": "counter", "s": "set", "ms": "timing", "h": "histogram"}


@dataclass(frozen=True)
class Sent:
    """One line of StatsD: bucket, type and DogStatsD tags."""

    name: str
    type: str = "g"
    tags: tuple[tuple[str, str], ...] = ()


def published_series(
    config: Mapping[str, Any],
    *,
    instance_id: str,
    group: str,
    gpus: int,
    answers: frozenset[str] = NVIDIA_MEASUREMENTS,
    gpu_name: str = "NVIDIA L4",
    arch: str | None = "Ada Lovelace",
    sent: Sequence[Sent] = (),
    adapters: int = 1,
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
        sent: what programs on the instance send by StatsD. Default: nothing.
        adapters: how many network interfaces, and how many Elastic Fabric Adapters, there are. Default: one.
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
    collected = metrics["metrics_collected"]
    dropped = _dropped(collected)
    gpu_tags = [_gpu(index, gpu_name, arch) for index in range(gpus)]
    series: set[Series] = set()
    for name, tags in _collect(collected, gpu_tags, answers, sent, adapters):
        raw = {**common, **tags}
        if name not in dropped:
            series.add((namespace, name, frozenset(raw.items())))
        series |= {(namespace, name, rolled) for rolled in _rolled_up(raw, rollups)}
    return series


Datum = tuple[str, dict[str, str]]


def _collect(
    collected: Mapping[str, Any],
    gpus: Sequence[dict[str, str]],
    answers: frozenset[str],
    sent: Sequence[Sent],
    adapters: int,
) -> Iterator[Datum]:
    """Name and tags of every figure that the agent's inputs read."""
    for section, fields in collected.items():
        if section == "statsd":
            yield from ((each.name, {**dict(each.tags), "metric_type": _METRIC_TYPES[each.type]}) for each in sent)
        elif section == "procstat":
            for entry in fields:
                yield from _processes(entry)
        elif section == "ethtool":
            for index in range(adapters):
                tags = {"driver": "ena", "interface": f"ens{5 + index}", **fields.get("append_dimensions", {})}
                yield from ((f"ethtool_{counter}", tags) for counter in fields["metrics_include"])
        elif section != _IGNORED:
            known = {"nvidia_gpu": answers, "efa": EFA_COUNTERS}.get(section)
            for name in _names(section, fields, known):
                for tags in _tags(section, fields, gpus, adapters):
                    yield name, {**fields.get("append_dimensions", {}), **tags}


def _gpu(index: int, name: str, arch: str | None) -> dict[str, str]:
    return {"index": str(index), "name": name, **({} if arch is None else {"arch": arch})}


def _processes(entry: Mapping[str, Any]) -> Iterator[Datum]:
    """One running program matches; how many match is counted by another input, which has its own name and tags."""
    selector = {key: entry[key] for key in ("exe", "pattern", "pid_file") if key in entry}
    for measurement in entry["measurement"]:
        if measurement == "pid_count":
            yield "procstat_lookup_pid_count", {**selector, "pid_finder": "native"}
        else:
            yield f"procstat_{measurement}", {**selector, "process_name": "python3"}


def _names(section: str, fields: Mapping[str, Any], known: frozenset[str] | None) -> Iterator[str]:
    """Names of the metrics that the section can publish."""
    prefix = _PREFIXES[section]
    for item in fields["measurement"]:
        entry = {"name": item} if isinstance(item, str) else item
        bare = entry["name"].removeprefix(prefix)
        if known is None or bare in known:
            yield entry.get("rename", f"{prefix}{bare}")


def _tags(
    section: str, fields: Mapping[str, Any], gpus: Sequence[dict[str, str]], adapters: int
) -> Sequence[dict[str, str]]:
    if section == "nvidia_gpu":
        return gpus
    if section == "efa":
        return [{"device": f"rdmap{index}s0", "port": "1", "eniId": f"eni-{index}"} for index in range(adapters)]
    if section in ("mem", "swap"):
        return [{}]
    if section == "cpu":
        cores = [{"cpu": "cpu0"}, {"cpu": "cpu1"}] if fields.get("resources") == ["*"] else []
        return [*cores, *([{"cpu": "cpu-total"}] if fields.get("totalcpu", True) else [])]
    device = {} if fields.get("drop_device") else {"device": "nvme0n1p1"}
    return [{"path": path, "fstype": "xfs", **device} for path in fields.get("resources", ["/", "/boot"])]


def _dropped(collected: Mapping[str, Any]) -> set[str]:
    """Names whose own series are dropped, in whichever section they stand.

    A section that holds a list (procstat) drops nothing. One without measurements drops exactly the names that it says.
    Elsewhere the prefix comes before each name in which the section's key does not stand, and ``*`` is every
    measurement. A dropped measurement that is renamed is dropped under its new name.
    """
    dropped: set[str] = set()
    for section, fields in collected.items():
        if isinstance(fields, Mapping):
            for given in fields.get("drop_original_metrics", []):
                dropped |= _dropped_by(section, fields, given)
    return dropped


def _dropped_by(section: str, fields: Mapping[str, Any], given: str) -> set[str]:
    if "measurement" not in fields:
        return {given}
    renamed = {
        _decorated(section, each["name"]): each["rename"]
        for each in fields["measurement"]
        if isinstance(each, Mapping) and "rename" in each
    }
    if given == "*":
        every = [each["name"] if isinstance(each, Mapping) else each for each in fields["measurement"]]
        return {renamed.get(name, name) for name in (_decorated(section, each) for each in every)}
    name = _decorated(section, given)
    return {renamed.get(name, name)}


def _decorated(section: str, name: str) -> str:
    return name if section in name else f"{_PREFIXES[section]}{name}"


def _rolled_up(raw: Mapping[str, str], rollups: Sequence[Sequence[str]]) -> Iterator[frozenset[tuple[str, str]]]:
    for names in rollups:
        if len(names) < len(raw) and all(name in raw for name in names):
            yield frozenset((name, raw[name]) for name in names)
