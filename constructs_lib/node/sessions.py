"""People on the machine: logged in over SSH or at a console, or through AWS Systems Manager (field case 68)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .events import Tell
from .readings import Command, NoReading, Output

WHO = Command(("who",), time_limit_seconds=5.0)
"""Lists who is logged in, one terminal a line; sessions whose process is gone are left out (GNU coreutils)."""

SSM_WORKER = "ssm-session-worker"
"""The agent of AWS Systems Manager runs one process of this name for each session, and registers no login."""

# The kernel cuts a process's name after 15 bytes (proc_pid_comm(5)).
_SHORT_NAME = SSM_WORKER[:15].encode()


def count_sessions(run: Callable[[Command], Output | NoReading], tell: Tell, proc: Path = Path("/proc")) -> int | None:
    """Return how many interactive sessions there are, or None if either sort cannot be counted.

    An SSH session through Systems Manager is of both sorts and counts twice.
    """
    logins = _count_logins(run, tell)
    workers = _count_workers(proc, tell)
    return None if logins is None or workers is None else logins + workers


def _count_logins(run: Callable[[Command], Output | NoReading], tell: Tell) -> int | None:
    output = run(WHO)
    if isinstance(output, NoReading):
        tell(f"logins cannot be counted: {output.reason}")
        return None
    if output.exit_status != 0:
        tell(f"logins cannot be counted: who ended with {output.exit_status}: {output.stderr.strip()!r}")
        return None
    return sum(1 for line in output.stdout.split("\n") if line.strip())


def _count_workers(proc: Path, tell: Tell) -> int | None:
    try:
        processes = [entry for entry in proc.iterdir() if entry.name.isdigit()]
        workers = sum(1 for process in processes if _is_worker(process))
    except OSError as problem:
        tell(f"sessions of Systems Manager cannot be counted: {problem}")
        return None
    if not processes:
        tell(f"sessions of Systems Manager cannot be counted: {proc} lists no process, not even this one")
        return None
    return workers


def _is_worker(process: Path) -> bool:
    try:
        if (process / "comm").read_bytes().rstrip(b"\n") != _SHORT_NAME:
            return False
        # Of a process that has ended and still has its number nothing but the short name is left.
        program = (process / "cmdline").read_bytes().split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):  # ended since it was listed
        return False
    return program.rsplit(b"/", 1)[-1] == SSM_WORKER.encode()
