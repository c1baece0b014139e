"""What a kind's tool says about the accelerators of a machine. Plain data, shared by all parts of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

MISSING = "missing"
HUNG = "hung"
FAILED = "failed"
UNREADABLE = "unreadable"
"""Why there is no reading: no such tool, no answer in time, an exit status, an answer that makes no sense."""


@dataclass(frozen=True)
class Command:
    """A command that reads accelerators.

    With `first_line_only` it never ends by itself: its first line is the answer.
    """

    argv: tuple[str, ...]
    time_limit_seconds: float = 10.0
    first_line_only: bool = False


@dataclass(frozen=True)
class Output:
    """What a command answered within its time limit."""

    exit_status: int
    stdout: str
    stderr: str = ""


@dataclass(frozen=True)
class Device:
    """One accelerator. A figure that the tool does not give, or gives out of its range, is None.

    `utilization` is percent, `transfers` a count since the device was started, for kinds without a percentage. `fault`
    says why the device's use could not be read; with `use_unknown_by_design` it is in a mode in which nobody can read
    it (MIG), and nothing is broken.
    """

    index: int
    utilization: float | None = None
    transfers: int | None = None
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None
    fault: str | None = None
    use_unknown_by_design: bool = False

    @property
    def use_is_known(self) -> bool:
        """Whether the tool says how much the device is used."""
        return self.utilization is not None or self.transfers is not None


@dataclass(frozen=True)
class Reading:
    """All accelerators that the tool lists, at least one."""

    devices: tuple[Device, ...]


@dataclass(frozen=True)
class NoReading:
    """No accelerator could be read; `cause` is one of the four above, `reason` is for people."""

    cause: str
    reason: str


Answer = Union[Reading, NoReading]
