"""When readings are taken, and how the wait for them ends early."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from types import FrameType

from .tool import Waiter, wait_for_files

_SHORTEST_WAIT_SECONDS = 1.0
_SLACK_SECONDS = 60


def seconds_to_next(now: float, interval: int) -> float:
    """Return how long to wait for the next reading; `now` is in epoch seconds.

    Readings are taken after a third of each interval of the wall clock: late enough, and early enough, that none slips
    into another period of CloudWatch, which begin with the minute. A clock that is stepped changes nothing else.
    """
    wait = (interval / 3 - now) % interval
    # The clock may have been slowed a little while the program waited for this very moment.
    return wait if wait >= _SHORTEST_WAIT_SECONDS else wait + interval


def longest_silence(interval: int) -> int:
    """Return how many seconds the program may give no sign of life, after which it is taken for dead or stuck: two
    intervals, and more than all time limits together."""
    return 2 * interval + _SLACK_SECONDS


class StopRequest:
    """Whether somebody asked the program to end. A signal ends a wait at once, and never a reading half done."""

    def __init__(self, wait: Waiter = wait_for_files) -> None:
        self._wait = wait
        self._read_end, self._write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def listen_to(self, signals: Iterable[signal.Signals]) -> None:
        """Take these signals as the request."""
        for number in signals:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        os.write(self._write_end, b"!")

    def wait(self, seconds: float) -> bool:
        """Wait, and return at once with True when there is a request."""
        return bool(self._wait((self._read_end,), seconds))

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._read_end)
        os.close(self._write_end)
