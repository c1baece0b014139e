"""The Auto Scaling service."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tests.handlers.fake_aws.activities import ACTIVITIES_PER_PAGE
from tests.handlers.fake_aws.calls import Parameters, refusal
from tests.handlers.fake_aws.groups import FakeGroup, FakeMember
from tests.handlers.fake_aws.hooks import TERMINATING
from tests.handlers.fake_aws.time import ManualClock

__all__ = ["FakeAutoScaling", "FakeGroup", "FakeMember"]

GROUPS_PER_PAGE = 50
IDS_PER_PROTECTION_CALL = 50
PROCESSES = (
    "AddToLoadBalancer",
    "AlarmNotification",
    "AZRebalance",
    "HealthCheck",
    "InstanceRefresh",
    "Launch",
    "ReplaceUnhealthy",
    "ScheduledActions",
    "Terminate",
)


class FakeAutoScaling:
    """The Auto Scaling service. `stale_groups` is what a lagging describe answers, `accepts_second_termination` what
    becomes of a terminate for a member that is on its way out: accepted, it lowers the capacity once more."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.groups: dict[str, FakeGroup] = {}
        self.stale_groups: dict[str, FakeGroup] | None = None
        self.leading_empty_pages = 0
        self.ignores_filters = False
        self.accepts_second_termination = True
        self.activities_per_page = ACTIVITIES_PER_PAGE

    def lag(self) -> None:
        """Answer every describe of groups with what is true now, until `catch_up`."""
        self.stale_groups = copy.deepcopy(self.groups)

    def catch_up(self) -> None:
        self.stale_groups = None

    def describe_auto_scaling_groups(self, parameters: Parameters) -> dict[str, Any]:
        # Without names or filters, every group of the account is described.
        groups = self.groups if self.stale_groups is None else self.stale_groups
        names = parameters.get("AutoScalingGroupNames", list(groups))
        if len(names) > GROUPS_PER_PAGE and "AutoScalingGroupNames" in parameters:
            raise refusal("ValidationError", "The number of group names must not exceed 50")
        found = [groups[name] for name in names if name in groups]
        for filter_ in [] if self.ignores_filters else parameters.get("Filters", []):
            found = [group for group in found if _matches(group, filter_)]
        page = int(parameters.get("NextToken", "0"))
        start = max(0, page - self.leading_empty_pages) * GROUPS_PER_PAGE
        end = start + GROUPS_PER_PAGE if page >= self.leading_empty_pages else start
        more = {"NextToken": str(page + 1)} if end < len(found) or page < self.leading_empty_pages else {}
        return {"AutoScalingGroups": [group.document() for group in found[start:end]], **more}

    def describe_warm_pool(self, parameters: Parameters) -> dict[str, Any]:
        """Tell of the warm pool, two instances to a page."""
        start = int(parameters.get("NextToken", "0"))
        pool = self._group(parameters).warm_pool
        more = {"NextToken": str(start + 2)} if start + 2 < len(pool) else {}
        return {"Instances": [each.document() for each in pool[start : start + 2]], **more}

    def set_desired_capacity(self, parameters: Parameters) -> None:
        group = self._group(parameters)
        desired = parameters["DesiredCapacity"]
        if not group.min_size <= desired <= group.max_size:
            raise refusal("ValidationError", f"New SetDesiredCapacity value {desired} is outside min..max")
        group.desired = desired
        group.settle()

    def update_auto_scaling_group(self, parameters: Parameters) -> None:
        group = self._group(parameters)
        group.min_size = parameters.get("MinSize", group.min_size)
        group.max_size = parameters.get("MaxSize", group.max_size)
        group.desired = parameters.get("DesiredCapacity", group.desired)
        group.protects_new = parameters.get("NewInstancesProtectedFromScaleIn", group.protects_new)
        group.settle()

    def suspend_processes(self, parameters: Parameters) -> None:
        group = self._group(parameters)
        group.suspended = sorted({*group.suspended, *_processes(parameters)})

    def resume_processes(self, parameters: Parameters) -> None:
        group = self._group(parameters)
        group.suspended = sorted(set(group.suspended) - set(_processes(parameters)))
        group.settle()

    def describe_scaling_activities(self, parameters: Parameters) -> dict[str, Any]:
        if parameters.get("MaxRecords", 1) > ACTIVITIES_PER_PAGE:
            raise refusal("ValidationError", "MaxRecords must not exceed 100")
        if "Filters" in parameters or "ActivityIds" in parameters:
            raise NotImplementedError("this fake filters no activities, and does not pretend to")
        group = self._group(parameters)
        oldest_first = sorted(group.activities, key=lambda each: each.started_at)
        newest_first = oldest_first[::-1]
        size = min(self.activities_per_page, parameters.get("MaxRecords", ACTIVITIES_PER_PAGE))
        start = int(parameters.get("NextToken", "0"))
        page = newest_first[start : start + size]
        more = {"NextToken": str(start + size)} if start + size < len(newest_first) else {}
        return {"Activities": [each.document(group.name) for each in page], **more}

    def describe_lifecycle_hooks(self, parameters: Parameters) -> dict[str, Any]:
        group = self._group(parameters)
        names = parameters.get("LifecycleHookNames")
        hooks = [hook for hook in group.hooks if names is None or hook.name in names]
        return {"LifecycleHooks": [hook.document(group.name) for hook in hooks]}

    def delete_lifecycle_hook(self, parameters: Parameters) -> dict[str, Any]:
        """Delete the hook; what it holds up is completed: abandoned for a launch, continued for a termination."""
        group = self._group(parameters)
        hook = next((each for each in group.hooks if each.name == parameters["LifecycleHookName"]), None)
        if hook is None:
            raise refusal("ValidationError", f"No Lifecycle Hook found: {parameters['LifecycleHookName']}")
        group.hooks.remove(hook)
        for member in [each for each in group.members if hook.name in each.waits_for]:
            group.complete(member, hook.name, "CONTINUE" if hook.transition == TERMINATING else "ABANDON")
        return {}

    def complete_lifecycle_action(self, parameters: Parameters) -> dict[str, Any]:
        group = self._group(parameters)
        name, result = parameters["LifecycleHookName"], parameters["LifecycleActionResult"]
        if result not in ("CONTINUE", "ABANDON"):
            raise refusal("ValidationError", "Lifecycle action result must be CONTINUE or ABANDON")
        member = group.member(parameters["InstanceId"])
        if member is None or name not in member.waits_for:
            raise refusal(
                "ValidationError", f"No active Lifecycle Action found with instance ID {parameters['InstanceId']}"
            )
        group.complete(member, name, result)
        return {}

    def cancel_instance_refresh(self, parameters: Parameters) -> dict[str, Any]:
        group = self._group(parameters)
        if group.refresh_status not in ("Pending", "InProgress", "Baking"):
            raise refusal("ActiveInstanceRefreshNotFound", f"No in progress or pending Instance Refresh: {group.name}")
        group.refresh_status = "Cancelling"
        return {"InstanceRefreshId": "refresh-1"}

    def describe_instance_refreshes(self, parameters: Parameters) -> dict[str, Any]:
        """Tell of the refresh; one that is being cancelled is cancelled by the next time."""
        group = self._group(parameters)
        if group.refresh_status is None:
            return {"InstanceRefreshes": []}
        refresh = {"InstanceRefreshId": "refresh-1", "AutoScalingGroupName": group.name, "Status": group.refresh_status}
        if group.refresh_status == "Cancelling":
            group.refresh_status = "Cancelled"
        return {"InstanceRefreshes": [refresh]}

    def set_instance_protection(self, parameters: Parameters) -> dict[str, Any]:
        group = self._group(parameters)
        ids = parameters["InstanceIds"]
        if len(ids) > IDS_PER_PROTECTION_CALL:
            raise refusal("ValidationError", "The number of instance ids must not exceed 50")
        members = [group.member(instance_id) for instance_id in ids]
        for instance_id, member in zip(ids, members, strict=True):
            if member is None or member.lifecycle_state not in ("InService", "EnteringStandby", "Standby"):
                raise refusal("ValidationError", f"The instance {instance_id} is not in InService or Standby")
        for member in members:
            assert member is not None
            member.protected = parameters["ProtectedFromScaleIn"]
        group.settle()
        return {}

    def terminate_instance_in_auto_scaling_group(self, parameters: Parameters) -> dict[str, Any]:
        instance_id = parameters["InstanceId"]
        for group in self.groups.values():
            pool = {each.instance_id: each for each in group.warm_pool}
            member = group.member(instance_id) or pool.get(instance_id)
            # Of a warm pool only those that it retains can be ended by this call.
            if member is not None and (instance_id not in pool or member.lifecycle_state.endswith(":Retained")):
                break
            if instance_id in pool:
                raise refusal("ValidationError", f"The instance {instance_id} is in the warm pool")
        else:
            raise refusal(
                "ValidationError",
                f"Instance Id not found - No managed instance found for instance ID: {instance_id}",
            )
        goes_already = member.lifecycle_state.startswith("Terminating") and not member.lifecycle_state.endswith(
            "Retained"
        )
        if goes_already and not self.accepts_second_termination:
            raise refusal("ValidationError", f"The instance {instance_id} is already being terminated")
        if parameters["ShouldDecrementDesiredCapacity"]:
            if group.desired - member.capacity < group.min_size:
                raise refusal(
                    "ValidationError",
                    f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance "
                    "without replacement will violate group's min size constraint.",
                )
            group.desired -= member.capacity
        # Not held up by protection, nor by a suspended Terminate process.
        if not goes_already:
            group.take(member, f"instance {instance_id} was taken out of service in response to a user request")
        group.settle()
        return {"Activity": group.activities[-1].document(group.name)} if not goes_already else {}

    def _group(self, parameters: Parameters) -> FakeGroup:
        name = parameters["AutoScalingGroupName"]
        if name not in self.groups:
            raise refusal("ValidationError", f"AutoScalingGroup name not found - {name}")
        return self.groups[name]


def _processes(parameters: Parameters) -> list[str]:
    # Without a name all of them are meant.
    named = list(parameters.get("ScalingProcesses", PROCESSES))
    unknown = [each for each in named if each not in PROCESSES]
    if unknown:
        raise refusal("ValidationError", f"Invalid process: {unknown[0]}")
    return named


def _matches(group: FakeGroup, filter_: Mapping[str, Any]) -> bool:
    """Match letter for letter: these filters know no wildcards."""
    kind, _, key = filter_["Name"].partition(":")
    if kind != "tag" or not key:
        raise refusal("ValidationError", f"Invalid filter name: {filter_['Name']}")
    return group.tags.get(key) in filter_["Values"]
