"""A team's commands, run by a real bash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node.drain.commands import Commands
from constructs_lib.node.events import Events


@pytest.fixture
def log() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def commands(log: list[dict[str, Any]]) -> Commands:
    environment = {"PATH": os.environ["PATH"], "MINE": "yes", "NOTIFY_SOCKET": "/run/ours", "WATCHDOG_USEC": "1"}
    return Commands(Events(lambda line: log.append(json.loads(line)), lambda: 0.0), environment)


def ended(commands: Commands, which: str) -> None:
    """Wait for a command without a clock."""
    os.waitid(os.P_PID, commands._running[which].pid, os.WEXITED | os.WNOWAIT)
    assert commands.running() == frozenset()


def test_a_command_knows_why_and_for_how_long(commands: Commands, tmp_path: Path) -> None:
    told = tmp_path / "told"
    text = (
        f'echo "$ACCELERATED_DRAIN_REASON $ACCELERATED_DRAIN_SECONDS_LEFT $MINE [$NOTIFY_SOCKET$WATCHDOG_USEC]" >{told}'
    )
    commands.start("command", text, "interruption", 104.9)
    ended(commands, "command")
    assert told.read_text() == "interruption 104 yes []\n"


def test_how_it_ended_is_told(commands: Commands, log: list[dict[str, Any]]) -> None:
    commands.start("checkpoint", "exit 3", "rebalance", 5)
    ended(commands, "checkpoint")
    assert log[-1]["event"] == "command ended"
    assert (log[-1]["command"], log[-1]["exit_status"]) == ("checkpoint", 3)


def test_both_run_side_by_side_and_each_is_killed_with_what_it_started(commands: Commands, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Its child holds the pipe open: the end of that is the end of both.
    commands.start("command", f"(exec sleep 1000) >{pipe} & trap '' TERM; wait; sleep 1000", "termination", 5)
    commands.start("checkpoint", "read -r line </dev/zero", "termination", 5)
    with pipe.open() as reader:
        assert commands.running() == {"command", "checkpoint"}
        commands.kill("command")
        assert reader.read() == ""
    os.waitid(os.P_PID, commands._running["command"].pid, os.WEXITED | os.WNOWAIT)
    assert commands.running() == {"checkpoint"}
    commands.kill("checkpoint")
    ended(commands, "checkpoint")


def test_one_that_has_ended_is_not_killed(commands: Commands, log: list[dict[str, Any]]) -> None:
    commands.start("command", "exit 0", "termination", 5)
    ended(commands, "command")
    commands.kill("command")
    assert [line["event"] for line in log] == ["command starts", "command ended"]
