"""What a user can choose about a fleet's telemetry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aws_cdk import Duration

from constructs_lib.agent.kinds import AcceleratorKind
from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.telemetry.logs import FleetLogs
from constructs_lib.validation import complaint, instance_of, list_of, one_of

_WHERE = "Telemetry"
# CloudWatch also knows 1 and 5 seconds; a tool that is asked that often takes a noticeable share of the machine.
_RESOLUTIONS = (10, 30, 60)
_APPLICATION_METRIC = re.compile(r"[A-Za-z0-9_]{1,200}")
_LONGEST_PATTERN = 255


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """What each instance publishes about its accelerators, itself and its work.

    Every figure costs custom metrics: one for each instance, one for the group, and, with ``per_accelerator_series``,
    one for each accelerator. :func:`constructs_lib.telemetry.billed_metrics` counts them and says what one costs.

    Attributes:
        measurements: figures of each accelerator, for example ``("utilization_gpu", "power_draw")`` for NVIDIA GPUs and
            ``("utilization", "power")`` for other kinds; must contain the one that tells use, which the release of idle
            instances reads. Default: every standard figure that all of the fleet's types can report.
        per_accelerator_series: whether each accelerator has series of its own. False keeps only the roll-ups
            per instance and per group, which is all that alarms and handlers read. Default: True.
        resolution: time between two readings: 10, 30 or 60 seconds. Below 60 the metrics are of high resolution:
            each costs the same, but is sent more often, and calls of ``PutMetricData`` are billed by their number;
            periods below a minute can be looked at for three hours. Default: 60 seconds.
        application_metrics: names of metrics that the work on an instance sends by StatsD to ``127.0.0.1:8125``, or
            with ``accelerated-node emit``. Only their roll-ups per instance and per group are kept. Default: none.
        network: whether to publish what the network cards count: traffic that exceeded the instance's allowances, and,
            if every type of the fleet has an Elastic Fabric Adapter, its traffic; as roll-ups. Default: no.
        swap: whether to publish the use of swap space, as roll-ups. Default: no.
        processes: regular expressions (RE2) over whole command lines. For each are published ``procstat_cpu_usage``
            (percent), ``procstat_memory_rss`` (bytes) and ``procstat_lookup_pid_count``, each with the dimension
            ``pattern``; the first two once for each different name of a program that matches. The agent cannot keep
            the roll-ups alone here. Default: none.
        logs: log files to copy. Default: none.

    Raises:
        ArgumentError: a value is of the wrong type, a list is empty or names something twice, the resolution is another
            one, or an application metric's name is not a plain one or is used by the fleet itself.
    """

    measurements: Sequence[str] | None = None
    per_accelerator_series: bool | None = None
    # The CDK's Durations have no equality, so the seconds stand for it.
    resolution: Duration | None = field(default=None, compare=False)
    application_metrics: Sequence[str] | None = None
    network: bool | None = None
    swap: bool | None = None
    processes: Sequence[str] | None = None
    logs: FleetLogs | None = None
    resolution_seconds: int = field(init=False)

    def __post_init__(self) -> None:
        self._settle_flag("per_accelerator_series", default=True)
        self._settle_flag("network", default=False)
        self._settle_flag("swap", default=False)
        if self.measurements is not None:
            cure = "leave it out for the standard ones, or write for example ('utilization_gpu', 'power_draw')"
            measurements = list_of(_WHERE, "measurements", self.measurements, str, cure=cure)
            object.__setattr__(self, "measurements", measurements)
        object.__setattr__(self, "application_metrics", _application_metrics(self.application_metrics))
        object.__setattr__(self, "processes", _processes(self.processes))
        resolution = _resolution(self.resolution)
        object.__setattr__(self, "resolution", resolution)
        object.__setattr__(self, "resolution_seconds", int(resolution.to_seconds()))
        if self.logs is not None:
            instance_of(_WHERE, "logs", self.logs, FleetLogs, cure="write FleetLogs(files=(...))")

    def _settle_flag(self, name: str, *, default: bool) -> None:
        given = getattr(self, name)
        value = default if given is None else given
        object.__setattr__(self, name, instance_of(_WHERE, name, value, bool, cure="write True or False"))

    def measurements_of(
        self, kind: AcceleratorKind, types: Sequence[AcceleratedType], *, where: str = "Telemetry"
    ) -> tuple[str, ...]:
        """Return the bare names of the figures that a fleet of these types publishes of each accelerator.

        Args:
            kind: of the accelerators.
            types: of the fleet.
            where: construct path, for messages. Default: ``Telemetry``.

        Raises:
            ArgumentError: a name is unknown or given twice, none of the types can report it, or the figure that tells
                use is missing.
        """
        if self.measurements is None:
            return kind.standard_measurements(types)
        known = {measurement.name: measurement for measurement in kind.measurements}
        chosen: list[str] = []
        for given in self.measurements:
            name = given.removeprefix(kind.metric_prefix)
            one_of(where, "measurements", name, known, cure=f"nobody reads another figure of this kind ({kind.title})")
            if name in chosen:
                rule = "name each measurement once"
                raise ArgumentError(complaint(where, "measurements", rule, given, "remove the second one"))
            if not any(known[name].readable_on(each) for each in types):
                rule = f"be readable on {', '.join(each.name for each in types)}"
                cure = "remove it: a fraction of an accelerator answers 'N/A', so the metric would never appear"
                raise ArgumentError(complaint(where, "measurements", rule, given, cure))
            chosen.append(name)
        if kind.use not in chosen:
            rule = f"contain {kind.use!r}"
            cure = "add it: without it nobody can tell an idle instance from a busy one"
            raise ArgumentError(complaint(where, "measurements", rule, list(self.measurements), cure))
        return tuple(chosen)

    def node_measurements(
        self, kind: AcceleratorKind, types: Sequence[AcceleratedType], *, where: str = "Telemetry"
    ) -> tuple[str, ...]:
        """Return what the node program publishes of each accelerator: nothing if the agent reads this kind itself.

        Args:
            kind: of the accelerators.
            types: of the fleet.
            where: construct path, for messages. Default: ``Telemetry``.

        Raises:
            ArgumentError: as :meth:`measurements_of`.
        """
        return () if kind.agent_section else self.measurements_of(kind, types, where=where)


def _resolution(given: Duration | None) -> Duration:
    value = Duration.seconds(names.PERIOD_SECONDS) if given is None else given
    cure = f"write Duration.seconds(n) with n one of {', '.join(map(str, _RESOLUTIONS))}"
    instance_of(_WHERE, "resolution", value, Duration, cure=cure)
    if value.is_unresolved() or value.to_milliseconds() not in [1000 * seconds for seconds in _RESOLUTIONS]:
        shown = "a token" if value.is_unresolved() else value.to_human_string()
        raise ArgumentError(complaint(_WHERE, "resolution", "be one that the fleet reads in", shown, cure))
    return value


def _application_metrics(given: Sequence[str] | None) -> tuple[str, ...]:
    cure = "write for example application_metrics=('inference_latency',)"
    chosen = () if given is None else list_of(_WHERE, "application_metrics", given, str, cure=cure)
    for name in chosen:
        if not _APPLICATION_METRIC.fullmatch(name):
            rule = "hold names of letters, digits and underscores, 200 at most"
            raise ArgumentError(complaint(_WHERE, "application_metrics", rule, name, cure))
        if names.is_fleets_own(name):
            rule = "hold names that the fleet does not use itself"
            raise ArgumentError(complaint(_WHERE, "application_metrics", rule, name, "put a word of yours before it"))
    _check_once("application_metrics", chosen)
    return chosen


def _processes(given: Sequence[str] | None) -> tuple[str, ...]:
    cure = "write for example processes=('python.*worker',)"
    chosen = () if given is None else list_of(_WHERE, "processes", given, str, cure=cure)
    for pattern in chosen:
        if not pattern.strip() or len(pattern) > _LONGEST_PATTERN:
            rule = f"hold patterns of 1 to {_LONGEST_PATTERN} characters"
            raise ArgumentError(complaint(_WHERE, "processes", rule, pattern, cure))
    _check_once("processes", chosen)
    return chosen


def _check_once(parameter: str, chosen: Sequence[str]) -> None:
    for each in chosen:
        if chosen.count(each) > 1:
            raise ArgumentError(complaint(_WHERE, parameter, "name each one once", each, "remove the second one"))
