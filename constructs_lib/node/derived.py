"""From what a reading says, and what was known before, to what is published. Pure: no clock, no files, no sockets.

What is not known is not published: there is no zero for a device that did not answer. Time without a reading is neither
use nor idleness: idle time starts anew behind it, and no energy is put in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import names
from .readings import Answer, Device, Reading
from .settings import Settings
from .statsd import COUNTER, Metric

LONGEST_GAP_INTERVALS = 2.5
"""Readings that lie further apart say nothing about the time between them."""


@dataclass(frozen=True)
class State:
    """What is carried from one interval to the next, and over restarts of the program. Times are seconds since boot.

    `known_at` is when the instance's use was last known, `idle_since` when it was last in use (or may have been),
    `powered_at` when each device last told its power. `transfers` is each device's counter.
    """

    known_at: float | None = None
    idle_since: float | None = None
    powered_at: float | None = None
    joules_left: float = 0.0
    transfers: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """What was counted beside the tool's answer. None is unknown.

    `expected_devices` is how many accelerators the instance type has, `setup_failures` None also if no setup was asked.
    """

    expected_devices: int | None = None
    busy_marks: int | None = None
    sessions: int | None = None
    setup_failures: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What is published, what is carried on, and whether the instance was seen in use: None if that is not known."""

    metrics: tuple[Metric, ...]
    state: State
    in_use: bool | None


def derive(settings: Settings, before: State, answer: Answer, counts: Counts, now: float) -> Outcome:
    """Work out what this interval's answer and counts mean. `now` is in seconds since boot."""
    devices = answer.devices if isinstance(answer, Reading) else ()
    moved = _moved(devices, before.transfers)
    uses = [device.utilization if device.utilization is not None else moved.get(device.index) for device in devices]
    told = sum(use is not None for use in uses)
    all_known = _complete(devices, counts) and None not in uses
    in_use = _in_use(settings, uses, all_known, counts.busy_marks)
    state = replace(before, transfers={**before.transfers, **_counters(devices)})
    state = _idleness(settings, state, in_use, now)
    joules, state = _energy(settings, state, devices, counts, now)
    metrics = [*_of_devices(settings, devices, moved), *_of_instance(answer, counts, told)]
    if all_known and state.idle_since is not None:
        metrics.append(Metric(names.IDLE_SECONDS, now - state.idle_since))
    if joules is not None:
        metrics.append(Metric(names.ENERGY, joules, COUNTER))
    return Outcome(tuple(metrics), state, in_use)


def _counters(devices: tuple[Device, ...]) -> dict[int, int]:
    return {device.index: device.transfers for device in devices if device.transfers is not None}


def _moved(devices: tuple[Device, ...], before: Mapping[int, int]) -> dict[int, int]:
    """Return how far each counter went since it was last read. One that went back was cleared: it says nothing."""
    return {
        index: counter - before[index]
        for index, counter in _counters(devices).items()
        if index in before and counter >= before[index]
    }


def _complete(devices: tuple[Device, ...], counts: Counts) -> bool:
    """Whether every device that the instance has is among those listed; not if nobody knows how many it has."""
    return counts.expected_devices is not None and len(devices) >= max(1, counts.expected_devices)


def _in_use(settings: Settings, uses: Sequence[float | None], all_known: bool, busy_marks: int | None) -> bool | None:
    if busy_marks or any(use is not None and use >= settings.use_threshold for use in uses):
        return True
    return False if all_known and busy_marks is not None else None


def _idleness(settings: Settings, state: State, in_use: bool | None, now: float) -> State:
    """Return the state with this interval's use in it. What is not known may have been use."""
    if in_use is None:
        return replace(state, known_at=None, idle_since=None)
    unbroken = state.known_at is not None and 0 <= now - state.known_at <= _longest_gap(settings)
    since = state.idle_since if unbroken and not in_use else None
    return replace(state, known_at=now, idle_since=now if since is None else since)


def _energy(
    settings: Settings, state: State, devices: tuple[Device, ...], counts: Counts, now: float
) -> tuple[int | None, State]:
    """Return the whole joules since the last reading, None if they are not known, and the state that keeps the rest."""
    powers = [device.power_watts for device in devices if device.power_watts is not None]
    if len(powers) < len(devices) or not _complete(devices, counts):
        return None, replace(state, powered_at=None)
    passed = None if state.powered_at is None else now - state.powered_at
    state = replace(state, powered_at=now)
    if passed is None or not 0 <= passed <= _longest_gap(settings):
        return None, state
    joules, rest = divmod(state.joules_left + sum(powers) * passed, 1)
    return int(joules), replace(state, joules_left=rest)


def _longest_gap(settings: Settings) -> float:
    return LONGEST_GAP_INTERVALS * settings.interval_seconds


def _of_devices(settings: Settings, devices: tuple[Device, ...], moved: Mapping[int, int]) -> Iterator[Metric]:
    for device in devices:
        figures = {
            names.UTILIZATION: device.utilization,
            names.TRANSFERS: moved.get(device.index),
            names.MEMORY_USED: device.memory_used_mib,
            names.POWER: device.power_watts,
            names.TEMPERATURE: device.temperature_celsius,
        }
        for measurement in settings.measurements:
            value = figures[measurement]
            if value is not None:
                yield Metric(names.measurement_metric(measurement), value, index=device.index)


def _of_instance(answer: Answer, counts: Counts, told: int) -> Iterator[Metric]:
    devices = answer.devices if isinstance(answer, Reading) else ()
    if any(device.use_is_known or device.use_unknown_by_design for device in devices):
        yield Metric(names.HEARTBEAT, 1)
    if devices:
        yield Metric(names.ACCELERATORS_PRESENT, len(devices))
    if counts.expected_devices is not None:
        answering = sum(device.use_is_known or device.use_unknown_by_design for device in devices)
        yield Metric(names.ACCELERATORS_MISSING, max(0, counts.expected_devices - answering))
        yield Metric(names.ACCELERATORS_UNKNOWN, max(0, counts.expected_devices - told))
    for name, count in (
        (names.BUSY_MARKS, counts.busy_marks),
        (names.SESSIONS, counts.sessions),
        (names.SETUP_FAILURES, counts.setup_failures),
    ):
        if count is not None:
            yield Metric(name, count)
