"""How many members a fleet needs by what it has used, level by level. Pure.

Work goes to any instance that is free, so that in a fleet with short jobs none is idle for long although half of them
would do. What counts is how many were in use at once: the third level is in use while three are. Each level is a
decision of its own between renting and buying, whoever happens to serve it: idle time costs money, and so does a start.
A level that has been unused for as long as past gaps say it pays to wait is given up: gaps of its own, in which as few
were in use as now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SHORTEST = 1


@dataclass(frozen=True, kw_only=True)
class Enough:
    """How many members suffice. `unused` says for how many slots no more were in use; None: in all that is known."""

    members: int
    unused: int | None


def members_needed(used: Sequence[int], serving: int, *, start_worth: float, longest: int) -> Enough:
    """Return how many of the members in service are still worth their idle time.

    `used` is the most members in use at once in each slot of time, the newest last. A start is worth as many idle slots
    as `start_worth`, and `longest` is for how many at most an unused level is kept.
    """
    enough = Enough(members=serving, unused=0)
    for level in range(serving, 0, -1):
        slots = [slot for slot, members in enumerate(used) if members >= level]
        idle = used[slots[-1] + 1 :] if slots else None
        gaps = [used[before + 1 : after] for before, after in pairwise(slots) if after - before > 1]
        if idle is not None:
            # When the whole fleet falls silent, gaps in which most of it went on tell nothing of what comes.
            alike = [len(gap) for gap in gaps if idle and min(gap) <= min(idle)]
            if len(idle) < hold_for(alike, start_worth=start_worth, longest=longest):
                break
        enough = Enough(members=level - 1, unused=None if idle is None else len(idle))
    return enough


def hold_for(gaps: Sequence[int], *, start_worth: float, longest: int) -> int:
    """Return for how many slots an unused level is to be kept, such that it costs least.

    A gap that is no longer than this costs its own length, a longer one this and a start. The one that goes on counts
    as longer: one past gap alone proves little. Without gaps, and of times that cost the same, the shortest.
    """
    held = sorted({_SHORTEST, *(gap for gap in gaps if _SHORTEST <= gap <= longest)})
    return min(held, key=lambda slots: slots + sum(gap if gap <= slots else slots + start_worth for gap in gaps))
