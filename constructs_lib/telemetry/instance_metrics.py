"""The metrics of an instance as a whole, and of what runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.telemetry.group_metrics import GroupMetrics
from constructs_lib.telemetry.series import MINUTE_SECONDS, MetricOptions, Publisher, series
from constructs_lib.validation import complaint, one_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

_COLD_START = {
    "driver": names.COLD_START_DRIVER,
    "agent": names.COLD_START_AGENT,
    "first_use": names.COLD_START_FIRST_USE,
}
_HOUR_SECONDS = 3600


@dataclass(frozen=True, eq=False, repr=False)
class InstanceMetrics(GroupMetrics):
    """What the node program and the work on the instances publish, whatever the accelerators are.

    Attributes:
        resolution_seconds: time between two readings. Default: 60.
        application_metrics: what the work on the instances publishes. Default: nothing.
    """

    resolution_seconds: int = field(default=names.PERIOD_SECONDS, kw_only=True)
    application_metrics: Sequence[str] = field(default=(), kw_only=True)

    def metric(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Any metric of the fleet's namespace. Default: average over a minute."""
        return self._published(name, name, "Average", options)

    def idle_time(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Time since any accelerator was in use or a busy mark was held, in s.

        Default: minimum over the group in a minute, which is the time since anybody of the group was at work.
        """
        return self._published(names.IDLE_SECONDS, "Idle time (s)", "Minimum", options)

    def cold_start(self, phase: str | None = None, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Time from an instance's launch to the end of a phase, in s, published once in its life.

        Args:
            phase: ``driver`` (it answers), ``agent`` (it runs) or ``first_use`` of an accelerator.
                Default: ``first_use``.
            options: as in every method. Default: average over the instances that reached the phase in an hour.

        Raises:
            ArgumentError: there is no such phase.
        """
        phase = "first_use" if phase is None else phase
        cure = "leave it out for first_use, which is the last of them"
        name = _COLD_START[one_of("FleetMetrics cold_start", "phase", phase, _COLD_START, cure=cure)]
        return self._published(name, f"Launch to {phase.replace('_', ' ')} (s)", "Average", options, _HOUR_SECONDS)

    def accelerators_missing(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Accelerators that an instance should have and that do not answer. Default: of the worst one, in a minute."""
        return self._published(names.ACCELERATORS_MISSING, "Missing", "Maximum", options)

    def node_heartbeat(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances whose accelerators could be read, once for each reading. Default: number of samples in a minute.

        A minute has as many of them for each instance as there are readings in it.
        """
        return self._published(names.HEARTBEAT, "Instances with readings", "SampleCount", options)

    def busy_marks(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Programs that say the instance is busy. Default: most on one instance in a minute."""
        return self._published(names.BUSY_MARKS, "Busy marks", "Maximum", options)

    def sessions(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """People logged in. Default: most on one instance in a minute."""
        return self._published(names.SESSIONS, "Sessions", "Maximum", options)

    def setup_failures(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Settings of the machine that were asked for and are not in force; published only if any was asked for.

        Default: most on one instance in a minute.
        """
        return self._published(names.SETUP_FAILURES, "Failed settings", "Maximum", options)

    def application(self, name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """What the work on the instances measures of itself.

        Args:
            name: one of the ``application_metrics`` of the fleet's ``Telemetry``.
            options: as in every method. Default: average over a minute.

        Raises:
            ArgumentError: the fleet does not know this metric, so that its series might not exist.
        """
        where, cure = "FleetMetrics application", "declare it with Telemetry(application_metrics=[...])"
        if not self.application_metrics:
            rule = "be a metric that the fleet's telemetry declares, and it declares none"
            raise ArgumentError(complaint(where, "name", rule, name, cure))
        one_of(where, "name", name, self.application_metrics, cure=cure)
        return self._published(name, name, "Average", options)

    def _published(
        self, name: str, title: str, statistic: str, options: MetricOptions, period_seconds: int = MINUTE_SECONDS
    ) -> cloudwatch.Metric:
        instances = Publisher(names.NAMESPACE, self.resolution_seconds, knows_instances=True)
        return series(instances, self.auto_scaling_group_name, name, title, statistic, options, period_seconds)
