"""The kernel's log: lines that tell of a faulty accelerator are kept in a file of their own and passed on.

Each record of this boot is passed on once, also if the program is started again (field cases 16 and 44); those from
before the program's start belong to it, since a driver often finds its faults while it loads.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import names
from .events import utc
from .files import write_atomically
from .kernel_record import Record, parse_record

KERNEL_LOG = Path("/dev/kmsg")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STATE_FILE = f"{names.STATE_DIRECTORY}/kernel-log.json"

LOG_LIMIT_BYTES = 1024 * 1024
"""From this size on the fault log becomes the old fault log, of which there is one."""

# The kernel refuses to write a record into a smaller buffer; it makes none of more than 8 KiB (printk).
_RECORD_BYTES = 16 * 1024
# Far more than the kernel's ring holds: what comes faster than it is read must not keep the program for ever.
_MOST_RECORDS = 100_000
_MOST_FAULTS = 1000
_BEFORE_THE_FIRST = -1

Read = Callable[[], bytes]
"""Returns the next record; raises BlockingIOError if there is none yet, BrokenPipeError if some were overwritten."""


@dataclass(frozen=True)
class FaultLine:
    """A line that tells of a fault. `when` is UTC, of the first if the same line came several `times`."""

    when: str
    text: str
    times: int = 1

    def __str__(self) -> str:
        """Write it as the fault log has it."""
        return f"{self.when} {self.text}" + (f" ({self.times} times)" if self.times > 1 else "")


@dataclass(frozen=True)
class News:
    """What is new since the last look: lines that tell of faults, and what kept the program from seeing or keeping."""

    faults: tuple[FaultLine, ...] = ()
    problems: tuple[str, ...] = ()


def open_kernel_log(path: Path = KERNEL_LOG) -> Read:
    """Open the kernel's log, from its oldest record on. Raises OSError if it cannot be read."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return lambda: os.read(file, _RECORD_BYTES)


class KernelLog:
    """Follows the kernel's log for lines that match one of the patterns.

    `boot_id` tells one boot of the machine from another. What was passed on is remembered in the file `state`.
    """

    def __init__(
        self,
        read: Read,
        patterns: Sequence[str],
        boot_id: str,
        state: Path = Path(STATE_FILE),
        log: Path = Path(names.FAULT_LOG),
    ) -> None:
        self._read = read
        self._patterns = tuple(re.compile(pattern) for pattern in patterns)
        self._boot_id = boot_id
        self._state = state
        self._log = log
        self._last = _BEFORE_THE_FIRST
        # Whether nobody knows what was passed on, and the log has not yet been read to its end since.
        self._is_lost = False
        # A dictionary for its order: the same problem many times over is one.
        self._problems: dict[str, None] = {}
        self._recall()

    def look(self, now: float, uptime: float) -> News:
        """Read what is new and keep the faults in it. `now` is seconds since the epoch, `uptime` since the boot."""
        faults = self._new_faults(boot_time=now - uptime, now=now)
        # Before the faults are kept: what ends the program in between must not bring them twice.
        if not self._is_lost:
            self._attempt("remember the last line of the kernel log", self._remember)
        if faults:
            self._attempt("keep lines that tell of faults", lambda: self._append(faults))
        problems = tuple(self._problems)
        self._problems.clear()
        return News(faults, problems)

    def _new_faults(self, boot_time: float, now: float) -> tuple[FaultLine, ...]:
        faults: dict[str, FaultLine] = {}
        for record in self._new_records():
            if self._is_lost or not self._is_fault(record):
                continue
            text = record.text
            if text in faults:
                faults[text] = replace(faults[text], times=faults[text].times + 1)
            elif len(faults) < _MOST_FAULTS:
                faults[text] = FaultLine(utc(min(boot_time + record.microseconds / 1e6, now)), text)
            else:
                self._tell(f"more than {_MOST_FAULTS} lines at once tell of faults: the rest is left out")
        return tuple(faults.values())

    def _new_records(self) -> Iterator[Record]:
        """Yield the records after the last, which moves on, until there is none."""
        for _ in range(_MOST_RECORDS):
            try:
                record = parse_record(self._read())
            except BlockingIOError:
                self._is_lost = False
                return
            except BrokenPipeError:
                self._tell("lines of the kernel log were overwritten before they could be read")
                continue
            except OSError as problem:
                self._tell(f"the kernel log cannot be read: {problem}")
                return
            if record and record.sequence > self._last:
                self._last = record.sequence
                yield record

    def _is_fault(self, record: Record) -> bool:
        return record.is_the_kernels and any(pattern.search(record.text) for pattern in self._patterns)

    def _recall(self) -> None:
        """Take up where an earlier run in this boot stopped.

        If that cannot be read, nobody knows what was passed on, and what is in the log by now is not passed on again.
        """
        try:
            self._last = _last_passed_on(self._state.read_text(encoding="utf-8"), self._boot_id)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as problem:
            self._tell(f"{self._state} makes no sense, lines up to now are taken as old: {problem!r}")
            self._is_lost = True

    def _remember(self) -> None:
        write_atomically(self._state, json.dumps({"boot": self._boot_id, "sequence": self._last}))

    def _append(self, faults: Sequence[FaultLine]) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if self._log.exists() and self._log.stat().st_size >= LOG_LIMIT_BYTES:
            self._log.replace(self._log.with_name(f"{self._log.name}.1"))
        with self._log.open("a", encoding="utf-8") as file:
            file.writelines(f"{fault}\n" for fault in faults)

    def _tell(self, problem: str) -> None:
        self._problems[problem] = None

    def _attempt(self, what: str, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as problem:
            self._tell(f"cannot {what}: {problem}")


def _last_passed_on(state: str, boot_id: str) -> int:
    """Return the sequence of the last record that was passed on in this boot; raise ValueError if nobody can tell."""
    document = json.loads(state)
    boot, sequence = (document.get(key) if isinstance(document, dict) else None for key in ("boot", "sequence"))
    if isinstance(boot, str) and boot != boot_id:
        return _BEFORE_THE_FIRST
    if boot != boot_id or type(sequence) is not int or sequence < _BEFORE_THE_FIRST:
        raise ValueError(f"it must hold a boot and the number of a line, got {state!r:.80}")
    return sequence
