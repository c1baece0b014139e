"""Hours of the week in a time zone, with daylight saving time and exceptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo

from dateutil.tz import gettz, tzfile  # type: ignore[import-untyped]
from dateutil.zoneinfo import get_zonefile_instance  # type: ignore[import-untyped]

_KEYS = frozenset({"days", "from", "to", "zone", "except"})
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_ZONE = re.compile(r"[A-Za-z][\w+-]*(/[\w+-]+)*", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ONE_DAY = timedelta(days=1)
_ONE_SECOND = timedelta(seconds=1)
_DAYS_AHEAD = 400
"""How far a next beginning is looked for: beyond a year of exceptions."""


@dataclass(frozen=True, kw_only=True)
class Hours:
    """Hours that begin at `start` on some days of the week and end at `end`, by the clocks of a time zone.

    An end that is not later than the start is on the next day; `exceptions` are days on which they do not begin. Where
    clocks are put back and show a time twice, the hours begin at its first and end at its second showing, so that
    nothing begins twice; where they are put forward over a time, they begin or end at that jump.
    """

    days: frozenset[int]
    start: timedelta
    end: timedelta
    zone: tzinfo
    exceptions: frozenset[date]

    def covers(self, now: datetime) -> bool:
        """Return whether `now` is within these hours; their end no longer is."""
        today = now.astimezone(self.zone).date()
        return any(begin <= now < end for begin, end in map(self._on, (today - _ONE_DAY, today)))

    def next_start(self, now: datetime) -> datetime | None:
        """Return when these hours begin next, later than `now`, in UTC; None if not within 400 days."""
        today = now.astimezone(self.zone).date()
        for days in range(-1, _DAYS_AHEAD):
            begin, end = self._on(today + timedelta(days=days))
            if now < begin < end:
                return begin
        return None

    def _on(self, day: date) -> tuple[datetime, datetime]:
        """Return beginning and end of the hours that begin on `day`; the same moment twice if none do."""
        midnight = datetime.combine(day, time())
        if day.weekday() not in self.days or day in self.exceptions:
            never = midnight.replace(tzinfo=timezone.utc)
            return never, never
        begin = _moment(midnight + self.start, self.zone, last=False)
        return begin, _moment(midnight + self.end, self.zone, last=True)


def read_hours(document: object) -> Hours:
    """Return the hours that the document describes. Raises `ValueError`, saying what is wrong with it."""
    if not isinstance(document, Mapping):
        raise ValueError(f"hours must be a JSON object, got {document!r}")
    unknown = sorted(set(document) - _KEYS, key=str)
    if unknown:
        raise ValueError(f"hours know {', '.join(sorted(_KEYS))}, got {unknown[0]!r}")
    start, end = _clock(document, "from"), _clock(document, "to", latest="24:00")
    return Hours(
        days=frozenset(_days(document.get("days"))),
        start=start,
        end=end if end > start else end + _ONE_DAY,
        zone=_zone(document.get("zone")),
        exceptions=frozenset(_dates(document.get("except", []))),
    )


def _clock(document: Mapping[str, object], key: str, latest: str = "23:59") -> timedelta:
    text = document.get(key)
    if text == latest == "24:00":
        return _ONE_DAY
    found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{key!r} must be a time from 00:00 to {latest}, got {text!r}")
    return timedelta(hours=int(found[1]), minutes=int(found[2]))


def _days(value: object) -> Sequence[int]:
    if isinstance(value, list) and value and all(type(day) is int and 0 <= day <= 6 for day in value):
        return value
    raise ValueError(f"'days' must be a list of numbers from 0 (Monday) to 6, got {value!r}")


def _dates(value: object) -> Sequence[date]:
    try:
        if isinstance(value, list) and all(isinstance(day, str) and _DATE.fullmatch(day) for day in value):
            return [date.fromisoformat(day) for day in value]
    except ValueError:
        pass  # 2026-02-30
    raise ValueError(f"'except' must be a list of dates such as 2026-12-25, got {value!r}")


def _zone(name: object) -> tzinfo:
    # dateutil's own files come first: they say the same on every machine, and Lambda's image has no others. Its reader
    # takes a system's file in the newer, slim form for UTC. A name that only the system knows is better than none; one
    # that is a rule by itself ("UTC+3", whose sign people read in two ways) or a path is none.
    if isinstance(name, str) and _ZONE.fullmatch(name):
        zone: tzinfo | None = get_zonefile_instance().get(name) or gettz(name)
        if zone is not None and isinstance(zone, tzfile):
            return zone
    raise ValueError(f"'zone' must be a time zone's IANA name such as Europe/Berlin, got {name!r}")


def _moment(shown: datetime, zone: tzinfo, *, last: bool) -> datetime:
    """Return when the clocks of `zone` show this time, first or last; if they skip it, when they jump over it."""
    # No zone is a day or more from UTC, so one of these offsets was in force at the time sought.
    around = (shown.replace(tzinfo=timezone.utc) + days for days in (-_ONE_DAY, _ONE_DAY))
    moments = sorted(shown.replace(tzinfo=timezone.utc) - _offset(moment, zone) for moment in around)
    right = [moment for moment in moments if _shown(moment, zone) == shown]
    if right:
        return right[-1 if last else 0]
    before, after = moments
    while after - before > _ONE_SECOND:
        between = before + (after - before) // 2
        if _shown(between, zone) < shown:
            before = between
        else:
            after = between
    return after.replace(microsecond=0)


def _shown(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return _shown(moment, zone) - moment.replace(tzinfo=None)
