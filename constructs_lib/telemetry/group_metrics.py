"""The metrics of a group and of what the release handler finds in it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from constructs_lib.telemetry import names
from constructs_lib.telemetry.series import MINUTE_SECONDS, checked_period, series

_GROUP_NAMESPACE = "AWS/AutoScaling"
_RELEASE_INTERVAL_SECONDS = 300


@dataclass(frozen=True, eq=False, repr=False)
class GroupMetrics:
    """Capacity of one Auto Scaling group, and the release handler's verdicts about its members.

    Attributes:
        auto_scaling_group_name: of the group; may be a token.
    """

    auto_scaling_group_name: str

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

    def _of_group(
        self, name: str, title: str, period: Duration | None, statistic: str, label: str | None
    ) -> cloudwatch.Metric:
        every = Duration.seconds(MINUTE_SECONDS) if period is None else checked_period(name, period, MINUTE_SECONDS)
        owner = {names.GROUP: self.auto_scaling_group_name}
        return series(_GROUP_NAMESPACE, name, owner, every, statistic, title if label is None else label)

    def _of_pass(
        self, name: str, title: str, period: Duration | None, statistic: str, label: str | None
    ) -> cloudwatch.Metric:
        seconds = _RELEASE_INTERVAL_SECONDS
        every = Duration.seconds(seconds) if period is None else checked_period(name, period, MINUTE_SECONDS)
        owner = {names.GROUP: self.auto_scaling_group_name}
        return series(names.NAMESPACE, name, owner, every, statistic, title if label is None else label)
