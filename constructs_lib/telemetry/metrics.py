"""The metrics of a fleet, for alarms and dashboards."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.telemetry.kinds import NVIDIA, AcceleratorKind
from constructs_lib.validation import complaint, instance_of

_GROUP_NAMESPACE = "AWS/AutoScaling"
_RELEASE_INTERVAL_SECONDS = 300


@dataclass(frozen=True, eq=False, repr=False)
class FleetMetrics:
    """Metrics of one Auto Scaling group, each under exactly the name and dimensions under which it is published.

    Every method takes a ``period`` (whole minutes), a ``statistic`` and a ``label``; their defaults are said at
    each method.

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
        return self._published(name, name, period, statistic, label)

    def busiest_accelerator(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Utilisation of the busiest accelerator of the group, in percent. Default: maximum over a minute."""
        return self._published(self.kind.utilization_metric, "Busiest accelerator (%)", period, statistic, label)

    def mean_utilization(
        self, *, period: Duration | None = None, statistic: str = "Average", label: str | None = None
    ) -> cloudwatch.Metric:
        """Utilisation over all accelerators of the group, in percent. Default: average over a minute."""
        return self._published(self.kind.utilization_metric, "Mean utilisation (%)", period, statistic, label)

    def accelerator_samples(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many accelerators were read, once for each minute. Default: number of samples in a minute."""
        return self._published(self.kind.utilization_metric, "Accelerators read", period, statistic, label)

    def unreadable_accelerators(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many instances say that they cannot read their accelerator. Default: number of samples in a minute.

        Only the number of samples has a meaning, see
        :data:`constructs_lib.telemetry.names.ACCELERATOR_UNREADABLE`.
        """
        return self._published(names.ACCELERATOR_UNREADABLE, "Unreadable accelerators", period, statistic, label)

    def heartbeat(
        self, *, period: Duration | None = None, statistic: str = "SampleCount", label: str | None = None
    ) -> cloudwatch.Metric:
        """How many instances have a living agent. Default: number of samples in a minute."""
        return self._published(names.HEARTBEAT, "Instances with a living agent", period, statistic, label)

    def in_service_instances(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Instances in service, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupInServiceInstances", "In service", period, statistic, label)

    def desired_capacity(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Desired capacity, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupDesiredCapacity", "Desired", period, statistic, label)

    def members_busy(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler found busy. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_BUSY, "Busy", period, statistic, label)

    def members_idle(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler found idle. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_IDLE, "Idle", period, statistic, label)

    def members_unknown(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler could not judge. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_UNKNOWN, "Unknown", period, statistic, label)

    def members_held(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Members that the release handler was told to leave alone. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_HELD, "Held", period, statistic, label)

    def members_idle_despite_work(
        self, *, period: Duration | None = None, statistic: str = "Maximum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Idle members that stay because work waits for them. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_IDLE_DESPITE_WORK, "Idle despite work", period, statistic, label)

    def instances_released(
        self, *, period: Duration | None = None, statistic: str = "Sum", label: str | None = None
    ) -> cloudwatch.Metric:
        """Instances that the release handler released. Default: sum over five minutes."""
        return self._of_pass(names.INSTANCES_RELEASED, "Released", period, statistic, label)

    def _published(
        self, name: str, title: str, period: Duration | None, statistic: str, label: str | None
    ) -> cloudwatch.Metric:
        return self._metric(names.NAMESPACE, name, title, period, names.PERIOD_SECONDS, statistic, label)

    def _of_group(
        self, name: str, title: str, period: Duration | None, statistic: str, label: str | None
    ) -> cloudwatch.Metric:
        return self._metric(_GROUP_NAMESPACE, name, title, period, names.PERIOD_SECONDS, statistic, label)

    def _of_pass(
        self, name: str, title: str, period: Duration | None, statistic: str, label: str | None
    ) -> cloudwatch.Metric:
        return self._metric(names.NAMESPACE, name, title, period, _RELEASE_INTERVAL_SECONDS, statistic, label)

    def _metric(
        self,
        namespace: str,
        name: str,
        title: str,
        period: Duration | None,
        default_seconds: int,
        statistic: str,
        label: str | None,
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=name,
            dimensions_map={names.GROUP: self.auto_scaling_group_name},
            period=Duration.seconds(default_seconds) if period is None else _whole_minutes(name, period),
            statistic=statistic,
            label=title if label is None else label,
        )


def _whole_minutes(metric_name: str, period: Duration) -> Duration:
    where = f"FleetMetrics {metric_name}"
    instance_of(where, "period", period, Duration, cure="write for example Duration.minutes(1)")
    if period.is_unresolved() or not _is_whole_minutes(period.to_milliseconds()):
        cure = f"the series has one sample every {names.PERIOD_SECONDS} seconds: write for example Duration.minutes(1)"
        rule = "be whole minutes that are known at synth"
        raise ArgumentError(complaint(where, "period", rule, period.to_human_string(), cure))
    return period


def _is_whole_minutes(milliseconds: float) -> bool:
    return milliseconds > 0 and milliseconds % (names.PERIOD_SECONDS * 1000) == 0
