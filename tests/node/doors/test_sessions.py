"""Counting people on the machine (field cases 7 and 68)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.readings import FAILED, HUNG, MISSING, Command, NoReading, Output
from constructs_lib.node.sessions import count_sessions

TWO_LOGINS = "ubuntu   pts/0        2026-11-30 09:12 (10.0.3.7)\nec2-user pts/1        2026-11-30 09:40 (10.0.3.9)\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    _process(tmp_path, 1, "systemd", "/usr/lib/systemd/systemd")
    (tmp_path / "meminfo").touch()
    return tmp_path


@pytest.fixture
def told() -> list[str]:
    return []


def _process(proc: Path, pid: int, name: str, *command: str) -> None:
    """A process as /proc shows it: the name cut after 15 bytes, the command's words each ended by a zero byte."""
    (proc / f"{pid}").mkdir()
    (proc / f"{pid}" / "comm").write_bytes(name.encode()[:15] + b"\n")
    (proc / f"{pid}" / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in command))


def _count(answer: Output | NoReading, proc: Path, told: list[str]) -> int | None:
    asked: list[Command] = []

    def run(command: Command) -> Output | NoReading:
        asked.append(command)
        return answer

    count = count_sessions(run, told.append, proc)
    assert [command.argv for command in asked] == [("who",)]
    return count


def test_nobody_there_is_zero(proc: Path, told: list[str]) -> None:
    assert _count(Output(0, ""), proc, told) == 0
    assert told == []


def test_case_68_logins_and_sessions_of_systems_manager_count(proc: Path, told: list[str]) -> None:
    _process(proc, 812, "amazon-ssm-agent", "/usr/bin/amazon-ssm-agent")
    _process(proc, 900, "ssm-agent-worker", "/usr/bin/ssm-agent-worker")
    _process(proc, 2001, "ssm-session-worker", "/usr/bin/ssm-session-worker", "ann-0a1b", "1.1")
    _process(proc, 2002, "ssm-session-worker", "ssm-session-worker", "bob-0c2d")

    assert _count(Output(0, TWO_LOGINS), proc, told) == 4


def test_a_session_that_has_ended_and_others_of_a_like_name_do_not_count(proc: Path, told: list[str]) -> None:
    _process(proc, 2001, "ssm-session-worker")  # a zombie has no command left
    _process(proc, 2002, "ssm-session-workaround", "/usr/bin/ssm-session-workaround")
    _process(proc, 2003, "ssm-session-logger", "/usr/bin/ssm-session-logger", "ssm-session-worker")

    assert _count(Output(0, ""), proc, told) == 0


def test_a_process_that_ends_meanwhile_is_left_out(proc: Path, told: list[str]) -> None:
    (proc / "3000").mkdir()

    assert _count(Output(0, ""), proc, told) == 0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (NoReading(MISSING, "who: not on this machine"), "not on this machine"),
        (NoReading(HUNG, "who: no answer within 5 s"), "no answer"),
        (NoReading(FAILED, "who: cannot be started"), "cannot be started"),
        (Output(1, TWO_LOGINS, "who: /var/run/utmp: Permission denied"), "Permission denied"),
    ],
)
def test_case_07_without_an_answer_the_count_is_unknown(
    proc: Path, told: list[str], answer: Output | NoReading, reason: str
) -> None:
    _process(proc, 2001, "ssm-session-worker", "ssm-session-worker")

    assert _count(answer, proc, told) is None
    assert reason in told[0]


def test_case_07_without_processes_the_count_is_unknown(tmp_path: Path, told: list[str]) -> None:
    assert _count(Output(0, TWO_LOGINS), tmp_path, told) is None
    assert _count(Output(0, TWO_LOGINS), tmp_path / "absent", told) is None
    assert len(told) == 2


def test_case_07_a_process_that_cannot_be_read_makes_the_count_unknown(proc: Path, told: list[str]) -> None:
    (proc / "3000").mkdir()
    (proc / "3000" / "comm").mkdir()  # reading it fails, and not because the process has ended

    assert _count(Output(0, ""), proc, told) is None
    assert "3000" in told[0]


@given(text=st.text())
def test_whatever_who_prints_is_counted_by_lines_with_something_on_them(text: str) -> None:
    count = count_sessions(lambda command: Output(0, text), lambda problem: None)

    assert count is None or count >= sum(1 for line in text.split("\n") if line.strip())
