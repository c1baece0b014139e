"""What can be measured in each section, and how a measurement is written.

Names: the agent's ``translator/translate/metrics/config/registered_metrics.go``, and for ``mem`` its release notes
(``shared``, 1.300059). Counters of network interfaces: "Monitor network performance for ENA settings", Amazon EC2 User
Guide. Units: ``MetricDatum``, Amazon CloudWatch API Reference; the agent does not start with any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.agent.complaints import WHERE, fault, filled_list, known_keys
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.validation import one_of

_GPU = NVIDIA.agent_section
_TIMES = ("active", "guest", "guest_nice", "idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")
_LIMITED = (
    *("cpu_time", "file_locks", "memory_data", "memory_locked", "memory_rss", "memory_stack", "memory_vms"),
    *("nice_priority", "num_fds", "realtime_priority", "signals_pending"),
)
_MEASUREMENTS: Mapping[str | None, Sequence[str]] = {
    _GPU: tuple(each.name for each in NVIDIA.measurements),
    "cpu": tuple(f"{what}_{time}" for what in ("time", "usage") for time in _TIMES),
    "disk": ("free", "inodes_free", "inodes_total", "inodes_used", "total", "used", "used_percent"),
    "diskio": (
        *("io_time", "iops_in_progress", "read_bytes", "read_time", "reads"),
        *("write_bytes", "write_time", "writes"),
    ),
    "efa": (
        *("tx_bytes", "rx_bytes", "tx_pkts", "rx_pkts", "rx_dropped", "send_bytes", "send_wrs", "recv_bytes"),
        *("recv_wrs", "rdma_read_bytes", "rdma_read_resp_bytes", "rdma_read_wrs", "rdma_read_wr_err"),
        *("rdma_write_bytes", "rdma_write_recv_bytes", "rdma_write_wrs", "rdma_write_wr_err", "retrans_bytes"),
        *("retrans_pkts", "retrans_timeout_events", "impaired_remote_conn_events", "unresponsive_remote_events"),
    ),
    "mem": (
        *("active", "available", "available_percent", "buffered", "cached", "free", "inactive", "shared", "total"),
        *("used", "used_percent"),
    ),
    "net": (
        *("bytes_recv", "bytes_sent", "drop_in", "drop_out", "err_in", "err_out", "packets_recv"),
        "packets_sent",
    ),
    "netstat": (
        *("tcp_close", "tcp_close_wait", "tcp_closing", "tcp_established", "tcp_fin_wait1", "tcp_fin_wait2"),
        *("tcp_last_ack", "tcp_listen", "tcp_none", "tcp_syn_recv", "tcp_syn_sent", "tcp_time_wait", "udp_socket"),
    ),
    "processes": (
        *("blocked", "dead", "idle", "paging", "running", "sleeping", "stopped", "total", "total_threads", "wait"),
        "zombies",
    ),
    "procstat": (
        *("cpu_time", "cpu_usage", "involuntary_context_switches", "memory_data", "memory_locked", "memory_rss"),
        *("memory_stack", "memory_swap", "memory_vms", "nice_priority", "num_fds", "num_threads", "pid", "pid_count"),
        *("read_bytes", "read_count", "realtime_priority", "signals_pending", "voluntary_context_switches"),
        *("write_bytes", "write_count"),
        *(f"cpu_time_{time}" for time in ("guest", "guest_nice", "idle", "iowait", "irq", "nice", "soft_irq")),
        *(f"cpu_time_{time}" for time in ("steal", "stolen", "system", "user")),
        *(f"rlimit_{what}_{limit}" for what in _LIMITED for limit in ("hard", "soft")),
    ),
    "swap": ("free", "used", "used_percent"),
}
# What NVMe disks count is newer than the list, and grows.
_UNLISTED = {"diskio": ("ebs_", "instance_store_")}
_KEYS = ("name", "rename", "unit")
_UNITS = (
    *("Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes", "Bits"),
    *("Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count", "Bytes/Second", "Kilobytes/Second"),
    *("Megabytes/Second", "Gigabytes/Second", "Terabytes/Second", "Bits/Second", "Kilobits/Second"),
    *("Megabits/Second", "Gigabits/Second", "Terabits/Second", "Count/Second", "None"),
)
_COUNTERS = (
    *("bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "conntrack_allowance_available"),
    *("conntrack_allowance_exceeded", "linklocal_allowance_exceeded", "pps_allowance_exceeded", "ena_srd_mode"),
    *("ena_srd_eligible_tx_pkts", "ena_srd_tx_pkts", "ena_srd_rx_pkts", "ena_srd_resource_utilization"),
)
_QUEUE_COUNTER = re.compile(r"queue_[0-9]+_[rt]x_[a-z0-9_]+")


def prefix_of(section: str) -> str:
    """What stands before the section's measurements when they are published, and may stand in the configuration."""
    return NVIDIA.metric_prefix if section == _GPU else f"{section}_"


def check_measurements(section: str, path: str, fields: Mapping[str, Any]) -> list[str]:
    """Refuse measurements that the agent does not know; return the others without the optional prefix."""
    path = f"{path}.measurement"
    if "measurement" not in fields:
        if section in _MEASUREMENTS:
            raise fault(path, "be there", dict(fields), "name what to measure: the agent has no default here")
        return []
    measured: list[str] = []
    for item in filled_list(path, fields["measurement"], "name what to measure"):
        given = _checked(path, item)
        name = given.removeprefix(prefix_of(section))
        if name in measured:
            raise fault(path, "name each measurement once", given, "remove the second one")
        measured.append(name)
    unlisted = _UNLISTED.get(section, ())
    for name in measured if section in _MEASUREMENTS else ():
        if not name.startswith(unlisted):
            one_of(WHERE, path, name, _MEASUREMENTS[section], cure="the agent publishes nothing for any other name")
    return measured


def _checked(path: str, item: object) -> str:
    """Return the name of one measurement."""
    given = item
    if isinstance(item, Mapping):
        known_keys(path, item, _KEYS, "the agent ignores any other key")
        given = item.get("name")
        if "unit" in item:
            one_of(WHERE, f"{path} unit", item["unit"], _UNITS, cure="CloudWatch knows only these, in this spelling")
    if not isinstance(given, str):
        raise fault(path, "hold names, or objects with a name", item, "write for example 'used_percent'")
    return given


def check_counters(path: str, fields: Mapping[str, Any]) -> None:
    """Refuse counters that the driver of the network interfaces does not have."""
    path = f"{path}.metrics_include"
    cure = "name the driver's counters, without a prefix"
    for name in filled_list(path, fields.get("metrics_include"), cure):
        if not isinstance(name, str) or not _QUEUE_COUNTER.fullmatch(name):
            one_of(WHERE, path, name, _COUNTERS, cure=cure)
