"""One command while it runs: what it has said so far, and whether that is its answer."""

from __future__ import annotations

import os
import signal
import subprocess

from .readings import UNREADABLE, Command, NoReading, Output

OUTPUT_LIMIT_BYTES = 4 << 20
"""More than this, on both outputs together, is not an answer."""

_CHUNK = 1 << 16

# Numbers and messages as the readers know them, whatever the machine's language.
_LOCALE = {"LC_ALL": "C", "LANGUAGE": ""}


class Child:
    """A command in a process group of its own. It never waits; its owner says which of its files have something.

    Making one starts the command and raises OSError if it cannot be started. `done` says that nothing more is expected
    of it, `exited` that the process itself has ended.
    """

    def __init__(self, command: Command, deadline: float) -> None:
        self.command = command
        self.deadline = deadline
        self.done = False
        self.exited = False
        self._refusal: NoReading | None = None
        self._exit_status = 0
        self.process = subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **_LOCALE},
        )
        self._stdout, self._stderr = bytearray(), bytearray()
        self._open: dict[int, bytearray] = {}
        try:
            # Has something when the process has ended. Its pipes do not tell: what the tool leaves behind may hold them
            # open for ever, and a tool may close them and live on.
            self.end_file = os.pidfd_open(self.process.pid)
        except OSError:
            self._signal(signal.SIGKILL)
            self.process.communicate()
            raise
        for pipe, text in ((self.process.stdout, self._stdout), (self.process.stderr, self._stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._open[pipe.fileno()] = text

    @property
    def files(self) -> tuple[int, ...]:
        """The files to wait for."""
        return () if self.done else (self.end_file, *self._open)

    def take(self, file: int) -> None:
        """Read from a file that has something."""
        if file == self.end_file:
            self.exited = True
            for pipe in tuple(self._open):
                while self._read(pipe):
                    pass
            self.done = True
        elif not self.done:
            self._read(file)

    def _read(self, pipe: int) -> bool:
        """Read a piece, and say whether there may be more at once."""
        try:
            piece = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return False
        if not piece:
            del self._open[pipe]
            return False
        self._open[pipe].extend(piece)
        if len(self._stdout) + len(self._stderr) > OUTPUT_LIMIT_BYTES:
            self.give_up(UNREADABLE, f"more than {OUTPUT_LIMIT_BYTES >> 20} MiB of output")
        elif self.command.first_line_only and b"\n" in self._stdout:
            del self._stdout[self._stdout.index(b"\n") + 1 :]
            self.done = True
        return not self.done

    def give_up(self, cause: str, reason: str) -> None:
        """Settle that there is no answer."""
        self._refusal = NoReading(cause, f"{self.command.argv[0]}: {reason}")
        self.done = True

    def answer(self) -> Output | NoReading:
        """Return what the child said, once it is done."""
        if self._refusal is not None:
            return self._refusal
        # A command that only its owner ends has no exit status of its own.
        status = 0 if self.command.first_line_only and self._stdout.endswith(b"\n") else self._exit_status
        return Output(status, self._stdout.decode("utf-8", "replace"), self._stderr.decode("utf-8", "replace"))

    def ask_to_end(self, number: signal.Signals) -> None:
        """Send a signal to the child and all it started, unless the child has ended."""
        if not self.exited:
            self._signal(number)

    def close(self) -> None:
        """Let go of it: of its files, and, if it has ended, of the process and what it left behind."""
        if self.exited:
            # It is reaped last: until then no other process group can have its number.
            self._signal(signal.SIGKILL)
            self._exit_status = self.process.wait()
        os.close(self.end_file)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            # Nothing is left of the group, or what is left runs as somebody else: both end without us or not at all,
            # and the owner looks whether the child did.
            return
