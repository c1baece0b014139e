"""What an alarm's slots came to: those that can become nothing else are worked out once, whichever range holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from constructs_lib.rehearsal.cloud.metric_math import Series
from constructs_lib.rehearsal.cloud.metrics import MetricStore, Questions

_MOST_KEPT = 2_048
"""More than the longest range has, and few enough to go through them now and then."""


class Slots:
    """The slots of one alarm, whose value has to follow from its metrics in the same slot alone."""

    def __init__(self, questions: Questions, returned: str) -> None:
        self._questions = questions
        self._returned = returned
        self._kept: dict[int, float | None] = {}
        self._versions: list[int] = []
        self._at = 0

    def values(
        self, store: MetricStore, grid: range, now: int, answer: Callable[[Sequence[int]], Series]
    ) -> list[float | None]:
        """Return the value of each slot of a grid; ``answer`` gives those that are not known from before."""
        metrics = self._questions.metrics.values()
        versions = [store.version(key) for key, _, _ in metrics]
        kept = self._kept
        if versions != self._versions or now < self._at:
            # Something was stored that what is kept does not know of.
            kept.clear()
        self._versions, self._at = versions, now
        # Those that are still open are the newest ones, as a rule.
        begin = next((index for index, slot in enumerate(grid) if slot not in kept), len(grid))
        values = [kept[slot] for slot in grid[:begin]]
        newest = grid[begin:]
        wanted = [slot for slot in newest if slot not in kept]
        if not wanted:
            return values
        found = answer(wanted)
        values += [kept[slot] if slot in kept else found.get(slot) for slot in newest]
        settled = [store.settled(key, statistic, period) for key, statistic, period in metrics]
        for slot in wanted:
            # Of a series that does not exist yet nothing is in a slot that is over.
            if slot + grid.step <= now and all(each is None or slot in each for each in settled):
                kept[slot] = found.get(slot)
        if len(kept) > _MOST_KEPT + len(grid):
            self._kept = {slot: value for slot, value in kept.items() if slot >= grid.start}
        return values
