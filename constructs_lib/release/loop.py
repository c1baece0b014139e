"""Idle to zero: the trigger, the steady schedule and the handler that judges each instance."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from constructs_lib.handlers import GROUP_WILDCARD, FunctionAction, HandlerFunction, ScheduleTrigger
from constructs_lib.release.alarms import idle_alarm, no_pass_alarm, stalled_work_alarm, unknown_members_alarm
from constructs_lib.release.handler_settings import ReleaseSettings, any_instance

_INTERVAL_MINUTES = 5

RELEASED_BY = "released-by"
"""What a group carries of whoever releases its instances; see ``constructs_lib.claims``."""


class ReleaseLoop(Construct):
    """The one thing that lowers a group's capacity because of idleness.

    The idle alarm and a schedule both invoke the handler, and neither is trusted: an alarm invokes a function once per
    change and never again, and it speaks of the group, while the handler judges each instance from fresh readings. A
    termination that waits for its hook invokes it too, so that one of a machine that is gone does not wait in vain.

    What must outlive a pass lies in a parameter: which pass acts, what it was about to end, when launches were stopped.
    """

    def __init__(
        self, scope: Construct, id: str, settings: ReleaseSettings, *, alarm_action: cloudwatch.IAlarmAction
    ) -> None:
        super().__init__(scope, id)
        self._settings = settings
        self._owner = scope.node.path
        self._handler = self._build_handler(ssm.CfnParameter(self, "State", type="String", value="{}"))
        self._build_rule()
        self.idle_alarm = self._build_trigger()
        metrics = settings.metrics
        unknown_members_alarm(self, "UnknownAlarm", metrics, alarm_action)
        no_pass_alarm(self, "NoPassAlarm", metrics, self.function, alarm_action)
        if settings.demand is not None and settings.demand.keeps_instances:
            stalled_work_alarm(self, "StalledWorkAlarm", metrics, alarm_action)

    @property
    def function(self) -> lambda_.Function:
        """The release function."""
        return self._handler.function

    def _build_handler(self, state: ssm.CfnParameter) -> HandlerFunction:
        settings = self._settings
        wildcards = {
            "*": "These calls only read, and IAM cannot limit any of them to one group or its instances.",
            settings.auto_scaling_group.auto_scaling_group_arn: GROUP_WILDCARD,
        }
        if settings.policy.max_unknown is not None:
            wildcards[any_instance(self)] = (
                "A tag that only members have limits the calls, and its own tag their effect."
            )
        return HandlerFunction(
            self,
            "Handler",
            handler="release_idle",
            description="Releases the idle instances of an accelerated group, one verdict per instance",
            environment=settings.environment(self._owner, state),
            statements=settings.statements(self, state),
            wildcards=wildcards,
            # A pass that has not ended when the next one starts would keep that one from acting.
            timeout_seconds=_INTERVAL_MINUTES * 60,
            max_event_age_seconds=_INTERVAL_MINUTES * 60,
        )

    def _build_rule(self) -> None:
        pattern = None
        if self._settings.drain_hook is not None:
            pattern = {
                "source": ["aws.autoscaling"],
                "detail-type": ["EC2 Instance-terminate Lifecycle Action"],
                "detail": {"AutoScalingGroupName": [self._settings.auto_scaling_group.auto_scaling_group_name]},
            }
        ScheduleTrigger(self, "Steady", function=self.function, minutes=_INTERVAL_MINUTES, pattern=pattern)

    def _build_trigger(self) -> cloudwatch.Alarm:
        settings = self._settings
        alarm = idle_alarm(self, "IdleAlarm", settings.metrics, settings.policy, settings.signals)
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
