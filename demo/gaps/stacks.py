"""CloudFormation: Auto Scaling groups with all their properties, and alarms on metric math."""

from __future__ import annotations

from typing import Any

from ministack.services import autoscaling as service
from ministack.services import ec2
from ministack.services.cloudformation import provisioners

from demo.gaps import capacity

Properties = dict[str, Any]

GROUP_PROPERTIES = frozenset(
    {
        "AutoScalingGroupName",
        "AvailabilityZones",
        "CapacityRebalance",
        "Cooldown",
        "DefaultInstanceWarmup",
        "DesiredCapacity",
        "HealthCheckGracePeriod",
        "HealthCheckType",
        "InstanceMaintenancePolicy",
        "LaunchTemplate",
        "LifecycleHookSpecificationList",
        "MaxSize",
        "MetricsCollection",
        "MinSize",
        "MixedInstancesPolicy",
        "NewInstancesProtectedFromScaleIn",
        "Tags",
        "TerminationPolicies",
        "VPCZoneIdentifier",
    }
)
# What a collection without names stands for, as far as the demo reports it.
_GROUP_METRICS = (
    "GroupMinSize",
    "GroupMaxSize",
    "GroupDesiredCapacity",
    "GroupInServiceInstances",
    "GroupTotalInstances",
)
_create_group = provisioners._asg_create
_update_group = provisioners._asg_update
_delete_group = provisioners._asg_delete
_plain_alarm = provisioners._cw_metric_alarm_record


def apply() -> None:
    """Register the resource types of this module with the emulator."""
    provisioners._RESOURCE_HANDLERS["AWS::AutoScaling::AutoScalingGroup"] = {
        "create": _group_created,
        "update": _group_updated,
        "update_with_logical_id": True,
        "delete": _group_deleted,
    }
    provisioners._cw_metric_alarm_record = _alarm


def _group_created(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, dict[str, str]]:
    _refuse_unknown(properties)
    name, attributes = _create_group(logical_id, properties, stack_name)
    _complete(service._asgs[name], properties)
    return name, attributes


def _group_updated(
    name: str, old: Properties, new: Properties, stack_name: str, logical_id: str | None = None
) -> tuple[str, dict[str, str]]:
    _refuse_unknown(new)
    desired = service._asgs[name]["DesiredCapacity"]
    new_name, attributes = _update_group(name, old, new, stack_name, logical_id)
    group = service._asgs[new_name]
    if new_name == name and "DesiredCapacity" not in new:
        group["DesiredCapacity"] = min(max(desired, group["MinSize"]), group["MaxSize"])
    _complete(group, new)
    return new_name, attributes


def _group_deleted(name: str, properties: Properties) -> None:
    """Set the size to zero and wait, as CloudFormation does; never force.

    AWS waits about an hour for members that are protected from scale-in, or that a hook holds, before the delete fails.
    Nothing can change here while the engine waits, so the failure comes at once.
    """
    group = service._asgs.get(name)
    if group is None:
        return
    group.update({"MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0})
    capacity.reconcile(group)
    left = [f"{member['InstanceId']} ({member['LifecycleState']})" for member in group["Instances"]]
    if left:
        raise RuntimeError(
            f"Group did not stabilize. {{current/minSize/maxSize/desiredCapacity group size = {len(left)}/0/0/0}}. "
            f"Still there, protected from scale-in or held by a lifecycle hook: {', '.join(left)}"
        )
    _delete_group(name, properties)


def _refuse_unknown(properties: Properties) -> None:
    unknown = sorted(properties.keys() - GROUP_PROPERTIES)
    if unknown:
        raise ValueError(f"AWS::AutoScaling::AutoScalingGroup: the demo's emulator does not model {', '.join(unknown)}")


def _complete(group: capacity.Group, properties: Properties) -> None:
    group["MixedInstancesPolicy"] = properties.get("MixedInstancesPolicy")
    group["NewInstancesProtectedFromScaleIn"] = provisioners._cfn_bool(
        properties.get("NewInstancesProtectedFromScaleIn", False)
    )
    group["CapacityRebalance"] = provisioners._cfn_bool(properties.get("CapacityRebalance", False))
    group["EnabledMetrics"] = [
        {"Metric": metric, "Granularity": collection["Granularity"]}
        for collection in properties.get("MetricsCollection", [])
        for metric in collection.get("Metrics", _GROUP_METRICS)
    ]
    group["LifecycleHooks"] = _termination_hooks(properties.get("LifecycleHookSpecificationList", []))
    group["InstanceMaintenancePolicy"] = properties.get("InstanceMaintenancePolicy")
    if "DefaultInstanceWarmup" in properties:
        group["DefaultInstanceWarmup"] = int(properties["DefaultInstanceWarmup"])
    subnets = [ec2._subnets[subnet] for subnet in group["VPCZoneIdentifier"].split(",")]
    group["AvailabilityZones"] = sorted({subnet["AvailabilityZone"] for subnet in subnets})
    # Tags of the stack reach the instances; of the group's own tags only those that say so.
    own = {tag["Key"] for tag in properties.get("Tags", []) if "PropagateAtLaunch" in tag}
    for tag in group["Tags"]:
        tag["PropagateAtLaunch"] = tag["PropagateAtLaunch"] or tag["Key"] not in own
    capacity.reconcile(group)


def _termination_hooks(specifications: list[Properties]) -> dict[str, Properties]:
    """The hooks by name. Those of a launch are refused: nobody could complete one here."""
    for specification in specifications:
        if specification["LifecycleTransition"] != "autoscaling:EC2_INSTANCE_TERMINATING":
            transition = specification["LifecycleTransition"]
            raise ValueError(
                f"AWS::AutoScaling::AutoScalingGroup: the demo's emulator does not model hooks on {transition}"
            )
    return {specification["LifecycleHookName"]: specification for specification in specifications}


def _alarm(name: str, properties: Properties) -> dict[str, Any]:
    """The record of an alarm. One on metric math keeps its queries, as DescribeAlarms returns them on AWS."""
    queries = properties.get("Metrics")
    if not queries:
        record: dict[str, Any] = _plain_alarm(name, properties)
        return record
    watched = [query["Id"] for query in queries if provisioners._cfn_bool(query.get("ReturnData", True))]
    if len(watched) != 1:
        raise ValueError(f"Alarm {name}: exactly one of Metrics must return data, got {watched}")
    single = {"MetricName": name, "Namespace": name, **{k: v for k, v in properties.items() if k != "Metrics"}}
    record = _plain_alarm(name, single)
    for key in ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions", "Unit"):
        del record[key]
    record["Metrics"] = [_query(query) for query in queries]
    return record


def _query(query: Properties) -> Properties:
    shaped = {**query, "ReturnData": provisioners._cfn_bool(query.get("ReturnData", True))}
    if "MetricStat" in query:
        shaped["MetricStat"] = {**query["MetricStat"], "Period": int(query["MetricStat"]["Period"])}
    if "Period" in query:
        shaped["Period"] = int(query["Period"])
    return shaped
