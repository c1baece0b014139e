"""From zero to what the waiting work needs."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from constructs_lib.handlers import GROUP_WILDCARD, HandlerFunction, ScheduleTrigger
from constructs_lib.scaling.demand import Demand
from constructs_lib.telemetry import positive_alarm


class WakeOnDemand(Construct):
    """Asks the demand once a minute and raises the group's desired capacity to what it needs, never lowering it.

    A scaling policy cannot do this: an exact-capacity step lowers the group while work still runs, a step that adds
    starts twice what is needed while the group's own metric lags, and both wait for a metric that sleeps.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.IAutoScalingGroup,
        demand: Demand,
        alarm_action: cloudwatch.IAlarmAction,
    ) -> None:
        super().__init__(scope, id)
        self._handler = self._build_handler(auto_scaling_group, demand)
        ScheduleTrigger(self, "EveryMinute", function=self.function, minutes=1)
        self._build_stopped_alarm(demand, alarm_action)

    @property
    def function(self) -> lambda_.Function:
        """The wake function."""
        return self._handler.function

    def _build_handler(self, group: autoscaling.IAutoScalingGroup, demand: Demand) -> HandlerFunction:
        return HandlerFunction(
            self,
            "Handler",
            handler="wake_on_demand",
            description="Raises an accelerated fleet's capacity to what waiting work needs",
            environment={"AUTO_SCALING_GROUP_NAME": group.auto_scaling_group_name, **demand.settings()},
            statements=[
                *demand.statements(),
                iam.PolicyStatement(actions=["autoscaling:DescribeAutoScalingGroups"], resources=["*"]),
                iam.PolicyStatement(
                    actions=["autoscaling:SetDesiredCapacity"], resources=[group.auto_scaling_group_arn]
                ),
            ],
            wildcards={
                "*": "DescribeAutoScalingGroups cannot be limited to one group.",
                **demand.wildcards(),
                group.auto_scaling_group_arn: GROUP_WILDCARD,
            },
            timeout_seconds=50,
        )

    def _build_stopped_alarm(self, demand: Demand, alarm_action: cloudwatch.IAlarmAction) -> cloudwatch.Alarm:
        """Runs fail, or work waits and nothing runs at all: a disabled rule raises no error.

        A missing side of an expression reads as 0. While runs succeed the result is far below 0; when all fail it is
        far above; when there are none, the waiting work alone remains.
        """
        every = Duration.minutes(1)
        return positive_alarm(
            self,
            "StoppedAlarm",
            description="Work may be waiting: the wake function fails or does not run, see its log and its rule.",
            metric=cloudwatch.MathExpression(
                expression="waiting - 1000000 * (runs - 2 * errors)",
                using_metrics={
                    "waiting": demand.metric_waiting(every),
                    "runs": self.function.metric_invocations(period=every, statistic="Sum"),
                    "errors": self.function.metric_errors(period=every, statistic="Sum"),
                },
                label="above 0: runs fail, or work waits and there are none",
                period=every,
            ),
            periods=7,
            datapoints=5,
            action=alarm_action,
        )
