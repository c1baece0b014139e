"""What the node program of an instance sends: its own core, fed with what a load makes of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from constructs_lib.node.derived import Counts, State, derive
from constructs_lib.node.readings import FAILED, Answer, Device, NoReading, Reading
from constructs_lib.node.settings import Settings
from constructs_lib.rehearsal.machine.load import Load

Sent = tuple[int, str]
"""When in the minute, in seconds, and the line of StatsD."""

_WITHOUT_POWER = ("media", "neuron")
_NO_ANSWER = NoReading(FAILED, "the tool gives nothing")


class NodeProgram:
    """The program on one instance. What it remembers outlives a time in which it does not run, as its state file does.

    Not here: the figures of the cold start, each sent once in an instance's life, and those of the machine's setup.
    """

    def __init__(self, settings: Settings, launched: int) -> None:
        counts = set(settings.expected.values())
        if len(counts) != 1:
            raise ValueError(f"types with different numbers of accelerators are not simulated: {settings.expected}")
        if settings.setup is not None:
            raise ValueError("settings of the machine are not simulated")
        self._settings = settings
        self._expected = counts.pop()
        self._launched = launched
        self._state = State()
        self._transfers: dict[int, int] = {}

    def lines(self, now: int, load: Load) -> Iterator[Sent]:
        """Return what is sent in the minute that begins now."""
        if not load.node_program:
            return
        sessions = None if load.logins is None else load.logins + load.session
        counts = Counts(self._expected, load.busy_marks, sessions)
        for second in range(0, 60, self._settings.interval_seconds):
            answer = self._answer(load)
            outcome = derive(self._settings, self._state, answer, counts, now - self._launched + second)
            self._state = outcome.state
            for metric in outcome.metrics:
                for line in metric.lines():
                    yield second, line

    def _answer(self, load: Load) -> Answer:
        if load.accelerators is None or not load.driver:
            return _NO_ANSWER
        return Reading(tuple(self._device(index, use, load) for index, use in enumerate(load.accelerators)))

    def _device(self, index: int, use: float | None, load: Load) -> Device:
        if self._settings.kind == "fpga":
            return self._counting(index, use)
        return _telling(index, use, load.memory, index in load.mig, self._settings.kind not in _WITHOUT_POWER)

    def _counting(self, index: int, use: float | None) -> Device:
        """Return a device that tells its transfers since it was started."""
        if use is None:
            return _dead(index)
        self._transfers[index] = self._transfers.get(index, 0) + int(use)
        return Device(index, transfers=self._transfers[index], power_watts=20.0)


@cache
def _telling(index: int, use: float | None, memory: float, mig: bool, has_power: bool) -> Device:
    if use is None:
        return _dead(index)
    return Device(
        index,
        utilization=None if mig else use,
        memory_used_mib=memory,
        power_watts=30.0 + use if has_power else None,
        fault="MIG is on" if mig else None,
        use_unknown_by_design=mig,
    )


def _dead(index: int) -> Device:
    return Device(index, fault="it does not answer")
