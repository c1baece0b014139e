"""What an alarm's slots came to: those that can become nothing else are worked out once, whichever range holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from constructs_lib.rehearsal.cloud.metric_math import Series
from constructs_lib.rehearsal.cloud.metrics import MetricStore, Questions

_MOST_KEPT = 2_048
"""The newest: more than the longest range has, wherever in a period it ends."""


class Slots:
    """The slots of one alarm, whose value has to follow from its metrics in the same slot alone."""

    def __init__(self, questions: Questions, returned: str) -> None:
        self._questions = questions
        self._returned = returned
        self._kept: dict[int, float | None] = {}
        self._versions: list[int] = []
        self._upsets = -1
        self._at = 0

    def are_current(self, store: MetricStore) -> bool:
        """Return whether nothing was stored that the slots which are kept do not know of."""
        if store.upsets == self._upsets:
            return True
        current = self._versions == [store.version(key) for key, _, _ in self._questions.metrics.values()]
        if current:
            self._upsets = store.upsets
        return current

    def knows(self, slot: int) -> bool:
        """Return whether a slot is known that can become nothing else."""
        return slot in self._kept

    def settled(self, slot: int) -> float | None:
        """Return the value of a slot that can become nothing else; None if it has none, or may."""
        return self._kept.get(slot)

    def values(
        self, store: MetricStore, grid: range, now: int, answer: Callable[[Sequence[int]], Series]
    ) -> list[float | None]:
        """Return the value of each slot of a grid; ``answer`` gives those that are not known from before."""
        self.forget_what_may_differ(store, now)
        kept = self._kept
        # Those that are still open are the newest ones, as a rule.
        begin = next((index for index, slot in enumerate(grid) if slot not in kept), len(grid))
        values = [kept[slot] for slot in grid[:begin]]
        newest = grid[begin:]
        wanted = [slot for slot in newest if slot not in kept]
        if not wanted:
            return values
        found = answer(wanted)
        values += [kept[slot] if slot in kept else found.get(slot) for slot in newest]
        self._keep(store, wanted, found, grid.step, now)
        return values

    def settle(
        self, store: MetricStore, slots: range, period: int, now: int, answer: Callable[[Sequence[int]], Series]
    ) -> None:
        """Keep those of these slots that can become nothing else; they need not be of one grid."""
        self.forget_what_may_differ(store, now)
        wanted = [slot for slot in slots if slot not in self._kept]
        if wanted:
            self._keep(store, wanted, answer(wanted), period, now)

    def forget_what_may_differ(self, store: MetricStore, now: int) -> None:
        """Forget all slots if something was stored that they do not know of, or time goes back."""
        if not self.are_current(store) or now < self._at:
            self._kept.clear()
            self._versions = [store.version(key) for key, _, _ in self._questions.metrics.values()]
            self._upsets = store.upsets
        self._at = now

    def _keep(self, store: MetricStore, slots: Sequence[int], found: Series, period: int, now: int) -> None:
        metrics = self._questions.metrics.values()
        settled = [store.settled(key, statistic, each) for key, statistic, each in metrics]
        # Of a series that does not exist yet nothing is in a slot that is over.
        there = [each for each in settled if each is not None]
        for slot in slots:
            if slot + period > now:
                continue
            for each in there:
                if slot not in each:
                    break
            else:
                self._kept[slot] = found.get(slot)
        if len(self._kept) > 2 * _MOST_KEPT:
            self._kept = {slot: self._kept[slot] for slot in sorted(self._kept)[-_MOST_KEPT:]}
