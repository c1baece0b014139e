"""Rules for each section of metrics that the agent collects."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from constructs_lib.telemetry.agent_complaint import WHERE, fault, filled_list, known_keys, mapping
from constructs_lib.telemetry.kinds.nvidia import KIND as NVIDIA
from constructs_lib.validation import closest, one_of

_GPU = NVIDIA.agent_section
_SECTIONS = (
    *("collectd", "cpu", "disk", "diskio", "efa", "ethtool", "jmx", "mem", "net", "netstat", "otlp", "processes"),
    *("procstat", "prometheus", "statsd", "swap", str(_GPU)),
)
_MISLEADING_SECTION = "nvidia_smi"
_KEYS = {
    _GPU: ("append_dimensions", "drop_original_metrics", "measurement", "metrics_collection_interval"),
    "efa": ("drop_original_metrics", "measurement", "metrics_collection_interval"),
    "ethtool": (
        *("append_dimensions", "drop_original_metrics", "interface_exclude", "interface_include"),
        "metrics_include",
    ),
    "statsd": (
        *("allowed_pending_messages", "deployment.environment", "drop_original_metrics", "metric_separator"),
        *("metrics_aggregation_interval", "metrics_collection_interval", "service.name", "service_address"),
    ),
}
_EFA_MEASUREMENTS = (
    *("tx_bytes", "rx_bytes", "tx_pkts", "rx_pkts", "rx_dropped", "send_bytes", "send_wrs", "recv_bytes", "recv_wrs"),
    *("rdma_read_bytes", "rdma_read_resp_bytes", "rdma_read_wrs", "rdma_read_wr_err", "rdma_write_bytes"),
    *("rdma_write_recv_bytes", "rdma_write_wrs", "rdma_write_wr_err", "retrans_bytes", "retrans_pkts"),
    *("retrans_timeout_events", "impaired_remote_conn_events", "unresponsive_remote_events"),
)
_MEASUREMENTS = {_GPU: tuple(each.name for each in NVIDIA.measurements), "efa": _EFA_MEASUREMENTS}
_NEED_MEASUREMENT = (_GPU, "cpu", "disk", "diskio", "efa", "mem", "net", "netstat", "processes", "procstat", "swap")
_LISTS = ("jmx", "procstat")
_PROCESS_KEYS = ("exe", "pattern", "pid_file")
# Their series have no dimensions but the appended ones.
_WITHOUT_DIMENSIONS = ("mem", "swap")
# They have no list of measurements, so that the agent can only compare whole names of metrics.
_DROPPED_BY_FULL_NAME = ("collectd", "ethtool", "statsd")


def check_section(name: str, section: object, *, appended: Collection[str], rolled_up: Sequence[Sequence[str]]) -> None:
    """Refuse what the agent does not act on in one section.

    Args:
        name: the section's key.
        section: what stands there.
        appended: dimensions that the agent adds to every series.
        rolled_up: sets of dimensions to which it aggregates.
    """
    path = f"metrics.metrics_collected.{name}"
    if name == _MISLEADING_SECTION:
        cure = f"write {_GPU!r}: the agent's schema knows this key, its translator does not"
        raise fault("metrics.metrics_collected", "name the NVIDIA section as the agent reads it", name, cure)
    one_of(WHERE, "metrics.metrics_collected", name, _SECTIONS, cure="the agent collects nothing for any other key")
    if name == "procstat":
        filled_list(path, section, "write a list of objects, each with a pattern")
    for entry in section if name in _LISTS and isinstance(section, list) else [section]:
        fields = mapping(path, entry)
        _check_keys(name, path, fields)
        measured = _check_measurements(name, path, fields)
        if "drop_original_metrics" in fields:
            _check_dropped(name, path, fields, measured, rolled_up)
            _check_left(name, path, appended, rolled_up)
        if name == "statsd":
            _check_listener(path, fields)


def _check_keys(name: str, path: str, fields: Mapping[str, Any]) -> None:
    if name == "ethtool" and "measurement" in fields:
        raise fault(path, "name counters in 'metrics_include'", "measurement", "the agent refuses this key here")
    if name in _KEYS:
        known_keys(path, fields, _KEYS[name], "any other key has no effect here, or stops the agent")
    if name == "procstat" and not any(key in fields for key in _PROCESS_KEYS):
        raise fault(path, f"have one of {', '.join(_PROCESS_KEYS)} in each entry", dict(fields), "say which processes")


def _check_measurements(section: str, path: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the measurements of a section without the optional prefix."""
    path = f"{path}.measurement"
    if "measurement" not in fields:
        if section in _NEED_MEASUREMENT:
            raise fault(path, "be there", dict(fields), "name what to measure: the agent has no default here")
        return []
    measured: list[str] = []
    for item in filled_list(path, fields["measurement"], "name what to measure"):
        given = item.get("name") if isinstance(item, Mapping) else item
        if not isinstance(given, str):
            raise fault(path, "hold names, or objects with a name", item, "write for example 'used_percent'")
        name = given.removeprefix(_prefix(section))
        if name in measured:
            raise fault(path, "name each measurement once", given, "remove the second one")
        measured.append(name)
    for name in measured if section in _MEASUREMENTS else ():
        one_of(WHERE, path, name, _MEASUREMENTS[section], cure="the agent drops any other name without a word")
    return measured


def _check_dropped(
    section: str, path: str, fields: Mapping[str, Any], measured: Sequence[str], rolled_up: Sequence[Sequence[str]]
) -> None:
    path = f"{path}.drop_original_metrics"
    dropped = fields["drop_original_metrics"]
    if not rolled_up:
        cure = "add metrics.aggregation_dimensions, else the agent publishes nothing of this section"
        raise fault(path, "go with roll-ups", dropped, cure)
    if section == "procstat":
        raise fault(path, "stand in a section that can drop its series", dropped, "procstat cannot: remove it")
    if not isinstance(dropped, list):
        raise fault(path, "be a list of names", dropped, "write for example ['*']")
    if section in _DROPPED_BY_FULL_NAME:
        _check_full_names(section, path, dropped, fields.get("metrics_include"))
        return
    # The agent puts the prefix before names of the accelerator section even where it stands already.
    optional = "" if section == _GPU else _prefix(section)
    for name in dropped:
        if not isinstance(name, str) or name.removeprefix(optional) not in ("*", *measured):
            cure = f"{closest(str(name), measured)}write a name from the section's measurements, or '*'"
            raise fault(path, "name measurements of its section", name, cure)


def _check_full_names(section: str, path: str, dropped: Sequence[object], included: object) -> None:
    for name in dropped:
        if not isinstance(name, str) or "*" in name:
            cure = "name each metric: here the agent compares whole names, so that a wildcard keeps every series"
            raise fault(path, "hold whole names of metrics", name, cure)
        bare = name.removeprefix("ethtool_")
        if section == "ethtool" and (bare == name or (isinstance(included, list) and bare not in included)):
            cure = "write the metric's whole name, for example 'ethtool_pps_allowance_exceeded'"
            raise fault(path, "name counters of metrics_include with 'ethtool_' before them", name, cure)


def _check_left(section: str, path: str, appended: Collection[str], rolled_up: Sequence[Sequence[str]]) -> None:
    """The agent makes a roll-up only of series that have more dimensions than it."""
    if section in _WITHOUT_DIMENSIONS and not any(
        len(dimensions) < len(appended) and set(dimensions) <= set(appended) for dimensions in rolled_up
    ):
        cure = "append one more dimension, or keep the series: no roll-up is smaller than it, so nothing would be left"
        raise fault(f"{path}.drop_original_metrics", "leave a series", list(appended), cure)


def _check_listener(path: str, fields: Mapping[str, Any]) -> None:
    # Without an address the agent listens on port 8125 of every interface.
    address = fields.get("service_address", ":8125")
    if not isinstance(address, str) or not _is_loopback(address):
        cure = "write '127.0.0.1:8125', else other machines can publish in this one's name"
        raise fault(f"{path}.service_address", "listen on this machine only", address, cure)


def _is_loopback(address: str) -> bool:
    host = address.removeprefix("udp://").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _prefix(section: str) -> str:
    return NVIDIA.metric_prefix if section == _GPU else f"{section}_"
