"""Runs a command in the foreground: signals are passed on to it, and its exit status is told as a shell tells it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence

from .events import Tell

NOT_EXECUTABLE = 126
NOT_FOUND = 127
SIGNALLED = 128
"""Exit statuses as shells give them (POSIX, "Exit Status for Commands"); a signal's number is added to the last."""

_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_AWAITED = (signal.SIGCHLD, *_PASSED_ON)
# sigaction(2): the kernel itself sent the signal, here because of a key or a hang-up of the terminal.
_SI_KERNEL = 0x80
# SIGCHLD tells at once that the command has ended; should another thread have taken it, this is how late it is noticed.
_LONGEST_WAIT_SECONDS = 1.0


def run_in_foreground(command: Sequence[str], tell: Tell, meanwhile: Callable[[], None]) -> int:
    """Run the command, found as a shell finds it, until it ends, and return its exit status.

    `meanwhile` is called once a second while it runs, and before a signal is passed on.

    For the main thread of a program without others: they would take some of the signals that it waits for. The command
    inherits standard files and whatever else is marked as inheritable.
    """
    # Blocked before the start, so that none can end this process between the start and the waiting.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    try:
        # Python ignores the two reset signals, and a command would inherit that.
        child = os.posix_spawnp(
            command[0], tuple(command), os.environ, setsigmask=before, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ)
        )
        return _wait(child, tell, meanwhile)
    except OSError as problem:
        tell(f"{command[0]!r} cannot be run: {problem.strerror}")
        return NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_EXECUTABLE
    finally:
        # What came too late was meant for a command that has ended.
        while signal.sigtimedwait(_AWAITED, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, tell: Tell, meanwhile: Callable[[], None]) -> int:
    """Pass signals on until the child has ended; those of the terminal have reached it already."""
    while True:
        came = signal.sigtimedwait(_AWAITED, _LONGEST_WAIT_SECONDS)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return SIGNALLED + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        meanwhile()
        if came and came.si_signo != signal.SIGCHLD and came.si_code != _SI_KERNEL:
            _pass_on(child, came.si_signo, tell)


def _pass_on(child: int, number: int, tell: Tell) -> None:
    try:
        os.kill(child, number)
    except PermissionError as problem:  # a command that has become another user
        tell(f"{signal.Signals(number).name} cannot be passed on: {problem.strerror}")
