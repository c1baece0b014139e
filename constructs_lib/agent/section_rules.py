"""Rules for each section of metrics that the agent collects."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.agent.complaints import WHERE, fault, filled_list, known_keys, mapping
from constructs_lib.agent.kinds.nvidia import KIND as NVIDIA
from constructs_lib.agent.measurement_rules import check_counters, check_measurements, prefix_of
from constructs_lib.validation import closest, one_of

_GPU = NVIDIA.agent_section
_SECTIONS = (
    *("collectd", "cpu", "disk", "diskio", "efa", "ethtool", "jmx", "mem", "net", "netstat", "otlp", "processes"),
    *("procstat", "prometheus", "statsd", "swap", str(_GPU)),
)
_MISLEADING_SECTION = "nvidia_smi"
_COLLECTED = "metrics.metrics_collected"
_KEYS = {
    _GPU: ("append_dimensions", "drop_original_metrics", "measurement", "metrics_collection_interval"),
    "collectd": (
        *("append_dimensions", "collectd_auth_file", "collectd_security_level", "collectd_typesdb"),
        *("deployment.environment", "drop_original_metrics", "metrics_aggregation_interval", "name_prefix"),
        *("service.name", "service_address"),
    ),
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
_LISTS = ("jmx", "otlp", "procstat")
_PROCESS_KEYS = ("exe", "pattern", "pid_file")
# Where each listens unless it is told, StatsD on every interface; and where it should.
_LISTENERS = {
    "collectd": ("udp://127.0.0.1:25826", "udp://127.0.0.1:25826"),
    "statsd": (":8125", "127.0.0.1:8125"),
}
# They have no list of measurements, so that the agent can only compare whole names of metrics.
_DROPPED_BY_FULL_NAME = ("collectd", "ethtool", "statsd")


def section_entries(name: str, section: object) -> list[Mapping[str, Any]]:
    """Return what a section holds: one object, or those of its list."""
    path = section_path(name)
    if name == "procstat":
        filled_list(path, section, "write a list of objects, each with a pattern")
    return [mapping(path, entry) for entry in (section if name in _LISTS and isinstance(section, list) else [section])]


def section_path(name: str) -> str:
    """Where a section stands in the configuration."""
    return f"{_COLLECTED}.{name}"


def check_section(name: str, section: object, metrics: Mapping[str, Any]) -> None:
    """Refuse what the agent does not act on in one section.

    Args:
        name: the section's key.
        section: what stands there.
        metrics: the chapter around it.
    """
    path = section_path(name)
    if name == _MISLEADING_SECTION:
        cure = f"write {_GPU!r}: the agent's schema knows this key, its translator does not"
        raise fault(_COLLECTED, "name the NVIDIA section as the agent reads it", name, cure)
    one_of(WHERE, _COLLECTED, name, _SECTIONS, cure="the agent collects nothing for any other key")
    if name == "prometheus":
        _check_destination(metrics)
    for fields in section_entries(name, section):
        _check_keys(name, path, fields)
        measured = check_measurements(name, path, fields)
        if name == "ethtool":
            check_counters(path, fields)
        if "drop_original_metrics" in fields:
            _check_dropped(name, path, fields, measured, has_roll_ups="aggregation_dimensions" in metrics)
        if name in _LISTENERS:
            _check_listener(path, fields, _LISTENERS[name])
        if name == "collectd":
            _check_secret(path, fields)


def _check_destination(metrics: Mapping[str, Any]) -> None:
    path = "metrics.metrics_destinations"
    destinations = mapping(path, metrics.get("metrics_destinations", {}))
    if "amp" not in destinations:
        cure = "name a workspace there, or write it in logs.metrics_collected.prometheus, which reaches CloudWatch"
        rule = "have amp, the only place where metrics.metrics_collected.prometheus goes"
        raise fault(path, rule, dict(destinations), cure)


def _check_keys(name: str, path: str, fields: Mapping[str, Any]) -> None:
    if name == "ethtool" and "measurement" in fields:
        raise fault(path, "name counters in 'metrics_include'", "measurement", "the agent refuses this key here")
    if name in _KEYS:
        known_keys(path, fields, _KEYS[name], "any other key has no effect here, or stops the agent")
    if name == "procstat" and not any(key in fields for key in _PROCESS_KEYS):
        raise fault(path, f"have one of {', '.join(_PROCESS_KEYS)} in each entry", dict(fields), "say which processes")


def _check_dropped(
    section: str, path: str, fields: Mapping[str, Any], measured: Sequence[str], *, has_roll_ups: bool
) -> None:
    path = f"{path}.drop_original_metrics"
    dropped = fields["drop_original_metrics"]
    if not has_roll_ups:
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
    optional = "" if section == _GPU else prefix_of(section)
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


def _check_listener(path: str, fields: Mapping[str, Any], default: tuple[str, str]) -> None:
    unsaid, sound = default
    address = fields.get("service_address", unsaid)
    if not isinstance(address, str) or not _is_loopback(address):
        cure = f"write {sound!r}, else other machines can publish in this one's name"
        raise fault(f"{path}.service_address", "listen on this machine only", address, cure)


def _check_secret(path: str, fields: Mapping[str, Any]) -> None:
    # Unless it is told otherwise, the agent takes encrypted packets only.
    if fields.get("collectd_security_level") != "none" and "collectd_auth_file" not in fields:
        cure = "or write 'collectd_security_level': 'none' for packets in the open, on this machine only"
        raise fault(path, "name collectd_auth_file, the file with the secret", dict(fields), cure)


def _is_loopback(address: str) -> bool:
    host = address.removeprefix("udp://").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
