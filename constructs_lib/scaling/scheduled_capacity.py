"""A fleet's sizes by the clock."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from constructs_lib.errors import ArgumentError
from constructs_lib.handlers import GROUP_WILDCARD, HandlerFunction, ScheduleTrigger
from constructs_lib.scaling.schedule import FleetSchedule
from constructs_lib.scaling.sizes import known_maximum, sizes_in_template
from constructs_lib.telemetry import positive_alarm
from constructs_lib.telemetry.group_metrics import GroupMetrics
from constructs_lib.validation import complaint


class ScheduledCapacity(Construct):
    """Works out once a minute what the group's sizes should be by its schedule, and makes them so.

    The group's own scheduled actions cannot do this. Each sets, at one instant, sizes that were written down at deploy:
    it saves none, so it cannot give back what was there, and knows no days off. What a deploy changes after it stays
    so until the next action: a fleet that is updated in the night runs until morning. An action that is due while the
    process is suspended is never made up for, and nothing notices. A function that looks every minute needs no event
    to arrive: it finds whatever was missed or broken off, and completes it.

    The sizes are in a parameter before they are changed in the group, and count as given back when the group shows
    them. So a run may end anywhere. Group and parameter are all that it reads: a tick that is late, repeated or lost
    changes nothing.

    Nobody else undoes this. The function that wakes for waiting work goes no higher than the maximum, which is 0 in a
    pause; the release function finds the instances that are still there in surplus, and ends those that are idle.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.IAutoScalingGroup,
        schedule: FleetSchedule,
        alarm_action: cloudwatch.IAlarmAction,
    ) -> None:
        """
        Args:
            auto_scaling_group: it must protect new instances from scale-in; else nothing is paused, and the alarm says
                so.
            schedule: when it is open and woken.
            alarm_action: what happens when the function fails or does not run.

        Raises:
            ArgumentError: a wake-up asks for more instances than the group may have.
        """
        super().__init__(scope, id)
        template = sizes_in_template(auto_scaling_group)
        _check_wake_ups(scope.node.path, schedule, auto_scaling_group)
        self._state = ssm.CfnParameter(self, "State", type="String", value="{}")
        self._handler = self._build_handler(auto_scaling_group, schedule, template)
        ScheduleTrigger(self, "EveryMinute", function=self.function, minutes=1)
        self._build_stopped_alarm(auto_scaling_group, alarm_action)

    @property
    def function(self) -> lambda_.Function:
        """The schedule function."""
        return self._handler.function

    def grant_pause(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow to pause and resume the fleet, which is to invoke the schedule function."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[self.function.function_arn]
        )

    def _build_handler(
        self, group: autoscaling.IAutoScalingGroup, schedule: FleetSchedule, template: Mapping[str, str]
    ) -> HandlerFunction:
        state = Stack.of(self).format_arn(service="ssm", resource="parameter", resource_name=self._state.ref)
        return HandlerFunction(
            self,
            "Handler",
            handler="fleet_schedule",
            description="Pauses an accelerated fleet outside its hours, opens it again, and wakes it ahead of need",
            environment={
                "AUTO_SCALING_GROUP_NAME": group.auto_scaling_group_name,
                "STATE_PARAMETER": self._state.ref,
                "SCHEDULE": schedule.settings(),
                **template,
            },
            statements=[
                iam.PolicyStatement(actions=["autoscaling:DescribeAutoScalingGroups"], resources=["*"]),
                iam.PolicyStatement(
                    actions=["autoscaling:SetDesiredCapacity", "autoscaling:UpdateAutoScalingGroup"],
                    resources=[group.auto_scaling_group_arn],
                ),
                iam.PolicyStatement(actions=["ssm:GetParameter", "ssm:PutParameter"], resources=[state]),
            ],
            wildcards={
                "*": "DescribeAutoScalingGroups cannot be limited to one group.",
                group.auto_scaling_group_arn: GROUP_WILDCARD,
            },
            timeout_seconds=50,
            # A person's word that comes late may not be their last.
            max_event_age_seconds=60,
        )

    def _build_stopped_alarm(
        self, group: autoscaling.IAutoScalingGroup, alarm_action: cloudwatch.IAlarmAction
    ) -> cloudwatch.Alarm:
        """Runs fail, or there are none: a disabled rule raises no error.

        A missing side of an expression reads as 0, and a number alone makes no point. The group's own metric, which is
        published also at 0, makes the one that remains when there are no runs; without it only failing runs are told.
        """
        every = Duration.minutes(1)
        return positive_alarm(
            self,
            "StoppedAlarm",
            description="A fleet may not follow its schedule: the function fails or does not run, see its log and rule",
            metric=cloudwatch.MathExpression(
                expression="(0 * desired + 1) - runs + 2 * errors",
                using_metrics={
                    "runs": self.function.metric_invocations(period=every, statistic="Sum"),
                    "errors": self.function.metric_errors(period=every, statistic="Sum"),
                    "desired": GroupMetrics(group.auto_scaling_group_name).desired_capacity(period=every),
                },
                label="above 0: runs fail, or there are none",
                period=every,
            ),
            periods=7,
            datapoints=5,
            action=alarm_action,
        )


def _check_wake_ups(where: str, schedule: FleetSchedule, group: autoscaling.IAutoScalingGroup) -> None:
    most = known_maximum(group)
    for wake_up in schedule.wake_ups or ():
        if most is not None and wake_up.instances > most:
            rule = f"not exceed max_capacity ({most})"
            cure = "raise max_capacity, or wake fewer"
            raise ArgumentError(complaint(where, "schedule.wake_ups.instances", rule, wake_up.instances, cure))
