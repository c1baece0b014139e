"""The sections of the CloudWatch agent's configuration, each as plain data.

``drop_original_metrics`` keeps the roll-ups alone: finer series would be paid for and never read. Where a section has
no list of measurements, the agent takes full names of metrics there, and knows no wildcard (its translator,
``otel/common/metrics.go``, release 1.300071, and pull request 1206).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constructs_lib.telemetry import names
from constructs_lib.telemetry.options import Telemetry

EFA_MEASUREMENTS = (
    "tx_bytes",
    "rx_bytes",
    "rx_dropped",
    "rdma_read_bytes",
    "rdma_write_bytes",
    "retrans_bytes",
    "retrans_timeout_events",
)
"""What tells of a job's traffic between instances, and of trouble with it."""

ALLOWANCES = (
    "bw_in_allowance_exceeded",
    "bw_out_allowance_exceeded",
    "pps_allowance_exceeded",
    "conntrack_allowance_exceeded",
    "linklocal_allowance_exceeded",
)
"""Packets that the instance type's network allowances held back (Amazon EC2 User Guide, ENA metrics)."""

PROCESS_MEASUREMENTS = ("cpu_usage", "memory_rss", "pid_count")
"""Of each program that matches a pattern."""

# No longer than any resolution; a gauge is forgotten after each.
_STATSD_COLLECTION_SECONDS = 10


def host_sections(*, swap: bool) -> dict[str, Any]:
    """CPU, memory and root file system, as roll-ups only."""
    sections: dict[str, Any] = {
        "cpu": {**_rolled_up([names.CPU_UTILIZATION.removeprefix("cpu_")]), "totalcpu": True},
        "mem": _rolled_up([names.MEMORY_UTILIZATION.removeprefix("mem_")]),
        "disk": {**_rolled_up([names.DISK_UTILIZATION.removeprefix("disk_")]), "resources": ["/"]},
    }
    if swap:
        sections["swap"] = _rolled_up([names.SWAP_UTILIZATION.removeprefix("swap_")])
    return sections


def accelerator_section(measurements: Sequence[str], *, series: bool) -> dict[str, Any]:
    """The accelerators that the agent reads by itself, with series of their own or as roll-ups."""
    return {"measurement": list(measurements)} if series else _rolled_up(measurements)


def statsd_listener(options: Telemetry) -> dict[str, Any]:
    """What the node program and the work on the instance send, aggregated over the time between two readings.

    A gauge is forgotten after each aggregation, so that nothing old is ever published again.
    """
    return {
        "service_address": names.STATSD_ADDRESS,
        "metrics_collection_interval": _STATSD_COLLECTION_SECONDS,
        "metrics_aggregation_interval": options.resolution_seconds,
    }


def statsd_section(options: Telemetry) -> dict[str, Any]:
    """The same without the series that nobody reads.

    Figures of the instance and of its work have a dimension ``metric_type`` of the agent's own.
    """
    assert options.application_metrics is not None
    dropped = [*names.INSTANCE_METRICS, names.NETWORK_THROUGHPUT, *options.application_metrics]
    if options.per_accelerator_series is False:
        dropped += [names.measurement_metric(name) for name in names.MEASUREMENTS]
    return {**statsd_listener(options), "drop_original_metrics": dropped}


def efa_section() -> dict[str, Any]:
    """Elastic Fabric Adapters, as roll-ups; the full names, since they hold in both ways of writing."""
    return _rolled_up(EFA_MEASUREMENTS, dropped=[f"efa_{name}" for name in EFA_MEASUREMENTS])


def ethtool_section() -> dict[str, Any]:
    """Allowances of the instance's network interfaces, as roll-ups."""
    return {
        "metrics_include": list(ALLOWANCES),
        "drop_original_metrics": [f"ethtool_{name}" for name in ALLOWANCES],
    }


def process_section(patterns: Sequence[str]) -> list[dict[str, Any]]:
    """Programs by their command lines. This section cannot keep roll-ups alone."""
    return [{"pattern": pattern, "measurement": list(PROCESS_MEASUREMENTS)} for pattern in patterns]


def _rolled_up(measurements: Sequence[str], dropped: Sequence[str] | None = None) -> dict[str, Any]:
    names_dropped = measurements if dropped is None else dropped
    return {"measurement": list(measurements), "drop_original_metrics": list(names_dropped)}
