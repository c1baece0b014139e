"""What the owner of a fleet wants: who counts as idle, who must go anyhow, and how many at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from release_idle.measurement import Signal, Window, window_before
from runtime.hours import Hours


class AtMinimum(str, Enum):
    """What becomes of a member past a hard limit when the capacity must not fall."""

    LEAVE = "leave"
    REPLACE = "replace"


@dataclass(frozen=True, kw_only=True)
class KeepWarm:
    """A capacity that stays in certain hours, idle or not."""

    instances: int
    hours: Hours


@dataclass(frozen=True, kw_only=True)
class IdlePolicy:
    """When a member counts as idle, and how much of the fleet may go in one pass.

    The three hard limits, `max_life_seconds`, `max_unknown_seconds` and `leave_from`, are off while None: only they let
    a member go that is not idle.
    """

    window_seconds: int
    warm_up_seconds: int
    period_seconds: int
    signals: tuple[Signal, ...]
    max_release_share: float
    hold_tag_key: str
    protection_holds: bool
    """Whether scale-in protection is a person's "hands off" (a group that is not ours) or set on every member
    by the group itself (ours, where only this decision may choose a victim)."""
    messages_per_instance: int = 1
    min_life_seconds: int = 0
    """An idle member younger than this stays."""
    max_releases: int | None = None
    max_life_seconds: int | None = None
    max_unknown_seconds: int | None = None
    at_minimum: AtMinimum = AtMinimum.LEAVE
    quiet: tuple[Hours, ...] = ()
    """Hours in which no idle member goes."""
    warm: tuple[KeepWarm, ...] = ()
    maintenance: tuple[Hours, ...] | None = None
    """The only hours in which the maximum life acts. None: all."""
    leave_from: datetime | None = None
    """From this moment on every member goes, at work or not, since its machine is taken soon. None: never."""
    start_worth_seconds: int | None = None
    """As much idle time of one member costs what a start costs: members that the fleet does not use together may then
    go before their window is over. None: each has to be idle for the whole window."""
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    """What an hour of an instance type costs: of equally idle members the dearest goes first."""

    def __post_init__(self) -> None:
        # Without a signal nothing could speak against idleness, and silence is never a fact.
        if not self.signals:
            raise ValueError("signals must hold at least one signal, got none")

    def window(self, now: datetime) -> Window:
        """Return the window that an instance must have been idle for, at `now`."""
        return window_before(now, window_seconds=self.window_seconds, period_seconds=self.period_seconds)

    def is_quiet(self, now: datetime) -> bool:
        """Return whether it is an hour in which no idle member goes."""
        return any(hours.covers(now) for hours in self.quiet)

    def ends_the_old(self, now: datetime) -> bool:
        """Return whether it is an hour in which the maximum life acts."""
        return self.maintenance is None or any(hours.covers(now) for hours in self.maintenance)

    def ends_all(self, now: datetime) -> bool:
        """Return whether nobody stays any more."""
        return self.leave_from is not None and now >= self.leave_from

    def warm_capacity(self, now: datetime) -> int:
        """Return the capacity that stays at this hour."""
        return max((each.instances for each in self.warm if each.hours.covers(now)), default=0)
