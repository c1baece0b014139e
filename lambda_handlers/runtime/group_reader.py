"""Reading one Auto Scaling group."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Protocol, TypedDict

from runtime.group import Group, GroupMember
from runtime.patience import Patience

_WARM_INSTANCES_PER_PAGE = 50


class UnreadableGroup(Exception):
    """The answer lacks something that must be known of a group."""


class InstanceDocument(TypedDict, total=False):
    InstanceId: str
    LifecycleState: str
    ProtectedFromScaleIn: bool
    WeightedCapacity: str


class ProcessDocument(TypedDict, total=False):
    ProcessName: str


class TagDocument(TypedDict, total=False):
    Key: str
    Value: str


class WarmPoolDocument(TypedDict, total=False):
    Status: str


class GroupDocument(TypedDict, total=False):
    AutoScalingGroupName: str
    MinSize: int
    MaxSize: int
    DesiredCapacity: int
    Status: str
    NewInstancesProtectedFromScaleIn: bool
    Instances: list[InstanceDocument]
    SuspendedProcesses: list[ProcessDocument]
    AvailabilityZones: list[str]
    Tags: list[TagDocument]
    DeletionProtection: str
    WarmPoolConfiguration: WarmPoolDocument
    CreatedTime: datetime


class GroupsPage(TypedDict, total=False):
    AutoScalingGroups: list[GroupDocument]
    NextToken: str


class WarmPoolPage(TypedDict, total=False):
    Instances: list[InstanceDocument]
    NextToken: str


class WarmPoolReader(Protocol):
    """The call that `read_warm_pool` makes."""

    def describe_warm_pool(
        self, *, AutoScalingGroupName: str, MaxRecords: int, NextToken: str = ...
    ) -> WarmPoolPage: ...


class GroupReader(Protocol):
    """The call that `read_group` makes."""

    def describe_auto_scaling_groups(
        self, *, AutoScalingGroupNames: Sequence[str], NextToken: str = ...
    ) -> GroupsPage: ...


def read_group(client: GroupReader, name: str, patience: Patience) -> Group | None:
    """Return the group with exactly this name, or None when there is none.

    Raises `UnreadableGroup` for an answer that lacks something.
    """
    token: str | None = None
    while True:
        page = patience.call("reading the Auto Scaling group", partial(_page, client, name, token))
        try:
            if page["AutoScalingGroups"]:
                return _group(page["AutoScalingGroups"][0])
        except KeyError as error:
            raise UnreadableGroup(f"the answer about the group {name} lacks {error}") from error
        # A page may be empty although more follow: the token decides, not the count.
        token = page.get("NextToken")
        if not token:
            return None


def read_warm_pool(client: WarmPoolReader, group_name: str, patience: Patience) -> list[GroupMember]:
    """Return the instances of the group's warm pool, which the description of the group leaves out.

    Raises `UnreadableGroup` for an answer that lacks something.
    """
    ask = partial(client.describe_warm_pool, AutoScalingGroupName=group_name, MaxRecords=_WARM_INSTANCES_PER_PAGE)
    found: list[GroupMember] = []
    page = patience.call("reading the warm pool", ask)
    while True:
        try:
            found += map(_member, page.get("Instances", []))
        except KeyError as error:
            raise UnreadableGroup(f"the answer about the warm pool of {group_name} lacks {error}") from error
        token = page.get("NextToken")
        if not token:
            return found
        page = patience.call("reading the warm pool", partial(ask, NextToken=token))


def _page(client: GroupReader, name: str, token: str | None) -> GroupsPage:
    if token is None:
        return client.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    return client.describe_auto_scaling_groups(AutoScalingGroupNames=[name], NextToken=token)


def _group(document: GroupDocument) -> Group:
    # Without its list of instances a group is not empty, unless it is meant to be.
    instances = document["Instances"] if document["DesiredCapacity"] else document.get("Instances", [])
    return Group(
        name=document["AutoScalingGroupName"],
        min_size=document["MinSize"],
        max_size=document["MaxSize"],
        desired_capacity=document["DesiredCapacity"],
        protects_new_instances=document.get("NewInstancesProtectedFromScaleIn", False),
        # AWS fills the status only while the group is on its way out.
        being_deleted=bool(document.get("Status")),
        suspended_processes=tuple(sorted(process["ProcessName"] for process in document.get("SuspendedProcesses", []))),
        zones=tuple(document.get("AvailabilityZones", [])),
        members=tuple(_member(instance) for instance in instances),
        # An SDK that is older than the property leaves it out of its answer.
        deletion_protection=document.get("DeletionProtection", "none"),
        has_warm_pool="WarmPoolConfiguration" in document,
        created_at=document.get("CreatedTime"),
    )


def _member(document: InstanceDocument) -> GroupMember:
    return GroupMember(
        instance_id=document["InstanceId"],
        lifecycle_state=document["LifecycleState"],
        protected_from_scale_in=document["ProtectedFromScaleIn"],
        capacity=int(document.get("WeightedCapacity") or 1),
    )
