"""Hours of the week in a place: when people work, when nothing may be taken away, when the house is cleaned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from constructs_lib.catalog import tables
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import closest, complaint, list_of, text

_WHERE = "Hours"
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_END_OF_DAY = "24:00"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY = 24 * 60
_WEEK = 7 * _DAY


class Weekday(Enum):
    """A day of the week."""

    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


@dataclass(frozen=True, kw_only=True)
class Hours:
    """Hours that come back every week, by the clock on the wall of a place, daylight-saving time included.

    Attributes:
        start: ``HH:MM``, from 00:00 to 23:59.
        end: ``HH:MM``, up to 24:00. At or before ``start`` it is on the day after: 22:00 to 06:00 runs over midnight,
            and belongs to the day on which it begins.
        time_zone: name of the IANA database, for example ``Europe/Berlin``, or ``UTC``.
        days: on which they begin. Default: every day.
        exceptions: dates (``YYYY-MM-DD``) on which they do not begin, such as public holidays. Default: none.

    Raises:
        ArgumentError: a time, a date or the zone is none, or a day or a date is named twice.
    """

    start: str
    end: str
    time_zone: str
    days: Sequence[Weekday] | None = None
    exceptions: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _check_time("start", self.start, "00:00 to 23:59", "08:00")
        if self.end != _END_OF_DAY:
            _check_time("end", self.end, "00:00 to 24:00", "18:00")
        if self.start == self.end:
            cure = "write 00:00 to 24:00 for whole days"
            raise ArgumentError(complaint(_WHERE, "end", f"differ from start ({self.start})", self.end, cure))
        _check_zone(self.time_zone)
        object.__setattr__(self, "days", tuple(Weekday) if self.days is None else _days(self.days))
        object.__setattr__(self, "exceptions", () if self.exceptions is None else _dates(self.exceptions))

    def __repr__(self) -> str:
        """Short, since a message shows no more than the beginning of a long value."""
        assert self.days is not None
        days = "" if len(self.days) == len(Weekday) else f" {_in_words(self.days)}"
        without = f" but {len(self.exceptions)} dates" if self.exceptions else ""
        return f"Hours({self.start}-{self.end} {self.time_zone}{days}{without})"

    def settings(self) -> dict[str, object]:
        """What the handlers are told; ``runtime.hours`` reads it."""
        assert self.days is not None
        return {
            "days": [day.value for day in self.days],
            "from": self.start,
            "to": self.end,
            "zone": self.time_zone,
            **({"except": list(self.exceptions)} if self.exceptions else {}),
        }


def hours_of(where: str, parameter: str, given: object) -> tuple[Hours, ...]:
    """Return what was given for a parameter that takes several :class:`Hours`.

    Raises:
        ArgumentError: it is not a list of them, or an empty one.
    """
    cure = "leave it out for none, or write [Hours(start='08:00', end='18:00', time_zone='Europe/Berlin')]"
    return list_of(where, parameter, given, Hours, cure=cure)


def leave_no_minute(hours: Sequence[Hours]) -> bool:
    """Whether hours of one time zone, without exceptions, cover the whole week."""
    covered: dict[str, set[int]] = {}
    for each in hours:
        if not each.exceptions:
            covered.setdefault(each.time_zone, set()).update(_minutes_of_the_week(each))
    return any(len(minutes) == _WEEK for minutes in covered.values())


def _check_time(parameter: str, value: object, span: str, example: str) -> None:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        cure = f"write for example {example!r}"
        raise ArgumentError(complaint(_WHERE, parameter, f"be a time from {span}, as HH:MM", value, cure))


def _check_zone(name: object) -> None:
    zones = _zones()
    known = text(_WHERE, "time_zone", name, cure="write for example 'Europe/Berlin', or 'UTC'")
    if known not in zones:
        rule = "be a time zone's name in the IANA database"
        cure = f"{closest(known, _places(zones))}write for example 'Europe/Berlin', or 'UTC'"
        raise ArgumentError(complaint(_WHERE, "time_zone", rule, known, cure))


def _places(zones: frozenset[str]) -> list[str]:
    """Those that can have been meant: a short name resembles others of other hours, and Etc/GMT+1 is UTC-1."""
    return sorted(name for name in zones if "/" in name and not name.startswith("Etc/"))


@cache
def _zones() -> frozenset[str]:
    """The names in the library's own table: what this machine knows must not decide."""
    return frozenset(row["name"] for row in tables.read("time_zones.csv"))


def _days(given: object) -> tuple[Weekday, ...]:
    cure = "leave it out for every day, or write for example [Weekday.MONDAY, Weekday.FRIDAY]"
    days = list_of(_WHERE, "days", given, Weekday, cure=cure)
    if len(set(days)) < len(days):
        named = [day.name for day in days]
        raise ArgumentError(complaint(_WHERE, "days", "name each day once", named, "remove the second one"))
    return tuple(day for day in Weekday if day in days)


def _in_words(days: Sequence[Weekday]) -> str:
    """Days in their order: ``Mon-Fri`` if none is left out between them, else ``Mon,Wed``."""
    names = [day.name[:3].title() for day in days]
    together = len(days) > 2 and days[-1].value - days[0].value == len(days) - 1
    return f"{names[0]}-{names[-1]}" if together else ",".join(names)


def _dates(given: object) -> tuple[str, ...]:
    cure = "leave it out for none, or write for example ['2026-12-25']"
    if isinstance(given, (list, tuple)):
        for each in given:
            if hasattr(each, "isoformat"):
                way = ".date().isoformat()" if hasattr(each, "date") else ".isoformat()"
                as_text = f"write {way} of it"
                raise ArgumentError(complaint(_WHERE, "exceptions", "hold dates, as YYYY-MM-DD", each, as_text))
    dates = list_of(_WHERE, "exceptions", given, str, cure=cure)
    for each in dates:
        if not _is_date(each):
            raise ArgumentError(complaint(_WHERE, "exceptions", "hold dates, as YYYY-MM-DD", each, cure))
    if len(set(dates)) < len(dates):
        raise ArgumentError(complaint(_WHERE, "exceptions", "name each date once", given, "remove the second one"))
    return tuple(sorted(dates))


def _is_date(value: str) -> bool:
    from datetime import date  # only hours with exceptions need it

    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _minutes_of_the_week(hours: Hours) -> Iterator[int]:
    assert hours.days is not None
    start, end = _minute_of_the_day(hours.start), _minute_of_the_day(hours.end)
    length = end - start if end > start else end - start + _DAY
    for day in hours.days:
        begin = day.value * _DAY + start
        yield from (minute % _WEEK for minute in range(begin, begin + length))


def _minute_of_the_day(time: str) -> int:
    hour, minute = time.split(":")
    return int(hour) * 60 + int(minute)
