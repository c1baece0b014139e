"""Time that moves only when it is told to."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

START = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)


class ManualClock:
    """A clock on which waiting takes no time."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class Context:
    """Lambda's context: the time that remains shrinks with the clock."""

    def __init__(self, clock: ManualClock, seconds: float = 300) -> None:
        self._clock = clock
        self._ends = clock.now() + timedelta(seconds=seconds)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._ends - self._clock.now()).total_seconds() * 1000))
