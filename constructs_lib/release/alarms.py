"""The alarms around the release of idle instances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from constructs_lib.release.idle_signal import OF_ACCELERATORS, IdleSignal
from constructs_lib.release.policy import IdlePolicy
from constructs_lib.telemetry import FleetMetrics, positive_alarm

_COARSE_PERIOD = 300
_FINE_PERIOD = 60


def alarm_periods(window_seconds: int) -> tuple[int, int]:
    """Split an idle window into (period in seconds, number of periods) whose product is exactly the window.

    Five-minute periods bridge a sample that comes a few seconds late; a window too short for three of them, or not a
    multiple of five minutes, is judged minute by minute.
    """
    coarse = window_seconds % _COARSE_PERIOD == 0 and window_seconds >= 3 * _COARSE_PERIOD
    period = _COARSE_PERIOD if coarse else _FINE_PERIOD
    return period, window_seconds // period


def idle_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, policy: IdlePolicy, signals: Sequence[IdleSignal]
) -> cloudwatch.Alarm:
    """The accelerator that is most in use stayed below the threshold for the window, an adaptive policy's shortest.

    It watches the first signal of the policy that looks at accelerators; the handler asks for all of them.

    Two ways in which nothing looks like idleness are closed. An empty group has no utilisation: the expression yields
    100 for it (more if the threshold is higher), so the alarm is at rest and can change again. A silent group has none
    either: the utilisation stands in the *last* branch of IF, where a gap drops the point; as the middle branch, or as
    a side of a comparison, a gap would read as 0. A dropped point counts as busy (NOT_BREACHING). See "Using math
    expressions with CloudWatch metrics", section on missing data, and "Configuring how CloudWatch alarms treat missing
    data".
    """
    watched = next(each for each in OF_ACCELERATORS if each in signals)
    if watched is IdleSignal.IDLE_SECONDS:
        return _idle_time_alarm(scope, id, metrics, policy)
    period, count = alarm_periods(policy.alarm_seconds)
    every = Duration.seconds(period)
    busiest, threshold = _busiest(watched, metrics, policy, every)
    # Written out: of a rounded figure, or one with an exponent, nobody knows that it is above the threshold.
    busy = math.ceil(max(100.0, threshold))
    return _trigger(
        scope,
        id,
        expression=f"IF(in_service < 1, {busy}, busiest)",
        using_metrics={"in_service": _in_service(metrics, every), "busiest": busiest},
        label=f"use of the busiest accelerator, {busy} while the group is empty",
        every=every,
        operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold=threshold,
        periods=count,
    )


def _busiest(
    watched: IdleSignal, metrics: FleetMetrics, policy: IdlePolicy, every: Duration
) -> tuple[cloudwatch.Metric, float]:
    """The highest figure of any accelerator of the group, and below which it is idle."""
    if watched is IdleSignal.MEMORY:
        assert policy.threshold_memory_mib is not None
        return metrics.accelerator_memory(period=every, statistic="Maximum"), policy.threshold_memory_mib
    if watched is IdleSignal.POWER:
        assert policy.threshold_power_watts is not None
        return metrics.accelerator_power(period=every, statistic="Maximum"), policy.threshold_power_watts
    return metrics.busiest_accelerator(period=every), policy.threshold(metrics.kind)


def _idle_time_alarm(scope: Construct, id: str, metrics: FleetMetrics, policy: IdlePolicy) -> cloudwatch.Alarm:
    """The instances count their idle time themselves: the one that was used last has reached the window."""
    every = Duration.seconds(_FINE_PERIOD)
    return _trigger(
        scope,
        id,
        expression="IF(in_service < 1, 0, idle)",
        using_metrics={"in_service": _in_service(metrics, every), "idle": metrics.idle_time(period=every)},
        label="time since any instance was in use, 0 while the group is empty",
        every=every,
        operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        threshold=policy.alarm_seconds,
        periods=1,
    )


def _in_service(metrics: FleetMetrics, every: Duration) -> cloudwatch.Metric:
    return metrics.in_service_instances(period=every, statistic="Minimum")


def _trigger(
    scope: Construct,
    id: str,
    *,
    expression: str,
    using_metrics: Mapping[str, cloudwatch.IMetric],
    label: str,
    every: Duration,
    operator: cloudwatch.ComparisonOperator,
    threshold: float,
    periods: int,
) -> cloudwatch.Alarm:
    return cloudwatch.Alarm(
        scope,
        id,
        alarm_description="Every accelerator of the group has been idle for the whole window.",
        metric=cloudwatch.MathExpression(
            expression=expression, using_metrics=dict(using_metrics), label=label, period=every
        ),
        comparison_operator=operator,
        threshold=threshold,
        evaluation_periods=periods,
        datapoints_to_alarm=periods,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )


def unknown_members_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, action: cloudwatch.IAlarmAction
) -> cloudwatch.Alarm:
    """For 15 minutes an instance could not be judged, or was left behind by a failed hook: it bills, and is kept."""
    return positive_alarm(
        scope,
        id,
        description=(
            "Instances that nobody can tell idle from busy, or that a failed hook has left behind, are kept: see the "
            "release function's log."
        ),
        metric=cloudwatch.MathExpression(
            expression="unknown + retained",
            using_metrics={
                "unknown": metrics.members_unknown(statistic="Minimum"),
                "retained": metrics.members_retained(statistic="Minimum"),
            },
            label="instances unknown, and instances left behind",
            period=Duration.minutes(5),
        ),
        periods=3,
        datapoints=3,
        action=action,
    )


def stalled_work_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, action: cloudwatch.IAlarmAction
) -> cloudwatch.Alarm:
    """For half an hour instances have been idle although work waits for them or is said to be in flight."""
    return positive_alarm(
        scope,
        id,
        description=(
            "Instances idle although there are more messages than instances at work: the worker takes no jobs, a job "
            "can never be done (is there a dead-letter queue?), something else reads the queue, or one instance has "
            "several long jobs."
        ),
        metric=metrics.members_idle_despite_work(statistic="Minimum"),
        periods=6,
        datapoints=6,
        action=action,
    )


def no_pass_alarm(
    scope: Construct, id: str, metrics: FleetMetrics, function: lambda_.Function, action: cloudwatch.IAlarmAction
) -> cloudwatch.Alarm:
    """For 15 minutes no pass has succeeded although instances are in service, or passes have failed.

    A function that is not invoked at all (a disabled rule, an account without concurrency left) raises no error and
    writes no metric, so the alarm counts what is there instead: a missing side of an expression reads as 0, and then
    the instances in service alone remain. Each pass over a group that is not empty writes ``MembersBusy`` once.
    """
    every = Duration.minutes(5)
    return positive_alarm(
        scope,
        id,
        description="Idle accelerators may be billing: no release pass succeeds, see the function and its rule.",
        metric=cloudwatch.MathExpression(
            expression="in_service - 1000000 * (passes - errors)",
            using_metrics={
                "in_service": metrics.in_service_instances(period=every),
                "passes": metrics.members_busy(statistic="SampleCount"),
                "errors": function.metric_errors(period=every, statistic="Sum"),
            },
            label="above 0: instances in service and no pass that succeeds",
            period=every,
        ),
        periods=4,
        datapoints=3,
        action=action,
    )
