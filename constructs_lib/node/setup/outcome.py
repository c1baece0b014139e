"""What the settings of a machine share: the machine they are made on, and how each one ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..readings import Command, NoReading, Output


class Runner(Protocol):
    """Runs commands with a time limit."""

    def run_one(self, command: Command) -> Output | NoReading:
        """Return what the command answered, or why there is no answer."""


@dataclass(frozen=True)
class Machine:
    """Where settings are made. `instance_type` is None while nobody knows it; files lie below `root`."""

    tools: Runner
    instance_type: str | None
    root: Path = Path("/")

    def file(self, path: str) -> Path:
        """Return where a file of this machine lies, given its absolute path."""
        return self.root / path.lstrip("/")

    def run(self, *argv: str, time_limit_seconds: float = 30.0) -> Output | NoReading:
        """Run a command."""
        return self.tools.run_one(Command(argv, time_limit_seconds))


@dataclass(frozen=True)
class Outcome:
    """Whether a setting is in force, and what a person should know about it."""

    ok: bool
    detail: str


def succeeded(answer: Output | NoReading) -> bool:
    """Whether a command ran and ended well."""
    return isinstance(answer, Output) and answer.exit_status == 0


def reason(answer: Output | NoReading) -> str:
    """Say in one line why a command did not do what it should have done."""
    if isinstance(answer, NoReading):
        return answer.reason
    lines = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
    return f"exit status {answer.exit_status}" + (f": {lines[-1].strip()}" if lines else "")
