"""The drain as it runs on an instance: its parts, made of the real clock, tools, processes and files."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

from .. import instance_metadata, names
from ..composition import only_one
from ..events import Events
from ..notify import supervisor
from ..places import Places
from ..schedule import StopRequest
from ..settings import Settings
from ..stuck import Stuck
from ..tool import Tools
from .aws import Aws
from .commands import Commands
from .holders import Herald
from .service import Machine, Service
from .work import look

_RUNNING = f"{names.STATE_DIRECTORY}/drain-running"
_SIGNALLED = f"{names.STATE_DIRECTORY}/drain-signalled.json"


def run(settings: Settings, places: Places) -> None:
    """Watch until SIGTERM or SIGINT.

    Raises `composition.AlreadyRunning` if another program does so, ValueError if the settings ask for no drain.
    """
    asked = settings.drain
    if asked is None:
        raise ValueError("the settings ask for no drain; the fleet writes one into them")
    with only_one(places.file(_RUNNING)):
        events = Events(_write_line, time.time)
        stop = StopRequest()
        stop.listen_to((signal.SIGTERM, signal.SIGINT))
        run_one = Tools(Stuck(), time.monotonic).run_one
        signalled, marks = places.file(_SIGNALLED), places.file(names.BUSY_DIRECTORY)
        machine = Machine(
            identity=instance_metadata.fetch_identity,
            session=lambda: instance_metadata.Session().read,
            look=lambda guard: look(places, settings.use_threshold, time.time, guard),
            team=Commands(events, os.environ),
            crier=Herald(marks, signalled, signal.Signals[asked.signal]),
            cloud=lambda identity: Aws(run_one, identity, asked.namespace),
            now=steady_clock(),
        )
        Service(asked, machine, events, places).run(stop.wait, supervisor(os.environ))


def steady_clock() -> Callable[[], float]:
    """Return a clock that begins as epoch seconds and then never jumps."""
    ahead = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + ahead


def _write_line(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
