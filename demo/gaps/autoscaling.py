"""Auto Scaling calls that the emulator lacks or answers more kindly than AWS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.core.responses import new_uuid, now_iso
from ministack.services import autoscaling as service

from demo.gaps import capacity

Parameters = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]

PROCESSES = frozenset(
    {
        "Launch",
        "Terminate",
        "AddToLoadBalancer",
        "AlarmNotification",
        "AZRebalance",
        "HealthCheck",
        "InstanceRefresh",
        "ReplaceUnhealthy",
        "ScheduledActions",
    }
)
MOST_PROTECTED_AT_ONCE = 50


class _Refused(Exception):
    """A call that AWS answers with a client error."""

    def __init__(self, message: str, code: str = "ValidationError") -> None:
        super().__init__(message)
        self.code = code


def apply() -> None:
    """Register the calls of this module with the emulator."""
    service._reconcile_instances = capacity.reconcile
    for name, (handler, known) in _CALLS.items():
        service._ACTION_MAP[name] = _guarded(name, handler, known)


def _guarded(
    name: str, handler: Callable[[Parameters], str], known: frozenset[str]
) -> Callable[[Parameters], Response]:
    def answer(parameters: Parameters) -> Response:
        response: Response
        try:
            unknown = sorted({key.split(".")[0] for key in parameters} - known - {"Action", "Version"})
            if unknown:
                raise _Refused(f"{name}: the demo's emulator does not model {', '.join(unknown)}")
            result = handler(parameters)
            response = service._xml(200, f"{name}Response", f"<{name}Result>{result}</{name}Result>")
        except _Refused as error:
            response = service._error(error.code, str(error))
        return response

    return answer


def _group(parameters: Parameters) -> capacity.Group:
    name = service._p(parameters, "AutoScalingGroupName")
    group: capacity.Group | None = service._asgs.get(name)
    if group is None:
        raise _Refused(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
    return group


def _member(instance_id: str) -> tuple[capacity.Group, capacity.Member]:
    found = capacity.member_of(instance_id)
    if found is None:
        raise _Refused(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")
    return found


def _boolean(parameters: Parameters, key: str) -> bool:
    value = service._p(parameters, key)
    if value not in ("true", "false"):
        raise _Refused(f"{key} must be true or false, got {value!r}")
    return bool(value == "true")


def _terminate(parameters: Parameters) -> str:
    group, member = _member(service._p(parameters, "InstanceId"))
    decrement = _boolean(parameters, "ShouldDecrementDesiredCapacity")
    if decrement and group["DesiredCapacity"] <= group["MinSize"]:
        raise _Refused(
            f"Currently, desiredSize equals minSize ({group['MinSize']}). Terminating instance without "
            "replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "
            "flag to false or lower group's min size."
        )
    if decrement:
        group["DesiredCapacity"] -= 1
    capacity.terminate(group, member)
    capacity.reconcile(group)
    activity = {
        "ActivityId": new_uuid(),
        "AutoScalingGroupName": group["AutoScalingGroupName"],
        "Description": f"Terminating EC2 instance: {member['InstanceId']}",
        "Cause": f"instance {member['InstanceId']} was taken out of service in response to a user request",
        "StartTime": now_iso(),
        "StatusCode": "InProgress",
        "Progress": 0,
    }
    return f"<Activity>{service._member_xml(activity)}</Activity>"


def _set_protection(parameters: Parameters) -> str:
    group = _group(parameters)
    ids = service._parse_member_list(parameters, "InstanceIds")
    if not 1 <= len(ids) <= MOST_PROTECTED_AT_ONCE:
        raise _Refused(f"InstanceIds must hold 1 to {MOST_PROTECTED_AT_ONCE} ids, got {len(ids)}")
    protected = _boolean(parameters, "ProtectedFromScaleIn")
    members = {member["InstanceId"]: member for member in group["Instances"]}
    for instance_id in ids:
        if instance_id not in members:
            raise _Refused(
                f"The instance {instance_id} is not part of Auto Scaling group {group['AutoScalingGroupName']}."
            )
    for instance_id in ids:
        members[instance_id]["ProtectedFromScaleIn"] = protected
    # A scale-in that waited for protected members takes them as soon as the protection ends.
    capacity.reconcile(group)
    return ""


def _suspend(parameters: Parameters) -> str:
    group = _group(parameters)
    group["SuspendedProcesses"] = sorted(set(group.get("SuspendedProcesses", [])) | _processes(parameters))
    return ""


def _resume(parameters: Parameters) -> str:
    group = _group(parameters)
    group["SuspendedProcesses"] = sorted(set(group.get("SuspendedProcesses", [])) - _processes(parameters))
    capacity.reconcile(group)
    return ""


def _processes(parameters: Parameters) -> frozenset[str]:
    named = frozenset(service._parse_member_list(parameters, "ScalingProcesses"))
    if named - PROCESSES:
        raise _Refused(f"ScalingProcesses must be among {sorted(PROCESSES)}, got {sorted(named - PROCESSES)}")
    return named or PROCESSES


def _set_desired(parameters: Parameters) -> str:
    group = _group(parameters)
    desired = int(service._p(parameters, "DesiredCapacity"))
    _check_desired(group, desired)
    group["DesiredCapacity"] = desired
    capacity.reconcile(group)
    return ""


def _check_desired(group: capacity.Group, desired: int) -> None:
    for bound, side, outside in (
        ("MaxSize", "above max", desired > group["MaxSize"]),
        ("MinSize", "below min", desired < group["MinSize"]),
    ):
        if outside:
            raise _Refused(
                f"New SetDesiredCapacity value {desired} is {side} value {group[bound]} for the AutoScalingGroup."
            )


def _update(parameters: Parameters) -> str:
    group = _group(parameters)
    sizes = {
        key: int(service._p(parameters, key)) if key in parameters else group[key]
        for key in ("MinSize", "MaxSize", "DesiredCapacity")
    }
    if sizes["MinSize"] > sizes["MaxSize"]:
        raise _Refused(f"Max bound, {sizes['MaxSize']}, must be greater than or equal to min bound, {sizes['MinSize']}")
    if "DesiredCapacity" in parameters:
        _check_desired(sizes, sizes["DesiredCapacity"])
    sizes["DesiredCapacity"] = min(max(sizes["DesiredCapacity"], sizes["MinSize"]), sizes["MaxSize"])
    group.update(sizes)
    if "NewInstancesProtectedFromScaleIn" in parameters:
        group["NewInstancesProtectedFromScaleIn"] = _boolean(parameters, "NewInstancesProtectedFromScaleIn")
    capacity.reconcile(group)
    return ""


def _delete(parameters: Parameters) -> str:
    group = _group(parameters)
    forced = "ForceDelete" in parameters and _boolean(parameters, "ForceDelete")
    if group["Instances"] and not forced:
        raise _Refused(
            "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance "
            "request(s) still in the group.",
            code="ResourceInUse",
        )
    for member in list(group["Instances"]):
        # A forced delete waits for no hook.
        capacity.end(group, member)
    service._delete_asg(parameters)
    return ""


def _describe(parameters: Parameters) -> str:
    names = service._parse_member_list(parameters, "AutoScalingGroupNames")
    with_instances = "IncludeInstances" not in parameters or _boolean(parameters, "IncludeInstances")
    groups = [
        _described(g, with_instances) for g in service._asgs.values() if not names or g["AutoScalingGroupName"] in names
    ]
    return f"<AutoScalingGroups>{service._member_xml(groups)}</AutoScalingGroups>"


def _described(group: capacity.Group, with_instances: bool) -> dict[str, Any]:
    hidden = {"LaunchedSoFar", "LifecycleHooks", "Status", "LaunchConfigurationName", "ServiceLinkedRoleARN"}
    shown = {key: value for key, value in group.items() if key not in hidden and value not in ("", {}, None)}
    shown["SuspendedProcesses"] = [
        {"ProcessName": process, "SuspensionReason": "User suspended"}
        for process in group.get("SuspendedProcesses", [])
    ]
    shown["Instances"] = group["Instances"] if with_instances else []
    return shown


def _describe_instances(parameters: Parameters) -> str:
    wanted = service._parse_member_list(parameters, "InstanceIds")
    members = [
        {**member, "AutoScalingGroupName": group["AutoScalingGroupName"]}
        for group in service._asgs.values()
        for member in group["Instances"]
        if not wanted or member["InstanceId"] in wanted
    ]
    return f"<AutoScalingInstances>{service._member_xml(members)}</AutoScalingInstances>"


def _complete(parameters: Parameters) -> str:
    group = _group(parameters)
    instance_id, name = (service._p(parameters, key) for key in ("InstanceId", "LifecycleHookName"))
    waiting = [m for m in group["Instances"] if m["LifecycleState"] == capacity.WAITING]
    for member in waiting:
        if member["InstanceId"] == instance_id and name in group["LifecycleHooks"]:
            capacity.end(group, member)
            return ""
    raise _Refused(f"No active Lifecycle Action found with instance ID {instance_id}")


def _describe_hooks(parameters: Parameters) -> str:
    group = _group(parameters)
    wanted = service._parse_member_list(parameters, "LifecycleHookNames")
    hooks = [
        {
            "LifecycleHookName": name,
            "AutoScalingGroupName": group["AutoScalingGroupName"],
            "LifecycleTransition": hook["LifecycleTransition"],
            "HeartbeatTimeout": int(hook.get("HeartbeatTimeout", 3600)),
            "DefaultResult": hook.get("DefaultResult", "ABANDON"),
        }
        for name, hook in group["LifecycleHooks"].items()
        if not wanted or name in wanted
    ]
    return f"<LifecycleHooks>{service._member_xml(hooks)}</LifecycleHooks>"


def _delete_hook(parameters: Parameters) -> str:
    """Delete a hook. What waits for it is completed first, and goes on."""
    group = _group(parameters)
    name = service._p(parameters, "LifecycleHookName")
    if group["LifecycleHooks"].pop(name, None) is None:
        raise _Refused(f"Lifecycle hook {name} does not exist")
    for member in [m for m in group["Instances"] if m["LifecycleState"] == capacity.WAITING]:
        capacity.end(group, member)
    return ""


def _describe_refreshes(parameters: Parameters) -> str:
    """No instance refresh ever runs here."""
    _group(parameters)
    return "<InstanceRefreshes></InstanceRefreshes>"


_CALLS: dict[str, tuple[Callable[[Parameters], str], frozenset[str]]] = {
    "TerminateInstanceInAutoScalingGroup": (
        _terminate,
        frozenset({"InstanceId", "ShouldDecrementDesiredCapacity"}),
    ),
    "SetInstanceProtection": (
        _set_protection,
        frozenset({"AutoScalingGroupName", "InstanceIds", "ProtectedFromScaleIn"}),
    ),
    "SuspendProcesses": (_suspend, frozenset({"AutoScalingGroupName", "ScalingProcesses"})),
    "ResumeProcesses": (_resume, frozenset({"AutoScalingGroupName", "ScalingProcesses"})),
    "SetDesiredCapacity": (_set_desired, frozenset({"AutoScalingGroupName", "DesiredCapacity", "HonorCooldown"})),
    "UpdateAutoScalingGroup": (
        _update,
        frozenset(
            {"AutoScalingGroupName", "MinSize", "MaxSize", "DesiredCapacity", "NewInstancesProtectedFromScaleIn"}
        ),
    ),
    "DeleteAutoScalingGroup": (_delete, frozenset({"AutoScalingGroupName", "ForceDelete"})),
    "DescribeAutoScalingGroups": (_describe, frozenset({"AutoScalingGroupNames", "IncludeInstances", "MaxRecords"})),
    "CompleteLifecycleAction": (
        _complete,
        frozenset({"AutoScalingGroupName", "LifecycleHookName", "InstanceId", "LifecycleActionResult"}),
    ),
    "DescribeLifecycleHooks": (_describe_hooks, frozenset({"AutoScalingGroupName", "LifecycleHookNames"})),
    "DeleteLifecycleHook": (_delete_hook, frozenset({"AutoScalingGroupName", "LifecycleHookName"})),
    "DescribeInstanceRefreshes": (_describe_refreshes, frozenset({"AutoScalingGroupName", "MaxRecords"})),
    "DescribeAutoScalingInstances": (_describe_instances, frozenset({"InstanceIds", "MaxRecords"})),
}
