"""What AWS's answers look like, as boto3 hands them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.rehearsal.cloud.calendar import moment
from constructs_lib.rehearsal.cloud.member import Activity, Instance, Refused
from constructs_lib.rehearsal.cloud.warm_pool import WarmPool

_STATES = {
    "Terminating": "shutting-down",
    "Terminated": "terminated",
    "Warmed:Terminated": "terminated",
    "Warmed:Stopped": "stopped",
}


def member_entry(instance: Instance) -> dict[str, Any]:
    """Return a member as DescribeAutoScalingGroups has it."""
    return {
        "InstanceId": instance.id,
        "InstanceType": instance.instance_type,
        "AvailabilityZone": instance.zone,
        "LifecycleState": instance.state,
        "HealthStatus": "Healthy" if instance.healthy else "Unhealthy",
        "ProtectedFromScaleIn": instance.protected,
    }


def begun(instance_id: str) -> dict[str, Any]:
    """Return the activity that a termination answers with: registered, not done."""
    return {"ActivityId": instance_id, "StatusCode": "InProgress", "Progress": 0}


def pool_configuration(pool: WarmPool) -> dict[str, Any]:
    """Return what a group tells of its warm pool."""
    prepared = {} if pool.most_prepared is None else {"MaxGroupPreparedCapacity": pool.most_prepared}
    return {"MinSize": pool.minimum, "PoolState": pool.state, **prepared}


def suspended_by_user(at: int) -> str:
    """Return the reason of a suspension by a call."""
    return f"User suspended at {moment(at).isoformat()}"


def has_tags(tags: Mapping[str, str], filters: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a group's tags fit the filters of DescribeAutoScalingGroups, which all name a tag."""
    for each in filters:
        if not each["Name"].startswith("tag:"):
            raise Refused(f"filter {each['Name']} is not simulated")
        if tags.get(each["Name"].removeprefix("tag:")) not in each["Values"]:
            return False
    return True


def activity_entry(activity: Activity, group_name: str) -> dict[str, Any]:
    """Return an entry of the activity history."""
    return {
        "ActivityId": str(activity.id),
        "AutoScalingGroupName": group_name,
        "Description": activity.description,
        "Cause": f"At {moment(activity.started).isoformat()} {activity.cause}.",
        "StartTime": moment(activity.started),
        "StatusCode": activity.status,
        "Progress": 50 if activity.ended is None else 100,
        **({} if activity.ended is None else {"EndTime": moment(activity.ended)}),
        **({"StatusMessage": activity.message} if activity.message else {}),
    }


def _machine_state(instance: Instance) -> str:
    return _STATES.get(instance.state, "running") if instance.runs else _STATES.get(instance.state, "terminated")


def filtered_property(instance: Instance, name: str) -> str | None:
    """Return what a filter of DescribeInstances looks at; None for a tag that is not there."""
    if name.startswith("tag:"):
        return instance.tags.get(name.removeprefix("tag:"))
    known = {"instance-id": instance.id, "instance-state-name": _machine_state(instance)}
    if name not in known:
        raise Refused(f"filter {name} is not simulated")
    return known[name]


def machine(instance: Instance) -> dict[str, Any]:
    """Return an instance as DescribeInstances has it."""
    return {
        "InstanceId": instance.id,
        "InstanceType": instance.instance_type,
        "LaunchTime": moment(int(instance.launched_at)),
        "Placement": {"AvailabilityZone": instance.zone},
        **({"InstanceLifecycle": "spot"} if instance.market == "spot" else {}),
        "State": {"Name": _machine_state(instance)},
        "Tags": [{"Key": key, "Value": value} for key, value in instance.tags.items()],
    }
