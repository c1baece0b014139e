"""``python -m demo``: the main job on an emulator on this machine, in under three minutes."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from demo import emulator
from demo.emulator import REPOSITORY
from demo.report import Report
from demo.story import Story

_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_RESULTS = REPOSITORY / "build" / "demo"


def main(arguments: list[str] | None = None) -> int:
    """Run the demo. Return 0 when the story came true, 1 when it did not, 128 + the signal when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON; the story goes to stderr")
    options = parser.parse_args(arguments)
    report = Report(Console(stderr=options.json, highlight=False))
    for interruption in _INTERRUPTIONS:
        signal.signal(interruption, _interrupted)
    _RESULTS.mkdir(parents=True, exist_ok=True)
    for stale in _RESULTS.iterdir():
        stale.unlink()
    try:
        summary = _run(report)
    except _Interrupted as interruption:
        report.failed("Interrupted. The emulator and everything in it is gone.")
        return 128 + interruption.number
    except Exception as error:  # whatever went wrong: the reader needs the message and the log, not a traceback
        report.failed(f"{error}\nThe emulator's log is {_RESULTS / 'emulator.log'}")
        return 1
    text = json.dumps(summary, indent=2)
    written = _RESULTS / "summary.json"
    written.write_text(text + "\n", encoding="utf-8")
    report.ending(
        f"{len(summary['instances_started'])} started, {len(summary['released'])} released, "
        f"{len(summary['kept'])} kept, {len(summary['resources_left'])} resources left, "
        f"in {summary['seconds']:.0f} s: {written.relative_to(REPOSITORY)}"
        f"\n  What the fleet would do with two days of work: open {summary['rehearsal']}"
    )
    if options.json:
        print(text)
    return 0


def _run(report: Report) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="accelerated-fleet-demo-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        try:
            report.chapter("Start an AWS emulator on this machine")
            with emulator.running(directory) as running:
                report.done(f"it listens on {running.endpoint}; no AWS account is used or reachable")
                report.note("what is real, what is filled and what is not shown: demo/GAPS.md")
                return Story(running, report, directory, _RESULTS).tell()
        finally:
            log = directory / "emulator.log"
            if log.exists():
                (_RESULTS / "emulator.log").write_bytes(log.read_bytes())


class _Interrupted(BaseException):
    """A signal asks the demo to end. Not an Exception: nothing on the way may take it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupted(number: int, frame: object) -> NoReturn:
    # The clean-up that follows is short, and must not be interrupted again.
    for interruption in _INTERRUPTIONS:
        signal.signal(interruption, signal.SIG_IGN)
    raise _Interrupted(number)


if __name__ == "__main__":
    sys.exit(main())
