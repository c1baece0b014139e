"""Packing in whole numbers: what has a place, how many places no packing can do without, and a first packing.

A *unit* is what is opened one after another: an accelerator, or an instance with several where things are kept apart by
instance. It has *slots*, the accelerators themselves. An item lies in one slot and brings its groups into the unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Unit = tuple[tuple[int, ...], ...]
"""Numbers of the items in each slot of a unit."""

# Beyond, the second way to begin would take longer than what it saves is worth.
_MOST_ITEMS_TO_CHOOSE_AMONG = 2_000


@dataclass(frozen=True)
class Item:
    """One replica of a model: memory and share of what a slot has, and the groups that have one member in a unit."""

    memory: int
    share: int
    groups: frozenset[str]


@dataclass(frozen=True)
class Problem:
    """Items for units of equal size. No item is larger than a slot."""

    items: tuple[Item, ...]
    memory: int
    share: int
    slots: int

    def weight(self, item: Item) -> int:
        """How much of a slot an item takes, in thousandths of its memory and thousandths of its share together."""
        return item.memory * 1000 // self.memory + item.share * 1000 // self.share + 1

    def fewest_units(self) -> int:
        """Return a number of units that no packing can do without."""
        memory, share = [each.memory for each in self.items], [each.share for each in self.items]
        slots = max(_fewest_slots(memory, self.memory), _fewest_slots(share, self.share))
        together = Counter(group for each in self.items for group in each.groups)
        return max(-(-slots // self.slots), *together.values(), 0)


def _fewest_slots(sizes: Sequence[int], capacity: int) -> int:
    """The bound L2 of Martello and Toth for one dimension (Discrete Applied Mathematics 28, 1990).

    Two items above one half never share a slot, and what is small can fill only the room that they leave.
    For a smallest size of 0 it is the sum over the capacity.
    """
    most = -(-sum(sizes) // capacity)
    for smallest in sorted({size for size in sizes if 2 * size <= capacity} | {0}):
        alone = sum(1 for size in sizes if size > capacity - smallest)
        large = [size for size in sizes if capacity < 2 * size <= 2 * (capacity - smallest)]
        small = sum(size for size in sizes if size >= smallest and 2 * size <= capacity)
        beyond = small - (len(large) * capacity - sum(large))
        most = max(most, alone + len(large) + max(0, -(-beyond // capacity)))
    return most


class Room:
    """What is still free in a unit that is being filled."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._free = [[problem.memory, problem.share] for _ in range(problem.slots)]
        self._slots: list[list[int]] = [[] for _ in range(problem.slots)]
        self._groups: set[str] = set()

    def slot_for(self, item: Item) -> int | None:
        """The first slot that can take the item."""
        if self._groups.isdisjoint(item.groups):
            for number, (memory, share) in enumerate(self._free):
                if item.memory <= memory and item.share <= share:
                    return number
        return None

    def free(self, slot: int) -> tuple[int, int]:
        """Memory and share that a slot still has."""
        memory, share = self._free[slot]
        return memory, share

    def put(self, number: int, slot: int) -> None:
        """Put an item into a slot that can take it."""
        item = self._problem.items[number]
        self._slots[slot].append(number)
        self._free[slot][0] -= item.memory
        self._free[slot][1] -= item.share
        self._groups |= item.groups

    def filled(self) -> Unit:
        """The unit as it is now."""
        return tuple(tuple(slot) for slot in self._slots)


def first_packing(problem: Problem) -> list[Unit]:
    """Return the best of some packings that are quickly made."""
    return min(_first_packings(problem), key=len)


def first_fit_decreasing(problem: Problem, size: Callable[[Item], int]) -> list[Unit]:
    """Put the largest first, each into the first unit that can take it."""
    rooms: list[Room] = []
    numbers = range(len(problem.items))
    for number in sorted(numbers, key=lambda each: (-size(problem.items[each]), each)):
        item = problem.items[number]
        for room in rooms:
            slot = room.slot_for(item)
            if slot is not None:
                room.put(number, slot)
                break
        else:
            rooms.append(Room(problem))
            rooms[-1].put(number, 0)
    return [room.filled() for room in rooms]


def _first_packings(problem: Problem) -> Iterator[list[Unit]]:
    yield first_fit_decreasing(problem, problem.weight)
    yield first_fit_decreasing(problem, lambda each: each.memory * each.share)
    yield first_fit_decreasing(problem, lambda each: max(each.memory * problem.share, each.share * problem.memory))
    yield first_fit_decreasing(problem, lambda each: each.memory)
    if len(problem.items) <= _MOST_ITEMS_TO_CHOOSE_AMONG:
        yield _one_after_another(problem)


def _one_after_another(problem: Problem) -> list[Unit]:
    """Fill one unit after another with what suits the room it has left (the dot product of Panigrahy et al., 2011)."""
    left = list(range(len(problem.items)))
    units = []
    while left:
        memory = sum(problem.items[each].memory for each in left) / problem.memory
        share = sum(problem.items[each].share for each in left) / problem.share
        room = Room(problem)
        while (
            found := _most_suitable(problem, room, left, memory / problem.memory, share / problem.share)
        ) is not None:
            number, slot = found
            room.put(number, slot)
            left.remove(number)
        units.append(room.filled())
    return units


def _most_suitable(
    problem: Problem, room: Room, left: Iterable[int], memory_needed: float, share_needed: float
) -> tuple[int, int] | None:
    best: tuple[float, int, int] | None = None
    for number in left:
        item = problem.items[number]
        slot = room.slot_for(item)
        if slot is None:
            continue
        memory, share = room.free(slot)
        suits = (
            memory_needed * item.memory * memory / problem.memory + share_needed * item.share * share / problem.share
        )
        if best is None or suits > best[0]:
            best = suits, number, slot
    return None if best is None else best[1:]
