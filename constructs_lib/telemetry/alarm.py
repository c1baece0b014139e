"""An alarm that a person hears of."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct


def positive_alarm(
    scope: Construct,
    id: str,
    *,
    description: str,
    metric: cloudwatch.IMetric,
    periods: int,
    datapoints: int,
    action: cloudwatch.IAlarmAction,
) -> cloudwatch.Alarm:
    """Tells when what should be zero has been above it for ``datapoints`` of the last ``periods`` periods.

    A gap counts as fine: the other treatments of missing data can alarm on one stale point, or never leave the alarm.
    Where silence is the fault, the metric itself has to be positive in it.
    """
    alarm = cloudwatch.Alarm(
        scope,
        id,
        alarm_description=description,
        metric=metric,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold=0,
        evaluation_periods=periods,
        datapoints_to_alarm=datapoints,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    alarm.add_alarm_action(action)
    return alarm
