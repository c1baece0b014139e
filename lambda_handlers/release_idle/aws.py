"""What a release pass asks of AWS, and what it does there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypedDict

from release_idle.members import Machine
from release_idle.state import ParameterClient
from runtime.activities import ActivityReader
from runtime.group_reader import GroupReader, WarmPoolReader
from runtime.metric_data import MetricClient
from runtime.patience import Patience
from runtime.queue_reader import QueueReader

_INSTANCES_PER_PAGE = 1000
_VALUES_PER_FILTER = 200
_SESSIONS_PER_PAGE = 200


class Tag(TypedDict, total=False):
    Key: str
    Value: str


class TagKey(TypedDict):
    Key: str


class InstanceState(TypedDict, total=False):
    Name: str


class InstanceDocument(TypedDict, total=False):
    InstanceId: str
    LaunchTime: datetime
    State: InstanceState
    Tags: list[Tag]
    InstanceType: str
    InstanceLifecycle: str


class Reservation(TypedDict, total=False):
    Instances: list[InstanceDocument]


class InstancesPage(TypedDict, total=False):
    Reservations: list[Reservation]
    NextToken: str


class Filter(TypedDict):
    Name: str
    Values: list[str]


class Session(TypedDict, total=False):
    Target: str


class SessionsPage(TypedDict, total=False):
    Sessions: list[Session]
    NextToken: str


class AutoScalingClient(GroupReader, WarmPoolReader, ActivityReader, Protocol):
    """The Auto Scaling calls of a release pass."""

    def complete_lifecycle_action(
        self, *, LifecycleHookName: str, AutoScalingGroupName: str, InstanceId: str, LifecycleActionResult: str
    ) -> object: ...

    def set_desired_capacity(
        self, *, AutoScalingGroupName: str, DesiredCapacity: int, HonorCooldown: bool
    ) -> object: ...

    def suspend_processes(self, *, AutoScalingGroupName: str, ScalingProcesses: Sequence[str]) -> object: ...

    def terminate_instance_in_auto_scaling_group(
        self, *, InstanceId: str, ShouldDecrementDesiredCapacity: bool
    ) -> object: ...


class InstanceClient(Protocol):
    """The EC2 calls of a release pass."""

    def create_tags(self, *, Resources: Sequence[str], Tags: Sequence[Tag]) -> object: ...

    def delete_tags(self, *, Resources: Sequence[str], Tags: Sequence[TagKey]) -> object: ...

    def describe_instances(
        self,
        *,
        Filters: Sequence[Filter] = ...,
        InstanceIds: Sequence[str] = ...,
        MaxResults: int = ...,
        NextToken: str = ...,
    ) -> InstancesPage: ...


class SystemsManagerClient(ParameterClient, Protocol):
    """The Systems Manager calls of a release pass."""

    def describe_sessions(self, *, State: str, MaxResults: int, NextToken: str = ...) -> SessionsPage: ...


class UnreadableSessions(Exception):
    """The answer does not say on which machines the sessions are."""


class TopicClient(Protocol):
    """The SNS call of a release pass."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of a release pass."""

    autoscaling: AutoScalingClient
    cloudwatch: MetricClient
    ec2: InstanceClient
    sns: TopicClient
    sqs: QueueReader
    ssm: SystemsManagerClient


def read_machines(
    client: InstanceClient, group_name: str, instance_ids: Sequence[str], patience: Patience
) -> dict[str, Machine]:
    """Return what EC2 knows about the members of a group, by instance id.

    Members that EC2 does not return are left out; instances that carry the group's tag without being members may
    be in it. The listing by tag is one call for a thousand instances, but can lag behind for a new one; few are listed
    by their ids. Whoever is missing is asked for again by id before being called missing.
    """
    if len(instance_ids) > _VALUES_PER_FILTER:
        found = _list_machines(client, "tag:aws:autoscaling:groupName", [group_name], patience)
    else:
        found = _list_machines(client, "instance-id", instance_ids, patience)
    missing = [each for each in instance_ids if each not in found]
    for start in range(0, len(missing), _VALUES_PER_FILTER):
        # As a filter and not by InstanceIds: one id that EC2 does not know would fail the whole call.
        batch = missing[start : start + _VALUES_PER_FILTER]
        found.update(_list_machines(client, "instance-id", batch, patience))
    return found


def read_active_sessions(client: SystemsManagerClient, patience: Patience) -> frozenset[str]:
    """Return the ids of all machines on which somebody has a Session Manager session open.

    Raises `UnreadableSessions` when the answer leaves open on which.
    """
    ask = partial(client.describe_sessions, State="Active", MaxResults=_SESSIONS_PER_PAGE)
    targets: set[str] = set()
    token: str | None = None
    while True:
        page = patience.call("reading sessions", partial(ask, **_continuation(token)))
        sessions = page.get("Sessions")
        if sessions is None or not all(session.get("Target") for session in sessions):
            raise UnreadableSessions("an answer without sessions, or with one that names no machine")
        targets.update(session["Target"] for session in sessions)
        token = page.get("NextToken")
        if not token:
            return frozenset(targets)


def _list_machines(
    client: InstanceClient, filter_name: str, values: Sequence[str], patience: Patience
) -> dict[str, Machine]:
    filters: list[Filter] = [{"Name": filter_name, "Values": list(values)}]
    ask = partial(client.describe_instances, Filters=filters, MaxResults=_INSTANCES_PER_PAGE)
    return dict(_machines(ask, patience))


def _machines(ask: Callable[..., InstancesPage], patience: Patience) -> Iterator[tuple[str, Machine]]:
    token: str | None = None
    while True:
        page = patience.call("reading instances", partial(ask, **_continuation(token)))
        for reservation in page.get("Reservations", []):
            for document in reservation.get("Instances", []):
                machine = _machine(document)
                if machine is not None and "InstanceId" in document:
                    yield document["InstanceId"], machine
        token = page.get("NextToken")
        if not token:
            return


def _machine(document: InstanceDocument) -> Machine | None:
    """Return the machine, None when the answer lacks what must be known of it.

    A member always carries its group's tag: without any tag nobody can say whether it is held.
    """
    launched_at, state, tags = document.get("LaunchTime"), document.get("State", {}).get("Name"), document.get("Tags")
    if launched_at is None or state is None or not tags or not all("Key" in tag and "Value" in tag for tag in tags):
        return None
    return Machine(
        launched_at=launched_at,
        state=state,
        tags={tag["Key"]: tag["Value"] for tag in tags},
        instance_type=document.get("InstanceType"),
        spot=document.get("InstanceLifecycle") == "spot",
    )


def _continuation(token: str | None) -> Mapping[str, str]:
    return {} if token is None else {"NextToken": token}
