"""What is due when, in continuous time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Agenda:
    """A clock, and what is to be done at which time on it; at one and the same time in the order of being entered."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = float(now)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._turns = count()

    def enter(self, at: float, action: Callable[[], None]) -> None:
        """Have something done at a time; at once, if that is over."""
        heappush(self._due, (max(at, self.now), next(self._turns), action))

    def go_on(self, until: float) -> None:
        """Let everything happen in turn that is due until a time, that time with it."""
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, action = heappop(due)
            action()
        self.now = until
