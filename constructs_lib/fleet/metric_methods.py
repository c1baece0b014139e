"""The metrics of a fleet as methods of the fleet, in the CDK's own manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry import FleetMetrics
from constructs_lib.telemetry.series import MetricOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MetricMethods:
    """``metric_*`` for a construct with ``_metrics``. No method makes a resource.

    Options of every method: ``period``, ``statistic``, ``label``; and, where instances publish the metric,
    ``instance_id`` for the series of one instance in place of the whole group's.
    """

    _metrics: FleetMetrics

    def metric(self, metric_name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Any metric of the fleet's namespace. Default: the average over a minute."""
        return self._metrics.metric(metric_name, **options)

    def metric_busiest_accelerator(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Use of the busiest accelerator, percent (FPGA: transfers). Default: the maximum over a minute."""
        return self._metrics.busiest_accelerator(**options)

    def metric_accelerator_utilization(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Use over all accelerators, percent (FPGA: transfers). Default: the average over a minute."""
        return self._metrics.accelerator_utilization(**options)

    def metric_accelerator_memory(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Used memory of an accelerator, MiB. Default: the average over all of them in a minute.

        Raises:
            ArgumentError: the fleet's accelerators do not tell it, or it is not published.
        """
        return self._metrics.accelerator_memory(**options)

    def metric_accelerator_power(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Power of an accelerator, W. Default: the average over all of them in a minute.

        Raises:
            ArgumentError: the fleet's accelerators do not tell it, or it is not published.
        """
        return self._metrics.accelerator_power(**options)

    def metric_accelerator_energy(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Energy that the accelerators took, J. Default: the sum over a minute.

        Raises:
            ArgumentError: the fleet's accelerators do not tell their power.
        """
        return self._metrics.accelerator_energy(**options)

    def metric_idle_time(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Time since an instance's last use, s. Default: of the one used last, the minimum over a minute."""
        return self._metrics.idle_time(**options)

    def metric_cold_start(self, phase: str | None = None, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Time from an instance's launch to the end of a phase, s, published once in its life.

        Args:
            phase: ``driver`` (it answers), ``agent`` (it runs) or ``first_use``. Default: ``first_use``.
            options: as in every method. Default: the average over an hour.

        Raises:
            ArgumentError: there is no such phase.
        """
        return self._metrics.cold_start(phase, **options)

    def metric_accelerators_missing(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Accelerators of an instance that do not answer. Default: of the worst instance, the maximum over a minute."""
        return self._metrics.accelerators_missing(**options)

    def metric_busy_marks(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Programs on an instance that say that they are busy. Default: the maximum over a minute."""
        return self._metrics.busy_marks(**options)

    def metric_interactive_sessions(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """People who are logged in on an instance. Default: the maximum over a minute."""
        return self._metrics.sessions(**options)

    def metric_application(self, metric_name: str, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """A metric that the work on the instances publishes itself, by StatsD or ``accelerated-node emit``.

        Args:
            metric_name: one of ``Telemetry(application_metrics=...)``.
            options: as in every method. Default: the average over a minute.

        Raises:
            ArgumentError: the fleet's telemetry does not name the metric.
        """
        return self._metrics.application(metric_name, **options)

    def metric_in_service_instances(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances in service. Default: the maximum over a minute."""
        return self._metrics.in_service_instances(**options)

    def metric_desired_capacity(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances wanted. Default: the maximum over a minute."""
        return self._metrics.desired_capacity(**options)

    def metric_instances_released(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that the release handler ended. Default: the sum over five minutes."""
        return self._metrics.instances_released(**options)

    def metric_members_held(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that the release handler was told to leave alone. Default: the maximum over five minutes."""
        return self._metrics.members_held(**options)

    def metric_members_retained(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that a failed lifecycle hook has left behind, which bill on. Default: maximum over five minutes."""
        return self._metrics.members_retained(**options)

    def metric_launches_stopped(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """1 while launches are stopped because none came to anything. Default: the maximum over five minutes."""
        return self._metrics.launches_stopped(**options)

    def metric_drains_done(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that drained in time. Default: the sum over five minutes."""
        return self._metrics.drains_done(**options)

    def metric_drains_timed_out(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances whose time to drain was over before their work was. Default: the sum over five minutes."""
        return self._metrics.drains_timed_out(**options)

    def metric_drains_abandoned(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Drains that nobody was left to end, since the machine was gone. Default: the sum over five minutes."""
        return self._metrics.drains_abandoned(**options)
