"""Auto Scaling groups with the semantics of protection and capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.handlers.fake_aws.calls import Parameters, refusal

GROUPS_PER_PAGE = 50
IDS_PER_PROTECTION_CALL = 50


@dataclass
class FakeMember:
    instance_id: str
    lifecycle_state: str = "InService"
    protected: bool = False
    weight: int | None = None

    @property
    def active(self) -> bool:
        return self.lifecycle_state == "InService" or self.lifecycle_state.startswith("Pending")

    @property
    def capacity(self) -> int:
        return self.weight or 1

    def document(self) -> dict[str, Any]:
        weight = {} if self.weight is None else {"WeightedCapacity": str(self.weight)}
        return {
            "InstanceId": self.instance_id,
            "LifecycleState": self.lifecycle_state,
            "ProtectedFromScaleIn": self.protected,
            "AvailabilityZone": "eu-west-1a",
            "HealthStatus": "Healthy",
            **weight,
        }


@dataclass
class FakeGroup:
    name: str
    min_size: int
    max_size: int
    desired: int
    protects_new: bool = True
    suspended: list[str] = field(default_factory=list)
    status: str | None = None
    members: list[FakeMember] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    zones: list[str] = field(default_factory=lambda: ["eu-west-1a"])
    replacements: int = 0
    """How many launches the group has started to get back to its desired capacity."""

    @property
    def active(self) -> int:
        return sum(member.capacity for member in self.members if member.active)

    def member(self, instance_id: str) -> FakeMember | None:
        return next((each for each in self.members if each.instance_id == instance_id), None)

    def settle(self) -> None:
        """Do what the group does by itself: take unprotected surplus members, replace missing ones."""
        if "Terminate" not in self.suspended:
            for member in self.members:
                takeable = member.lifecycle_state == "InService" and not member.protected
                if takeable and self.active - member.capacity >= self.desired:
                    member.lifecycle_state = "Terminating"
        while self.active < self.desired and "Launch" not in self.suspended:
            self.replacements += 1
            self.members.append(
                FakeMember(f"i-replacement{self.replacements}", "Pending", protected=False, weight=None)
            )

    def document(self) -> dict[str, Any]:
        status = {} if self.status is None else {"Status": self.status}
        return {
            "AutoScalingGroupName": self.name,
            "MinSize": self.min_size,
            "MaxSize": self.max_size,
            "DesiredCapacity": self.desired,
            "DefaultCooldown": 300,
            "AvailabilityZones": self.zones,
            "HealthCheckType": "EC2",
            "CreatedTime": "2026-11-30T00:00:00Z",
            "NewInstancesProtectedFromScaleIn": self.protects_new,
            "SuspendedProcesses": [{"ProcessName": name} for name in self.suspended],
            "Instances": [member.document() for member in self.members],
            "Tags": [self._tag(key, value) for key, value in self.tags.items()],
            **status,
        }

    def _tag(self, key: str, value: str) -> dict[str, Any]:
        of = {"ResourceId": self.name, "ResourceType": "auto-scaling-group"}
        return {**of, "Key": key, "Value": value, "PropagateAtLaunch": False}


class FakeAutoScaling:
    """The Auto Scaling service."""

    def __init__(self) -> None:
        self.groups: dict[str, FakeGroup] = {}
        self.leading_empty_pages = 0
        self.ignores_filters = False

    def describe_auto_scaling_groups(self, parameters: Parameters) -> dict[str, Any]:
        # Without names or filters, every group of the account is described.
        names = parameters.get("AutoScalingGroupNames", list(self.groups))
        if len(names) > GROUPS_PER_PAGE and "AutoScalingGroupNames" in parameters:
            raise refusal("ValidationError", "The number of group names must not exceed 50")
        found = [self.groups[name] for name in names if name in self.groups]
        for filter_ in [] if self.ignores_filters else parameters.get("Filters", []):
            found = [group for group in found if _matches(group, filter_)]
        page = int(parameters.get("NextToken", "0"))
        start = max(0, page - self.leading_empty_pages) * GROUPS_PER_PAGE
        end = start + GROUPS_PER_PAGE if page >= self.leading_empty_pages else start
        more = {"NextToken": str(page + 1)} if end < len(found) or page < self.leading_empty_pages else {}
        return {"AutoScalingGroups": [group.document() for group in found[start:end]], **more}

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
        group.suspended = sorted({*group.suspended, *parameters["ScalingProcesses"]})

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
            member = group.member(instance_id)
            if member is not None:
                break
        else:
            raise refusal(
                "ValidationError",
                f"Instance Id not found - No managed instance found for instance ID: {instance_id}",
            )
        if parameters["ShouldDecrementDesiredCapacity"]:
            if group.desired - member.capacity < group.min_size:
                raise refusal(
                    "ValidationError",
                    f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance "
                    "without replacement will violate group's min size constraint.",
                )
            group.desired -= member.capacity
        # Not held up by protection, nor by a suspended Terminate process.
        member.lifecycle_state = "Terminating"
        group.settle()
        return {}

    def _group(self, parameters: Parameters) -> FakeGroup:
        name = parameters["AutoScalingGroupName"]
        if name not in self.groups:
            raise refusal("ValidationError", f"AutoScalingGroup name not found - {name}")
        return self.groups[name]


def _matches(group: FakeGroup, filter_: Mapping[str, Any]) -> bool:
    """Match letter for letter: these filters know no wildcards."""
    kind, _, key = filter_["Name"].partition(":")
    if kind != "tag" or not key:
        raise refusal("ValidationError", f"Invalid filter name: {filter_['Name']}")
    return group.tags.get(key) in filter_["Values"]
