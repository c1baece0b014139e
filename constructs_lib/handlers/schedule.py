"""A function invoked at a steady interval."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class ScheduleTrigger(Construct):
    """An EventBridge rule that invokes ``function`` every ``interval`` and may invoke nothing else.

    A rule fires within seconds of its minute, where EventBridge Scheduler has a precision of one minute, so two of its
    runs can be almost two minutes apart.
    """

    def __init__(self, scope: Construct, id: str, *, function: lambda_.Function, interval: Duration) -> None:
        super().__init__(scope, id)
        self.rule = events.CfnRule(
            self,
            "Rule",
            schedule_expression=events.Schedule.rate(interval).expression_string,
            state="ENABLED",
            targets=[events.CfnRule.TargetProperty(id="Handler", arn=function.function_arn)],
        )
        lambda_.CfnPermission(
            self,
            "Permission",
            action="lambda:InvokeFunction",
            function_name=function.function_arn,
            principal="events.amazonaws.com",
            source_arn=self.rule.attr_arn,
        )
