"""What the CloudWatch agent's own schema lets through, and the agent then ignores without a word.

Facts from the agent's translator as of release 1.300071 (July 2026). The schema itself runs on the instance
when the agent starts; the rules here are those that it lacks.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry.kinds import NVIDIA
from constructs_lib.validation import closest, complaint, instance_of, integer, one_of

LARGEST_BYTES = 4096
"""An SSM parameter of the standard tier, which costs nothing, holds this much."""

_WHERE = "agent configuration"
_CHAPTERS = ("agent", "metrics", "logs", "traces", "opentelemetry")
_SECTIONS = (
    *("collectd", "cpu", "disk", "diskio", "efa", "ethtool", "jmx", "mem", "net", "netstat", "otlp", "processes"),
    *("procstat", "prometheus", "statsd", "swap", NVIDIA.agent_section),
)
_MISLEADING_SECTION = "nvidia_smi"
_ACCELERATOR_KEYS = ("measurement", "metrics_collection_interval", "append_dimensions", "drop_original_metrics")
_APPENDABLE = {name: f"${{aws:{name}}}" for name in ("AutoScalingGroupName", "ImageId", "InstanceId", "InstanceType")}
_SHORTEST_INTERVAL = {"metrics_collection_interval": 1, "force_flush_interval": 1, "metrics_aggregation_interval": 0}
_LONGEST_INTERVAL = 172_800


def check(config: Mapping[str, Any]) -> None:
    """Refuse a configuration of which the agent would ignore a part, or which does not fit its SSM parameter.

    Args:
        config: any configuration of the agent for Linux, ours or written by hand.

    Raises:
        ArgumentError: a section, measurement or dimension that the agent does not act on; a measurement given
            twice or a list of none; dropped series without roll-ups; an interval out of range; a StatsD
            listener that other machines can reach; more than 4,096 bytes.
    """
    instance_of(_WHERE, "document", config, Mapping, cure="give the parsed JSON object")
    for chapter in config:
        one_of(_WHERE, "document", chapter, _CHAPTERS, cure="the agent ignores any other key")
    _check_intervals("", config)
    metrics = config.get("metrics")
    if metrics is not None:
        _check_metrics(_mapping("metrics", metrics))
    _check_size(config)


def _check_metrics(metrics: Mapping[str, Any]) -> None:
    appended = _mapping("metrics.append_dimensions", metrics.get("append_dimensions", {}))
    for name, value in appended.items():
        _check_appended(name, value)
    rolled_up = metrics.get("aggregation_dimensions", [])
    _check_rolled_up(rolled_up, appended)
    collected = _mapping("metrics.metrics_collected", metrics.get("metrics_collected", {}))
    for name, section in collected.items():
        _check_section(name, section, rolled_up=bool(rolled_up))


def _check_appended(name: str, value: object) -> None:
    if _APPENDABLE.get(name) != value:
        pairs = ", ".join(f"{key}: {placeholder}" for key, placeholder in _APPENDABLE.items())
        cure = "the agent drops any other pair without a word; add fixed dimensions inside a section instead"
        rule = f"hold only the pairs {pairs}"
        raise _fault("metrics.append_dimensions", rule, f"{name}: {value}", cure)


def _check_rolled_up(rolled_up: Sequence[Sequence[str]], appended: Mapping[str, Any]) -> None:
    for dimension in (name for dimensions in rolled_up for name in dimensions):
        if dimension in _APPENDABLE and dimension not in appended:
            rule = "name dimensions that the series have"
            cure = f"add {dimension!r} to metrics.append_dimensions, else this roll-up is never published"
            raise _fault("metrics.aggregation_dimensions", rule, dimension, cure)


def _check_section(name: str, section: object, *, rolled_up: bool) -> None:
    path = f"metrics.metrics_collected.{name}"
    if name == _MISLEADING_SECTION:
        cure = f"write {NVIDIA.agent_section!r}: the agent's schema knows this key, its translator does not"
        raise _fault("metrics.metrics_collected", "name the NVIDIA section as the agent reads it", name, cure)
    one_of(_WHERE, "metrics.metrics_collected", name, _SECTIONS, cure="the agent collects nothing for any other key")
    # procstat and jmx hold lists of entries.
    for entry in section if isinstance(section, list) else [section]:
        fields = _mapping(path, entry)
        measured = _check_measurements(name, path, fields)
        _check_dropped(name, path, fields, measured, rolled_up=rolled_up)
        if name == NVIDIA.agent_section:
            _check_accelerator_keys(path, fields)
        if name == "statsd":
            _check_listener(path, fields)


def _check_measurements(section: str, path: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the measurements of a section without the optional prefix."""
    if "measurement" not in fields:
        return []
    path = f"{path}.measurement"
    if not isinstance(fields["measurement"], list) or not fields["measurement"]:
        raise _fault(path, "be a list that is not empty", fields["measurement"], "name what to measure")
    measured: list[str] = []
    for item in fields["measurement"]:
        given = item.get("name") if isinstance(item, Mapping) else item
        if not isinstance(given, str):
            raise _fault(path, "hold names, or objects with a name", item, "write for example 'used_percent'")
        name = given.removeprefix(_prefix(section))
        if name in measured:
            raise _fault(path, "name each measurement once", given, "remove the second one")
        measured.append(name)
    if section == NVIDIA.agent_section:
        _check_accelerator_measurements(path, measured)
    return measured


def _check_accelerator_measurements(path: str, measured: Sequence[str]) -> None:
    known = [measurement.name for measurement in NVIDIA.measurements]
    for name in measured:
        one_of(_WHERE, path, name, known, cure="the agent drops any other name without a word")


def _check_dropped(
    section: str, path: str, fields: Mapping[str, Any], measured: Sequence[str], *, rolled_up: bool
) -> None:
    if "drop_original_metrics" not in fields:
        return
    path = f"{path}.drop_original_metrics"
    dropped = fields["drop_original_metrics"]
    if not rolled_up:
        cure = "add metrics.aggregation_dimensions, else the agent publishes nothing of this section"
        raise _fault(path, "go with roll-ups", dropped, cure)
    if section == "procstat":
        raise _fault(path, "stand in a section that can drop its series", dropped, "procstat cannot: remove it")
    # The agent puts the prefix before names of the accelerator section even where it stands already.
    optional = "" if section == NVIDIA.agent_section else _prefix(section)
    if not isinstance(dropped, list):
        raise _fault(path, "be a list of names", dropped, "write for example ['*']")
    for name in dropped:
        if not isinstance(name, str) or name.removeprefix(optional) not in ("*", *measured):
            cure = f"{closest(str(name), measured)}write a name from the section's measurements, or '*'"
            raise _fault(path, "name measurements of its section", name, cure)


def _check_accelerator_keys(path: str, fields: Mapping[str, Any]) -> None:
    for key in fields:
        one_of(_WHERE, path, key, _ACCELERATOR_KEYS, cure="any other key has no effect here")


def _check_listener(path: str, fields: Mapping[str, Any]) -> None:
    # Without an address the agent listens on port 8125 of every interface.
    address = fields.get("service_address", ":8125")
    if not isinstance(address, str) or not _is_loopback(address):
        cure = "write '127.0.0.1:8125', else other machines can publish in this one's name"
        raise _fault(f"{path}.service_address", "listen on this machine only", address, cure)


def _is_loopback(address: str) -> bool:
    host = address.removeprefix("udp://").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_intervals(path: str, node: object) -> None:
    if isinstance(node, list):
        for item in node:
            _check_intervals(path, item)
    if not isinstance(node, Mapping):
        return
    for key, value in node.items():
        inner = f"{path}.{key}" if path else str(key)
        if key in _SHORTEST_INTERVAL:
            shortest = _SHORTEST_INTERVAL[key]
            integer(_WHERE, inner, value, minimum=shortest, maximum=_LONGEST_INTERVAL, cure="give seconds, such as 60")
        _check_intervals(inner, value)


def _check_size(config: Mapping[str, Any]) -> None:
    size = len(json.dumps(config, separators=(",", ":"), ensure_ascii=False).encode())
    if size > LARGEST_BYTES:
        cure = "shorten it: this is what a standard SSM parameter holds"
        raise _fault("document", f"be at most {LARGEST_BYTES} bytes long as JSON", size, cure)


def _prefix(section: str) -> str:
    return NVIDIA.metric_prefix if section == NVIDIA.agent_section else f"{section}_"


def _mapping(path: str, value: object) -> Mapping[str, Any]:
    return instance_of(_WHERE, path, value, Mapping, cure="write a JSON object")


def _fault(path: str, rule: str, value: object, cure: str) -> ArgumentError:
    return ArgumentError(complaint(_WHERE, path, rule, value, cure))
