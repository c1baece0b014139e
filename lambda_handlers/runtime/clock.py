"""The time, as something that is passed in."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol


class Clock(Protocol):
    """Tells the time in UTC and waits."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class InvocationContext(Protocol):
    """The part of Lambda's context object that the handlers use."""

    def get_remaining_time_in_millis(self) -> int: ...


def deadline_of(context: InvocationContext, clock: Clock, *, reserve_seconds: float) -> datetime:
    """Return when work must stop so that `reserve_seconds` are left for the closing steps."""
    remaining = timedelta(milliseconds=context.get_remaining_time_in_millis())
    return clock.now() + remaining - timedelta(seconds=reserve_seconds)
