"""Who holds a busy mark, and the signal to them.

Not only the process that took the lock: a program inherits the mark from the shell, from `flock` or from
`accelerated-node busy` that has started it, and goes on holding it when those end.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import busy
from ..files import read_text, write_atomically
from .commands import REASON

_PROC = Path("/proc")
# Positions in /proc/<pid>/stat behind the name of the command (proc(5)).
_PARENT, _START = 1, 19
_PACKAGE, _BUSY = b"accelerated_node", b"busy"

Send = Callable[[int, int], None]
"""Sends a signal to the process behind a pidfd."""


@dataclass(frozen=True)
class Process:
    """A process; its start tells it from a later one of the same number."""

    pid: int
    start: int


def find_holders(directory: Path, proc: Path = _PROC) -> list[Process]:
    """Return the programs that hold a mark in the directory now.

    Left out is `accelerated-node busy`, which would pass a signal on to the command that gets it already, the drain's
    own commands, which may be saving something, and what a program has forked of itself: a loader of data ends when its
    program ends, and is no use to it before.
    """
    marks = _locked_in(directory, busy.read_kernel_list())
    if not marks:
        return []
    holders = {pid for pid in _numbers(proc) if pid != os.getpid() and _has_open(proc / str(pid), marks)}
    found = []
    for pid in sorted(holders):
        try:
            place = proc / str(pid)
            stat = _stat(place)
            is_fork = stat[_PARENT] in holders and _same_program(place, proc, stat[_PARENT])
            if not is_fork and not _is_wrapper(place) and not _is_of_a_command(place):
                found.append(Process(pid, stat[_START]))
        except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
            continue
    return found


def _locked_in(directory: Path, locks_text: str) -> set[tuple[int, int]]:
    """Return device and inode of the locked files of the directory, and of the directory itself."""
    here = directory.stat()
    entries = {here.st_ino}
    with os.scandir(directory) as listed:
        entries.update(entry.inode() for entry in listed)
    return {
        (here.st_dev, inode)
        for major, minor, inode in busy.locked_files(locks_text)
        if os.makedev(major, minor) == here.st_dev and inode in entries
    }


def _numbers(proc: Path) -> Iterator[int]:
    return (int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())


def _has_open(place: Path, marks: set[tuple[int, int]]) -> bool:
    try:
        with os.scandir(place / "fd") as files:
            return any(_identity(file) in marks for file in files)
    except OSError:  # ended, or not ours to see
        return False


def _identity(file: os.DirEntry[str]) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stat(place: Path) -> dict[int, int]:
    fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return {position: int(fields[position]) for position in (_PARENT, _START)}


def _words(place: Path) -> list[bytes]:
    return (place / "cmdline").read_bytes().split(b"\0")


def _is_wrapper(place: Path) -> bool:
    words = _words(place)
    return _BUSY in words and any(_PACKAGE in word for word in words[: words.index(_BUSY)])


def _is_of_a_command(place: Path) -> bool:
    begin = f"{REASON}=".encode()
    try:
        return any(word.startswith(begin) for word in (place / "environ").read_bytes().split(b"\0"))
    except PermissionError:  # none of ours
        return False


def _same_program(place: Path, proc: Path, parent: int) -> bool:
    other = proc / str(parent)
    try:
        return _words(place) == _words(other) and (place / "exe").readlink() == (other / "exe").readlink()
    except (FileNotFoundError, ProcessLookupError):
        return False


def send_signal(pidfd: int, number: int) -> None:
    """Send it to exactly this process."""
    signal.pidfd_send_signal(pidfd, signal.Signals(number))


class Herald:
    """Sends the signal to each program that holds a mark, once: told twice, a program may give up what it is saving.

    `memory` keeps who got it until the machine restarts, since this program may be started again.
    """

    def __init__(
        self, directory: Path, memory: Path, number: signal.Signals, send: Send = send_signal, proc: Path = _PROC
    ) -> None:
        self._directory = directory
        self._memory = memory
        self._number = number
        self._send = send
        self._proc = proc
        self._told: set[Process] | None = None

    def signal_holders(self) -> int:
        """Send it to those that have not got it, and return to how many."""
        told = self._remembered()
        new = [process for process in find_holders(self._directory, self._proc) if process not in told]
        for process in new:
            # Written down before: at worst nobody is told twice.
            told.add(process)
        try:
            if new:
                text = json.dumps([[process.pid, process.start] for process in sorted(told, key=lambda each: each.pid)])
                write_atomically(self._memory, text)
        finally:
            # Also where nothing can be written: this program itself remembers.
            sent = sum(self._signal(process) for process in new)
        return sent

    def forget(self) -> None:
        """Begin anew: another drain is another signal."""
        self._told = set()
        self._memory.unlink(missing_ok=True)

    def _remembered(self) -> set[Process]:
        if self._told is None:
            self._told = _read(self._memory)
        return self._told

    def _signal(self, process: Process) -> bool:
        try:
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return False
        try:
            if _stat(self._proc / str(process.pid))[_START] != process.start:
                return False
            self._send(pidfd, self._number)
        except (FileNotFoundError, ProcessLookupError):
            return False
        finally:
            os.close(pidfd)
        return True


def _read(memory: Path) -> set[Process]:
    try:
        return {Process(int(pid), int(start)) for pid, start in json.loads(read_text(memory) or "[]")}
    except (OSError, ValueError, TypeError, RecursionError):
        # To be told twice is better than never.
        return set()
