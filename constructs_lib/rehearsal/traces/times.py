"""Points in time as public traces write them, to seconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1)
_TO_THE_MINUTE = len("2023-11-16 18:15")


def seconds(text: str) -> float:
    """Return the seconds since 1970 of a point in time, in UTC unless it says otherwise.

    It may have any number of decimals, of which Azure's traces have seven, and an offset such as ``+00:00`` or ``Z``.

    Raises:
        ValueError: it is no point in time.
    """
    text = text.strip()
    rest = text[_TO_THE_MINUTE:].removesuffix("+00:00").removesuffix("Z")
    offset_s = 0.0
    sign = max(rest.rfind("+"), rest.rfind("-"))
    if sign > 0:
        offset_s = _offset_s(rest[sign:])
        rest = rest[:sign]
    second = float(rest[1:]) if rest else 0.0
    if not text.isascii() or "_" in text or (rest and rest[0] != ":") or not 0 <= second < 61:
        raise ValueError(f"{text!r} is no point in time")
    return _minute(text[:_TO_THE_MINUTE]) + second - offset_s


@lru_cache(maxsize=1024)
def _minute(text: str) -> float:
    return (datetime.fromisoformat(text) - _EPOCH) / timedelta(seconds=1)


def _offset_s(text: str) -> float:
    hours, minutes = text[1:].split(":") if ":" in text else (text[1:3], text[3:] or "0")
    return (int(hours) * 3600 + int(minutes) * 60) * (1 if text[0] == "+" else -1)
