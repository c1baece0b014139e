"""Rules for the agent's section of logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.agent.complaints import fault, filled_list, known_keys, mapping

_KEYS = (
    *("concurrency", "credentials", "deployment.environment", "endpoint_override", "force_flush_interval"),
    *("log_stream_name", "logs_collected", "metrics_collected", "service.name"),
)
_SOURCES = ("application_signals", "files", "journald")
_COMMON_KEYS = ("filters", "log_group_class", "log_group_name", "log_stream_name", "retention_in_days")
_ENTRY_KEYS = {
    "files": (
        *_COMMON_KEYS,
        *("auto_removal", "backpressure_mode", "blacklist", "deployment.environment", "encoding", "file_path"),
        *("multi_line_start_pattern", "publish_multi_logs", "service.name", "timestamp_format", "timezone"),
        "trim_timestamp",
    ),
    "journald": (*_COMMON_KEYS, "matches", "priority", "units"),
}
_REQUIRED_KEY = {"files": "file_path", "journald": "log_group_name"}
_FILTER_KEYS = ("expression", "type")
_RETENTION_DAYS = (
    *(-1, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288),
    3653,
)
_UNKNOWN = "the agent refuses the whole configuration because of any other key"


def check_logs(logs: Mapping[str, Any]) -> None:
    """Refuse what the agent does not know in its section ``logs``."""
    known_keys("logs", logs, _KEYS, _UNKNOWN)
    collected = mapping("logs.logs_collected", logs.get("logs_collected", {}))
    known_keys("logs.logs_collected", collected, _SOURCES, "on Linux the agent collects nothing for any other key")
    for source in _ENTRY_KEYS:
        if source in collected:
            _check_source(source, mapping(f"logs.logs_collected.{source}", collected[source]))


def _check_source(source: str, section: Mapping[str, Any]) -> None:
    path = f"logs.logs_collected.{source}"
    known_keys(path, section, ("collect_list",), _UNKNOWN)
    path = f"{path}.collect_list"
    for entry in filled_list(path, section.get("collect_list"), "name what to collect"):
        _check_entry(source, path, mapping(path, entry))


def _check_entry(source: str, path: str, entry: Mapping[str, Any]) -> None:
    known_keys(path, entry, _ENTRY_KEYS[source], _UNKNOWN)
    required = _REQUIRED_KEY[source]
    if not isinstance(entry.get(required), str) or not entry[required]:
        raise fault(path, f"give {required!r} in each entry", dict(entry), "add it: the agent refuses an entry without")
    retention = entry.get("retention_in_days", -1)
    if isinstance(retention, bool) or retention not in _RETENTION_DAYS:
        rule = f"be one of the terms that CloudWatch Logs knows ({', '.join(map(str, _RETENTION_DAYS))})"
        raise fault(f"{path}.retention_in_days", rule, retention, "choose the next one, or leave it out")
    for each in entry.get("filters", []):
        known_keys(f"{path}.filters", mapping(f"{path}.filters", each), _FILTER_KEYS, _UNKNOWN)
