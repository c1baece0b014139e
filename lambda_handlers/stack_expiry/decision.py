"""Whether a stack's time is over, and who must hear of it first. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from stack_expiry.expiry_tag import MalformedExpiry, read_expiry
from stack_expiry.stack import Stack

_PASS = timedelta(hours=1)
_DAY = timedelta(days=1)
_GOING = frozenset({"DELETE_IN_PROGRESS", "DELETE_COMPLETE"})
# Statuses in which nothing is going on, so that CloudFormation takes a deletion. Whatever else there is or will be is
# waited for.
_AT_REST = frozenset(
    {
        "CREATE_COMPLETE",
        "CREATE_FAILED",
        "DELETE_FAILED",
        "IMPORT_COMPLETE",
        "IMPORT_ROLLBACK_COMPLETE",
        "IMPORT_ROLLBACK_FAILED",
        "ROLLBACK_COMPLETE",
        "ROLLBACK_FAILED",
        "UPDATE_COMPLETE",
        "UPDATE_FAILED",
        "UPDATE_ROLLBACK_COMPLETE",
        "UPDATE_ROLLBACK_FAILED",
    }
)


class Start(Enum):
    """What a stack's time is counted from."""

    CREATION = "creation"
    LAST_UPDATE = "last_update"


class Notice(Enum):
    """What people are told of. None of them more than once a day."""

    WARNING = "warning"
    DELETING = "deleting"
    DELETE_FAILED = "delete_failed"
    PROTECTED = "protected"
    NO_SERVICE_ROLE = "no_service_role"
    NESTED = "nested"
    MALFORMED_TAG = "malformed_tag"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How long a stack lives, unless its tag names another moment, and how long before its end it is warned of."""

    after: timedelta
    warn_before: timedelta
    start: Start
    tag_key: str


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What has been told: what of and when; and of which end, since when, people have been warned."""

    told: Notice | None = None
    told_at: datetime | None = None
    warned_of: datetime | None = None
    warned_since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do: tell, delete, both or nothing. `memory` is what to remember once it has been done."""

    delete: bool
    tell: Notice | None
    reason: str
    expires_at: datetime | None
    delete_after: datetime | None
    memory: Memory


def decide(now: datetime, stack: Stack, policy: Policy, memory: Memory) -> Decision:
    """Return what to do with a stack.

    It is deleted when its moment has come, at rest, and no sooner than `warn_before` after people were first warned of
    that moment or an earlier one. So a stack that is old already when it gets an expiry, and one whose moment is moved
    forward, are warned of for as long as any other.
    """
    if stack.status in _GOING:
        return _leave(memory, f"the stack is in {stack.status}")
    if stack.is_nested:
        return _obstacle(now, memory, Notice.NESTED, "the stack is nested: only its parent can be deleted")
    try:
        expires_at = _expires_at(stack, policy)
    except MalformedExpiry as error:
        return _obstacle(now, memory, Notice.MALFORMED_TAG, f"tag {policy.tag_key}: {error}")
    if not stack.has_service_role:
        why = "the stack has no service role, and this function may delete no resource by itself"
        return _obstacle(now, memory, Notice.NO_SERVICE_ROLE, why, expires_at)
    # One pass earlier, so that a warning that is sent by the hour is still in time.
    if now + policy.warn_before + _PASS < expires_at:
        return _leave(Memory(), "its time has not come", expires_at)
    if stack.status not in _AT_REST:
        return _leave(memory, f"the stack is in {stack.status}, which is waited for", expires_at)
    if stack.is_protected:
        return _obstacle(now, memory, Notice.PROTECTED, "the stack is protected from termination", expires_at)
    return _warn_or_delete(now, stack, policy, memory, expires_at)


def _warn_or_delete(now: datetime, stack: Stack, policy: Policy, memory: Memory, expires_at: datetime) -> Decision:
    if memory.warned_of is None or memory.warned_since is None or memory.warned_of > expires_at:
        fresh = Memory(told=Notice.WARNING, told_at=now, warned_of=expires_at, warned_since=now)
        delete_after = max(expires_at, now + policy.warn_before)
        return _decision(False, Notice.WARNING, "nobody has been warned of this", fresh, expires_at, delete_after)
    delete_after = max(expires_at, memory.warned_since + policy.warn_before)
    if now < delete_after:
        why = "its time is about to come"
        notice, memory = _once_a_day(now, Notice.WARNING, memory)
        return _decision(False, notice, why, memory, expires_at, delete_after)
    again = stack.status == "DELETE_FAILED"
    notice, memory = _once_a_day(now, Notice.DELETE_FAILED if again else Notice.DELETING, memory)
    why = f"its deletion failed and is tried again: {stack.status_reason}" if again else "its time is over"
    return _decision(True, notice, why, memory, expires_at, delete_after)


def _expires_at(stack: Stack, policy: Policy) -> datetime:
    value = stack.tags.get(policy.tag_key)
    if value is not None:
        return read_expiry(value)
    start = stack.created_at
    if policy.start is Start.LAST_UPDATE and stack.updated_at is not None:
        start = max(start, stack.updated_at)
    return start + policy.after


def _obstacle(
    now: datetime, memory: Memory, notice: Notice, reason: str, expires_at: datetime | None = None
) -> Decision:
    """Something keeps the stack for good. When it is gone, people are warned anew before anything is deleted."""
    told, kept = _once_a_day(now, notice, memory)
    kept = replace(kept, warned_of=None, warned_since=None)
    return _decision(False, told, reason, kept, expires_at, None)


def _leave(memory: Memory, reason: str, expires_at: datetime | None = None) -> Decision:
    return _decision(False, None, reason, memory, expires_at, None)


def _once_a_day(now: datetime, notice: Notice, memory: Memory) -> tuple[Notice | None, Memory]:
    """Return the notice unless it was told within the last day, and what to remember."""
    if memory.told is notice and memory.told_at is not None and now - memory.told_at < _DAY:
        return None, memory
    return notice, replace(memory, told=notice, told_at=now)


def _decision(
    delete: bool,
    tell: Notice | None,
    reason: str,
    memory: Memory,
    expires_at: datetime | None,
    delete_after: datetime | None,
) -> Decision:
    return Decision(
        delete=delete, tell=tell, reason=reason, expires_at=expires_at, delete_after=delete_after, memory=memory
    )
