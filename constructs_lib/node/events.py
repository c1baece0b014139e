"""What the program tells: one JSON line for each event, and for each part of it that fails, once when that begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import NamedTuple

Tell = Callable[[str], None]
"""Takes what somebody should know, as why something is not known."""


def utc(epoch_seconds: float) -> str:
    """Write a time as people and log systems read it."""
    return datetime.fromtimestamp(epoch_seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Problem(NamedTuple):
    cause: str
    reason: str

    def __str__(self) -> str:
        """Write both in one line. Of a traceback that is the last one, which begins with the cause itself."""
        reason = self.reason.strip().rpartition("\n")[2]
        if not reason:
            return self.cause
        return reason if reason.startswith(self.cause) else f"{self.cause}: {reason}"


class Events:
    """Writes events through `write`, which takes a line; `now` gives the time in epoch seconds."""

    def __init__(self, write: Callable[[str], object], now: Callable[[], float]) -> None:
        self._write = write
        self._now = now
        self._problems: dict[str, _Problem] = {}
        self._lines_lost = 0

    @property
    def problems(self) -> Mapping[str, str]:
        """The parts that fail now, and why: the cause and the reason, in one line."""
        return {part: str(problem) for part, problem in self._problems.items()}

    def tell(self, event: str, **facts: object) -> None:
        """Tell of something that happened. A line that cannot be written is counted, and the next one says so."""
        lost = {"lines_lost": self._lines_lost} if self._lines_lost else {}
        line = json.dumps({"time": utc(self._now()), "event": event, **facts, **lost})
        try:
            self._write(f"{line}\n")
        except OSError:
            self._lines_lost += 1
        else:
            self._lines_lost = 0

    def fails(self, part: str, cause: str, reason: str) -> None:
        """Note that a part fails. It is told when that begins, or when the cause becomes another."""
        before = self._problems.get(part)
        self._problems[part] = _Problem(cause, reason)
        if before is None or before.cause != cause:
            self.tell("fails", part=part, cause=cause, reason=reason)

    def works(self, part: str) -> None:
        """Note that a part works. It is told when it did not before."""
        problem = self._problems.pop(part, None)
        if problem is not None:
            self.tell("works again", part=part, before=problem.cause)
