"""Tools that could not be ended, so that no second one is started beside them.

With a wedged driver a tool blocks within the kernel, where not even SIGKILL ends it.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_STATE, _START = 0, 19
"""Positions in /proc/<pid>/stat behind the name of the command: the state, the start in ticks since boot (proc(5))."""

_ENDED = ("Z", "X", "x")
"""States of a process that runs no more and only waits to be reaped."""


@dataclass(frozen=True)
class _Process:
    pid: int
    start: int


class Stuck:
    """The processes, by their command. `proc` is where the kernel shows them."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._processes: dict[tuple[str, ...], _Process] = {}
        self._children: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}

    def remember(self, argv: tuple[str, ...], child: subprocess.Popen[bytes]) -> None:
        """Note a child that was killed and does not end."""
        self._children[argv] = child
        start = self._start_of(child.pid)
        if start is not None:
            self._processes[argv] = _Process(child.pid, start)

    def living(self, argv: tuple[str, ...]) -> int | None:
        """Return the number of the process of this command that still lives, or None."""
        process = self._processes.get(argv)
        if process is not None and self._start_of(process.pid) == process.start:
            return process.pid
        self._processes.pop(argv, None)
        child = self._children.pop(argv, None)
        if child is not None:
            child.wait()
        return None

    def _start_of(self, pid: int) -> int | None:
        """Return when a process started, which tells it from a later one of the same number; None if it has ended."""
        try:
            text = (self._proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name of the command stands in brackets and may hold anything, brackets too.
        fields = text.rpartition(")")[2].split()
        return None if fields[_STATE] in _ENDED else int(fields[_START])

    def as_data(self) -> list[list[object]]:
        """Return what survives the program, to be written down."""
        return [[list(argv), process.pid, process.start] for argv, process in self._processes.items()]

    def restore(self, data: object) -> None:
        """Take over what an earlier program wrote down; raise ValueError if it is not that."""
        if not isinstance(data, list):
            raise ValueError("the stuck processes must be a list")
        found: dict[tuple[str, ...], _Process] = {}
        for item in data:
            if not isinstance(item, list) or len(item) != 3:
                raise ValueError("a stuck process must be a command, a number and a start")
            argv, pid, start = item
            if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
                raise ValueError("the command of a stuck process must be a list of words")
            if not all(type(number) is int and number > 0 for number in (pid, start)):
                raise ValueError("the number and the start of a stuck process must be whole numbers above 0")
            found[tuple(argv)] = _Process(pid, start)
        self._processes.update(found)
