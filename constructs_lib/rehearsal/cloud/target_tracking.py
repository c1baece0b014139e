"""Target tracking: the two alarms that such a policy makes for itself, and the capacity that it asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.resolving import is_true
from constructs_lib.validation import complaint

Side = Literal["High", "Low"]
KIND = "TargetTrackingScaling"

_HIGH_PERIODS = 3
_LOW_PERIODS = 15
_LOW_SHARE = 0.9
"""Alarm when above the target for 3 minutes, or for 15 minutes below 90 % of it."""
_DEFAULT_PERIOD = 60
_AVERAGE_CPU = "ASGAverageCPUUtilization"


def alarm_name(policy: str, side: Side) -> str:
    """Return the name of an alarm of a policy."""
    return f"TargetTracking-{policy}-Alarm{side}"


def target_of(policy: str, side: Side) -> str:
    """Return the action of that alarm."""
    return f"{policy}/Alarm{side}"


def tracking_alarms(policy: str, properties: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the alarms of a policy, as ``AWS::CloudWatch::Alarm`` properties by name.

    Raises:
        ArgumentError: the policy tracks a metric that is not simulated.
    """
    configuration = properties["TargetTrackingConfiguration"]
    target = float(configuration["TargetValue"])
    watched = _watched(policy, properties)
    common = {**watched, "TreatMissingData": "missing"}
    high = {
        **common,
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": target,
        "EvaluationPeriods": _HIGH_PERIODS,
        "AlarmActions": [target_of(policy, "High")],
    }
    low = {
        **common,
        "ComparisonOperator": "LessThanThreshold",
        "Threshold": _LOW_SHARE * target,
        "EvaluationPeriods": _LOW_PERIODS,
        "AlarmActions": [target_of(policy, "Low")],
    }
    if may_scale_in(properties):
        return {alarm_name(policy, "High"): high, alarm_name(policy, "Low"): low}
    return {alarm_name(policy, "High"): high}


def may_scale_in(properties: Mapping[str, Any]) -> bool:
    """Return whether a policy, by its properties, may lower the capacity."""
    return not is_true(properties["TargetTrackingConfiguration"].get("DisableScaleIn", False))


def tracked_capacity(capacity: int, metric: float, target: float) -> int:
    """Return the capacity that would bring the metric to its target, if each instance takes an even share of it."""
    return math.ceil(round(capacity * metric / target, 9))


def _watched(policy: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    configuration = properties["TargetTrackingConfiguration"]
    if "CustomizedMetricSpecification" not in configuration:
        return _predefined(policy, properties["AutoScalingGroupName"], configuration["PredefinedMetricSpecification"])
    custom = configuration["CustomizedMetricSpecification"]
    if "Metrics" in custom:
        return {"Metrics": [_query(each) for each in custom["Metrics"]]}
    metric = {key: custom[key] for key in ("Namespace", "MetricName", "Dimensions") if key in custom}
    return {**metric, "Statistic": custom["Statistic"], "Period": int(custom.get("Period", _DEFAULT_PERIOD))}


def _predefined(policy: str, group: str, specification: Mapping[str, Any]) -> dict[str, Any]:
    kind = specification["PredefinedMetricType"]
    if kind != _AVERAGE_CPU:
        rule, cure = "track a metric that is simulated", "track one of the fleet, of its queue or of its group instead"
        raise ArgumentError(complaint(policy, "PredefinedMetricSpecification", rule, kind, cure))
    return {
        "Namespace": "AWS/EC2",
        "MetricName": "CPUUtilization",
        "Dimensions": [{"Name": "AutoScalingGroupName", "Value": group}],
        "Statistic": "Average",
        "Period": _DEFAULT_PERIOD,
    }


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    if "MetricStat" not in query:
        return dict(query)
    return {**query, "MetricStat": {"Period": _DEFAULT_PERIOD, **query["MetricStat"]}}
