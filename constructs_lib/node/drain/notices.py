"""What the instance metadata says about the instance's end.

Sources: "Retrieve the target lifecycle state through instance metadata", Amazon EC2 Auto Scaling User Guide; "Spot
Instance interruption notices" and "EC2 instance rebalance recommendations", Amazon EC2 User Guide.
"""

from __future__ import annotations

import calendar
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial

from ..guard import Guard

PATHS: Mapping[str, str] = {
    "target": "autoscaling/target-lifecycle-state",
    "interruption": "spot/instance-action",
    "rebalance": "events/recommendations/rebalance",
}


@dataclass(frozen=True)
class Notices:
    """Each as it is written there, empty if there is none."""

    target: str = ""
    interruption: str = ""
    rebalance: str = ""

    @property
    def any(self) -> bool:
        """Whether somebody says that the instance goes, or may."""
        return bool(self.interruption or self.rebalance) or self.target not in ("", "InService")


def read_notices(read: Callable[[str], str | None], before: Notices, guard: Guard) -> Notices:
    """Ask for each. One that cannot be read is taken to be as it was; `read` returns None for what is not there."""
    found = {}
    for field in fields(Notices):
        answer = guard.attempt(f"instance metadata {PATHS[field.name]}", partial(_ask, read, PATHS[field.name]))
        found[field.name] = getattr(before, field.name) if answer is None else answer
    return Notices(**found)


def _ask(read: Callable[[str], str | None], path: str) -> str:
    return read(path) or ""


def interruption_time(text: str) -> float | None:
    """Return the time in epoch seconds at which an interruption notice says that it begins, None if it does not."""
    try:
        return calendar.timegm(time.strptime(json.loads(text)["time"], "%Y-%m-%dT%H:%M:%SZ"))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
