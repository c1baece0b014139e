"""What is still on the instance, as files and the kernel tell it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import busy, names, status
from ..events import Tell
from ..files import read_text
from ..guard import Guard
from ..places import Places
from ..readings import MISSING
from .decision import Work

_IN_USE_WITHIN_SECONDS = 1.0


def look(places: Places, threshold: float, now: Callable[[], float], guard: Guard) -> Work:
    """Return what is on the instance now; `now` gives epoch seconds, as the status file has them."""
    marks = guard.count("busy marks", lambda tell: held_marks(places.file(names.BUSY_DIRECTORY), tell))
    in_use = guard.attempt("last reading", lambda: _in_use(places, threshold, now()))
    return Work(marks, in_use)


def held_marks(directory: Path, tell: Tell) -> int | None:
    """Return how many busy marks are held at this moment, None if unknown."""
    # The node program may not have come to it, and what is not there would be unknown.
    busy.prepare_directory(directory)
    return busy.count_marks(directory, busy.read_locks(directory, tell=tell), math.inf, tell)


def _in_use(places: Places, threshold: float, now: float) -> bool | None:
    text = read_text(places.file(names.STATUS_FILE))
    if text is None:
        return None
    last = status.at(status.parse(text), now)
    # An older reading says nothing of work that has begun since, when nobody could know yet that the instance drains.
    return in_use(last, threshold) if last["epoch_seconds"] > _drains_since(places) else None


def _drains_since(places: Places) -> float:
    try:
        return places.file(names.DRAINING).stat().st_mtime
    except FileNotFoundError:
        return -math.inf


def in_use(last: dict[str, Any], threshold: float) -> bool | None:
    """Say whether the last reading, as `status.at` gives it, shows an accelerator in use; None if it does not say.

    Whether somebody uses what does not answer cannot be known, but work on it has no future: what does not answer
    beside others counts as unused, and where there is no tool there is no driver to work with. In a mode in which
    nobody can read the use (MIG), busy marks alone decide.
    """
    if last["stale"]:
        return None
    if last.get("answer") != "reading":
        return False if last.get("answer") == MISSING else None
    devices = last["devices"]
    if any(device.get("utilization", 0) >= threshold for device in devices):
        return True
    if not any("transfers" in device for device in devices):
        return False
    # A count says nothing by itself. The program has compared it with the one before.
    idle = last["metrics"].get(names.IDLE_SECONDS) if isinstance(last.get("metrics"), dict) else None
    return None if idle is None else idle < _IN_USE_WITHIN_SECONDS
