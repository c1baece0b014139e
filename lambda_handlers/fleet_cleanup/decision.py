"""What has to be done to a group so that CloudFormation can delete it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.group import Group, GroupMember

LONGEST_DRAIN_SECONDS = 480
"""Nobody waits longer for a drain when the stack goes: it must fit into one run of the function."""

# Whatever could start an instance or raise a size again. AZRebalance has been suspended since the group was created.
_STARTERS = ("AlarmNotification", "InstanceRefresh", "Launch", "ScheduledActions")


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A lifecycle hook of the group."""

    name: str
    launching: bool
    heartbeat_seconds: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one look at a group asks for. `remaining` are the members that are not on their way out yet."""

    suspend: tuple[str, ...]
    close: bool
    unprotect: tuple[str, ...]
    terminate: tuple[str, ...]
    remaining: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        """Whether nothing was left to do, so that the next look would find the same."""
        return not (self.suspend or self.close or self.remaining)


def next_step(group: Group) -> Step:
    """Return what is still to do. Nothing at all when every member is on its way out.

    `suspend` are the group's processes that could start an instance. `close` is for the sizes: 0, with no new
    instance born protected. `unprotect` are members that the group will take itself as soon as they are not
    protected. `terminate` are those that it will never take: parked ones (Standby), retained ones, and all that are
    in service while somebody has suspended its Terminate process.
    """
    remaining = [member for member in group.members if not is_leaving(member.lifecycle_state)]
    takes_none = "Terminate" in group.suspended_processes
    terminate = [member for member in remaining if _needs_terminating(member, takes_none)]
    unprotect = [
        member
        for member in remaining
        if member.protected_from_scale_in and _can_be_unprotected(member) and member not in terminate
    ]
    open_ = group.min_size or group.max_size or group.desired_capacity or group.protects_new_instances
    return Step(
        suspend=tuple(process for process in _STARTERS if process not in group.suspended_processes),
        close=bool(open_),
        unprotect=tuple(member.instance_id for member in unprotect),
        terminate=tuple(member.instance_id for member in terminate),
        remaining=tuple(member.instance_id for member in remaining),
    )


def is_leaving(lifecycle_state: str) -> bool:
    """Return whether a member goes without anybody's help. A retained one does not: it waits for a person."""
    if lifecycle_state.endswith(":Retained"):
        return False
    return lifecycle_state.startswith(("Terminating", "Terminated", "Detaching", "Detached"))


def draining(group: Group) -> tuple[str, ...]:
    """Return the members that a termination hook holds, or may hold in a moment."""
    held = ("Terminating", "Terminating:Wait")
    return tuple(member.instance_id for member in group.members if member.lifecycle_state in held)


def drained_by(now: datetime, hooks: Sequence[Hook], last_moment: datetime) -> datetime:
    """Return until when members may drain that have all been asked to leave by `now`.

    A hook lets go by itself after its heartbeat. A longer one is cut short, and all of them at `last_moment`.
    """
    longest = max((hook.heartbeat_seconds for hook in hooks if not hook.launching), default=0)
    return min(now + timedelta(seconds=min(longest, LONGEST_DRAIN_SECONDS)), last_moment)


def _needs_terminating(member: GroupMember, takes_none: bool) -> bool:
    state = member.lifecycle_state
    parked = state == "Standby" or state.endswith(":Retained")
    return parked or (takes_none and state == "InService")


def _can_be_unprotected(member: GroupMember) -> bool:
    # Protection begins in service, and AWS refuses to change it before. A pending one gets there, and its
    # turn then.
    return member.lifecycle_state in ("InService", "EnteringStandby")
