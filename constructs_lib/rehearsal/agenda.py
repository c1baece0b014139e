"""What is due when, in continuous time: the events of simpy, each with what is to be done."""

from __future__ import annotations

from collections.abc import Callable

from simpy import Environment


class Agenda:
    """A clock, and what is to be done at which time on it; at one and the same time in the order of being entered."""

    def __init__(self, now: float = 0.0) -> None:
        self._env = Environment(initial_time=float(now))

    @property
    def now(self) -> float:
        """The time on the clock."""
        return self._env.now

    def enter(self, at: float, action: Callable[[], None]) -> None:
        """Have something done at a time; at once, if that is over."""
        event = self._env.timeout(max(0.0, at - self._env.now))
        assert event.callbacks is not None, "it has not happened yet"
        event.callbacks.append(lambda _event: action())

    def go_on(self, until: float) -> None:
        """Let everything happen in turn that is due until a time, that time with it."""
        env = self._env
        while env.peek() <= until:
            env.step()
        if env.now < until:
            env.run(until)
