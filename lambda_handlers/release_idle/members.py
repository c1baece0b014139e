"""The members of a group and what a pass makes of each. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class State(str, Enum):
    """What a member of the group is. Without a hard limit in the policy only `IDLE` can ever be released."""

    BUSY = "busy"
    IDLE = "idle"
    UNKNOWN = "unknown"
    STARTING = "starting"
    HELD = "held"
    LEAVING = "leaving"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What EC2 knows about an instance."""

    launched_at: datetime
    state: str
    tags: Mapping[str, str]
    instance_type: str | None = None
    spot: bool = False


@dataclass(frozen=True, kw_only=True)
class Member:
    """An instance of the group.

    `machine` is None when EC2 did not return the instance, `in_session` when sessions could not be read.
    """

    instance_id: str
    lifecycle_state: str
    protected: bool
    machine: Machine | None
    in_session: bool | None
    capacity: int = 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a member is and why.

    `idle_seconds` is how long it has surely been idle, None if it is not. `at_work` says that a signal shows use in its
    newest points: a member that is busy only because somebody is logged in, or because it worked earlier in the window,
    may have no work now. `is_partial` says that only the first signal was asked, since nobody could go anyhow.
    """

    state: State
    reason: str
    idle_seconds: int | None = None
    at_work: bool = False
    is_partial: bool = False


def is_retained(lifecycle_state: str) -> bool:
    """Return whether a lifecycle hook failed and the group keeps the instance, which bills, for whoever wants it."""
    return lifecycle_state.endswith(":Retained")
