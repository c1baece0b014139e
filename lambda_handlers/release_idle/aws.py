"""What a release pass asks of AWS, and what it does there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypedDict

from release_idle.decision import Machine
from release_idle.metric_reader import MetricClient
from runtime.group_reader import GroupReader
from runtime.patience import Patience
from runtime.queue_reader import QueueReader

_INSTANCES_PER_PAGE = 1000
_VALUES_PER_FILTER = 200
_SESSIONS_PER_PAGE = 200


class Tag(TypedDict):
    Key: str
    Value: str


class InstanceState(TypedDict):
    Name: str


class InstanceDocument(TypedDict, total=False):
    InstanceId: str
    LaunchTime: datetime
    State: InstanceState
    Tags: list[Tag]


class Reservation(TypedDict):
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


class AutoScalingClient(GroupReader, Protocol):
    """The Auto Scaling calls of a release pass."""

    def set_desired_capacity(
        self, *, AutoScalingGroupName: str, DesiredCapacity: int, HonorCooldown: bool
    ) -> object: ...

    def suspend_processes(self, *, AutoScalingGroupName: str, ScalingProcesses: Sequence[str]) -> object: ...

    def terminate_instance_in_auto_scaling_group(
        self, *, InstanceId: str, ShouldDecrementDesiredCapacity: bool
    ) -> object: ...


class InstanceClient(Protocol):
    """The EC2 call of a release pass."""

    def describe_instances(
        self, *, Filters: Sequence[Filter], MaxResults: int, NextToken: str = ...
    ) -> InstancesPage: ...


class SessionClient(Protocol):
    """The Systems Manager call of a release pass."""

    def describe_sessions(self, *, State: str, MaxResults: int, NextToken: str = ...) -> SessionsPage: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of a release pass."""

    autoscaling: AutoScalingClient
    cloudwatch: MetricClient
    ec2: InstanceClient
    sqs: QueueReader
    ssm: SessionClient


def read_machines(
    client: InstanceClient, group_name: str, instance_ids: Sequence[str], patience: Patience
) -> dict[str, Machine]:
    """Return what EC2 knows about the members of a group, by instance id.

    Members that EC2 does not return are left out; instances that carry the group's tag without being members may
    be in it. The listing by tag is one call for a thousand instances, but can lag behind for a new one; whoever is
    missing is asked for by id before being called missing.
    """
    found = _list_machines(client, "tag:aws:autoscaling:groupName", [group_name], patience)
    missing = [each for each in instance_ids if each not in found]
    for start in range(0, len(missing), _VALUES_PER_FILTER):
        # As a filter and not by InstanceIds: one id that EC2 does not know would fail the whole call.
        batch = missing[start : start + _VALUES_PER_FILTER]
        found.update(_list_machines(client, "instance-id", batch, patience))
    return found


def read_active_sessions(client: SessionClient, patience: Patience) -> frozenset[str]:
    """Return the ids of all machines on which somebody has a Session Manager session open."""
    ask = partial(client.describe_sessions, State="Active", MaxResults=_SESSIONS_PER_PAGE)
    targets: set[str] = set()
    token: str | None = None
    while True:
        page = patience.call("reading sessions", partial(ask, **_continuation(token)))
        targets.update(session["Target"] for session in page.get("Sessions", []) if "Target" in session)
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
            for document in reservation["Instances"]:
                yield document["InstanceId"], _machine(document)
        token = page.get("NextToken")
        if not token:
            return


def _machine(document: InstanceDocument) -> Machine:
    return Machine(
        launched_at=document["LaunchTime"],
        state=document["State"]["Name"],
        tags={tag["Key"]: tag["Value"] for tag in document.get("Tags", [])},
    )


def _continuation(token: str | None) -> Mapping[str, str]:
    return {} if token is None else {"NextToken": token}
