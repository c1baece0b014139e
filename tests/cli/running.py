"""Runs the command in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from constructs_lib.cli import main


@dataclass(frozen=True)
class Ran:
    """How a call of the command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


class Command:
    """The command, as somebody types it; a text is split at its blanks."""

    def __init__(self, output: pytest.CaptureFixture[str]) -> None:
        self._output = output

    def __call__(self, *arguments: str) -> Ran:
        words = arguments[0].split() if len(arguments) == 1 else list(arguments)
        status = main(words)
        out, err = self._output.readouterr()
        return Ran(status, out, err)


def is_one_teaching_line(ran: Ran) -> bool:
    """Status 2, nothing on the output, and one line that is no traceback."""
    lines = ran.err.splitlines()
    return ran.status == 2 and not ran.out and len(lines) == 1 and lines[0].startswith("accel-fleet")


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())
