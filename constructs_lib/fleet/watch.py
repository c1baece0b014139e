"""What a person must hear of: capacity without readings or in part broken, or that does not come, failed launches."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_sns as sns
from constructs import Construct

from constructs_lib.release import OF_ACCELERATORS, IdleSignal
from constructs_lib.telemetry import FleetMetrics, positive_alarm

_SHORTEST_GAP_MINUTES = 10
_DEGRADED_MINUTES = 10
_SHORTFALL_MINUTES = 15
# The group's own metrics arrive one or two minutes late; an alarm that wanted the newest minutes too might never have
# them.
_LATE_MINUTES = 2


def telemetry_gap_alarm(
    scope: Construct,
    id: str,
    metrics: FleetMetrics,
    signals: Sequence[IdleSignal],
    *,
    warm_up_seconds: int,
    alarm_action: cloudwatch.IAlarmAction,
) -> cloudwatch.Alarm:
    """There is capacity, but no accelerator has reported for 10 minutes, or for the warm-up if that is longer.

    In metric math a missing side of a subtraction reads as 0, so a silent group yields its capacity, which is above
    zero, while one sample an instance and minute brings the result to zero or below. FILL would harm: it has a value
    also for the minute of which nothing is known yet, and that value would be "all is well". The alarm watches what the
    idle alarm cannot see: silence that the release handler rightly keeps may be a broken driver that bills for days.
    """
    minutes = max(_SHORTEST_GAP_MINUTES, warm_up_seconds // 60)
    return positive_alarm(
        scope,
        id,
        description="Instances are in service but no accelerator reports: driver, agent or permissions.",
        metric=cloudwatch.MathExpression(
            expression="in_service - samples",
            using_metrics={
                "in_service": metrics.in_service_instances(),
                "samples": _samples(metrics, signals),
            },
            label="instances in service less accelerator samples",
            period=Duration.minutes(1),
        ),
        periods=minutes + _LATE_MINUTES,
        datapoints=minutes,
        action=alarm_action,
    )


def _samples(metrics: FleetMetrics, signals: Sequence[IdleSignal]) -> cloudwatch.Metric:
    """How often the figure came that the policy looks at: of use there is none where nobody can read it."""
    watched = next(each for each in OF_ACCELERATORS if each in signals)
    if watched is IdleSignal.MEMORY:
        return metrics.accelerator_memory(statistic="SampleCount")
    if watched is IdleSignal.POWER:
        return metrics.accelerator_power(statistic="SampleCount")
    if watched is IdleSignal.IDLE_SECONDS:
        return metrics.idle_time(statistic="SampleCount")
    return metrics.accelerator_samples()


def degraded_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, *, with_setup: bool, alarm_action: cloudwatch.IAlarmAction
) -> cloudwatch.Alarm:
    """For 10 minutes an instance has had fewer working accelerators than its type, or a setting that is not in force.

    It sees what the group's own figures hide: seven of eight accelerators report as often as eight of eight on other
    instances, and the rest bills on. What an instance does not publish reads as 0 in a sum; an instance that is silent
    altogether is *unknown* to the release handler, which has an alarm of its own.
    """
    missing = metrics.accelerators_missing()
    metric: cloudwatch.IMetric = missing
    if with_setup:
        metric = cloudwatch.MathExpression(
            expression="missing + failures",
            using_metrics={"missing": missing, "failures": metrics.setup_failures()},
            label="accelerators that do not answer, and settings that are not in force",
            period=Duration.minutes(1),
        )
    return positive_alarm(
        scope,
        id,
        description=(
            "Accelerators of an instance do not answer, or a setting of it is not in force: see its journal and "
            "`accelerated-node status`."
        ),
        metric=metric,
        periods=_DEGRADED_MINUTES + _LATE_MINUTES,
        datapoints=_DEGRADED_MINUTES,
        action=alarm_action,
    )


def capacity_shortfall_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, *, alarm_action: cloudwatch.IAlarmAction
) -> cloudwatch.Alarm:
    """For 15 minutes fewer instances have been in service than wanted: no quota, no capacity, or a boot that fails."""
    return positive_alarm(
        scope,
        id,
        description="Fewer instances are in service than wanted: see the group's activity history for the cause.",
        metric=cloudwatch.MathExpression(
            expression="desired - in_service",
            using_metrics={
                "desired": metrics.desired_capacity(),
                "in_service": metrics.in_service_instances(),
            },
            label="instances wanted less instances in service",
            period=Duration.minutes(1),
        ),
        periods=_SHORTFALL_MINUTES + _LATE_MINUTES,
        datapoints=_SHORTFALL_MINUTES,
        action=alarm_action,
    )


def launch_failure_rule(
    scope: Construct, id: str, *, auto_scaling_group_name: str, notifications: sns.ITopic
) -> events.CfnRule:
    """Each failed launch of this group reaches the topic, with EC2's own words for the cause and the zone."""
    return events.CfnRule(
        scope,
        id,
        description="Failed launches of an accelerated fleet",
        event_pattern={
            "source": ["aws.autoscaling"],
            "detail-type": ["EC2 Instance Launch Unsuccessful"],
            "detail": {"AutoScalingGroupName": [auto_scaling_group_name]},
        },
        state="ENABLED",
        targets=[
            events.CfnRule.TargetProperty(
                id="Notifications",
                arn=notifications.topic_arn,
                input_transformer=events.CfnRule.InputTransformerProperty(
                    input_paths_map={
                        "group": "$.detail.AutoScalingGroupName",
                        "message": "$.detail.StatusMessage",
                        "cause": "$.detail.Cause",
                        "details": "$.detail.Details",
                    },
                    input_template=(
                        '"A launch in <group> failed: <message>"\n"Cause: <cause>"\n"Where: <details>"\n'
                        '"VcpuLimitExceeded: ask for more quota. InsufficientInstanceCapacity, UnfulfillableCapacity: '
                        'add instance types or zones. MaxSpotInstanceCountExceeded: ask for more Spot quota."'
                    ),
                ),
            )
        ],
    )
