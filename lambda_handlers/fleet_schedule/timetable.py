"""When a fleet is open, and what it is woken for. Pure: time in, answers out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.hours import Hours

_LATE = timedelta(minutes=10)
"""A wake-up that was missed is made up for until so long after its time."""

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class WakeUp:
    """Whenever `at` begins, so many instances have to be there, and are asked for `ahead` of it."""

    at: Hours
    instances: int
    ahead: timedelta


@dataclass(frozen=True, kw_only=True)
class Call:
    """One wake-up on one day: `due` is when its instances have to be there."""

    due: datetime
    instances: int

    @property
    def name(self) -> str:
        """What tells this call from every other."""
        return f"{self.due:%Y-%m-%dT%H:%MZ} {self.instances}"


@dataclass(frozen=True, kw_only=True)
class Timetable:
    """The fleet's hours and wake-ups. Without office hours (None) it is always open."""

    office_hours: tuple[Hours, ...] | None
    wake_ups: tuple[WakeUp, ...]

    def is_open(self, now: datetime) -> bool:
        """Return whether the fleet has its sizes: in office hours, and while it is woken for the beginning of some."""
        return self._in_office_hours(now) or any(now < call.due for call in self.calls(now))

    def calls(self, now: datetime) -> tuple[Call, ...]:
        """Return the wake-ups that ask for instances now, each from `ahead` of its time until shortly after.

        One whose time is not within office hours asks for nothing: a holiday is an exception to these alone.
        """
        return tuple(call for call in self._near(now) if self._in_office_hours(call.due))

    def next_opening(self, now: datetime) -> datetime:
        """Return when office hours begin next; a day from now where they never do."""
        begins = [begin for hours in self.office_hours or () if (begin := hours.next_start(now)) is not None]
        return min(begins, default=now + _ONE_DAY)

    def _near(self, now: datetime) -> Iterator[Call]:
        for wake_up in self.wake_ups:
            due = wake_up.at.next_start(now - _LATE)
            if due is not None and due - wake_up.ahead <= now:
                yield Call(due=due, instances=wake_up.instances)

    def _in_office_hours(self, moment: datetime) -> bool:
        return self.office_hours is None or any(hours.covers(moment) for hours in self.office_hours)
