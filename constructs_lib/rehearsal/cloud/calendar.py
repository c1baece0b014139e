"""The clock of the simulated account: whole seconds since its first moment, and when schedules fire on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z, a multiple of every period

_DAY = 86_400
_LONGEST_SEARCH = 4 * 366 + 1
"""Days after which a date that never comes, such as 30 February, is given up."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_UNITS = {"minute": 60, "hour": 3_600, "day": _DAY}


@lru_cache(maxsize=4_096)
def moment(at: float) -> datetime:
    """Return simulated seconds as a date."""
    return datetime.fromtimestamp(EPOCH + at, tz=timezone.utc)


def seconds(value: datetime | float) -> int:
    """Return a date, or a Unix time, as simulated seconds."""
    stamp = value.timestamp() if isinstance(value, datetime) else float(value)
    return int(stamp) - EPOCH


def read_moment(where: str, text: str, zone: ZoneInfo | None = None) -> int:
    """Return the simulated second of a date as a template writes it, in UTC unless it says otherwise.

    Raises:
        ArgumentError: it is no date.
    """
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return seconds(found if found.tzinfo is not None else found.replace(tzinfo=zone or timezone.utc))
    except (ValueError, OverflowError) as error:
        rule, cure = "be a date with its time", "write for example 2026-01-05T08:00:00Z"
        raise ArgumentError(complaint(where, "time", rule, text, cure)) from error


def read_zone(where: str, name: str | None) -> ZoneInfo:
    """Return a time zone by its IANA name, UTC if there is none.

    Raises:
        ArgumentError: there is no zone of this name.
    """
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError) as error:
        rule, cure = "be the IANA name of a time zone", "write for example Europe/Berlin"
        raise ArgumentError(complaint(where, "time zone", rule, name, cure)) from error


class Timing(Protocol):
    """When something fires."""

    def next_after(self, at: int) -> int | None:
        """Return the first second after ``at`` in which it fires, None if it never does again."""

    def is_due(self, at: int) -> bool:
        """Return whether it fires in this very second."""


@dataclass(frozen=True)
class Rate:
    """Every so many seconds."""

    every: int

    def next_after(self, at: int) -> int | None:
        """Return the next multiple of the period."""
        return at - at % self.every + self.every

    def is_due(self, at: int) -> bool:
        """Return whether this is a multiple of the period."""
        return at % self.every == 0


@dataclass(frozen=True)
class Once:
    """At one moment."""

    at: int

    def next_after(self, at: int) -> int | None:
        """Return that moment while it is to come."""
        return self.at if self.at > at else None

    def is_due(self, at: int) -> bool:
        """Return whether this is that moment."""
        return at == self.at


@dataclass(frozen=True)
class Cron:
    """A cron expression in a time zone; None stands for any value.

    A local time that a change of the clocks leaves out is skipped, and one that comes twice is taken once.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    """0 is Sunday."""
    years: frozenset[int] | None
    zone: ZoneInfo

    def next_after(self, at: int) -> int | None:
        """Return the first second after ``at`` that fits."""
        first = moment(at).astimezone(self.zone).date()
        for number in range(_LONGEST_SEARCH):
            day = first + timedelta(days=number)
            if self._fits(day):
                found = next((each for each in self._times(day) if each > at), None)
                if found is not None:
                    return found
        return None

    def is_due(self, at: int) -> bool:
        """Return whether this second is the beginning of a minute that fits."""
        local = moment(at).astimezone(self.zone)
        fits = local.second == local.fold == 0 and local.minute in self.minutes and local.hour in self.hours
        return fits and self._fits(local.date())

    def _fits(self, day: date) -> bool:
        if day.month not in self.months or (self.years is not None and day.year not in self.years):
            return False
        by_day = None if self.days is None else day.day in self.days
        by_weekday = None if self.weekdays is None else day.isoweekday() % 7 in self.weekdays
        judged = [each for each in (by_day, by_weekday) if each is not None]
        # As in cron of old: where both are given, either is enough.
        return not judged or any(judged)

    def _times(self, day: date) -> Iterator[int]:
        for hour in sorted(self.hours):
            for minute in sorted(self.minutes):
                local = datetime.combine(day, time(hour, minute), tzinfo=self.zone)
                back = local.astimezone(timezone.utc).astimezone(self.zone)
                if back.time() == local.time():
                    yield seconds(local)


def read_schedule(where: str, expression: str, zone: str | None = None) -> Timing:
    """Return the timing of an expression of EventBridge: rate(), cron() with six fields, or at().

    Raises:
        ArgumentError: it is none of these, or uses what is not simulated.
    """
    match = re.fullmatch(r"(rate|cron|at)\((.+)\)", expression.strip())
    if match is None:
        raise _unreadable(where, expression)
    kind, text = match.groups()
    if kind == "at":
        return Once(read_moment(where, text, read_zone(where, zone)))
    if kind == "rate":
        rate = re.fullmatch(r"(\d+) (minute|hour|day)s?", text)
        if rate is None or int(rate[1]) < 1:
            raise _unreadable(where, expression)
        return Rate(int(rate[1]) * _UNITS[rate[2]])
    fields = text.split()
    if len(fields) != 6:
        raise _unreadable(where, expression)
    weekday = _field(where, fields[4], 1, 7, _WEEKDAYS)
    years = _field(where, fields[5], 1970, 2199)
    return _cron(where, fields, weekday and frozenset(each - 1 for each in weekday), years, zone)


def read_cron(where: str, expression: str, zone: str | None = None) -> Cron:
    """Return the timing of a scheduled action: cron with five fields, Sunday being 0 or 7.

    Raises:
        ArgumentError: it is not.
    """
    fields = expression.split()
    if len(fields) != 5:
        raise _unreadable(where, expression)
    weekday = _field(where, fields[4], 0, 7, _WEEKDAYS)
    return _cron(where, fields, weekday and frozenset(each % 7 for each in weekday), None, zone)


def _cron(
    where: str,
    fields: list[str],
    weekdays: frozenset[int] | None,
    years: frozenset[int] | None,
    zone: str | None,
) -> Cron:
    return Cron(
        minutes=_field(where, fields[0], 0, 59) or frozenset(range(60)),
        hours=_field(where, fields[1], 0, 23) or frozenset(range(24)),
        days=_field(where, fields[2], 1, 31),
        months=_field(where, fields[3], 1, 12, _MONTHS) or frozenset(range(1, 13)),
        weekdays=weekdays,
        years=years,
        zone=read_zone(where, zone),
    )


def _field(where: str, text: str, least: int, most: int, names: tuple[str, ...] = ()) -> frozenset[int] | None:
    """Return the values that a field allows, None for all."""
    if text in ("*", "?"):
        return None
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        try:
            begin = least if first == "*" else _number(first, least, names)
            end = most if first == "*" or (step and not last) else _number(last or first, least, names)
            numbers = range(begin, end + 1, int(step or 1))
        except ValueError as error:
            raise _unreadable(where, text) from error
        if not numbers or begin < least or end > most:
            raise _unreadable(where, text)
        found.update(numbers)
    return frozenset(found)


def _number(text: str, least: int, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + (1 if least == 1 else 0)
    return int(text)


def _unreadable(where: str, expression: str) -> ArgumentError:
    rule = "be rate(), at() or cron() without L, W and #, as EventBridge or Auto Scaling take it"
    cure = "write it with numbers, names, lists, ranges and steps"
    return ArgumentError(complaint(where, "schedule", rule, expression, cure))
