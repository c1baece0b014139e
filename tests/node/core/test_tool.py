"""Tools that answer, fail, hang, cannot be ended, and leave something behind (field case 45).

The tools are real processes. Those that hang wait for a pipe that the test holds; the time that passes is the test's.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node.child import OUTPUT_LIMIT_BYTES
from constructs_lib.node.readings import FAILED, HUNG, MISSING, UNREADABLE, Command, NoReading, Output
from constructs_lib.node.stuck import Stuck
from constructs_lib.node.tool import KILL_GRACE_SECONDS, Tools, Waiter, wait_for_files


@dataclass
class Clock:
    """Time that passes only when the program waits in vain: so often, after real waits. Later waits are real again."""

    now: float = 0.0
    waits_in_vain: int = 0
    waits_for_something: int = 0
    waited: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def wait(self, files: Sequence[int], seconds: float) -> Sequence[int]:
        self.waited.append(seconds)
        if self.waits_for_something > 0:
            self.waits_for_something -= 1
        elif self.waits_in_vain > 0:
            self.waits_in_vain -= 1
            self.now += seconds
            return []
        found = wait_for_files(files, 60.0)
        if not found:
            self.now += seconds
        return found


def tools(clock: Clock | None = None, stuck: Stuck | None = None) -> Tools:
    clock = clock or Clock()
    return Tools(stuck or Stuck(), clock.time, clock.wait)


def shell(script: str, *arguments: str, **options: bool) -> Command:
    return Command(("sh", "-c", script, "tool", *arguments), 10.0, **options)


@pytest.fixture
def never(tmp_path: Path) -> Iterator[str]:
    """A pipe that the test holds open and never writes to: who reads from it waits for ever."""
    path = tmp_path / "never"
    os.mkfifo(path)
    handle = os.open(path, os.O_RDWR)
    yield str(path)
    os.close(handle)


def succeed(answer: Output | NoReading) -> Output:
    assert isinstance(answer, Output), answer
    return answer


def test_an_answer_is_what_the_tool_says() -> None:
    answer = tools().run_one(shell("echo idle; echo careful >&2"))
    assert answer == Output(0, "idle\n", "careful\n")


def test_case_45_an_exit_status_does_not_cost_the_answer() -> None:
    script = "for i in 0 1 2 3 4 5 6; do echo $i; done; echo 'GPU 7 is lost' >&2; exit 1"
    assert tools().run_one(shell(script)) == Output(1, "0\n1\n2\n3\n4\n5\n6\n", "GPU 7 is lost\n")


def test_a_tool_that_dies_of_a_signal_has_a_status() -> None:
    assert succeed(tools().run_one(shell("kill -9 $$"))).exit_status == -9


def test_text_is_in_the_language_that_readers_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert succeed(tools().run_one(shell("echo $LC_ALL"))).stdout == "C\n"


def test_what_is_no_text_becomes_text() -> None:
    assert succeed(tools().run_one(shell(r"printf '\377ok'"))).stdout == "\ufffdok"


@pytest.fixture
def typed() -> Iterator[None]:
    """Something on the standard input of this process."""
    before = os.dup(0)
    read_end, write_end = os.pipe()
    os.write(write_end, b"yes\n")
    os.close(write_end)
    os.dup2(read_end, 0)
    yield
    os.dup2(before, 0)
    os.close(before)
    os.close(read_end)


@pytest.mark.usefixtures("typed")
def test_nothing_can_be_asked_of_a_person() -> None:
    assert succeed(tools().run_one(shell("cat"))).stdout == ""


def test_a_tool_that_is_not_there_is_missing(tmp_path: Path) -> None:
    answer = tools().run_one(Command((str(tmp_path / "nvidia-smi"), "-q")))
    assert answer == NoReading(MISSING, f"{tmp_path}/nvidia-smi: not on this machine")


@pytest.mark.parametrize(("content", "mode"), [("\0garbage", 0o755), ("#!/bin/sh\n", 0o644)])
def test_a_tool_that_cannot_be_started_has_failed(tmp_path: Path, content: str, mode: int) -> None:
    tool = tmp_path / "tool"
    tool.write_text(content)
    tool.chmod(mode)
    answer = tools().run_one(Command((str(tool),)))
    assert isinstance(answer, NoReading)
    assert answer.cause == FAILED
    assert "cannot be started" in answer.reason


def test_more_than_a_pipe_holds_is_read() -> None:
    """64 KiB fit into a pipe."""
    script = "import sys; sys.stdout.write('x' * 1000000); sys.stderr.write('y' * 1000000)"
    answer = succeed(tools().run_one(Command((sys.executable, "-c", script))))
    assert (len(answer.stdout), len(answer.stderr)) == (1_000_000, 1_000_000)


def test_output_without_end_is_no_answer() -> None:
    answer = tools().run_one(Command(("yes",)))
    assert answer == NoReading(UNREADABLE, f"yes: more than {OUTPUT_LIMIT_BYTES >> 20} MiB of output")


class TestHung:
    def test_case_45_it_is_told_within_the_time_limit(self, never: str) -> None:
        clock = Clock(waits_in_vain=1)
        answer = tools(clock).run_one(shell("echo 97 %; read x < $1", never))
        assert answer == NoReading(HUNG, "sh: no answer within 10 s")
        assert clock.now == 10.0

    def test_case_45_the_next_reading_is_not_held_up(self, never: str, tmp_path: Path) -> None:
        """The driver answers again."""
        command = shell("test -e $2 && echo 5 && exit; read x < $1", never, str(tmp_path / "recovered"))
        its_tools = tools(Clock(waits_in_vain=1))
        assert isinstance(its_tools.run_one(command), NoReading)
        (tmp_path / "recovered").touch()
        assert its_tools.run_one(command) == Output(0, "5\n")

    def test_one_that_ignores_to_be_asked_is_killed(self, never: str, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[subprocess.Popen[bytes]] = []

        class Started(subprocess.Popen[bytes]):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                started.append(self)

        monkeypatch.setattr(subprocess, "Popen", Started)
        # It has said that it ignores the signal before one comes. Then nothing more comes, and no end after SIGTERM.
        clock = Clock(waits_for_something=1, waits_in_vain=2)
        answer = tools(clock).run_one(shell("trap '' TERM; echo ready; read x < $1", never))
        assert answer == NoReading(HUNG, "sh: no answer within 10 s")
        assert [child.returncode for child in started] == [-signal.SIGKILL]
        assert clock.now == 10.0 + KILL_GRACE_SECONDS

    def test_case_45_the_others_beside_it_are_heard(self, never: str) -> None:
        clock = Clock()
        commands = [shell("echo 0"), shell("read x < $1", never), shell("echo 2")]
        # Three files are watched for each: the others end first, and then nothing more comes.
        answers = Tools(Stuck(), clock.time, _vain_when_few_are_watched(clock, 3)).run(commands)
        assert [getattr(answer, "stdout", "hung") for answer in answers] == ["0\n", "hung", "2\n"]
        assert clock.now == pytest.approx(10.0)

    def test_one_that_closed_its_output_and_lives_on_is_hung(self, never: str) -> None:
        clock = Clock()
        its_tools = Tools(Stuck(), clock.time, _vain_when_few_are_watched(clock, 1))
        answer = its_tools.run_one(shell("exec >&- 2>&-; read x < $1", never))
        assert answer == NoReading(HUNG, "sh: no answer within 10 s")


def _vain_when_few_are_watched(clock: Clock, few: int) -> Waiter:
    """Wait in real time as long as more files are watched, and then once in vain."""

    def wait(files: Sequence[int], seconds: float) -> Sequence[int]:
        if clock.now == 0.0 and len(files) <= few:
            clock.now += seconds
            return []
        return wait_for_files(files, 60.0)

    return wait


class Blocked(Stuck):
    """The processes that could not be ended, with a /proc that shows them blocked within the kernel."""

    def __init__(self, proc: Path) -> None:
        super().__init__(proc)
        self.proc = proc
        self.all_children: list[subprocess.Popen[bytes]] = []

    def remember(self, argv: tuple[str, ...], child: subprocess.Popen[bytes]) -> None:
        self.all_children.append(child)
        self.show("D")
        super().remember(argv, child)

    def show(self, state: str) -> None:
        pid = self.all_children[-1].pid
        (self.proc / str(pid)).mkdir(exist_ok=True)
        (self.proc / str(pid) / "stat").write_text(f"{pid} (nvidia-smi) {state} {'0 ' * 18}4711 0\n")


class TestUnkillable:
    """A tool within the kernel ends by no signal: here one waits for its end in vain, and /proc shows it blocked."""

    @pytest.fixture
    def stuck(self, tmp_path: Path) -> Iterator[Blocked]:
        (tmp_path / "proc").mkdir()
        stuck = Blocked(tmp_path / "proc")
        yield stuck
        for child in stuck.all_children:
            child.wait()

    def test_case_45_no_second_one_is_started_while_it_lives(self, never: str, stuck: Blocked) -> None:
        command = shell("read x < $1", never)
        first = tools(Clock(waits_in_vain=3), stuck).run_one(command)
        clock = Clock()
        second = tools(clock, stuck).run_one(command)
        assert isinstance(first, NoReading)
        assert isinstance(second, NoReading)
        assert (first.cause, second.cause) == (HUNG, HUNG)
        assert "cannot be ended" in second.reason
        assert clock.waited == []
        assert len(stuck.all_children) == 1

    def test_case_45_it_runs_again_once_the_first_has_ended(self, never: str, stuck: Blocked, tmp_path: Path) -> None:
        gate = tmp_path / "gate"
        command = shell("test -e $2 && echo ok && exit; read x < $1", never, str(gate))
        tools(Clock(waits_in_vain=3), stuck).run_one(command)
        assert stuck.living(command.argv) is not None
        gate.touch()
        stuck.show("Z")
        assert tools(Clock(), stuck).run_one(command) == Output(0, "ok\n")

    def test_others_run_meanwhile(self, never: str, stuck: Blocked) -> None:
        tools(Clock(waits_in_vain=3), stuck).run_one(shell("read x < $1", never))
        assert succeed(tools(Clock(), stuck).run_one(shell("echo 5"))).stdout == "5\n"

    def test_it_is_known_to_the_next_program(self, never: str, stuck: Blocked, tmp_path: Path) -> None:
        command = shell("read x < $1", never)
        tools(Clock(waits_in_vain=3), stuck).run_one(command)
        later = Stuck(tmp_path / "proc")
        later.restore(stuck.as_data())
        answer = tools(Clock(), later).run_one(command)
        assert isinstance(answer, NoReading)
        assert answer.cause == HUNG


class TestFirstLine:
    def test_it_is_the_answer_and_the_tool_is_ended(self, never: str) -> None:
        """neuron-monitor writes a document for each period, for ever."""
        clock = Clock()
        answer = tools(clock).run_one(shell("echo '{}'; echo more; read x < $1", never, first_line_only=True))
        assert answer == Output(0, "{}\n")
        assert clock.now == 0.0

    def test_a_line_in_pieces_is_one_line(self, never: str) -> None:
        answer = tools().run_one(shell("printf '{'; printf '}'; echo; read x < $1", never, first_line_only=True))
        assert answer == Output(0, "{}\n")

    def test_a_tool_that_ends_without_one_has_its_status(self) -> None:
        answer = tools().run_one(shell("echo 'no device' >&2; exit 3", first_line_only=True))
        assert answer == Output(3, "", "no device\n")

    def test_a_tool_that_says_nothing_is_hung(self, never: str) -> None:
        answer = tools(Clock(waits_in_vain=1)).run_one(shell("read x < $1", never, first_line_only=True))
        assert isinstance(answer, NoReading)
        assert answer.cause == HUNG


def test_what_a_tool_leaves_behind_is_not_waited_for_and_ends(never: str, tmp_path: Path) -> None:
    """A child of the tool keeps its output open."""
    answer = succeed(tools().run_one(shell("echo done; (read x < $1) & echo $!", never)))
    done, pid = answer.stdout.split()
    assert done == "done"
    assert ends(int(pid))


def ends(pid: int) -> bool:
    """Whether a process that was sent SIGKILL ends."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended = select.select([handle], [], [], 60)[0]
    os.close(handle)
    return bool(ended)


def test_no_file_is_left_open(never: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    tools(Clock(waits_in_vain=1)).run([shell("read x < $1", never), shell("echo"), Command(("/nowhere",))])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_child_whose_end_cannot_be_watched_is_ended(monkeypatch: pytest.MonkeyPatch, never: str) -> None:
    def too_many(pid: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", too_many)
    answer = tools().run_one(shell("read x < $1", never))
    assert isinstance(answer, NoReading)
    assert answer.cause == FAILED


@pytest.mark.parametrize(
    "error", [PermissionError(1, "Operation not permitted"), ProcessLookupError(3, "No such process")]
)
def test_a_group_that_cannot_be_signalled_does_not_cost_the_answer(
    monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """What the tool left behind runs as somebody else, or is gone already."""

    def refuse(group: int, number: int) -> None:
        raise error

    monkeypatch.setattr(os, "killpg", refuse)
    assert tools().run_one(shell("echo 5")) == Output(0, "5\n")
