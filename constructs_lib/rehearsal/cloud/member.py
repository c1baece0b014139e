"""What a group is made of: its instances, why they end, and the history that it tells. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from constructs_lib.rehearsal.cloud.hooks import Waiting

Market = Literal["on-demand", "spot"]


class Refused(Exception):
    """An API refuses a call; ``code`` is AWS's name for the error."""

    def __init__(self, message: str, code: str = "ValidationError") -> None:
        super().__init__(message)
        self.code = code


class Boot(NamedTuple):
    """How long one launch takes: seconds from being asked to the launch, and from the launch to what follows."""

    wait_s: float
    in_service_s: float
    answered_s: float | None = None
    """From the launch until the machine completes its launch hooks; None is never, so that their time runs out."""


NO_TIME = Boot(0.0, 0.0)


@dataclass
class Instance:
    """One member, from launch to end; times in seconds.

    Whole numbers are the minute in which the group noticed; those that end in ``_at`` are exact.
    """

    id: str
    zone: str
    launched: int
    protected: bool
    state: str = "Pending"
    in_service_since: int | None = None
    waiting: Waiting | None = None
    """For which hooks it waits, launching or terminating."""
    leaves_at: int | None = None
    ended: int | None = None
    """When it was gone from the group; in a warm pool, when it left or was switched off."""
    lost_at: int | None = None
    """When its machine was taken away from outside, and with it the bill."""
    healthy: bool = True
    runs: bool = True
    """Whether the machine runs; a member can outlive it, while a hook waits for an answer."""
    tags: dict[str, str] = field(default_factory=dict)
    instance_type: str = "g6.xlarge"
    market: Market = "on-demand"
    launched_at: float = 0.0
    in_service_at: float | None = None
    drain_from: int | None = None
    """When its termination began."""
    termination: int | None = None
    """The number of that in the group's history."""
    cause: str = ""
    """Why it ended, such as "released", "scale-in", "rebalancing", "unhealthy"."""
    is_warm: bool = False
    """Whether it was booted before, in the warm pool."""
    boot: Boot = NO_TIME
    answered_at: float | None = None
    """When the last of its launch hooks was completed."""

    @property
    def paid_until(self) -> int | None:
        """Until when it bills; None while it does."""
        return self.ended if self.lost_at is None else self.lost_at

    @property
    def waits_until(self) -> int | None:
        """Until when a termination hook holds it at most; None when none does."""
        if self.state != "Terminating:Wait" or self.waiting is None:
            return None
        return max(self.waiting.open.values())

    @property
    def counts(self) -> bool:
        """Whether it counts towards the desired capacity."""
        return self.state in COUNTING


COUNTING = ("Pending", "Pending:Wait", "InService")
"""The states of what is in service or on its way into it."""


@dataclass(frozen=True)
class Ending:
    """Why and when the termination of an instance began, and whether it was doing something."""

    id: str
    at: int
    cause: str
    busy: bool


@dataclass(frozen=True)
class Activity:
    """One entry of the activity history; `ended` is None while it goes on."""

    id: int
    description: str
    cause: str
    started: int
    ended: int | None
    status: str
    message: str = ""
