"""From zero to what the waiting work needs."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge_wildcard
from constructs_lib.handlers import HandlerFunction, ScheduleTrigger
from constructs_lib.notifications import AlarmAction
from constructs_lib.scaling.demand import Demand

_INTERVAL = Duration.minutes(1)


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
        notifications: sns.ITopic,
    ) -> None:
        super().__init__(scope, id)
        self._handler = self._build_handler(auto_scaling_group, demand)
        ScheduleTrigger(self, "EveryMinute", function=self.function, interval=_INTERVAL)
        self.errors_alarm = self._build_errors_alarm(notifications)

    @property
    def function(self) -> lambda_.Function:
        """The wake function."""
        return self._handler.function

    def _build_handler(self, group: autoscaling.IAutoScalingGroup, demand: Demand) -> HandlerFunction:
        handler = HandlerFunction(
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
            timeout=Duration.seconds(50),
        )
        acknowledge_wildcard(handler.role, "*", "DescribeAutoScalingGroups cannot be limited to one group.")
        acknowledge_wildcard(
            handler.role,
            group.auto_scaling_group_arn,
            "The wildcard stands for the group's UUID, unknown to CloudFormation; the name after it is exact.",
        )
        return handler

    def _build_errors_alarm(self, notifications: sns.ITopic) -> cloudwatch.Alarm:
        alarm = cloudwatch.Alarm(
            self,
            "ErrorsAlarm",
            alarm_description="Work may be waiting: the wake function fails, see its log.",
            metric=self.function.metric_errors(period=Duration.minutes(1), statistic="Sum"),
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            threshold=1,
            evaluation_periods=5,
            datapoints_to_alarm=3,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(AlarmAction(notifications.topic_arn))
        return alarm
