"""The stack tag that says when the stack expires."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?", re.ASCII)


class MalformedExpiry(ValueError):
    """The tag's value is no date or time."""


def read_expiry(value: str) -> datetime:
    """Return the moment that a tag names: the end of a date, or a time, both in UTC unless the time has an offset.

    Raises `MalformedExpiry`.
    """
    text = value.strip()
    try:
        if _DATE.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=timezone.utc) + timedelta(days=1)
        if parts := _TIME.fullmatch(text):
            offset = "+00:00" if parts[3] in (None, "Z") else parts[3]
            return datetime.fromisoformat(f"{parts[1]}T{parts[2]}{offset}").astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise MalformedExpiry(f"{value!r} is no date or time: {error}") from None
    raise MalformedExpiry(f"{value!r} is no date (2026-12-24) or time (2026-12-24T18:00Z)")
