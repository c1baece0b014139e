"""The metrics of a fleet, for alarms and dashboards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.telemetry.group_metrics import GroupMetrics
from constructs_lib.telemetry.kinds import AcceleratorKind, kind_of
from constructs_lib.telemetry.kinds.nvidia import KIND as NVIDIA
from constructs_lib.telemetry.options import Telemetry
from constructs_lib.telemetry.series import MINUTE_SECONDS, checked_period, series
from constructs_lib.validation import complaint, one_of

_COLD_START = {
    "driver": names.COLD_START_DRIVER,
    "agent": names.COLD_START_AGENT,
    "first_use": names.COLD_START_FIRST_USE,
}


@dataclass(frozen=True, eq=False, repr=False)
class FleetMetrics(GroupMetrics):
    """Metrics of one Auto Scaling group, each under exactly the name and dimensions under which it is published.

    Every method takes a ``period`` (whole minutes, or a high-resolution period if the fleet publishes that often), a
    ``statistic`` and a ``label``; their defaults are said at each method. Those of what instances publish also take an
    ``instance_id``: the series of that instance in place of the whole group's. None makes a resource.

    Attributes:
        auto_scaling_group_name: of the group; may be a token.
        kind: what its accelerators are. Default: NVIDIA GPUs.
        resolution_seconds: time between two readings. Default: 60.
        measurements: which figures of each accelerator are published. Default: every standard one of the kind.
        has_energy: whether the energy of all accelerators is published. Default: if the kind's power can be read.
        application_metrics: what the work on the instances publishes. Default: nothing.
    """

    kind: AcceleratorKind = NVIDIA
    resolution_seconds: int = names.PERIOD_SECONDS
    measurements: Sequence[str] | None = None
    has_energy: bool | None = None
    application_metrics: Sequence[str] = ()

    @classmethod
    def of_fleet(
        cls, auto_scaling_group_name: str, types: Sequence[AcceleratedType], telemetry: Telemetry | None = None
    ) -> FleetMetrics:
        """The metrics that a group of these types publishes with this telemetry. Default: ``Telemetry()``."""
        options = Telemetry() if telemetry is None else telemetry
        kind = kind_of(types)
        power = None if kind.power is None else kind.measurement(kind.power)
        return cls(
            auto_scaling_group_name,
            kind,
            options.resolution_seconds,
            options.measurements_of(kind, types),
            power is not None and any(power.readable_on(each) for each in types),
            options.application_metrics or (),
        )

    def metric(
        self,
        name: str,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Any metric of the fleet's namespace. Default: average over a minute."""
        return self._published(name, name, instance_id, period, statistic, label)

    def busiest_accelerator(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Maximum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Use of the busiest accelerator, in percent if the kind knows one. Default: maximum over a minute."""
        title = f"Busiest accelerator ({self.use_unit})"
        return self._published(self.kind.use_metric, title, instance_id, period, statistic, label)

    def accelerator_utilization(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Use over all accelerators, in percent if the kind knows one. Default: average over a minute."""
        title = f"Mean use of accelerators ({self.use_unit})"
        return self._published(self.kind.use_metric, title, instance_id, period, statistic, label)

    def accelerator_samples(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "SampleCount",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """How many accelerators were read, once for each reading. Default: number of samples in a minute.

        A minute has :attr:`readings_each_minute` of them for each accelerator.
        """
        return self._published(self.kind.use_metric, "Accelerators read", instance_id, period, statistic, label)

    def accelerator_memory(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Used memory of an accelerator, in MiB. Default: average over all accelerators in a minute.

        Raises:
            ArgumentError: the accelerators' memory cannot be read or is not published.
        """
        name = self._measurement("accelerator_memory", self.kind.memory)
        title = "Memory used of an accelerator (MiB)"
        return self._published(name, title, instance_id, period, statistic, label)

    def accelerator_power(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Power that an accelerator draws, in W. Default: average over all accelerators in a minute.

        Raises:
            ArgumentError: the accelerators' power cannot be read or is not published.
        """
        name = self._measurement("accelerator_power", self.kind.power)
        return self._published(name, "Power of an accelerator (W)", instance_id, period, statistic, label)

    def accelerator_energy(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Sum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Energy that the accelerators took, in J: 3,600,000 are a kWh. Default: sum over a minute.

        Raises:
            ArgumentError: the accelerators' power cannot be read.
        """
        if not self.publishes_energy:
            raise self._unreadable("accelerator_energy", "no type of this fleet tells the power of its accelerators")
        return self._published(names.ENERGY, "Energy of accelerators (J)", instance_id, period, statistic, label)

    def idle_time(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Minimum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Time since any accelerator was in use or a busy mark was held, in s.

        Default: minimum over the group in a minute, which is the time since anybody of the group was at work.
        """
        return self._published(names.IDLE_SECONDS, "Idle time (s)", instance_id, period, statistic, label)

    def cold_start(
        self,
        phase: str = "first_use",
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Time from an instance's launch to the end of a phase, in s, published once in its life.

        Args:
            phase: ``driver`` (it answers), ``agent`` (it runs) or ``first_use`` of an accelerator.
                Default: ``first_use``.
            instance_id: Default: the whole group.
            period: Default: an hour.
            statistic: Default: average over the instances that reached the phase in the period.
            label: Default: says phase and unit.

        Raises:
            ArgumentError: there is no such phase.
        """
        one_of("FleetMetrics cold_start", "phase", phase, _COLD_START, cure="leave it out for the whole cold start")
        title = f"Launch to {phase.replace('_', ' ')} (s)"
        every = Duration.hours(1) if period is None else period
        return self._published(_COLD_START[phase], title, instance_id, every, statistic, label)

    def accelerators_missing(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Maximum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Accelerators that an instance should have and that do not answer. Default: of the worst one, in a minute."""
        return self._published(names.ACCELERATORS_MISSING, "Missing", instance_id, period, statistic, label)

    def node_heartbeat(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "SampleCount",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Instances whose accelerators could be read, once for each reading. Default: number of samples in a minute.

        A minute has :attr:`readings_each_minute` of them for each instance.
        """
        return self._published(names.HEARTBEAT, "Instances with readings", instance_id, period, statistic, label)

    def busy_marks(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Maximum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Programs that say the instance is busy. Default: most on one instance in a minute."""
        return self._published(names.BUSY_MARKS, "Busy marks", instance_id, period, statistic, label)

    def sessions(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Maximum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """People logged in. Default: most on one instance in a minute."""
        return self._published(names.SESSIONS, "Sessions", instance_id, period, statistic, label)

    def setup_failures(
        self,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Maximum",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """Settings of the machine that were asked for and are not in force; published only if any was asked for.

        Default: most on one instance in a minute.
        """
        return self._published(names.SETUP_FAILURES, "Failed settings", instance_id, period, statistic, label)

    def application(
        self,
        name: str,
        *,
        instance_id: str | None = None,
        period: Duration | None = None,
        statistic: str = "Average",
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """What the work on the instances measures of itself. Default: average over a minute.

        Args:
            name: one of the ``application_metrics`` of the fleet's ``Telemetry``.
            instance_id: Default: the whole group.
            period: Default: a minute.
            statistic: Default: average.
            label: Default: the name.

        Raises:
            ArgumentError: the fleet does not know this metric, so that its series might not exist.
        """
        where, cure = "FleetMetrics application", "declare it with Telemetry(application_metrics=(...))"
        one_of(where, "name", name, self.application_metrics, cure=cure)
        return self._published(name, name, instance_id, period, statistic, label)

    # --- what there is ---------------------------------------------------------------------------------------------

    @property
    def use_unit(self) -> str:
        """Unit of the figure that tells use: ``%`` for most kinds."""
        return self.kind.measurement(self.kind.use).unit

    @property
    def readings_each_minute(self) -> int:
        """How many samples a minute holds of a figure that is published with each reading."""
        return MINUTE_SECONDS // self.resolution_seconds

    @property
    def publishes_memory(self) -> bool:
        """Whether :meth:`accelerator_memory` has a series to ask for."""
        return self.kind.memory in self._measurements

    @property
    def publishes_power(self) -> bool:
        """Whether :meth:`accelerator_power` has a series to ask for."""
        return self.kind.power in self._measurements

    @property
    def publishes_energy(self) -> bool:
        """Whether :meth:`accelerator_energy` has a series to ask for."""
        return self.kind.power is not None if self.has_energy is None else self.has_energy

    # --- parts -----------------------------------------------------------------------------------------------------

    @property
    def _measurements(self) -> Sequence[str]:
        if self.measurements is not None:
            return self.measurements
        return [each.name for each in self.kind.measurements if each.standard]

    def _measurement(self, method: str, name: str | None) -> str:
        if name is None:
            raise self._unreadable(method, f"nothing tells it of this kind ({self.kind.title})")
        if name not in self._measurements:
            cure = f"name {name!r} among Telemetry(measurements=...), if the fleet's types can report it"
            raise self._unreadable(method, cure)
        return self.kind.metric_name(name)

    def _unreadable(self, method: str, cure: str) -> ArgumentError:
        rule = "be asked for only what the fleet publishes"
        return ArgumentError(complaint("FleetMetrics", method, rule, sorted(self._measurements), cure))

    def _published(
        self,
        name: str,
        title: str,
        instance_id: str | None,
        period: Duration | None,
        statistic: str,
        label: str | None,
    ) -> cloudwatch.Metric:
        every = (
            Duration.seconds(MINUTE_SECONDS)
            if period is None
            else checked_period(name, period, self.resolution_seconds)
        )
        owner = {names.GROUP: self.auto_scaling_group_name} if instance_id is None else {names.INSTANCE: instance_id}
        return series(names.NAMESPACE, name, owner, every, statistic, title if label is None else label)
