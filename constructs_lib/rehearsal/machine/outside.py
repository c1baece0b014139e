"""What EC2 itself measures of an instance, from outside and whatever runs on it: the use of its CPU."""

from __future__ import annotations

from collections.abc import Mapping

from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.watched import Watched

_CPU = "CPUUtilization"


class Outside:
    """The CPU use of one instance, for itself and for its group.

    EC2 says it every five minutes, or each minute with detailed monitoring, which comes to the same in an alarm whose
    period is five minutes: here each minute has its sample. ``watched`` is what somebody asks for, None is all.
    """

    def __init__(self, identity: Mapping[str, str], watched: Watched | None = None) -> None:
        self._identity = identity["InstanceId"]
        keys: list[Key] = [("AWS/EC2", _CPU, frozenset({dimension})) for dimension in identity.items()]
        self._keys = [key for key in keys if watched is None or watched.has_series(key)]
        self._told: float | None = None

    def note(self, store: MetricStore, at: float, load: Load) -> None:
        """Say the use of the CPU from a moment on."""
        if load.cpu != self._told:
            self._told = load.cpu
            for key in self._keys:
                store.hold(key, at, load.cpu, source=self._identity)

    def end(self, store: MetricStore, at: float) -> None:
        """Say nothing from a moment on."""
        if self._told is not None:
            self._told = None
            for key in self._keys:
                store.stop(key, at, source=self._identity)
