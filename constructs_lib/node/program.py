"""The loop: in each interval the machine is read, and what that means is published.

Each part may fail without holding the others up. What fails is told once, when that begins, and is not published:
nothing old is ever sent again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from . import memory, names, status
from .derived import Counts, Outcome, derive
from .events import Events, Tell
from .faults import AcceleratorFaults
from .files import read_text, write_atomically
from .guard import Guard, Unknown
from .instance_metadata import Identity
from .kernel_log import News
from .life import LifeStory
from .memory import Memory
from .network import Traffic, count_bytes
from .notify import Supervisor
from .places import Places
from .readings import FAILED, Answer, NoReading
from .schedule import longest_silence, seconds_to_next
from .settings import Settings
from .setup_report import not_in_force, unverified
from .statsd import Metric

_MEMORY_FILE = f"{names.STATE_DIRECTORY}/program.json"


class Keeper(Protocol):
    """Something whose memory must outlive the program: `stuck.Stuck`."""

    def as_data(self) -> object:
        """Return what to write down."""

    def restore(self, data: object) -> None:
        """Take it over again; raise ValueError if it is not that."""


@dataclass(frozen=True)
class Machine:
    """The world around the program. Each may raise; what counts returns None for unknown, and tells why.

    `open_doors` makes the place for busy marks. `read` is given how many devices the instance has, None if nobody
    knows. `count_busy_marks` counts those since a time in epoch seconds. `kernel_news` is given the time in epoch
    seconds and since boot. `now` gives epoch seconds, `since_boot` seconds that never go back. `count_traffic` counts
    bytes on the network.
    """

    open_doors: Callable[[], None]
    read: Callable[[int | None], Answer]
    identity: Callable[[], Identity]
    boot_id: Callable[[], str]
    count_busy_marks: Callable[[float, Tell], int | None]
    count_sessions: Callable[[Tell], int | None]
    kernel_news: Callable[[float, float], News]
    send: Callable[[Sequence[Metric]], None]
    now: Callable[[], float]
    since_boot: Callable[[], float]
    count_traffic: Callable[[], int] = count_bytes


class Program:
    """The program, between the machine and whoever watches it."""

    def __init__(self, settings: Settings, machine: Machine, events: Events, keeper: Keeper, places: Places) -> None:
        self._settings = settings
        self._machine = machine
        self._events = events
        self._keeper = keeper
        self._places = places
        self._guard = Guard(events)
        self._life = LifeStory(self._guard, self._places, machine.boot_id)
        self._identity: Identity | None = None
        self._last_reading = machine.now()
        self._faults = AcceleratorFaults(events)
        self._not_in_force: Mapping[str, str] = {}
        self._unverified: Mapping[str, str] = {}
        self._memory = self._guard.attempt("memory", self._remembered) or Memory()
        self._traffic = Traffic(settings.interval_seconds) if settings.network else None

    def _remembered(self) -> Memory:
        text = read_text(self._places.file(_MEMORY_FILE))
        if text is None:
            return Memory()
        remembered = memory.from_text(text)
        self._keeper.restore(remembered.stuck)
        return remembered

    def run(self, wait: Callable[[float], bool], supervisor: Supervisor) -> None:
        """Read in each interval until `wait`, which is given seconds, returns True."""
        interval = self._settings.interval_seconds
        self._events.tell("starts", kind=self._settings.kind, interval_seconds=interval)
        self._guard.attempt("busy marks", self._machine.open_doors)
        # Drivers load before the program starts: what they found need not wait for the first reading.
        self._pass_kernel_news()
        # The doors themselves are no mark.
        self._last_reading = self._machine.now()
        self._guard.attempt("supervisor", lambda: supervisor.ready(longest_silence(interval)))
        while not wait(seconds_to_next(self._machine.now(), interval)):
            self.read_once()
            self._guard.attempt("supervisor", supervisor.alive)
        self._guard.attempt("supervisor", supervisor.stopping)
        self._events.tell("ends")

    def read_once(self) -> None:
        """Do what is to be done in one interval."""
        machine, guard = self._machine, self._guard
        now, since_boot = machine.now(), machine.since_boot()
        self._pass_kernel_news()
        expected = self._expected_devices()
        answer = self._read(expected)
        counts = Counts(
            expected_devices=expected,
            busy_marks=guard.count("busy marks", lambda tell: machine.count_busy_marks(self._last_reading, tell)),
            sessions=guard.count("sessions", machine.count_sessions),
            setup_failures=self._setup_failures(),
        )
        self._last_reading = now
        outcome = derive(self._settings, self._memory.state, answer, counts, since_boot)
        self._remember(outcome, now)
        self._publish(outcome, answer, now, self._network(since_boot))

    def _pass_kernel_news(self) -> None:
        now, since_boot = self._machine.now(), self._machine.since_boot()

        def pass_on() -> None:
            news = self._machine.kernel_news(now, since_boot)
            for fault in news.faults:
                self._events.tell("accelerator fault", line=str(fault))
            if news.problems:
                raise Unknown("; ".join(news.problems))

        self._guard.attempt("kernel log", pass_on)

    def _expected_devices(self) -> int | None:
        """Return how many devices this instance has. If all types have as many, it need not know which it is."""
        if self._identity is None:
            self._identity = self._guard.attempt("instance metadata", self._machine.identity)
        expected = self._settings.expected
        if len(set(expected.values())) == 1:
            return next(iter(expected.values()))
        if self._identity is None:
            return None
        instance_type = self._identity.instance_type
        return self._guard.attempt("expected devices", lambda: _devices_of(expected, instance_type))

    def _read(self, expected: int | None) -> Answer:
        answer = self._guard.attempt("reader", lambda: self._machine.read(expected))
        if answer is None:
            answer = NoReading(FAILED, "the reader failed")
        self._faults.note(answer, expected)
        return answer

    def _setup_failures(self) -> int | None:
        setup = self._settings.setup
        if setup is None:
            return None

        def count(tell: Tell) -> int | None:
            report = read_text(self._places.file(names.SETUP_REPORT))
            if report is None:
                tell("the machine's setup has left no report")
                return None
            failures = not_in_force(setup, report)
            self._note_not_in_force(failures)
            self._note_unverified(unverified(setup, report))
            return len(failures)

        return self._guard.count("setup report", count)

    def _note_not_in_force(self, settings: Mapping[str, str]) -> None:
        for setting in self._not_in_force.keys() - settings.keys():
            self._events.works(f"setting {setting}")
        for setting, detail in settings.items():
            self._events.fails(f"setting {setting}", "not in force", detail)
        self._not_in_force = settings

    def _note_unverified(self, settings: Mapping[str, str]) -> None:
        for setting, detail in settings.items():
            if setting not in self._unverified:
                self._events.tell("setting cannot be verified", setting=setting, detail=detail)
        self._unverified = settings

    def _remember(self, outcome: Outcome, now: float) -> None:
        first_use = self._memory.first_use
        self._memory = Memory(
            outcome.state,
            now if first_use is None and outcome.in_use else first_use,
            self._keeper.as_data(),
        )
        text = memory.to_text(self._memory)
        self._guard.attempt("memory", lambda: write_atomically(self._places.file(_MEMORY_FILE), text))

    def _network(self, since_boot: float) -> tuple[Metric, ...]:
        traffic = self._traffic
        if traffic is None:
            return ()
        rate = self._guard.attempt("network", lambda: traffic.per_second(self._machine.count_traffic(), since_boot))
        return () if rate is None else (Metric(names.NETWORK_THROUGHPUT, rate),)

    def _publish(self, outcome: Outcome, answer: Answer, now: float, network: tuple[Metric, ...]) -> None:
        cold_start = self._life.due(self._identity, self._memory.first_use)
        metrics = (*outcome.metrics, *network, *cold_start)
        sent = self._guard.attempt("statsd", lambda: self._send(metrics))
        if sent and cold_start:
            self._life.published(cold_start)
        document = status.document(
            self._settings.kind,
            self._settings.interval_seconds,
            now,
            answer,
            metrics,
            self._events.problems,
            self._unverified,
        )
        path = self._places.file(names.STATUS_FILE)
        self._guard.attempt("status file", lambda: write_atomically(path, json.dumps(document)))

    def _send(self, metrics: Sequence[Metric]) -> bool:
        self._machine.send(metrics)
        return True


def _devices_of(expected: Mapping[str, int], instance_type: str) -> int:
    if instance_type not in expected:
        raise Unknown(f"the settings do not say how many devices {instance_type} has; add it to expected")
    return expected[instance_type]
