"""An alarm's way to a function."""

from __future__ import annotations

import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


@jsii.implements(cloudwatch.IAlarmAction)
class FunctionAction:
    """Invokes a function when the alarm goes off, and does nothing else.

    The CDK's own ``LambdaAction`` also adds the function's permission under a construct id that depends on a feature
    flag of the user's app; ours is added by the construct that owns the function, under an id that never changes.
    """

    def __init__(self, function: lambda_.IFunction) -> None:
        self._function = function

    def bind(self, scope: Construct, alarm: cloudwatch.IAlarm) -> cloudwatch.AlarmActionConfig:
        """Name the function, as the CDK asks."""
        return cloudwatch.AlarmActionConfig(alarm_action_arn=self._function.function_arn)
