"""The program as it runs on an instance: its parts, made of the real clock, tools, sockets and files."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import busy, instance_metadata, kernel_log, names, sessions
from .events import Events, Tell
from .kernel_log import KernelLog, News
from .notify import supervisor
from .places import Places
from .program import Machine, Program
from .readers import Reader, reader_of
from .reading import commands_of, take_reading
from .readings import Answer
from .schedule import StopRequest
from .settings import Settings
from .statsd import Sender, connect
from .stuck import Stuck
from .tool import Tools

# The setup may run before the network is up.
_ATTEMPTS = 15
_PAUSE_SECONDS = 2.0
_RUNNING = f"{names.STATE_DIRECTORY}/running"


class AlreadyRunning(Exception):
    """Another program publishes for this instance."""


def run(settings: Settings, places: Places) -> None:
    """Publish until SIGTERM or SIGINT.

    Raises :class:`AlreadyRunning` if another program does so, ValueError if the kind has no reader.
    """
    reader = reader_of(settings.kind)
    with only_one(places.file(_RUNNING)):
        events = Events(_write_line, time.time)
        stuck = Stuck()
        sender = connect(settings.statsd)
        stop = StopRequest()
        stop.listen_to((signal.SIGTERM, signal.SIGINT))
        try:
            machine = machine_of(settings, reader, Tools(stuck, time.monotonic), sender, places)
            Program(settings, machine, events, stuck, places).run(stop.wait, supervisor(os.environ))
        finally:
            sender.close()


def machine_of(settings: Settings, reader: Reader, tools: Tools, sender: Sender, places: Places) -> Machine:
    """Return the machine that the program runs on."""
    marks = places.file(names.BUSY_DIRECTORY)
    return Machine(
        open_doors=lambda: busy.prepare_directory(marks),
        read=lambda expected: read_accelerators(settings, reader, tools, expected),
        identity=instance_metadata.fetch_identity,
        boot_id=read_boot_id,
        count_busy_marks=lambda since, tell: _count_busy_marks(marks, since, tell),
        count_sessions=lambda tell: sessions.count_sessions(tools.run_one, tell),
        kernel_news=_KernelNews(reader, places).look,
        send=sender.send,
        now=time.time,
        since_boot=time.monotonic,
    )


def read_accelerators(settings: Settings, reader: Reader, tools: Tools, expected: int | None) -> Answer:
    """Read all accelerators now."""
    most = max(settings.expected.values(), default=0)
    return take_reading(reader, tools, commands_of(reader, expected, most))


def read_boot_id() -> str:
    """Return what tells this boot of the machine from others."""
    return kernel_log.BOOT_ID.read_text(encoding="ascii").strip()


def instance_type(pause: Callable[[float], None] = time.sleep) -> str | None:
    """Return the type of this instance, None if the metadata service does not say within half a minute or so."""
    problem: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
            return instance_metadata.fetch_identity().instance_type
        except (OSError, ValueError) as error:
            problem = error
        pause(_PAUSE_SECONDS)
    print(f"accelerated-node: the instance type is not known: {problem}", file=sys.stderr)
    return None


def _count_busy_marks(directory: Path, since: float, tell: Tell) -> int | None:
    # Each time: whoever removed the directory must not take the door away for good.
    busy.prepare_directory(directory)
    return busy.count_marks(directory, busy.read_locks(directory, tell=tell), since, tell)


class _KernelNews:
    """Follows the kernel's log, as soon as it can be opened."""

    def __init__(self, reader: Reader, places: Places) -> None:
        self._reader = reader
        self._places = places
        self._log: KernelLog | None = None

    def look(self, now: float, since_boot: float) -> News:
        if self._log is None:
            state = self._places.file(kernel_log.STATE_FILE)
            read = kernel_log.open_kernel_log()
            self._log = KernelLog(
                read, self._reader.FAULT_LINES, read_boot_id(), state, self._places.file(names.FAULT_LOG)
            )
        return self._log.look(now, since_boot)


def _write_line(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold a lock for as long as the program runs. Its tools do not inherit it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        # Others may look around in it, and only root may put something there.
        os.fchmod(directory, 0o755)
        # Nobody else may open the file: not even the right to write is needed to lock it, and to keep this program out.
        file = os.open(path.name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=directory)
    finally:
        os.close(directory)
    try:
        os.fchmod(file, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another accelerated-node runs already, it holds {path}; stop that one first"
            raise AlreadyRunning(message) from error
        yield
    finally:
        os.close(file)
