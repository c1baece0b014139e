"""The metrics of a group and of what the release handler finds in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry import names
from constructs_lib.telemetry.series import MetricOptions, Publisher, series

if TYPE_CHECKING:
    from typing_extensions import Unpack

_GROUP = Publisher("AWS/AutoScaling")
_RELEASE_HANDLER = Publisher(names.NAMESPACE)
_RELEASE_INTERVAL_SECONDS = 300


@dataclass(frozen=True, eq=False, repr=False)
class GroupMetrics:
    """Capacity of one Auto Scaling group, and the release handler's verdicts about its members.

    Attributes:
        auto_scaling_group_name: of the group; may be a token.
    """

    auto_scaling_group_name: str

    def in_service_instances(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances in service, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupInServiceInstances", "In service", "Maximum", options)

    def desired_capacity(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Desired capacity, if the group's own metrics are switched on. Default: maximum over a minute."""
        return self._of_group("GroupDesiredCapacity", "Desired", "Maximum", options)

    def members_busy(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Members that the release handler found busy. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_BUSY, "Busy", "Maximum", options)

    def members_idle(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Members that the release handler found idle. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_IDLE, "Idle", "Maximum", options)

    def members_unknown(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Members that the release handler could not judge. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_UNKNOWN, "Unknown", "Maximum", options)

    def members_held(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Members that the release handler was told to leave alone. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_HELD, "Held", "Maximum", options)

    def members_idle_despite_work(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Idle members that stay because work waits for them. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_IDLE_DESPITE_WORK, "Idle despite work", "Maximum", options)

    def instances_released(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that the release handler released. Default: sum over five minutes."""
        return self._of_pass(names.INSTANCES_RELEASED, "Released", "Sum", options)

    def members_retained(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Members that a failed lifecycle hook has left behind, which bill on. Default: maximum over five minutes."""
        return self._of_pass(names.MEMBERS_RETAINED, "Retained", "Maximum", options)

    def launches_stopped(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """1 while launches are stopped because none came to anything. Default: maximum over five minutes."""
        return self._of_pass(names.LAUNCHES_STOPPED, "Launches stopped", "Maximum", options)

    def drains_done(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances that drained in time. Default: sum over five minutes."""
        return self._of_pass(names.DRAINS_DONE, "Drained", "Sum", options)

    def drains_timed_out(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Instances whose time to drain was over before their work was. Default: sum over five minutes."""
        return self._of_pass(names.DRAINS_TIMED_OUT, "Drains timed out", "Sum", options)

    def drains_abandoned(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """Drains that nobody was left to end, since the machine was gone. Default: sum over five minutes."""
        return self._of_pass(names.DRAINS_ABANDONED, "Drains abandoned", "Sum", options)

    def _of_group(self, name: str, title: str, statistic: str, options: MetricOptions) -> cloudwatch.Metric:
        return series(_GROUP, self.auto_scaling_group_name, name, title, statistic, options)

    def _of_pass(self, name: str, title: str, statistic: str, options: MetricOptions) -> cloudwatch.Metric:
        group, seconds = self.auto_scaling_group_name, _RELEASE_INTERVAL_SECONDS
        return series(_RELEASE_HANDLER, group, name, title, statistic, options, seconds)
