"""The metrics of an instance as a whole, and of what runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry import names
from constructs_lib.telemetry.group_metrics import GroupMetrics
from constructs_lib.telemetry.series import MINUTE_SECONDS, checked_period, series
from constructs_lib.validation import one_of

_COLD_START = {
    "driver": names.COLD_START_DRIVER,
    "agent": names.COLD_START_AGENT,
    "first_use": names.COLD_START_FIRST_USE,
}


@dataclass(frozen=True, eq=False, repr=False)
class InstanceMetrics(GroupMetrics):
    """What the node program and the work on the instances publish, whatever the accelerators are.

    Attributes:
        resolution_seconds: time between two readings. Default: 60.
        application_metrics: what the work on the instances publishes. Default: nothing.
    """

    resolution_seconds: int = field(default=names.PERIOD_SECONDS, kw_only=True)
    application_metrics: Sequence[str] = field(default=(), kw_only=True)

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
        one_of(
            "FleetMetrics cold_start",
            "phase",
            phase,
            _COLD_START,
            cure="leave it out for first_use, which is the last of them",
        )
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

        A minute has as many of them for each instance as there are readings in it.
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
