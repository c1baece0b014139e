"""A team's own commands, run beside the drain."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping

from ..events import Events

REASON, SECONDS_LEFT = "ACCELERATED_DRAIN_REASON", "ACCELERATED_DRAIN_SECONDS_LEFT"
"""What a command is told in its environment."""

# What the service manager tells this program, and no other.
_OURS = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")


class Commands:
    """Commands in bash, each a process group of its own. What they write goes where this program's output goes."""

    def __init__(self, events: Events, environment: Mapping[str, str]) -> None:
        self._events = events
        self._environment = {name: value for name, value in environment.items() if name not in _OURS}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, which: str, text: str, reason: str, seconds_left: float) -> None:
        """Start a command; raise OSError if that cannot be done."""
        told = {REASON: reason, SECONDS_LEFT: str(int(seconds_left))}
        self._running[which] = subprocess.Popen(
            ["/bin/bash", "-c", text],
            stdin=subprocess.DEVNULL,
            env={**self._environment, **told},
            start_new_session=True,
        )
        self._events.tell("command starts", command=which, reason=reason, seconds_left=int(seconds_left))

    def running(self) -> frozenset[str]:
        """Return which commands run, and tell how those ended that do so no more."""
        for which, process in tuple(self._running.items()):
            if process.poll() is not None:
                del self._running[which]
                self._events.tell("command ended", command=which, exit_status=process.returncode)
        return frozenset(self._running)

    def kill(self, which: str) -> None:
        """End a command and what it has started."""
        process = self._running.get(which)
        if process is not None and process.poll() is None:
            self._events.tell("command killed", command=which, why="its time is over")
            # It is not reaped yet, so no other group can have its number.
            os.killpg(process.pid, signal.SIGKILL)
