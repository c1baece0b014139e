"""Figures that somebody publishes again and again: the store is told of what changes, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore


class Steady:
    """One publisher, which says its figures each ``every`` seconds, and is silent about those it leaves out."""

    def __init__(self, store: MetricStore, every: int = 60) -> None:
        self._store = store
        self._every = every
        self._held: dict[Key, tuple[float, float]] = {}
        self._said: tuple[Mapping[Key, float], float] = {}, 0

    def tell(self, now: int, values: Mapping[Key, float], *, hidden_until: float = 0) -> None:
        """Publish these figures, now and from now on; a series that is not among them ends.

        ``hidden_until`` is when the first of them can be read, if their namespace's delay has passed by then.
        """
        said = values, hidden_until
        if said == self._said:
            return
        self._said = said
        held = self._held
        for key in [each for each in held if each not in values]:
            del held[key]
            self._store.stop(key, now, source=self)
        for key, value in values.items():
            figure = (value, hidden_until)
            if held.get(key) != figure:
                held[key] = figure
                self._store.hold(key, now, value, every=self._every, hidden_until=hidden_until, source=self)

    def end(self, now: int) -> None:
        """Publish nothing from now on."""
        self.tell(now, {})
