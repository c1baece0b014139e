"""What the schedule function remembers from one run to the next, as plain data and as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone

UNTOUCHED = "{}"
"""What a deploy writes into the parameter. The function itself never does, so it tells a parameter that was reset."""

_MOST = 1_000_000


class MemoryUnreadable(Exception):
    """The parameter holds something that the function did not write. Nothing is done: the saved sizes may be in it."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a group, or those that the template gives it, where the desired capacity is not known."""

    min: int
    max: int
    desired: int = 0


CLOSED = Sizes(min=0, max=0, desired=0)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What is known of the fleet beyond what AWS says about it.

    Attributes:
        paused: whether the group's sizes are 0 because the function wants them to be, or are about to be.
        sizes: of the open fleet, as of the last pause. They are kept when it ends: a run that began before may still
            close the group.
        template: the sizes in the template that was deployed when `sizes` were last looked at.
        opened_at: when the last pause ended, until the group was seen open when every run from before was over.
        by_hand: whether a person has paused the fleet, which holds until a person resumes it.
        open_until: a person has resumed the fleet outside its hours; it stays open until then.
        woken: names of the calls that were answered lately.
    """

    paused: bool = False
    sizes: Sizes | None = None
    template: Sizes | None = None
    opened_at: datetime | None = None
    by_hand: bool = False
    open_until: datetime | None = None
    woken: tuple[str, ...] = ()


def withdraw(written: Memory, better: Memory, now: datetime) -> Memory:
    """Return what is to be written in place of memory that was written in error.

    Another run may have read it already and close the group because of it. So a pause that it spoke of counts as one
    that ends now, and its sizes stay.
    """
    if written.paused and not better.paused:
        return replace(better, sizes=written.sizes, template=written.template, opened_at=now)
    return better


def write_memory(memory: Memory) -> str:
    """Return the text of it, which names only what is not as in the beginning, and never is `UNTOUCHED`."""
    document: dict[str, object] = {"paused": memory.paused}
    if memory.sizes is not None:
        document["sizes"] = {"min": memory.sizes.min, "max": memory.sizes.max, "desired": memory.sizes.desired}
    if memory.template is not None:
        document["template"] = {"min": memory.template.min, "max": memory.template.max}
    if memory.opened_at is not None:
        document["opened_at"] = _write_time(memory.opened_at)
    if memory.by_hand:
        document["by_hand"] = True
    if memory.open_until is not None:
        document["open_until"] = _write_time(memory.open_until)
    if memory.woken:
        document["woken"] = list(memory.woken)
    return json.dumps(document, separators=(",", ":"))


def read_memory(text: str) -> Memory:
    """Return what `write_memory` has written. Raises `MemoryUnreadable` for anything else but `UNTOUCHED`."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        return Memory(
            paused=_flag(document, "paused"),
            sizes=_sizes(document, "sizes"),
            template=_sizes(document, "template"),
            opened_at=_time(document, "opened_at"),
            by_hand=_flag(document, "by_hand"),
            open_until=_time(document, "open_until"),
            woken=_names(document, "woken"),
        )
    except ValueError as error:
        raise MemoryUnreadable(f"the parameter cannot be read: {error}") from error


def _flag(document: Mapping[str, object], key: str) -> bool:
    value = document.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key!r} must be true or false, got {value!r}")
    return value


def _sizes(document: Mapping[str, object], key: str) -> Sizes | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"{key!r} must be an object, got {value!r}")
    sizes = Sizes(
        min=_number(value, "min"), max=_number(value, "max"), desired=_number({"desired": 0, **value}, "desired")
    )
    if sizes.min > sizes.max:
        raise ValueError(f"the minimum of {key!r} must not be above its maximum, got {value!r}")
    return sizes


def _number(document: Mapping[str, object], key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"{key!r} must be a whole number from 0 to {_MOST}, got {value!r}")
    return value


def _write_time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")


def _time(document: Mapping[str, object], key: str) -> datetime | None:
    value = document.get(key)
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"{key!r} must be a time with its zone, got {value!r}")
    return moment


def _names(document: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{key!r} must be a list of texts, got {value!r}")
    return tuple(value)
