"""What the sources of a series hold side by side: lanes, and how many sources are in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from constructs_lib.rehearsal.cloud.statistics import Summary

_MINUTE = 60
_SEEN_IN: dict[str, Callable[[Summary], object]] = {
    "Average": lambda summary: summary[:2],
    "Maximum": lambda summary: summary[3],
    "Minimum": lambda summary: summary[2],
    "SampleCount": lambda summary: summary[0],
    "Sum": lambda summary: summary[1],
}
"""What of all sources' samples at an instant decides the statistic of a period of such instants."""


class Lane(NamedTuple):
    """What a source holds: a sample each so many seconds, when those can be read, and what they are."""

    every: int
    delay: int
    hidden_until: float
    value: float
    """At second 0."""
    slope: float

    def at(self, moment: int) -> float:
        """Return the value at a moment."""
        return self.value + self.slope * moment

    def readable_until(self, now: int) -> int:
        """Return up to when samples can be read now, those that are hidden until a later time aside."""
        return (now - self.delay) // _MINUTE * _MINUTE + _MINUTE

    def sampled(self, since: int, until: int, now: int) -> tuple[int, int, bool]:
        """Return the first sample in a span, how many can be read now, and whether others cannot yet.

        All samples of a minute become readable together, the delay after its start.
        """
        every, _, hidden_until, _, _ = self
        readable = self.readable_until(now) if now >= hidden_until else since
        hidden = readable < until
        if not hidden:
            readable = until
        first = since if since % every == 0 else since + every - since % every
        if every == _MINUTE and readable - first == _MINUTE:
            return first, 1, hidden
        return first, -((first - readable) // every) if readable > first else 0, hidden


class Level:
    """How many sources hold each lane, from one moment to the next."""

    __slots__ = ("_together", "lanes")

    def __init__(self, lanes: dict[Lane, int]) -> None:
        self.lanes = lanes
        self._together: tuple[Lane, Summary] | bool | None = False

    def together(self) -> tuple[Lane, Summary] | None:
        """Return what all sources have at each instant, and a lane that says when; None unless all are alike in that.

        Values that grow are not the same at each instant.
        """
        if isinstance(self._together, bool):
            lanes = list(self.lanes)
            if len(lanes) == 1:
                ((lane, summary),) = self.parts()
                self._together = None if lane.slope else (lane, summary)
                return self._together
            alike = len({lane[:3] for lane in lanes}) == 1 and not any(lane.slope for lane in lanes)
            self._together = (lanes[0], self._at_once()) if alike else None
        return self._together

    def signature(self, statistic: str) -> object:
        """Return what a statistic of any period in the level follows from: two alike follow each other unseen."""
        if not self.lanes:
            return None
        together = self.together()
        if together is None or statistic not in _SEEN_IN:
            return self.lanes
        lane, summary = together
        return lane[:3], _SEEN_IN[statistic](summary)

    def _at_once(self) -> Summary:
        values = [lane.value for lane in self.lanes]
        total = sum(lane.value * sources for lane, sources in self.lanes.items())
        return sum(self.lanes.values()), total, min(values), max(values)

    def parts(self) -> list[tuple[Lane, Summary]]:
        """Return what the sources of each lane have at an instant; of one that grows only their number."""
        return [(lane, (sources, lane.value * sources, lane.value, lane.value)) for lane, sources in self.lanes.items()]

    def changed(self, before: Lane | None, lane: Lane | None) -> Level:
        """Return the level in which one source holds something else."""
        level = Level(self.lanes.copy())
        level.change(before, lane)
        return level

    def change(self, before: Lane | None, lane: Lane | None) -> None:
        """Have one source hold something else, before anybody has asked for the level."""
        lanes = self.lanes
        if before is not None:
            if lanes[before] == 1:
                del lanes[before]
            else:
                lanes[before] -= 1
        if lane is not None:
            lanes[lane] = lanes.get(lane, 0) + 1
