"""How the reports say numbers, lengths of time and moments; the same on every machine, whatever its language."""

from __future__ import annotations

from datetime import datetime, timedelta

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that count, ``-`` for none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def money(usd: float | None) -> str:
    """An amount of money."""
    if usd is None:
        return "not known"
    return f"{usd:,.2f} USD" if usd < 1_000 else f"{usd:,.0f} USD"


def share(value: float | None) -> str:
    """A share of one in percent, ``-`` for none. Only all of it is 100%, and only nothing of it is 0%."""
    if value is None:
        return "-"
    shown = f"{100 * value:.1f}"
    if shown == "100.0" and value < 1:
        shown = ">99.9"
    if shown == "0.0" and value > 0:
        shown = "<0.1"
    return f"{shown.removesuffix('.0')}%"


def duration(seconds: float | None) -> str:
    """A length of time, ``-`` for none."""
    if seconds is None:
        return "-"
    if seconds < 2 * _MINUTE:
        return f"{number(seconds)} s"
    if seconds < 2 * _HOUR:
        return f"{number(seconds / _MINUTE)} min"
    if seconds < 2 * _DAY:
        return f"{number(seconds / _HOUR)} h"
    return f"{number(seconds / _DAY)} d"


def clock(start: datetime, seconds: float) -> str:
    """What a calendar and a clock show so long after ``start``."""
    at = start + timedelta(seconds=seconds)
    return f"{day(at)} {at:%H:%M}"


def day(at: datetime) -> str:
    """A day of a calendar."""
    return f"{weekday(at)} {at.day} {_MONTHS[at.month - 1]}"


def weekday(at: datetime) -> str:
    """A day of the week."""
    return _WEEKDAYS[at.weekday()]
