"""A template's functions, and what invokes them: schedules and rules on events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.calendar import Rate, Timing
from constructs_lib.validation import complaint


@dataclass(frozen=True)
class Function:
    """A Lambda function: who may invoke it, what it may call and its settings."""

    id: str
    handler: str
    environment: Mapping[str, str]
    allowed: frozenset[str]
    invokers: frozenset[str]
    timeout: int

    def may(self, action: str) -> bool:
        """Return whether the function's role allows an action (resources and conditions are not judged)."""
        return _is_allowed(self.allowed, action)


@cache
def _is_allowed(allowed: frozenset[str], action: str) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in allowed)


@dataclass(frozen=True)
class Schedule:
    """An enabled schedule, of a rule or of EventBridge Scheduler, and the functions that it invokes."""

    id: str
    timing: Timing
    functions: tuple[str, ...]

    @property
    def seconds(self) -> int | None:
        """Return its period; None if it has none that is always the same."""
        return self.timing.every if isinstance(self.timing, Rate) else None

    def is_due(self, now: int) -> bool:
        """Return whether it fires in this very second."""
        return self.timing.is_due(now)


@dataclass(frozen=True)
class EventRule:
    """An enabled rule on events, and the functions that it invokes."""

    id: str
    pattern: Mapping[str, Any]
    functions: tuple[str, ...]

    def matches(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event fits: each field of the pattern lists what it may be."""
        return _fits(self.pattern, event)


def refuse_filters(rule: str, pattern: Mapping[str, Any]) -> None:
    """Refuse a pattern that says more of a field than which values it may have.

    Raises:
        ArgumentError: it does, by a prefix or a number for example, and that is not simulated.
    """
    for name, wanted in pattern.items():
        if isinstance(wanted, Mapping):
            refuse_filters(rule, wanted)
        elif name == "$or" or any(isinstance(each, Mapping) for each in wanted):
            cure = "rehearse it with a list of the values"
            raise ArgumentError(complaint(rule, f"EventPattern {name}", "be a list of values", wanted, cure))


def _fits(pattern: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    return all(
        _fits(wanted, part.get(name, {})) if isinstance(wanted, Mapping) else part.get(name) in wanted
        for name, wanted in pattern.items()
    )
