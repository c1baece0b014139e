"""A machine for the program: what its tools answer, what time it is, and what arrives at the agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from constructs_lib.node import names
from constructs_lib.node.events import Events, Tell
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.kernel_log import News
from constructs_lib.node.notify import Supervisor
from constructs_lib.node.places import Places
from constructs_lib.node.program import Machine, Program
from constructs_lib.node.readings import Answer, Device, NoReading, Reading
from constructs_lib.node.settings import MachineSetup, Settings
from constructs_lib.node.statsd import Metric
from constructs_lib.node.stuck import Stuck

LAUNCHED = 1_796_040_000.0
BOOTED = LAUNCHED + 12
IDENTITY = Identity("i-1", "trn1.2xlarge", LAUNCHED)
SETTINGS = Settings("neuron", measurements=("utilization",), expected={"trn1.2xlarge": 1, "trn1.32xlarge": 16})


def devices(*utilizations: float | None) -> Reading:
    """A reading of devices; None is one whose use cannot be read."""
    return Reading(
        tuple(Device(i, use, fault=None if use is not None else "lost") for i, use in enumerate(utilizations))
    )


@dataclass
class Rig:
    """Runs the program interval by interval. Whatever a test sets to an exception is raised by that part."""

    root: Path
    settings: Settings = SETTINGS
    now: float = LAUNCHED + 80.0
    answer: Answer | Exception = field(default_factory=lambda: devices(0.0))
    identity: Identity | Exception = IDENTITY
    boot: str | Exception = "boot-1"
    marks: int | Exception | None = 0
    sessions: int | Exception | None = 0
    traffic: int | Exception = 0
    news: News | Exception = field(default_factory=News)
    statsd: Exception | None = None
    doors: Exception | None = None
    asked_for: list[int | None] = field(default_factory=list)
    looks_at_kernel_log: list[tuple[float, float]] = field(default_factory=list)
    marks_since: list[float] = field(default_factory=list)
    packets: list[tuple[Metric, ...]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the program, or start it again."""
        self.stuck = Stuck(self.root / "proc")
        events = Events(lambda line: self.log.append(json.loads(line)), lambda: self.now)
        self.program = Program(self.settings, self._machine(), events, self.stuck, self.places)

    def reboot(self) -> None:
        """Start the machine again: memory is lost, the disk is not."""
        for file in self.places.file(names.STATE_DIRECTORY).glob("*"):
            file.unlink()
        self.boot = f"{self.boot}+"
        self.start()

    def set_up(self, setup: MachineSetup) -> None:
        """Ask for settings of the machine."""
        self.settings = replace(self.settings, setup=setup)
        self.start()

    @property
    def places(self) -> Places:
        return Places(self.root)

    def leave(self, name: str, text: str) -> None:
        """Put a file where the boot script, or an earlier program, would."""
        path = self.places.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _machine(self) -> Machine:
        return Machine(
            open_doors=lambda: _given(self.doors),
            read=self._read,
            identity=lambda: _given(self.identity),
            boot_id=lambda: _given(self.boot),
            count_busy_marks=self._count_marks,
            count_sessions=lambda tell: _counted(self.sessions, tell),
            kernel_news=self._kernel_news,
            send=self._send,
            now=lambda: self.now,
            since_boot=lambda: self.now - BOOTED,
            count_traffic=lambda: _given(self.traffic),
        )

    def _read(self, expected: int | None) -> Answer:
        self.asked_for.append(expected)
        answer: Answer = _given(self.answer)
        return answer

    def _kernel_news(self, now: float, since_boot: float) -> News:
        self.looks_at_kernel_log.append((now, since_boot))
        news: News = _given(self.news)
        return news

    def _count_marks(self, since: float, tell: Tell) -> int | None:
        self.marks_since.append(since)
        return _counted(self.marks, tell)

    def _send(self, metrics: Sequence[Metric]) -> None:
        _given(self.statsd)
        self.packets.append(tuple(metrics))

    def read(self, seconds: float = 60.0) -> dict[str, float]:
        """Let time pass and read once; return what arrived, by name, of devices as name#index."""
        self.now += seconds
        before = len(self.packets)
        self.program.read_once()
        arrived = [metric for packet in self.packets[before:] for metric in packet]
        return {m.name if m.index is None else f"{m.name}#{m.index}": m.value for m in arrived}

    def run(self, intervals: int, supervisor: Supervisor) -> list[float]:
        """Run the program's own loop for so many intervals, and return how long each wait was."""
        waits: list[float] = []

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            self.now += seconds
            return len(waits) > intervals

        self.program.run(wait, supervisor)
        return waits

    def told(self, event: str) -> list[dict[str, Any]]:
        """What the program said of this sort."""
        return [line for line in self.log if line["event"] == event]

    @property
    def status(self) -> dict[str, Any]:
        """The last reading as the program left it for people."""
        status: dict[str, Any] = json.loads(self.places.file(names.STATUS_FILE).read_text())
        return status


def _given(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


def _counted(value: int | Exception | None, tell: Callable[[str], None]) -> int | None:
    count: int | None = _given(value)
    if count is None:
        tell("cannot be counted")
    return count


HUNG_TOOL = NoReading("hung", "neuron-monitor: no answer within 10 s")
