"""Members on their way out that would bill for longer than they must: dead ones in a drain, and retained ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from botocore.exceptions import ClientError

from release_idle.aws import InstancesPage
from release_idle.members import Machine, Member, is_retained
from release_idle.policy import IdlePolicy
from runtime.activities import Activity, ActivityKind
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.group import GroupMember
from runtime.hold_tag import why_held
from runtime.patience import OutOfTime, Patience

# Neither of these can run a drain any more. An instance that is being launched, or runs, may yet.
_ALIVE = ("pending", "running")
# One call each. Those beyond are asked for by the next pass, or their hook has run out by then.
_MOST_ASKED_BY_ID = 20


class DrainClient(Protocol):
    """The Auto Scaling call that ends a drain."""

    def complete_lifecycle_action(
        self, *, LifecycleHookName: str, AutoScalingGroupName: str, InstanceId: str, LifecycleActionResult: str
    ) -> object: ...


class InstanceByIdClient(Protocol):
    """The EC2 call that asks for one instance by its id, and is refused for one that is gone."""

    def describe_instances(self, *, InstanceIds: Sequence[str]) -> InstancesPage: ...


@dataclass
class AbandonedDrains:
    """Whose drain was completed because nobody was there to do it, and what did not succeed."""

    completed: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def waiting_to_drain(members: Iterable[GroupMember]) -> list[str]:
    """Return the members that a termination hook holds up."""
    # Those that wait in a warm pool are no members.
    return [member.instance_id for member in members if member.lifecycle_state == "Terminating:Wait"]


def complete_for_the_dead(
    client: DrainClient,
    ec2: InstanceByIdClient,
    *,
    group_name: str,
    hook_name: str,
    waiting: Sequence[str],
    machines: Mapping[str, Machine],
    patience: Patience,
) -> AbandonedDrains:
    """Complete the hook of each waiting member whose machine is not there to do it; return what became of them.

    A machine that EC2 did not list counts as gone only when EC2, asked for it by its id, says so. Whoever cannot be
    judged is left to the hook's own end. Completing takes no capacity, so a second pass may do the same.
    """
    drains = AbandonedDrains()
    unlisted = [each for each in waiting if each not in machines][:_MOST_ASKED_BY_ID]
    try:
        dead = [each for each in waiting if each in machines and machines[each].state not in _ALIVE]
        dead += [each for each in unlisted if _is_gone(ec2, each, patience, drains)]
        for instance_id in dead:
            if _complete(client, group_name, hook_name, instance_id, patience, drains):
                drains.completed.append(instance_id)
    except OutOfTime as error:
        drains.failures.append(f"completing the hook {hook_name}: {error}")
    return drains


def retained_ids(members: Iterable[GroupMember]) -> list[str]:
    """Return the instances that the group keeps after a failed lifecycle hook, in its warm pool or not."""
    return [member.instance_id for member in members if is_retained(member.lifecycle_state)]


def retained_since(
    ids: Iterable[str], seen: Mapping[str, datetime], activities: Iterable[Activity], now: datetime
) -> dict[str, datetime]:
    """Return since when each instance has been retained: by the history, else since it was first seen, else now.

    The history, newest first, is read only as far as it takes to find those that have not been seen yet. Where it
    cannot be read, none will do for it.
    """
    since = {each: seen.get(each, now) for each in ids}
    sought = {each for each in since if each not in seen}
    history = iter(activities)
    while sought and (activity := next(history, None)) is not None:
        # AWS ends the termination of an instance that it retains as cancelled.
        if activity.kind is ActivityKind.TERMINATION and activity.status == "Cancelled":
            instance_id = activity.instance_id or ""
            if instance_id in sought:
                sought.discard(instance_id)
                since[instance_id] = min(activity.ended_at or activity.started_at, now)
    return since


def overdue(
    members: Iterable[Member], since: Mapping[str, datetime], policy: IdlePolicy, *, after_seconds: int, now: datetime
) -> list[str]:
    """Return the retained members that have been so for too long, longest first: those that nobody keeps.

    They are outside the capacity: to be terminated without decrement, which would take it from the members that work.
    """
    ends = [
        member.instance_id
        for member in members
        if member.instance_id in since
        and now - since[member.instance_id] >= timedelta(seconds=after_seconds)
        and not _is_kept(member, policy)
    ]
    return sorted(ends, key=lambda each: (since[each], each))


def _is_kept(member: Member, policy: IdlePolicy) -> bool:
    # Of an instance that EC2 did not return nobody knows whether somebody keeps it.
    if member.machine is None or (policy.protection_holds and member.protected):
        return True
    return why_held(member.machine.tags, policy.hold_tag_key) is not None


def _is_gone(ec2: InstanceByIdClient, instance_id: str, patience: Patience, drains: AbandonedDrains) -> bool:
    """Return whether EC2 says that the instance is not running, or that there is none with this id."""
    try:
        page = patience.call("reading one instance", partial(ec2.describe_instances, InstanceIds=[instance_id]))
    except AWS_ERRORS as error:
        if error_code(error) == "InvalidInstanceID.NotFound":
            return True
        drains.failures.append(f"EC2 DescribeInstances: {instance_id}: {error}")
        return False
    documents = [each for reservation in page.get("Reservations", []) for each in reservation.get("Instances", [])]
    states = [each.get("State", {}).get("Name") for each in documents if each.get("InstanceId") == instance_id]
    return bool(states) and states[0] is not None and states[0] not in _ALIVE


def _complete(
    client: DrainClient,
    group_name: str,
    hook_name: str,
    instance_id: str,
    patience: Patience,
    drains: AbandonedDrains,
) -> bool:
    """Complete the hook for one member; return whether this call did it."""
    ask = partial(
        client.complete_lifecycle_action,
        LifecycleHookName=hook_name,
        AutoScalingGroupName=group_name,
        InstanceId=instance_id,
        LifecycleActionResult="CONTINUE",
    )
    try:
        patience.call("completing the termination hook", ask)
    except ClientError as error:
        # Nobody waits any more: it was completed meanwhile, has run out, or it is another hook that holds it up.
        if error_code(error) != "ValidationError":
            drains.failures.append(f"Auto Scaling CompleteLifecycleAction: {instance_id}: {error}")
        return False
    except AWS_ERRORS as error:
        drains.failures.append(f"Auto Scaling CompleteLifecycleAction: {instance_id}: {error_code(error)}")
        return False
    return True
