"""Idle to zero: the trigger, the steady schedule and the handler that judges each instance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from constructs_lib.handlers import GROUP_WILDCARD, FunctionAction, HandlerFunction, ScheduleTrigger
from constructs_lib.release.alarms import idle_alarm, no_pass_alarm, stalled_work_alarm, unknown_members_alarm
from constructs_lib.release.policy import IdlePolicy, IdleSignal
from constructs_lib.release.signals import signal_settings
from constructs_lib.scaling import Demand
from constructs_lib.telemetry import FleetMetrics, names

_INTERVAL_MINUTES = 5


class ScaleInProtection(Enum):
    """What an instance's scale-in protection means to the release handler."""

    HOLD = "hold"
    """Somebody asked for this instance to be kept."""

    IGNORE = "ignore"
    """The group protects every instance, so that nothing but the handler can choose a victim."""


class ReleaseLoop(Construct):
    """The one thing that lowers a group's capacity because of idleness.

    The idle alarm and a schedule both invoke the handler, and neither is trusted: an alarm invokes a function once per
    change and never again, and it speaks of the group, while the handler judges each instance from fresh readings.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.IAutoScalingGroup,
        metrics: FleetMetrics,
        policy: IdlePolicy,
        signals: Sequence[IdleSignal],
        doubt: Mapping[str, object],
        protection: ScaleInProtection,
        demand: Demand | None,
        alarm_action: cloudwatch.IAlarmAction,
    ) -> None:
        super().__init__(scope, id)
        asked = signal_settings(policy, signals, metrics.kind, doubt)
        environment = {
            **_environment(auto_scaling_group, policy, protection, demand),
            "SIGNALS": json.dumps(asked, separators=(",", ":")),
            "WATCH_SESSIONS": "true" if IdleSignal.SESSIONS in signals else "false",
        }
        statements = _statements(auto_scaling_group, signals, demand, protection)
        self._handler = self._build_handler(auto_scaling_group, environment, statements)
        ScheduleTrigger(self, "Steady", function=self.function, minutes=_INTERVAL_MINUTES)
        self.idle_alarm = self._build_trigger(metrics, policy)
        unknown_members_alarm(self, "UnknownAlarm", metrics, alarm_action)
        no_pass_alarm(self, "NoPassAlarm", metrics, self.function, alarm_action)
        if demand is not None:
            stalled_work_alarm(self, "StalledWorkAlarm", metrics, alarm_action)

    @property
    def function(self) -> lambda_.Function:
        """The release function."""
        return self._handler.function

    def _build_handler(
        self,
        group: autoscaling.IAutoScalingGroup,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
    ) -> HandlerFunction:
        return HandlerFunction(
            self,
            "Handler",
            handler="release_idle",
            description="Releases the idle instances of an accelerated group, one verdict per instance",
            environment=environment,
            statements=statements,
            wildcards={
                "*": "These calls only read, and IAM cannot limit any of them to one group or its instances.",
                group.auto_scaling_group_arn: GROUP_WILDCARD,
            },
            # A pass that has not ended when the next one starts would act beside it.
            timeout_seconds=_INTERVAL_MINUTES * 60,
            max_event_age_seconds=_INTERVAL_MINUTES * 60,
        )

    def _build_trigger(self, metrics: FleetMetrics, policy: IdlePolicy) -> cloudwatch.Alarm:
        alarm = idle_alarm(self, "IdleAlarm", metrics, policy)
        alarm.add_alarm_action(FunctionAction(self.function))
        lambda_.CfnPermission(
            self,
            "IdleAlarmPermission",
            action="lambda:InvokeFunction",
            function_name=self.function.function_arn,
            principal="lambda.alarms.cloudwatch.amazonaws.com",
            source_arn=alarm.alarm_arn,
        )
        return alarm


def _environment(
    group: autoscaling.IAutoScalingGroup,
    policy: IdlePolicy,
    protection: ScaleInProtection,
    demand: Demand | None,
) -> Mapping[str, str]:
    return {
        "AUTO_SCALING_GROUP_NAME": group.auto_scaling_group_name,
        "METRIC_NAMESPACE": names.NAMESPACE,
        "METRIC_PERIOD_SECONDS": str(names.PERIOD_SECONDS),
        "WINDOW_SECONDS": str(policy.window_seconds),
        "WARM_UP_SECONDS": str(policy.warm_up_seconds),
        "MAX_RELEASE_SHARE": str(policy.max_release_share),
        "HOLD_TAG_KEY": names.HOLD_TAG,
        "SCALE_IN_PROTECTION": protection.value,
        **({} if demand is None else demand.settings()),
    }


def _statements(
    group: autoscaling.IAutoScalingGroup,
    signals: Sequence[IdleSignal],
    demand: Demand | None,
    protection: ScaleInProtection,
) -> list[iam.PolicyStatement]:
    reads = ["autoscaling:DescribeAutoScalingGroups", "cloudwatch:GetMetricData", "ec2:DescribeInstances"]
    if IdleSignal.SESSIONS in signals:
        reads.append("ssm:DescribeSessions")
    changes = ["autoscaling:TerminateInstanceInAutoScalingGroup"]
    if demand is not None:
        # Capacity that AWS never delivered is withdrawn once no work needs it.
        changes.append("autoscaling:SetDesiredCapacity")
    if protection is ScaleInProtection.HOLD:
        # Members that are not protected must not be moved between zones because others were released.
        changes.append("autoscaling:SuspendProcesses")
    return [
        iam.PolicyStatement(actions=reads, resources=["*"]),
        iam.PolicyStatement(actions=changes, resources=[group.auto_scaling_group_arn]),
        *(() if demand is None else demand.statements()),
    ]
