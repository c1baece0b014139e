"""What invokes a function: a steady interval, or something that happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class RuleTrigger(Construct):
    """An EventBridge rule that invokes ``function`` and may invoke nothing else."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: lambda_.Function,
        schedule_expression: str | None = None,
        event_pattern: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.rule = events.CfnRule(
            self,
            "Rule",
            schedule_expression=schedule_expression,
            event_pattern=event_pattern,
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


class ScheduleTrigger(RuleTrigger):
    """Invokes ``function`` every so many minutes, and with each event that matches ``pattern``. Default: no event.

    A rule fires within seconds of its minute, where EventBridge Scheduler has a precision of one minute, so two of its
    runs can be almost two minutes apart.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: lambda_.Function,
        minutes: int,
        pattern: Mapping[str, Any] | None = None,
    ) -> None:
        rate = "rate(1 minute)" if minutes == 1 else f"rate({minutes} minutes)"
        super().__init__(scope, id, function=function, schedule_expression=rate, event_pattern=pattern)


class EventTrigger(RuleTrigger):
    """Invokes ``function`` with each event of the account's default bus that matches ``pattern``."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.Function, pattern: Mapping[str, Any]) -> None:
        super().__init__(scope, id, function=function, event_pattern=pattern)
