"""For how long, and how far, a group has had less than it wants. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
LATEST_MINUTES = 5
"""The group's metrics arrive a minute or two late; from those that are older nobody can tell how things stand."""


_FIRST_POINT = timedelta(minutes=5)
"""A new group publishes nothing in its first minutes."""


class UnknownShortfall(Exception):
    """Whether the other group was short all the time cannot be told."""


@dataclass(frozen=True, kw_only=True)
class History:
    """Minutes of two groups. One that is left out is not known.

    `wanted` and `in_service` are of the other group, `own` is the desired capacity of the one that stands in for it.
    Before a group was created, and until its first point, it wanted nothing and had nothing; None is for a time that
    AWS did not tell.
    """

    wanted: Mapping[datetime, float]
    in_service: Mapping[datetime, float]
    own: Mapping[datetime, float]
    other_created_at: datetime | None
    own_created_at: datetime | None

    def shortage(self, minute: datetime) -> float | None:
        """Return how much the other group lacked in a minute, None if that is not known."""
        if minute in self.wanted and minute in self.in_service:
            return self.wanted[minute] - self.in_service[minute]
        return 0.0 if _is_before(self.other_created_at, minute) else None

    def own_desired(self, minute: datetime) -> float | None:
        """Return the desired capacity of this group in a minute, None if that is not known."""
        return self.own.get(minute, 0.0 if _is_before(self.own_created_at, minute) else None)


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """What holds for a whole window: `missing` was never there, and `own_most` is the most that was desired here."""

    missing: int
    own_most: int


def lasting_shortfall(history: History, *, now: datetime, minutes: int) -> Lasting:
    """Return what the other group has lacked in each of so many minutes, the newest of them that are known.

    A single minute in which nothing was missing is enough to say that it was not short, whatever is not known besides.
    Raises `UnknownShortfall` when it cannot be told.
    """
    newest = _newest_known(history, now)
    window = [newest - MINUTE * back for back in range(minutes)]
    shortages = [history.shortage(each) for each in window]
    known = [each for each in shortages if each is not None]
    missing = max(0, int(min(known)))
    if missing and len(known) < minutes:
        raise UnknownShortfall(f"of the last {minutes} minutes of the other group {minutes - len(known)} are not known")
    own = [each for each in (history.own_desired(minute) for minute in window) if each is not None]
    if missing and len(own) < minutes:
        raise UnknownShortfall(f"of the last {minutes} minutes of this group {minutes - len(own)} are not known")
    return Lasting(missing=missing, own_most=int(max(own, default=0)))


def _is_before(created_at: datetime | None, minute: datetime) -> bool:
    return created_at is not None and minute < created_at + _FIRST_POINT


def _newest_known(history: History, now: datetime) -> datetime:
    this_minute = now.replace(second=0, microsecond=0)
    for back in range(LATEST_MINUTES + 1):
        minute = this_minute - MINUTE * back
        if history.shortage(minute) is not None and history.own_desired(minute) is not None:
            return minute
    raise UnknownShortfall(
        f"none of the last {LATEST_MINUTES} minutes is known: are both groups' own metrics switched on?"
    )
