"""The clairvoyant optimum: the least that any fleet can pay for work that runs when it ran.

It knows everything beforehand. Given are the spans of the work (from when until when, with how many accelerators), the
accelerators A of an instance, and ``cold_s``, the seconds that a launched instance is paid for before it can work.

**Definition.** Let need(t) be the accelerators in use at t, divided by A and rounded up. Among all functions x(t) of
whole instances with x >= need, the optimum is one of least cost, where the cost is the integral of x plus ``cold_s``
for each instance that x rises by. It is paid in instance-seconds, each A accelerator-seconds.

**Solution.** The integral of a function of whole numbers is the sum over the levels l = 1, 2, ... of the time in which
it is at least l, and it rises by as many instances as levels begin (the coarea formula). So the cost falls apart into
levels, and each is bound only by need(t) >= l: in a gap of a level either an instance is kept, for the length of the
gap, or one is stopped and another started, for ``cold_s``. Hence a gap is bridged if and only if it is no longer than
``cold_s``. What the levels choose fits together: a gap of level l lies within one of level l + 1, so if the lower is
too long to be bridged then the upper is too, and every level that is on lies on one that is on. Linear in the events,
once they are in order.

**Why no run beats it.** In a run whose work has these spans, let x(t) be the number of its instances that are ready
and not ended. x >= need, since an instance holds no more than A accelerators of work; each instance that x rises by
was paid for at least ``cold_s`` before, if that is the shortest paid start of the run. So the run pays at least the
cost of its x. Where each job takes a whole instance the bound is reached without moving work: x falls only where work
ends, as an instance becomes idle, and any idle one can be the one that stops.

**What it ignores**, each to its own favour: jobs that share instances may move between them at any moment, for
nothing; an instance ends without draining; the minimum of the group does not count; capacity is always given; launches
may lie before second 0. It never needs more instances at a time, starting ones with them, than the highest need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

_ACCELERATOR = 1_000_000_000
"""Accelerators are counted in billionths and rounded down: 0.1 and 0.2 are 0.3, six times 1/6 is no more than one."""


class Span(NamedTuple):
    """Work that runs: from when until when, in seconds, with how many accelerators."""

    begin_s: float
    end_s: float
    accelerators: float = 1.0


class Life(NamedTuple):
    """One instance of the optimum, paid from its launch to its end."""

    launched_s: float
    ready_s: float
    ended_s: float


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """What the optimum pays, in node-seconds unless said otherwise; ``accelerators`` is how many a node has."""

    accelerators: int
    cold_s: float
    """Seconds that each start is paid for."""
    needed_s: float
    """With work on the node."""
    bridged_s: float
    """Kept without work, because that is no dearer than another start."""
    busy_accelerator_s: float
    """Accelerator-seconds of work."""
    lives: tuple[Life, ...]
    """The nodes, in the order of their launch."""

    @property
    def starts(self) -> int:
        """How many cold starts it pays."""
        return len(self.lives)

    @property
    def starting_s(self) -> float:
        """Node-seconds of the starts."""
        return len(self.lives) * self.cold_s

    @property
    def node_seconds(self) -> float:
        """Everything that is paid."""
        return self.needed_s + self.bridged_s + self.starting_s

    @property
    def paid_accelerator_s(self) -> float:
        """Everything that is paid, in accelerator-seconds."""
        return self.node_seconds * self.accelerators

    def capacity(self) -> list[tuple[float, int]]:
        """Return the times at which the number of paid nodes changes, starting ones with them, and to what."""
        changes: Counter[float] = Counter()
        for life in self.lives:
            changes[life.launched_s] += 1
            changes[life.ended_s] -= 1
        steps = [(at, change) for at, change in sorted(changes.items()) if change]
        return list(zip((at for at, _ in steps), accumulate(change for _, change in steps), strict=True))


def optimum(spans: Iterable[tuple[float, float, float]], accelerators: int, cold_s: float) -> Optimum:
    """Return the optimum for work in these spans (begin, end, accelerators), in any order.

    Args:
        spans: seconds and accelerators; work of no length needs nothing.
        accelerators: how many a node has.
        cold_s: seconds from the launch of a node until it can work.
    """
    changes: Counter[float] = Counter()
    busy = 0.0
    for begin, end, share in spans:
        held = billionths(share)
        changes[begin] += held
        changes[end] -= held
        busy += (end - begin) * share
    levels = _Levels(cold_s)
    whole = accelerators * _ACCELERATOR
    in_use = 0
    for at in sorted(changes):
        in_use += changes[at]
        levels.move_to(-(-in_use // whole), at)
    return Optimum(
        accelerators=accelerators,
        cold_s=cold_s,
        needed_s=levels.needed_s,
        bridged_s=levels.bridged_s,
        busy_accelerator_s=busy,
        lives=levels.lives(),
    )


class _Levels:
    """The levels of the need, from the first on: who has been on since when, and without work since when."""

    def __init__(self, cold_s: float) -> None:
        self.needed_s = 0.0
        self.bridged_s = 0.0
        self._cold_s = cold_s
        self._height = 0
        self._now = 0.0
        self._on_since: list[float] = []
        self._idle_since: list[float] = []
        self._over: list[Life] = []

    def move_to(self, height: int, at: float) -> None:
        """Let the need be ``height`` from ``at`` on."""
        self.needed_s += self._height * (at - self._now)
        for level in range(height, self._height):
            self._idle_since[level] = at
        for level in range(self._height, height):
            self._wake(level, at)
        self._height, self._now = height, at

    def _wake(self, level: int, at: float) -> None:
        if level == len(self._on_since):
            self._on_since.append(at)
            self._idle_since.append(at)
            return
        gap = at - self._idle_since[level]
        if gap <= self._cold_s:
            self.bridged_s += gap
        else:
            self._over.append(self._life(level))
            self._on_since[level] = at

    def lives(self) -> tuple[Life, ...]:
        """Return every stay of a node, once the need is 0 for good."""
        return tuple(sorted([*self._over, *map(self._life, range(len(self._on_since)))]))

    def _life(self, level: int) -> Life:
        ready = self._on_since[level]
        return Life(ready - self._cold_s, ready, self._idle_since[level])


def billionths(accelerators: float) -> int:
    """Return accelerators as a whole number that can be summed up exactly."""
    return int(accelerators * _ACCELERATOR)
