"""Evaluates a template's alarms each minute, and says which of their actions are to run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from constructs_lib.rehearsal.cloud.alarms import Alarm, State
from constructs_lib.rehearsal.cloud.composite import CompositeAlarm, composite_alarms
from constructs_lib.rehearsal.cloud.metric_math import MathReading
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.cloud.rest import Rest
from constructs_lib.rehearsal.cloud.slots import Slots
from constructs_lib.rehearsal.template import Template

_CYCLE = 300
"""What is published again and again, unless it changes, comes at least once in so many seconds."""


class Action(NamedTuple):
    """An action of an alarm in its present state, and what it saw; a composite alarm has seen nothing."""

    alarm: str
    target: str
    has_changed: bool
    threshold: float
    points: list[float | None]


@dataclass
class _Memory:
    """What is remembered of one alarm, so that nothing is worked out twice.

    ``points`` are what it saw when it was last evaluated in each minute of a cycle, and when that was. ``rest`` is kept
    of an alarm that does nothing while it is OK, and whose slots are.
    """

    alarm: Alarm
    slots: Slots | None
    rest: Rest | None
    points: dict[int, tuple[int, list[float | None]]] = field(default_factory=dict)
    sleeps_until: float = -1
    """Up to when its rest need not be asked about, while the store has had so many ``upsets``."""
    upsets: int = -1
    _judged: tuple[list[float | None], State, State] | None = None
    """From which points, and from which state, it last went to which state."""

    def next_state(self, points: list[float | None], before: State) -> State:
        if self._judged is not None and self._judged[0] == points and self._judged[1] == before:
            return self._judged[2]
        state = self.alarm.evaluate(points, before)
        self._judged = points, before, state
        return state


class AlarmWatch:
    """The alarms of one template at a time; their states outlive an update of the stack.

    ``doubts`` name the open questions of AWS's behaviour that would have given an alarm that acts on the fleet another
    state. They are asked at each change, and every five minutes.
    """

    def __init__(self, store: MetricStore, *, extra: int, reading: MathReading) -> None:
        self.alarms: dict[str, Alarm] = {}
        self.composites: list[CompositeAlarm] = []
        self.states: dict[str, State] = {}
        self.history: list[tuple[int, str, State]] = []
        self.doubts: set[str] = set()
        self._store = store
        self._extra = extra
        self._reading = reading
        self._memories: dict[str, _Memory] = {}
        self._changed_at: dict[str, int] = {}
        """When an alarm last changed, or was first evaluated."""
        self._unseen: dict[str, list[Key]] = {}
        """The series that nobody has published yet, of each alarm that has been evaluated."""
        self._acting: frozenset[str] = frozenset()
        """The alarms that can change the fleet, by an action of theirs or of a composite alarm that asks for them."""

    def read(self, template: Template, acts: Callable[[str], bool]) -> None:
        """Take the alarms of a template; ``acts`` says of an action's target whether it can change the fleet."""
        self.alarms = template.alarms()
        named = {name: each.get("AlarmName") for name, each in template.resources("AWS::CloudWatch::Alarm").items()}
        self.composites = composite_alarms(
            template.composite_alarms(), {name: named.get(name) for name in self.alarms}, template.policies()
        )
        names = [*self.alarms, *(each.name for each in self.composites)]
        self.states = {name: self.states.get(name, "INSUFFICIENT_DATA") for name in names}
        for each in self.composites:
            each.state = self.states[each.name]
        self._memories.clear()
        self._unseen.clear()
        self._acting = self._that_act(acts)

    def _that_act(self, acts: Callable[[str], bool]) -> frozenset[str]:
        acting = {name for name, alarm in self.alarms.items() if _does(alarm.actions, acts)}
        # Each of them comes after those that it asks for.
        for composite in reversed(self.composites):
            if composite.name in acting or _does(composite.actions, acts):
                acting |= {composite.name} | composite.alarms
        return frozenset(acting)

    def acts_on(self, keys: Collection[Key]) -> bool:
        """Return whether an alarm that can change the fleet asks for one of these series."""
        return any(
            name in self._acting and not set(keys).isdisjoint(alarm.metrics) for name, alarm in self.alarms.items()
        )

    @property
    def notes(self) -> list[str]:
        """Return what alarms that act on the fleet ask for, and nothing has published."""
        return [
            f"{name} saw no data of {namespace} {metric} ({_written(dimensions)}): nothing published it"
            for name, unseen in self._unseen.items()
            if name in self._acting
            for namespace, metric, dimensions in unseen
        ]

    def tick(self, now: int) -> Iterator[Action]:
        """Evaluate each alarm in turn; a scaling policy's action comes again each minute, others at a change."""
        for name, alarm in list(self.alarms.items()):
            if not self._rests(name, alarm, now):
                yield from self._evaluate(name, alarm, now)
        for composite in self.composites:
            changed, targets = composite.tick(now, self.states)
            self._note(composite.name, composite.state, now, changed)
            yield from (Action(composite.name, target, True, 0.0, []) for target in targets)

    def is_settled(self, now: int) -> bool:
        """Return whether no alarm can change, as long as nothing is published that differs."""
        if any(composite.is_waiting for composite in self.composites):
            return False
        names = [*self.alarms, *(each.name for each in self.composites)]
        return all(now - self._changed_at.get(name, now) >= _CYCLE for name in names) and all(
            # Each minute of the cycle was like the one before it.
            each.is_steady(self._store, now, cycle=_CYCLE, cycles=2, extra=self._extra)
            for each in self.alarms.values()
        )

    def _rests(self, name: str, alarm: Alarm, now: int) -> bool:
        """Return whether an alarm is known to stay as it is now."""
        memory = self._memories.get(name)
        if memory is None or memory.rest is None or memory.alarm is not alarm:
            return False
        if now <= memory.sleeps_until and memory.upsets == self._store.upsets:
            return True
        rests = memory.rest.lasts(self._store, now) and self._may_rest(name, alarm, now % _CYCLE)
        if rests:
            is_asked_next = now - now % _CYCLE + _CYCLE if alarm.leaves_open and name in self._acting else inf
            memory.sleeps_until = min(memory.rest.until, is_asked_next - 1)
            memory.upsets = self._store.upsets
        return rests

    def _may_rest(self, name: str, alarm: Alarm, phase: int) -> bool:
        # What is open in its metric math is asked of an alarm that rests as well.
        return self.states[name] == "OK" and (phase != 0 or not alarm.leaves_open or name not in self._acting)

    def _evaluate(self, name: str, alarm: Alarm, now: int) -> Iterator[Action]:
        memory = self._memories.get(name)
        if memory is None or memory.alarm is not alarm:
            memory = self._memories[name] = self._first_memory(alarm)
        phase = now % _CYCLE
        before = self.states[name]
        wanted = self._unseen.get(name)
        if wanted is None or wanted:
            self._unseen[name] = [key for key in wanted or alarm.metrics if not self._store.knows(key)]
        rest = memory.rest if self._may_rest(name, alarm, phase) else None
        if rest is not None and rest.renew(self._store, now):
            return
        seen_at, points = memory.points.get(phase, (now, None))
        new = points is None or not alarm.is_steady(
            self._store, now, cycle=_CYCLE, cycles=(now - seen_at) // _CYCLE, extra=self._extra
        )
        if points is None or new:
            points = alarm.points(self._store, now, extra=self._extra, reading=self._reading, slots=memory.slots)
            memory.points[phase] = now, points
        state = memory.next_state(points, before)
        # Longer ranges, which are in doubt, see a change for longer.
        is_asked = state != before or (phase == 0 and (new or not alarm.is_steady(self._store, now, cycle=_CYCLE)))
        if is_asked and name in self._acting:
            asked = alarm.judge(self._store, now, before, extra=self._extra, reading=self._reading, slots=memory.slots)
            self.doubts.update(asked.doubts)
        self._note(name, state, now, state != before)
        for target in alarm.actions[state]:
            yield Action(name, target, state != before, alarm.threshold, points)

    def _first_memory(self, alarm: Alarm) -> _Memory:
        slots = alarm.slots(self._reading)
        rests = slots is not None and not alarm.actions["OK"]
        return _Memory(alarm, slots, Rest(alarm, slots, self._reading) if slots is not None and rests else None)

    def _note(self, name: str, state: State, now: int, changed: bool) -> None:
        self.states[name] = state
        if changed:
            self._changed_at[name] = now
            self.history.append((now, name, state))
        else:
            self._changed_at.setdefault(name, now)


def _written(dimensions: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(dimensions)) or "without dimensions"


def _does(actions: Mapping[State, Iterable[str]], acts: Callable[[str], bool]) -> bool:
    return any(acts(target) for targets in actions.values() for target in targets)
