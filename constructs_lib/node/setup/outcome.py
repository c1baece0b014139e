"""What the settings of a machine share: the machine they are made on, and how each one ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ..places import Places
from ..readings import Command, NoReading, Output


class Runner(Protocol):
    """Runs commands with a time limit."""

    def run_one(self, command: Command) -> Output | NoReading:
        """Return what the command answered, or why there is no answer."""


@dataclass(frozen=True)
class Machine:
    """Where settings are made. `instance_type` is None while nobody knows it."""

    tools: Runner
    instance_type: str | None
    places: Places = field(default_factory=Places)

    def run(self, *argv: str, time_limit_seconds: float = 30.0) -> Output | NoReading:
        """Run a command."""
        return self.tools.run_one(Command(argv, time_limit_seconds))


@dataclass(frozen=True)
class Outcome:
    """Whether a setting is in force, None if nobody can say, and what a person should know about it."""

    ok: bool | None
    detail: str


def succeeded(answer: Output | NoReading) -> bool:
    """Whether a command ran and ended well."""
    return isinstance(answer, Output) and answer.exit_status == 0


def not_in_force(answer: Output | NoReading, detail: str) -> Outcome:
    """Return that a setting was read back as another than the one that was made; `answer` is that of the change."""
    return Outcome(False, detail if succeeded(answer) else f"{detail}; the change failed: {reason(answer)}")


def not_read_back(answer: Output | NoReading, detail: str) -> Outcome:
    """Return that a setting cannot be read back: if the change was refused it is not in force, else nobody knows."""
    return Outcome(None, detail) if succeeded(answer) else not_in_force(answer, detail)


def reason(answer: Output | NoReading) -> str:
    """Say in one line why a command did not do what it should have done."""
    if isinstance(answer, NoReading):
        return answer.reason
    lines = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
    return f"exit status {answer.exit_status}" + (f": {lines[-1].strip()}" if lines else "")
