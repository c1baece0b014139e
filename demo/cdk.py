"""The real CDK command line, pointed at the emulator."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from demo.emulator import REPOSITORY, Emulator

_PROGRAM = REPOSITORY / "node_modules" / ".bin" / "cdk"
_SETTINGS = {
    "CI": "true",
    "CDK_DISABLE_CLI_TELEMETRY": "true",
    "CDK_DISABLE_VERSION_CHECK": "true",
}


class CdkFailed(Exception):
    """A CDK command that ended with an error or did not end in time."""


def run(
    emulator: Emulator, *arguments: str, directory: Path, limit_seconds: float, on_line: Callable[[str], None]
) -> str:
    """Run one CDK command and return what it printed.

    Args:
        emulator: what plays AWS.
        arguments: of ``cdk``.
        directory: where it runs; ``cdk.json`` is read there.
        limit_seconds: after that time the command is ended and counts as failed.
        on_line: called with each line as it is printed.

    Raises:
        CdkFailed: the command failed; the message holds the last lines that it printed.
    """
    if not _PROGRAM.exists():
        raise CdkFailed(f"the CDK command line is not installed at {_PROGRAM}: run `make setup`")
    process = subprocess.Popen(
        [str(_PROGRAM), *arguments, "--no-notices", "--progress", "events"],
        cwd=directory,
        env=emulator.environment() | _SETTINGS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    late = threading.Event()

    def end_late() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(limit_seconds, end_late)
    timer.start()
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            on_line(line.strip())
        code = process.wait()
    finally:
        timer.cancel()
        _kill(process)
    if late.is_set() or code:
        why = f"did not end within {limit_seconds:.0f} s" if late.is_set() else f"ended with status {code}"
        raise CdkFailed(f"cdk {' '.join(arguments)} {why}:\n{''.join(lines[-25:])}")
    return "".join(lines)


def _kill(process: subprocess.Popen[str]) -> None:
    """End the command with everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
