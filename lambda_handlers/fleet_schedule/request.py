"""What a run was asked for: to bring the fleet up to date, and perhaps first to note what a person wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from runtime.triggers import MalformedEvent, recognise


class Wish(Enum):
    """What a person wants. It holds until they want something else."""

    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A recognised event. With `dry_run` nothing is noted and nothing is changed."""

    wish: Wish | None = None
    dry_run: bool = False


def read_request(event: object) -> Request:
    """Return what the event asks for. Raises `MalformedEvent` for one that is none of ours."""
    trigger = recognise(event, alarms=False)
    action = event.get("action") if trigger.kind == "manual" and isinstance(event, Mapping) else None
    if action is None:
        return Request(dry_run=trigger.dry_run)
    wishes = {wish.value: wish for wish in Wish}
    if not isinstance(action, str) or action not in wishes:
        raise MalformedEvent(f"action must be one of {', '.join(wishes)}, got {action!r}")
    return Request(wish=wishes[action], dry_run=trigger.dry_run)
