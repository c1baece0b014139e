"""What the node program of an instance sends: its own core, fed with what a load makes of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import NamedTuple

from constructs_lib.errors import ArgumentError
from constructs_lib.node import names
from constructs_lib.node.derived import LONGEST_GAP_INTERVALS, Counts, Outcome, State, derive
from constructs_lib.node.readings import FAILED, Answer, Device, NoReading, Reading
from constructs_lib.node.settings import Settings
from constructs_lib.node.statsd import COUNTER, Metric
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.validation import complaint

METRIC_TYPES = {"g": "gauge", "c": "counter"}
_WITHOUT_POWER = ("media", "neuron")
_NO_ANSWER = NoReading(FAILED, "the tool gives nothing")
_LONG_AFTER_BOOT = 10_000_000.0


class Said(NamedTuple):
    """One figure that a program says in each interval of the agent, with its tags."""

    name: str
    metric_type: str
    tags: tuple[tuple[str, str], ...]
    value: float


class Speech(NamedTuple):
    """What a program says from a moment on, again and again.

    How long the instance has been idle grows, and is not among what is said: the seconds since ``idle_since``, None if
    the program does not tell it.
    """

    at: int
    said: tuple[Said, ...]
    idle_since: float | None


class Pattern(NamedTuple):
    """What the core makes of a load that lasts, at the first reading and at those after it.

    ``known`` is whether each tells idle from busy, ``in_use`` which of the two the later ones tell, ``tells_idleness``
    whether they say for how long. Remembered are whether all power was known, and whose transfers were counted.
    """

    first: tuple[Said, ...]
    later: tuple[Said, ...]
    known: tuple[bool, bool]
    in_use: bool | None
    tells_idleness: bool
    powered: bool
    counted: frozenset[int]


class Memory(NamedTuple):
    """What a program remembers: when use and power were last known, since when it is idle, whose transfers it counted.

    None is never.
    """

    known_at: float | None = None
    idle_since: float | None = None
    powered_at: float | None = None
    counted: frozenset[int] = frozenset()


class Core:
    """The node program's own core with the settings of an image, asked once for each load that it meets."""

    def __init__(self, settings: Settings) -> None:
        counts = set(settings.expected.values())
        if len(counts) != 1:
            rule = "launch types with the same number of accelerators"
            cure = "rehearse a template that names those of one number"
            raise ArgumentError(complaint("rehearsal", "instance types", rule, dict(settings.expected), cure))
        self.settings = settings
        self._longest_gap = LONGEST_GAP_INTERVALS * settings.interval_seconds
        self._expected = counts.pop()
        self._patterns: dict[tuple[Load, float | None, float | None, frozenset[int]], Pattern] = {}

    def pattern(self, load: Load, before: Memory, now: float) -> Pattern:
        """Return what is made of a load from ``now`` on, after what is remembered."""
        case = (load, self.gap(before.known_at, now), self.gap(before.powered_at, now), before.counted)
        found = self._patterns.get(case)
        if found is None:
            found = self._patterns[case] = self._worked_out(*case)
        return found

    def gap(self, at: float | None, now: float) -> float | None:
        """Return how long ago something was known, None if nothing is known of the time since then."""
        return None if at is None or not 0 <= now - at <= self._longest_gap else now - at

    def _worked_out(
        self, load: Load, known_since: float | None, powered_since: float | None, counted: frozenset[int]
    ) -> Pattern:
        now = _LONG_AFTER_BOOT
        known_at = None if known_since is None else now - known_since
        powered_at = None if powered_since is None else now - powered_since
        state = State(known_at, known_at, powered_at, transfers=dict.fromkeys(counted, 0))
        outcomes: list[Outcome] = []
        for reading in range(2):
            answer = self._answer(load, reading + 1)
            outcome = derive(self.settings, state, answer, self._counts(load), now)
            outcomes.append(outcome)
            state = outcome.state
            now += self.settings.interval_seconds
        first, later = outcomes
        at_first, lasting = _said(first), _said(later)
        return Pattern(
            # The same is the same object, which is compared soonest.
            lasting if at_first == lasting else at_first,
            lasting,
            (first.in_use is not None, later.in_use is not None),
            later.in_use,
            later.in_use is False and any(metric.name == names.IDLE_SECONDS for metric in later.metrics),
            state.powered_at is not None,
            frozenset(state.transfers),
        )

    def _counts(self, load: Load) -> Counts:
        sessions = None if load.logins is None else load.logins + load.session
        # Settings of the machine are taken to be in force.
        failures = None if self.settings.setup is None else 0
        return Counts(self._expected, load.busy_marks, sessions, setup_failures=failures)

    def _answer(self, load: Load, readings: int) -> Answer:
        """Return what the tool says in so many readings under a load."""
        if load.accelerators is None or not load.driver:
            return _NO_ANSWER
        return Reading(tuple(self._device(index, use, load, readings) for index, use in enumerate(load.accelerators)))

    def _device(self, index: int, use: float | None, load: Load, readings: int) -> Device:
        if use is None:
            return Device(index, fault="it does not answer")
        if self.settings.kind == "fpga":
            # It tells its transfers since it was started.
            return Device(index, transfers=readings * int(use), power_watts=20.0)
        return _telling(index, use, load.memory, index in load.mig, self.settings.kind not in _WITHOUT_POWER)


@cache
def _telling(index: int, use: float, memory: float, mig: bool, has_power: bool) -> Device:
    return Device(
        index,
        utilization=None if mig else use,
        memory_used_mib=memory,
        power_watts=30.0 + use if has_power else None,
        fault="MIG is on" if mig else None,
        use_unknown_by_design=mig,
    )


def _said(outcome: Outcome) -> tuple[Said, ...]:
    return tuple(
        Said(metric.name, METRIC_TYPES[metric.type], _tags(metric), float(metric.value))
        for metric in outcome.metrics
        if metric.name != names.IDLE_SECONDS or outcome.in_use
    )


def _tags(metric: Metric) -> tuple[tuple[str, str], ...]:
    return () if metric.index is None else (("index", str(metric.index)),)


class NodeProgram:
    """The program on one instance. What it remembers outlives a time in which it does not run, as its state file does.

    Not here: the figures of the cold start, each sent once in an instance's life, and those of the machine's setup.
    What is left over of a joule is not carried on.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._interval = core.settings.interval_seconds
        self._memory = Memory()
        self._present: Pattern | None = None
        self._began = 0

    def speech(self, at: float, load: Load, heard_every: int) -> Sequence[Speech]:
        """Return what it says from a moment on under a load that lasts: at first and, where that differs, later.

        ``heard_every`` is after how many seconds the agent makes one sample of what it has heard.
        """
        interval = self._interval
        every = max(interval, heard_every)
        first = every * ceil(at / every)
        self._remember(first - interval)
        if not load.node_program:
            self._present = None
            return [Speech(first, (), None)]
        pattern = self._present = self._core.pattern(load, self._memory, first)
        self._began = first
        readings = every // interval
        # What is heard at the beginning of an interval of the agent is the last reading in it.
        since = self._idle_since(pattern) - (every - interval) if pattern.tells_idleness else None
        early = since if pattern.known[0] or readings > 1 else None
        speech = [Speech(first, _heard(pattern.first, pattern.later, readings), early)]
        if pattern.later is not pattern.first or early != since:
            speech.append(Speech(first + every, _heard(pattern.later, pattern.later, readings), since))
        return speech

    def rest(self, at: float) -> None:
        """Do not run from a moment on."""
        interval = self._interval
        self._remember(interval * ceil(at / interval) - interval)
        self._present = None

    def _remember(self, last: int) -> None:
        """Take in what has been read under the load before, the last time at that moment."""
        pattern = self._present
        if pattern is None or last < self._began:
            return
        known = pattern.known[last > self._began]
        idle_since = None
        if known:
            idle_since = self._idle_since(pattern) if pattern.in_use is False else float(last)
        self._memory = Memory(last if known else None, idle_since, last if pattern.powered else None, pattern.counted)

    def _idle_since(self, pattern: Pattern) -> float:
        """Return since when the instance is idle under the present load, which has it idle."""
        if not pattern.known[0]:
            return self._began + self._interval
        known_at, since, _, _ = self._memory
        goes_on = since is not None and self._core.gap(known_at, self._began) is not None
        return since if since is not None and goes_on else self._began


def _heard(first: tuple[Said, ...], later: tuple[Said, ...], readings: int) -> tuple[Said, ...]:
    """Return what an interval of the agent with so many readings comes to: the last of a gauge, a counter's sum."""
    if readings == 1:
        return first
    by_figure = {said[:3]: said for said in first}
    for said in later:
        before = by_figure.get(said[:3])
        earlier = before.value if before is not None else 0.0
        counted = said.metric_type == METRIC_TYPES[COUNTER]
        value = earlier + (readings - 1) * said.value if counted else said.value
        by_figure[said[:3]] = said._replace(value=value)
    return tuple(by_figure.values())
