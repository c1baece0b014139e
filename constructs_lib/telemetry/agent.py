"""The CloudWatch agent's configuration for a fleet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.agent.kinds import kind_of
from constructs_lib.agent.rules import check
from constructs_lib.catalog import AcceleratedType
from constructs_lib.telemetry import names
from constructs_lib.telemetry.agent_sections import (
    accelerator_section,
    efa_section,
    ethtool_section,
    host_sections,
    process_section,
    statsd_listener,
    statsd_section,
)
from constructs_lib.telemetry.options import Telemetry


@dataclass(frozen=True)
class AgentConfiguration:
    """A configuration that the agent not only accepts but also acts on.

    Attributes:
        document: the configuration, also one written by hand.

    Raises:
        ArgumentError: the agent would ignore a part of it without a word, see
            :func:`constructs_lib.telemetry.check`.
    """

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        check(self.document)

    @classmethod
    def full(
        cls, types: Sequence[AcceleratedType], telemetry: Telemetry | None = None, *, where: str = "Telemetry"
    ) -> AgentConfiguration:
        """The configuration of an instance whose accelerator can be read.

        Args:
            types: every instance type of the fleet; all of one kind.
            telemetry: what to publish. Default: ``Telemetry()``.
            where: construct path, for messages. Default: ``Telemetry``.

        Raises:
            ArgumentError: ``telemetry`` asks for what these types or the agent cannot report.
            UnsupportedInstanceTypeError: the types are of several kinds.
        """
        options = Telemetry() if telemetry is None else telemetry
        collected = {**_essential_sections(types, options, where), **_optional_sections(types, options)}
        return cls(_document(collected, options))

    @classmethod
    def essential(
        cls, types: Sequence[AcceleratedType], telemetry: Telemetry | None = None, *, where: str = "Telemetry"
    ) -> AgentConfiguration | None:
        """The full configuration without what an agent may refuse, None if there is nothing of that.

        Images and distributions bring agents older than release 1.300068, which know no EFA, and only the agent can say
        whether it takes a pattern of processes. One section that it refuses is enough for it to report nothing at all.

        Args:
            types: every instance type of the fleet; all of one kind.
            telemetry: what to publish. Default: ``Telemetry()``.
            where: construct path, for messages. Default: ``Telemetry``.

        Raises:
            ArgumentError: ``telemetry`` asks for what these types or the agent cannot report.
            UnsupportedInstanceTypeError: the types are of several kinds.
        """
        options = Telemetry() if telemetry is None else telemetry
        essential = cls(_document(_essential_sections(types, options, where), options))
        return None if essential == cls.full(types, options, where=where) else essential

    @classmethod
    def without_node_program(cls, types: Sequence[AcceleratedType], *, where: str = "Telemetry") -> AgentConfiguration:
        """The configuration of an instance on which nothing but the agent measures: accelerators and host.

        Args:
            types: what the instance may be; all of one kind, which the agent can read.
            where: construct path, for messages. Default: ``Telemetry``.

        Raises:
            UnsupportedInstanceTypeError: the types are of several kinds.
        """
        options = Telemetry()
        sections = _essential_sections(types, options, where)
        return cls(_document({name: each for name, each in sections.items() if name != "statsd"}, options))

    @classmethod
    def fallback(cls, telemetry: Telemetry | None = None) -> AgentConfiguration:
        """The configuration of an instance whose driver did not answer: the host and the node program's figures.

        One plugin that fails its start-up check stops the whole agent (field case 20), so no accelerator is named here.
        That the accelerators are missing is what the node program publishes. Logs are copied as in the full one.

        What comes by StatsD keeps its own series beside the roll-ups: this is in use for hours at most, so that they
        cost little, while the list of names to drop would be long, and this travels in the user data, where every byte
        counts.

        Args:
            telemetry: its resolution and its logs are used. Default: ``Telemetry()``.
        """
        options = Telemetry() if telemetry is None else telemetry
        return cls(_document({**host_sections(swap=False), "statsd": statsd_listener(options)}, options))

    def to_json(self) -> str:
        """The configuration as the agent reads it: compact JSON, the same text for the same document."""
        return json.dumps(self.document, separators=(",", ":"), sort_keys=True)


def _essential_sections(types: Sequence[AcceleratedType], options: Telemetry, where: str) -> dict[str, Any]:
    kind = kind_of(types, where=where)
    measurements = options.measurements_of(kind, types, where=where)
    collected = {**host_sections(swap=bool(options.swap)), "statsd": statsd_section(options)}
    if kind.agent_section is not None:
        series = options.per_accelerator_series is not False
        collected[kind.agent_section] = accelerator_section(measurements, series=series)
    return collected


def _optional_sections(types: Sequence[AcceleratedType], options: Telemetry) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    if options.network:
        sections["ethtool"] = ethtool_section()
        if all(each.efa_interfaces for each in types):
            sections["efa"] = efa_section()
    if options.processes:
        sections["procstat"] = process_section(options.processes)
    return sections


def _document(collected: Mapping[str, Any], options: Telemetry) -> dict[str, Any]:
    document: dict[str, Any] = {
        "agent": {"metrics_collection_interval": options.resolution_seconds},
        "metrics": {
            "namespace": names.NAMESPACE,
            "append_dimensions": dict(names.APPENDED_DIMENSIONS),
            "aggregation_dimensions": [list(dimensions) for dimensions in names.DIMENSION_SETS],
            "metrics_collected": collected,
        },
    }
    if options.logs is not None:
        document["logs"] = options.logs.section()
    return document
