"""The CloudWatch agent's configuration for a fleet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.catalog import AcceleratedType
from constructs_lib.telemetry import names
from constructs_lib.telemetry.agent_rules import check
from constructs_lib.telemetry.kinds import kind_of
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
            UnsupportedInstanceTypeError: the types are of several kinds, or of one that cannot be measured yet.
        """
        options = Telemetry() if telemetry is None else telemetry
        kind = kind_of(types, where=where)
        measurements = options.measurements_of(kind, types, where=where)
        accelerator = _section(measurements, series=options.per_accelerator_series is not False)
        return cls(_document({kind.agent_section: accelerator, **_host()}))

    @classmethod
    def fallback(cls) -> AgentConfiguration:
        """The configuration of an instance whose driver did not answer: the host, and a sign that says so.

        One plugin that fails its start-up check stops the whole agent (field case 20), so no accelerator is named here.
        The agent publishes only what it measures, and its schema lets no process count be renamed: the sign is the
        memory's size under another name.
        """
        host = _host()
        host["mem"]["measurement"].append({"name": "total", "rename": names.ACCELERATOR_UNREADABLE})
        host["mem"]["drop_original_metrics"].append("total")
        return cls(_document(host))

    def to_json(self) -> str:
        """The configuration as the agent reads it: compact JSON, the same text for the same document."""
        return json.dumps(self.document, separators=(",", ":"), sort_keys=True)


def _document(collected: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "agent": {"metrics_collection_interval": names.PERIOD_SECONDS},
        "metrics": {
            "namespace": names.NAMESPACE,
            "append_dimensions": dict(names.APPENDED_DIMENSIONS),
            "aggregation_dimensions": [list(dimensions) for dimensions in names.DIMENSION_SETS],
            "metrics_collected": collected,
        },
    }


def _host() -> dict[str, Any]:
    """CPU, memory and root file system, as roll-ups only: finer series would be paid for and never read."""
    return {
        "cpu": {**_section([names.CPU_UTILIZATION.removeprefix("cpu_")], series=False), "totalcpu": True},
        "mem": _section([names.MEMORY_UTILIZATION.removeprefix("mem_")], series=False),
        "disk": {**_section([names.DISK_UTILIZATION.removeprefix("disk_")], series=False), "resources": ["/"]},
    }


def _section(measurements: Sequence[str], *, series: bool) -> dict[str, Any]:
    section: dict[str, Any] = {"measurement": list(measurements)}
    if not series:
        section["drop_original_metrics"] = list(measurements)
    return section
