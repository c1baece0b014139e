"""A command under a busy mark."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import names
from .busy import to_stderr
from .draining import NOT_NOW, said
from .events import Tell
from .foreground import run_in_foreground

RETRY_SECONDS = 5.0
"""How long after a mark could not be made it is tried again."""

_LONGEST_NAME = 64


def run_busy(
    command: Sequence[str],
    name: str | None = None,
    directory: Path = Path(names.BUSY_DIRECTORY),
    tell: Tell = to_stderr,
    now: Callable[[], float] = time.monotonic,
    drain: Path = Path(names.DRAINING),
    not_while_draining: bool = False,
) -> int:
    """Run a command, with a busy mark held until it ends, and return its exit status as a shell would.

    The mark's file is named after `name`, by default after the command. The command inherits the lock, so it stays
    protected if this process is killed. A command whose mark cannot be made runs all the same, and that it runs
    unprotected is told: telemetry must not stop work. Every few seconds it is tried again; a mark that is made then is
    held by this process alone. `now` gives seconds that never go back.

    On an instance that drains it runs too, and that is told; with `not_while_draining` it does not, and the exit status
    says so. The mark is made before that is looked at: so the drain sees the mark, or the command learns of the drain.
    """
    mark = _Mark(name or Path(command[0]).name, directory, tell, now)
    try:
        going = _drain(drain, tell)
        if going is not None and not_while_draining:
            tell(f"this instance drains ({going}): {command[0]!r} is not run")
            return NOT_NOW
        if going is not None:
            tell(f"this instance drains ({going}): the command runs, and is cut off if it is not over by then")
        return run_in_foreground(command, tell, mark.make)
    finally:
        mark.remove()


def _drain(path: Path, tell: Tell) -> str | None:
    try:
        return said(path)
    except OSError as problem:
        tell(f"whether this instance drains is not known: {problem}")
        return None


class _Mark:
    """A busy mark. It is tried to make it at once, and then whenever `make` is called, but not too often."""

    def __init__(self, name: str, directory: Path, tell: Tell, now: Callable[[], float]) -> None:
        safe_name = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:_LONGEST_NAME]
        self._prefix = f"{safe_name}-"
        self._directory = directory
        self._tell = tell
        self._now = now
        self._tried = now()
        self._made: tuple[int, Path] | None = None
        try:
            self._made = self._make()
        except OSError as problem:
            tell(
                f"NO BUSY MARK ({problem}): the command runs, but the instance may be taken for idle meanwhile; "
                f"it is tried again every {RETRY_SECONDS:.0f} s"
            )

    def make(self) -> None:
        """Make the mark if there is none yet and the last attempt lies some time back."""
        now = self._now()
        if self._made is not None or now - self._tried < RETRY_SECONDS:
            return
        self._tried = now
        # Why it cannot be made has been told.
        with contextlib.suppress(OSError):
            self._made = self._make()
            self._tell(f"the busy mark in {self._directory} is made now")

    def _make(self) -> tuple[int, Path]:
        handle, path = tempfile.mkstemp(prefix=self._prefix, dir=self._directory)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(handle, True)
        except OSError:
            os.close(handle)
            Path(path).unlink()
            raise
        return handle, Path(path)

    def remove(self) -> None:
        """End the mark."""
        if self._made is None:
            return
        handle, path = self._made
        try:
            path.unlink()
        except OSError as problem:
            self._tell(f"the busy mark was not removed ({problem}); it ends with the last process that holds it")
        os.close(handle)
