"""The shapes of the resource properties that the rehearsal reads, by resource type; all else may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.rehearsal.value_shapes import (
    Shape,
    above_zero,
    an_object,
    anything,
    entries,
    entries_of,
    having,
    list_of,
    name,
    number,
    one_of,
    one_or_list_of,
    refused,
    text,
    truth,
    whole,
)
from constructs_lib.template.loops import LOOP

_TEXTS = list_of(text)
_DIMENSIONS = list_of(entries(Name=text, Value=text))
_METRIC = entries(Namespace=text, MetricName=text, Dimensions=_DIMENSIONS)
_QUERIES = list_of(
    entries(
        Id=text,
        Expression=text,
        ReturnData=truth,
        MetricStat=entries(Metric=_METRIC, Stat=text, Period=whole(1)),
    )
)
_ACTIONS: dict[str, Shape] = {
    "ActionsEnabled": truth,
    "AlarmActions": _TEXTS,
    "OKActions": _TEXTS,
    "InsufficientDataActions": _TEXTS,
    "AlarmName": text,
}
_TAGS = list_of(entries(Key=text, Value=text))
_REQUIREMENTS = entries(AllowedInstanceTypes=list_of(name))
_LAUNCH: dict[str, Shape] = {
    "InstanceType": name,
    "InstanceMarketOptions": entries(MarketType=text),
    "InstanceRequirements": _REQUIREMENTS,
    "Monitoring": entries(Enabled=truth),
    "TagSpecifications": list_of(entries(ResourceType=text, Tags=_TAGS)),
    "UserData": text,
}
_LAUNCH_TEMPLATE = entries(LaunchTemplateId=text, LaunchTemplateName=text)
_HOOK: dict[str, Shape] = {
    "LifecycleHookName": text,
    "LifecycleTransition": text,
    "HeartbeatTimeout": whole(1),
    "DefaultResult": one_of("ABANDON", "CONTINUE"),
    "AutoScalingGroupName": text,
}
_POLICY_DOCUMENT = entries(Statement=one_or_list_of(entries(Effect=text, Action=one_or_list_of(text))))
_FUNCTION_NAME: dict[str, Shape] = {"FunctionName": text}


def _pattern(value: Any, where: str) -> Any:
    """A pattern of events: objects in objects, and lists in the end."""
    if isinstance(value, Mapping):
        return {name: _pattern(each, f"{where}.{name}") for name, each in value.items()}
    if not isinstance(value, list):
        raise refused(where, "be a list of what it may be", value)
    return value


SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "AWS::AutoScaling::AutoScalingGroup": {
        "AvailabilityZoneDistribution": entries(CapacityDistributionStrategy=text),
        "AvailabilityZoneImpairmentPolicy": entries(ZonalShiftEnabled=truth),
        "AvailabilityZones": one_or_list_of(text),
        "CapacityRebalance": truth,
        "Cooldown": whole(),
        "DefaultInstanceWarmup": whole(-1),
        "DesiredCapacity": whole(),
        "DesiredCapacityType": text,
        "InstanceLifecyclePolicy": entries(RetentionTriggers=entries(TerminateHookAbandon=text)),
        "InstanceMaintenancePolicy": entries(MinHealthyPercentage=whole(-1), MaxHealthyPercentage=whole(-1)),
        "LaunchConfigurationName": text,
        "LaunchTemplate": _LAUNCH_TEMPLATE,
        "LifecycleHookSpecificationList": list_of(entries(**_HOOK)),
        "MaxInstanceLifetime": whole(),
        "MaxSize": whole(),
        "MetricsCollection": list_of(entries(Metrics=_TEXTS)),
        "MinSize": whole(),
        "MixedInstancesPolicy": entries(
            LaunchTemplate=entries(
                LaunchTemplateSpecification=_LAUNCH_TEMPLATE,
                Overrides=list_of(
                    entries(InstanceType=name, InstanceRequirements=_REQUIREMENTS, WeightedCapacity=text)
                ),
            ),
            InstancesDistribution=entries(OnDemandBaseCapacity=whole(), OnDemandPercentageAboveBaseCapacity=whole()),
        ),
        "NewInstancesProtectedFromScaleIn": truth,
        "Tags": list_of(entries(Key=text, Value=text, PropagateAtLaunch=truth)),
        "VPCZoneIdentifier": one_or_list_of(text),
    },
    "AWS::AutoScaling::LaunchConfiguration": {**_LAUNCH, "InstanceMonitoring": truth, "LaunchConfigurationName": text},
    "AWS::AutoScaling::LifecycleHook": _HOOK,
    "AWS::AutoScaling::ScalingPolicy": {
        "AdjustmentType": one_of("ChangeInCapacity", "ExactCapacity", "PercentChangeInCapacity"),
        "AutoScalingGroupName": text,
        "Cooldown": whole(),
        "EstimatedInstanceWarmup": whole(),
        "MetricAggregationType": one_of("Average", "Maximum", "Minimum"),
        "MinAdjustmentMagnitude": whole(),
        "MinAdjustmentStep": whole(),
        "PolicyType": text,
        "PredictiveScalingConfiguration": entries(Mode=text),
        "ScalingAdjustment": whole(None),
        "StepAdjustments": list_of(
            having(
                entries(
                    ScalingAdjustment=whole(None), MetricIntervalLowerBound=number, MetricIntervalUpperBound=number
                ),
                "ScalingAdjustment",
            )
        ),
        "TargetTrackingConfiguration": entries(
            TargetValue=above_zero,
            DisableScaleIn=truth,
            PredefinedMetricSpecification=entries(PredefinedMetricType=text),
            CustomizedMetricSpecification=entries(
                Namespace=text,
                MetricName=text,
                Dimensions=_DIMENSIONS,
                Statistic=text,
                Period=whole(1),
                Metrics=_QUERIES,
            ),
        ),
    },
    "AWS::AutoScaling::ScheduledAction": {
        "AutoScalingGroupName": text,
        "DesiredCapacity": whole(-1),
        "EndTime": text,
        "MaxSize": whole(-1),
        "MinSize": whole(-1),
        "Recurrence": text,
        "StartTime": text,
        "TimeZone": text,
    },
    "AWS::AutoScaling::WarmPool": {
        "AutoScalingGroupName": text,
        "InstanceReusePolicy": entries(ReuseOnScaleIn=truth),
        "MaxGroupPreparedCapacity": whole(-1),
        "MinSize": whole(),
        "PoolState": text,
    },
    "AWS::CloudWatch::Alarm": {
        **_ACTIONS,
        "ComparisonOperator": text,
        "DatapointsToAlarm": whole(1),
        "Dimensions": _DIMENSIONS,
        "EvaluationPeriods": whole(1),
        "ExtendedStatistic": text,
        "MetricName": text,
        "Metrics": _QUERIES,
        "Namespace": text,
        "Period": whole(1),
        "Statistic": text,
        "Threshold": number,
        "TreatMissingData": text,
        "Unit": text,
    },
    "AWS::CloudWatch::CompositeAlarm": {
        **_ACTIONS,
        "ActionsSuppressor": text,
        "ActionsSuppressorExtensionPeriod": whole(),
        "ActionsSuppressorWaitPeriod": whole(),
        "AlarmRule": text,
    },
    "AWS::EC2::LaunchTemplate": {"LaunchTemplateName": text, "LaunchTemplateData": entries(**_LAUNCH)},
    "AWS::Events::Rule": {
        "EventPattern": _pattern,
        "ScheduleExpression": text,
        "State": text,
        "Targets": list_of(entries(Arn=text)),
    },
    "AWS::IAM::ManagedPolicy": {"PolicyDocument": _POLICY_DOCUMENT, "Roles": _TEXTS},
    "AWS::IAM::Policy": {"PolicyDocument": _POLICY_DOCUMENT, "Roles": _TEXTS},
    "AWS::IAM::Role": {"Policies": list_of(entries(PolicyDocument=_POLICY_DOCUMENT))},
    "AWS::Lambda::EventInvokeConfig": {
        **_FUNCTION_NAME,
        "MaximumEventAgeInSeconds": whole(60),
        "MaximumRetryAttempts": whole(),
    },
    "AWS::Lambda::Function": {
        "Environment": entries(Variables=entries_of(text)),
        "Handler": name,
        "Role": name,
        "Timeout": whole(1),
    },
    "AWS::Lambda::Permission": {**_FUNCTION_NAME, "SourceArn": text},
    "AWS::SSM::Parameter": {"Name": text, "Value": text},
    "AWS::Scheduler::Schedule": {
        "ScheduleExpression": text,
        "ScheduleExpressionTimezone": text,
        "State": text,
        "Target": entries(Arn=text, RoleArn=text),
    },
}

_SECTION = entries(
    measurement=list_of(anything),
    metrics_collection_interval=whole(1),
    drop_original_metrics=list_of(anything),
)
AGENT = entries(
    agent=entries(metrics_collection_interval=whole(1)),
    metrics=entries(
        namespace=text,
        append_dimensions=entries_of(text),
        aggregation_dimensions=list_of(_TEXTS),
        metrics_collected=entries(
            **dict.fromkeys(("nvidia_gpu", "cpu", "mem", "disk", "swap"), _SECTION),
            statsd=entries(metrics_aggregation_interval=whole(), service_address=text, drop_original_metrics=_TEXTS),
        ),
    ),
)
"""Of the configuration of a CloudWatch agent."""

NESTED: Mapping[str, Mapping[str, Shape]] = {"LaunchTemplateData": _LAUNCH}
"""Of properties whose entries are resolved one by one."""

CUSTOM: Mapping[str, Shape] = {"ServiceToken": text}
"""Of custom resources, whatever their type is called."""


def is_custom(kind: str) -> bool:
    """Return whether resources of a type are made by a function."""
    return kind.startswith("Custom::") or kind == "AWS::CloudFormation::CustomResource"


def check_body(body: Any) -> None:
    """Refuse what is no template: sections that are no objects, resources without a type.

    Raises:
        ArgumentError: it is none.
    """
    resources = an_object(an_object(body, "template").get("Resources"), "template.Resources")
    for section in ("Parameters", "Conditions", "Mappings"):
        an_object(body.get(section, {}), f"template.{section}")
    for logical_id, resource in resources.items():
        if logical_id.startswith(LOOP):
            raise refused(logical_id, "go over values that the template, or a parameter, tells", resource)
        kind = an_object(resource, f"{logical_id}.resource").get("Type")
        if not isinstance(kind, str):
            raise refused(f"{logical_id}.Type", "be the type of the resource", kind)
        if not isinstance(resource.get("Condition", ""), str):
            raise refused(f"{logical_id}.Condition", "name a condition", resource["Condition"])
        an_object(resource.get("Properties", {}), f"{logical_id}.Properties")
