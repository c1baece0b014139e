"""The life of the instance as the program lives through it: which cold start numbers are due, and which were sent."""

from __future__ import annotations

from collections.abc import Callable

from . import names
from .cold_start import ALL, Life, due, load_life, moment_in, published, save_life
from .guard import Guard, Unknown
from .instance_metadata import Identity
from .places import Places
from .statsd import Metric

LIFE_FILE = f"{names.LIFE_DIRECTORY}/cold-start.json"


class LifeStory:
    """Keeps a `Life` on disk."""

    def __init__(self, guard: Guard, places: Places, boot_id: Callable[[], str]) -> None:
        self._guard = guard
        self._places = places
        self._path = places.file(LIFE_FILE)
        self._boot_id = boot_id
        self._life: Life | None = None

    def due(self, identity: Identity | None, first_use: float | None) -> tuple[Metric, ...]:
        """Return what is to be published now; nothing while nobody knows when the instance was launched."""
        if identity is None:
            return ()
        boot_id = self._guard.attempt("boot id", self._boot_id)
        if boot_id is None:
            return ()
        if self._life is None:
            self._life = self._load(identity.instance_id, boot_id)
        life = self._life
        moments = {
            names.COLD_START_DRIVER: self._moment(names.DRIVER_READY),
            names.COLD_START_AGENT: self._moment(names.AGENT_READY),
            names.COLD_START_FIRST_USE: first_use,
        }
        metrics, doubts = due(life, boot_id, identity.launched, moments)
        self._guard.attempt("cold start", lambda: _refuse(doubts))
        return metrics

    def _load(self, instance_id: str, boot_id: str) -> Life:
        """Return the life so far, written down at once, so that a later boot does not take itself for the first.

        If that cannot be read nobody knows what was published: nothing is published again.
        """
        life = self._guard.attempt("life of the instance", lambda: load_life(self._path, instance_id, boot_id))
        if life is None:
            return Life(instance_id, boot_id, ALL)
        self._save(life)
        return life

    def _moment(self, name: str) -> float | None:
        path = self._places.file(name)
        return self._guard.attempt(path.name, lambda: moment_in(path))

    def published(self, metrics: tuple[Metric, ...]) -> None:
        """Note that these were sent."""
        if self._life is not None:
            self._life = published(self._life, metrics)
            self._save(self._life)

    def _save(self, life: Life) -> None:
        self._guard.attempt("life of the instance on disk", lambda: save_life(self._path, life))


def _refuse(doubts: tuple[str, ...]) -> None:
    if doubts:
        raise Unknown("; ".join(doubts))
