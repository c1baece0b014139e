"""Nodes and the room on each of them, the fullest node first, and when jobs start on nodes that are always on."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

from constructs_lib.rehearsal.optimum import billionths
from constructs_lib.rehearsal.trace import Job


class Rooms:
    """Nodes by number, each with ``accelerators`` at first, and how much of them is free."""

    def __init__(self, accelerators: int) -> None:
        self.whole = billionths(accelerators)
        self._free: dict[int, int] = {}
        self._ordered: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._free)

    def open(self, node: int) -> None:
        """Add an empty node."""
        self._free[node] = self.whole
        insort(self._ordered, (self.whole, node))

    def close(self, node: int) -> int:
        """Take a node out; return how much of it was in use, in billionths."""
        free = self._free.pop(node)
        del self._ordered[bisect_left(self._ordered, (free, node))]
        return self.whole - free

    def fullest_for(self, held: int) -> int | None:
        """Return the fullest node with room for so many billionths, None if none has it."""
        place = bisect_left(self._ordered, (held, -1))
        return None if place == len(self._ordered) else self._ordered[place][1]

    def emptiest(self) -> int:
        """Return the node with the most room, the last opened among several."""
        return self._ordered[-1][1]

    def hold(self, node: int, held: int) -> None:
        """Take so many billionths of a node, or give them back if less than 0."""
        free = self._free[node]
        del self._ordered[bisect_left(self._ordered, (free, node))]
        self._free[node] = free - held
        insort(self._ordered, (free - held, node))


class NobodyWaits(NamedTuple):
    """Jobs on nodes that are always on: when each starts, in the order given, and how many nodes it took."""

    starts_s: list[float]
    nodes: int


def nobody_waits(jobs: Sequence[Job], accelerators: int, maximum: int) -> NobodyWaits:
    """Return when each job starts if up to ``maximum`` nodes, one at least, are always ready: first come, first served.

    ``jobs`` are in the order of their arrival, and none needs more than the ``accelerators`` of a node. A job goes to
    the fullest node that has room for it, to a new one where none has, and where there may be no more it waits, all
    behind it too.
    """
    rooms = Rooms(accelerators)
    running: list[tuple[float, int, int]] = []
    starts: list[float] = []
    now = 0.0
    for job in jobs:
        now = max(now, job.arrival_s)
        held = billionths(job.accelerators)
        while (node := _free_node(rooms, running, held, now, maximum)) is None:
            now = running[0][0]
        rooms.hold(node, held)
        heapq.heappush(running, (now + job.service_s, node, held))
        starts.append(now)
    return NobodyWaits(starts, len(rooms))


def _free_node(rooms: Rooms, running: list[tuple[float, int, int]], held: int, now: float, maximum: int) -> int | None:
    while running and running[0][0] <= now:
        _, node, given_back = heapq.heappop(running)
        rooms.hold(node, -given_back)
    found = rooms.fullest_for(held)
    if found is None and len(rooms) < maximum:
        found = len(rooms)
        rooms.open(found)
    return found
