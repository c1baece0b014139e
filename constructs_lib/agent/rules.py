"""What the CloudWatch agent's own schema lets through, and the agent then ignores without a word.

Facts from the agent's schema and translator as of release 1.300071 (July 2026). The schema itself runs on the instance
when the agent starts; the rules here are those that it lacks, and those of its own that are easily broken, since an
agent that refuses its configuration on an instance reports nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.agent.complaints import WHERE, fault, known_keys, mapping
from constructs_lib.agent.dimension_rules import (
    APPENDABLE,
    check_left,
    check_number,
    check_rolled_up,
    dimensions_of,
    rolled_up_sets,
)
from constructs_lib.agent.log_rules import check_logs
from constructs_lib.agent.section_rules import check_section, section_entries, section_path
from constructs_lib.validation import instance_of, integer

_CHAPTERS = ("agent", "logs", "metrics", "opentelemetry", "traces")
_AGENT_KEYS = (
    *("aws_sdk_log_level", "credentials", "debug", "deployment.environment", "logfile", "metrics_collection_interval"),
    *("omit_hostname", "quiet", "region", "run_as_user", "service.name", "usage_data", "use_dualstack_endpoint"),
    "user_agent",
)
_METRICS_KEYS = (
    *("aggregation_dimensions", "append_dimensions", "credentials", "deployment.environment", "endpoint_override"),
    *("force_flush_interval", "metrics_collected", "metrics_destinations", "namespace", "service.name"),
)
_PLACEHOLDERS = {name: f"${{aws:{name}}}" for name in APPENDABLE}
_SHORTEST_INTERVAL = {"metrics_collection_interval": 1, "force_flush_interval": 1, "metrics_aggregation_interval": 0}
_LONGEST_INTERVAL = 172_800


def check(config: Mapping[str, Any]) -> None:
    """Refuse a configuration of which the agent would ignore a part, or which it would refuse on the instance.

    Args:
        config: any configuration of the agent for Linux, ours or written by hand.

    Raises:
        ArgumentError: a chapter, section, key, measurement, unit or dimension that the agent does not act on; a
            measurement given twice or a list of none; a roll-up that no series has; series dropped where nothing is
            left or the agent cannot drop them, or with more dimensions than CloudWatch takes; an interval out of range;
            a StatsD or collectd listener that other machines can reach, or that waits for a secret that nobody gave it;
            Prometheus without a workspace to send to; a term that log groups do not have.
    """
    instance_of(WHERE, "document", config, Mapping, cure="give the parsed JSON object")
    known_keys("document", config, _CHAPTERS, "the agent ignores any other key")
    known_keys("agent", mapping("agent", config.get("agent", {})), _AGENT_KEYS, "the agent ignores any other key")
    _check_intervals("", config)
    if "metrics" in config:
        _check_metrics(mapping("metrics", config["metrics"]))
    if "logs" in config:
        check_logs(mapping("logs", config["logs"]))


def _check_metrics(metrics: Mapping[str, Any]) -> None:
    known_keys("metrics", metrics, _METRICS_KEYS, "the agent refuses any other key; series are dropped in each section")
    appended = mapping("metrics.append_dimensions", metrics.get("append_dimensions", {}))
    for name, value in appended.items():
        _check_appended(name, value)
    sets = rolled_up_sets(metrics)
    collected = mapping("metrics.metrics_collected", metrics.get("metrics_collected", {}))
    if not collected:
        raise fault("metrics.metrics_collected", "hold a section", dict(collected), "name what to collect")
    for name, section in collected.items():
        check_section(name, section, metrics)
    _check_dimensions(metrics, collected, sets)


def _check_dimensions(metrics: Mapping[str, Any], collected: Mapping[str, Any], sets: Sequence[Sequence[str]]) -> None:
    entries = [(name, fields) for name, section in collected.items() for fields in section_entries(name, section)]
    series = [dimensions_of(name, section_path(name), fields, metrics) for name, fields in entries]
    check_rolled_up(sets, series)
    for (_, fields), dimensions in zip(entries, series, strict=True):
        check_number(dimensions)
        if fields.get("drop_original_metrics"):
            check_left(dimensions, sets)


def _check_appended(name: str, value: object) -> None:
    if _PLACEHOLDERS.get(name) != value:
        pairs = ", ".join(f"{key}: {placeholder}" for key, placeholder in _PLACEHOLDERS.items())
        cure = "the agent drops any other pair without a word; add fixed dimensions inside a section instead"
        raise fault("metrics.append_dimensions", f"hold only the pairs {pairs}", f"{name}: {value}", cure)


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
            integer(WHERE, inner, value, minimum=shortest, maximum=_LONGEST_INTERVAL, cure="give seconds, such as 60")
        _check_intervals(inner, value)
