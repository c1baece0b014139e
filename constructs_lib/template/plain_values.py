"""What a value of a template is taken for, however it is written; a malformed one is taken for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any


def mapping(value: object) -> dict[str, Any]:
    """The value itself if it is a mapping, else an empty one: a malformed template has no answer there."""
    if isinstance(value, dict):  # Nearly all are, which is told much faster than what else is a mapping.
        return value
    return dict(value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def whole(value: object) -> int | None:
    """The whole number that the value is or is written as."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def moment(value: object) -> datetime | None:
    """The point in time that the value is or is written as."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def yes(value: object) -> bool:
    """Whether the value is true, as a template may write it."""
    return value is True or (isinstance(value, str) and value.lower() == "true")
