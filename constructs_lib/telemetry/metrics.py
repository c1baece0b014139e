"""The metrics of a fleet, for alarms and dashboards."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry import names
from constructs_lib.telemetry.kinds import NVIDIA, AcceleratorKind
from constructs_lib.validation import instance_of, integer

_GROUP_NAMESPACE = "AWS/AutoScaling"
_RELEASE_INTERVAL_SECONDS = 300


@dataclass(frozen=True)
class FleetMetrics:
    """Metrics of one Auto Scaling group, each under exactly the name and dimensions under which it is
    published.

    Every method takes a ``period`` (whole seconds, at least 60), a ``statistic`` and a ``label``; their
    defaults are said at each method.

    Attributes:
        auto_scaling_group_name: of the group; may be a token.
        kind: what its accelerators are. Default: NVIDIA GPUs.
    """

    auto_scaling_group_name: str
    kind: AcceleratorKind = NVIDIA

    def metric(
        self, name: str, *, period: Duration | None = None, statistic: str = "Average", label: str | None = None
    ) -> cloudwatch.Metric:
        """Any metric of the fleet's namespace, for the whole group. Default: average over a minute."""
        return self._published(name, period, statistic, label or name)

    def busiest_accelerator(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Utilisation of the busiest accelerator of the group, in percent. Default: maximum over a minute."""
        return self._published(self.kind.utilization_metric, period, statistic, label or "Busiest accelerator (%)")

    def mean_utilization(
        self, *, period: Duration | None = None, statistic: str = "Average", label: str | None = None
    ) -> cloudwatch.Metric:
        """Utilisation over all accelerators of the group, in percent. Default: average over a minute."""
        return self._published(self.kind.utilization_metric, period, statistic, label or "Mean utilisation (%)")

    def accelerator_samples(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many accelerators were read, once for each minute. Default: number of samples in a minute."""
        return self._published(self.kind.utilization_metric, period, statistic, label or "Accelerators read")

    def unreadable_accelerators(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many instances say that their accelerator cannot be read. Default: number of samples in a
        minute.

        Only the number of samples has a meaning, see
        :data:`constructs_lib.telemetry.names.ACCELERATOR_UNREADABLE`.
        """
        return self._published(names.ACCELERATOR_UNREADABLE, period, statistic, label or "Unreadable accelerators")

    def heartbeat(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many instances have a living agent. Default: number of samples in a minute."""
        return self._published(names.HEARTBEAT, period, statistic, label or "Instances with a living agent")

    def in_service_instances(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Instances in service, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupInServiceInstances", period, statistic, label or "In service")

    def desired_capacity(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Desired capacity, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupDesiredCapacity", period, statistic, label or "Desired")

    def members_busy(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler found busy. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_BUSY, period, statistic, label or "Busy")

    def members_idle(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler found idle. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_IDLE, period, statistic, label or "Idle")

    def members_unknown(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler could not judge. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_UNKNOWN, period, statistic, label or "Unknown")

    def instances_released(
        self, *, period: Duration | None = None, statistic: str = "Sum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Instances that the release handler released. Default: sum over five minutes."""
        return self._of_pass(names.INSTANCES_RELEASED, period, statistic, label or "Released")

    def _published(self, name: str, period: Duration | None, statistic: str, label: str) -> cloudwatch.Metric:
        return self._metric(names.NAMESPACE, name, period or Duration.seconds(names.PERIOD_SECONDS), statistic, label)

    def _of_group(self, name: str, period: Duration | None, statistic: str, label: str) -> cloudwatch.Metric:
        return self._metric(_GROUP_NAMESPACE, name, period or Duration.seconds(names.PERIOD_SECONDS), statistic, label)

    def _of_pass(self, name: str, period: Duration | None, statistic: str, label: str) -> cloudwatch.Metric:
        every = period or Duration.seconds(_RELEASE_INTERVAL_SECONDS)
        return self._metric(names.NAMESPACE, name, every, statistic, label)

    def _metric(self, namespace: str, name: str, period: Duration, statistic: str, label: str) -> cloudwatch.Metric:
        where = f"FleetMetrics {name}"
        instance_of(where, "period", period, Duration, cure="write for example Duration.minutes(1)")
        cure = f"the series has one sample every {names.PERIOD_SECONDS} seconds; a shorter period would see gaps"
        integer(where, "period", int(period.to_seconds()), minimum=names.PERIOD_SECONDS, cure=cure)
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=name,
            dimensions_map={names.GROUP: self.auto_scaling_group_name},
            period=period,
            statistic=statistic,
            label=label,
        )
