"""`accelerated-node busy`: a command under a busy mark, run by a process of its own as on an instance."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from constructs_lib.node.busy import count_marks, prepare_directory, read_locks
from tests.node.doors.processes import AS_ON_AN_INSTANCE, started

BUSY = (
    AS_ON_AN_INSTANCE
    + """
from pathlib import Path
from accelerated_node.busy_command import run_busy
sys.exit(run_busy(sys.argv[2:], None, Path(sys.argv[1])))
"""
)
# Signals are blocked until it waits for them, so none comes too early.
WAITS = """
import signal, sys
awaited = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print("ready", flush=True)
print(signal.Signals(signal.sigwait(awaited)).name, flush=True)
sys.exit(7)
"""
READS = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def directory() -> Iterator[Path]:
    """Not below pytest's own directory, which other users cannot enter."""
    marks = Path(tempfile.mkdtemp(prefix="busy-"))
    prepare_directory(marks)
    yield marks
    shutil.rmtree(marks)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_mark_is_held_while_the_command_runs_and_gone_after(directory: Path) -> None:
    with started("-c", BUSY, str(directory), sys.executable, "-c", READS) as busy:
        assert _line(busy) == "ready"
        [mark] = directory.iterdir()
        locks = read_locks(directory)
        if locks is not None:  # a kernel that shows them
            assert count_marks(directory, locks, since=1e12) == 1
        assert mark.name.startswith(f"{Path(sys.executable).name}-")
    assert busy.returncode == 0
    assert list(directory.iterdir()) == []


def test_the_work_stays_protected_if_only_the_wrapper_is_killed(directory: Path) -> None:
    if read_locks(directory) is None:
        pytest.skip("this machine's kernel does not show locks of the directory's file system")

    with started("-c", BUSY, str(directory), sys.executable, "-c", READS) as busy:
        assert _line(busy) == "ready"
        busy.kill()
        busy.wait()
        assert count_marks(directory, read_locks(directory), since=1e12) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on_and_the_commands_own_status_returned(directory: Path, number: signal.Signals) -> None:
    with started("-c", BUSY, str(directory), sys.executable, "-c", WAITS) as busy:
        assert _line(busy) == "ready"
        busy.send_signal(number)
        assert _line(busy) == number.name
    assert busy.returncode == 7
    assert list(directory.iterdir()) == []


def test_a_command_that_a_passed_on_signal_ends_gives_128_and_its_number(directory: Path) -> None:
    with started("-c", BUSY, str(directory), sys.executable, "-c", READS) as busy:
        assert _line(busy) == "ready"
        busy.terminate()
        busy.wait()
    assert busy.returncode == 128 + signal.SIGTERM
    assert list(directory.iterdir()) == []


def test_a_key_press_in_the_terminal_reaches_the_command_once(directory: Path) -> None:
    """The terminal tells the whole foreground group; passed on, the command would be told twice and give up early."""
    in_terminal = "import fcntl, os, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n" + BUSY
    counts = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
print("ready", flush=True)
print(signal.Signals(signal.sigwait({signal.SIGINT})).name, flush=True)
signal.sigwait({signal.SIGUSR1})
sys.exit(signal.SIGINT in signal.sigpending())
"""
    master, terminal = os.openpty()
    command = [sys.executable, "-c", in_terminal, str(directory), sys.executable, "-c", counts]
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, text=True) as busy:
        assert _line(busy) == "ready"
        # Stopped meanwhile: a signal passed on before the command has taken the first would be one with it.
        busy.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, busy.pid, os.WSTOPPED | os.WNOWAIT)
        os.write(master, b"\x03")
        assert _line(busy) == "SIGINT"
        # Passed on after the key press's signal would have been: lower numbers are handled first.
        busy.send_signal(signal.SIGUSR1)
        busy.send_signal(signal.SIGCONT)
        assert busy.wait() == 0
    os.close(master)
    os.close(terminal)


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user needs root")
def test_a_user_without_rights_can_hold_a_mark(directory: Path) -> None:
    as_nobody = BUSY.replace("sys.exit", "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\nsys.exit")

    with started("-c", as_nobody, str(directory), "/bin/sh", "-c", "echo ready; read line") as busy:
        assert _line(busy) == "ready"
        [mark] = directory.iterdir()
        assert mark.stat().st_uid == 65534
        assert mark.stat().st_mode & 0o777 == 0o600  # no other user can lock it, or wait for it
        assert busy.communicate("go on\n")[1] == ""
    assert busy.returncode == 0
    assert list(directory.iterdir()) == []


def _run(directory: Path, *command: str, name: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. In a process of one thread, as on an instance; that of the tests may have more."""
    arguments = [sys.executable, "-c", BUSY.replace("None", repr(name)), str(directory), *command]
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_the_command_inherits_its_usual_signals(directory: Path) -> None:
    done = _run(directory, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

    masks = dict(line.split() for line in done.stdout.splitlines())
    assert int(masks["SigBlk:"], 16) == 0
    assert int(masks["SigIgn:"], 16) & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize(("command", "status"), [(["true"], 0), (["false"], 1), (["sh", "-c", "kill -9 $$"], 137)])
def test_the_status_is_the_commands(directory: Path, command: list[str], status: int) -> None:
    done = _run(directory, *command)

    assert (done.returncode, done.stderr) == (status, "")
    assert list(directory.iterdir()) == []


def test_a_command_that_does_not_exist_gives_127(directory: Path) -> None:
    done = _run(directory, "no-such-command-here")

    assert done.returncode == 127
    assert "no-such-command-here" in done.stderr
    assert list(directory.iterdir()) == []


def test_a_command_that_cannot_be_executed_gives_126(directory: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo")

    for command in (plain, tmp_path):
        done = _run(directory, str(command))
        assert done.returncode == 126
        assert "Permission denied" in done.stderr


def test_a_command_runs_without_a_mark_and_it_is_told_loudly(tmp_path: Path) -> None:
    done = _run(tmp_path / "absent", "sh", "-c", "echo done; exit 3")

    assert (done.returncode, done.stdout) == (3, "done\n")
    assert "NO BUSY MARK" in done.stderr
    assert "absent" in done.stderr


def _late(directory: Path, now: str) -> subprocess.Popen[str]:
    """A command under `busy`, whose clock that function is. It makes the directory in which there could be a mark,
    wakes `busy` by a signal, gets that when `busy` has done what it does, and shows what is there."""
    work = f"""
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
for made in (False, True):
    if made:
        os.mkdir({str(directory)!r})
    os.kill(os.getppid(), signal.SIGUSR1)
    signal.sigwait({{signal.SIGUSR1}})
    print(len(os.listdir({str(directory)!r})) if made else "none yet", flush=True)
"""
    busy = BUSY.replace("Path(sys.argv[1])", f"Path(sys.argv[1]), now={now}")
    return subprocess.Popen(
        [sys.executable, "-c", busy, str(directory), sys.executable, "-c", work],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_mark_that_cannot_be_made_is_made_as_soon_as_it_can(tmp_path: Path) -> None:
    """As for a unit that starts with the machine before there is a directory for marks."""
    with _late(tmp_path / "late", "__import__('itertools').count(0, 5).__next__") as busy:
        out, errors = busy.communicate()
    assert (busy.returncode, out) == (0, "none yet\n1\n")
    told = errors.splitlines()
    assert len(told) == 2
    assert "NO BUSY MARK" in told[0]
    assert "tried again every 5 s" in told[0]
    assert told[1] == f"accelerated-node: the busy mark in {tmp_path / 'late'} is made now"
    assert list((tmp_path / "late").iterdir()) == []


def test_it_is_not_tried_more_often_than_every_few_seconds(tmp_path: Path) -> None:
    with _late(tmp_path / "late", "iter([0, *[4.9] * 1000]).__next__") as busy:
        out, errors = busy.communicate()
    assert (busy.returncode, out) == (0, "none yet\n0\n")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "two\nlines", "Ärger 🔥", "", "/", "-n", "x" * 1000])
def test_no_name_leaves_the_directory(directory: Path, name: str) -> None:
    done = _run(directory, "ls", "-A", str(directory), name=name)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_several_of_the_same_name_are_several_marks(directory: Path) -> None:
    inner = [sys.executable, "-c", BUSY.replace("None", "'job'"), str(directory), "ls", "-A", str(directory)]

    assert len(_run(directory, *inner, name="job").stdout.splitlines()) == 2


def test_a_mark_that_somebody_removed_is_told_and_the_status_kept(directory: Path) -> None:
    done = _run(directory, "sh", "-c", f"rm {directory}/*; exit 4")

    assert done.returncode == 4
    assert "not removed" in done.stderr


def test_a_command_that_may_not_be_signalled_is_told_and_awaited(directory: Path, tmp_path: Path) -> None:
    """As with one that has become another user."""
    refusals = tmp_path / "refusals"
    os.mkfifo(refusals)
    refused = f"""
import os
def refuse(process, number):
    with open({str(refusals)!r}, "w") as refusals:
        refusals.write("refused\\n")
    raise PermissionError(1, "Operation not permitted")
os.kill = refuse
"""
    # It lives until the signal was refused: one for a command that has ended is not passed on.
    command = ["sh", "-c", f"kill -USR1 $PPID; read line < {refusals}; exit 5"]
    arguments = [sys.executable, "-c", refused + BUSY, str(directory), *command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert done.returncode == 5
    assert "SIGUSR1 cannot be passed on" in done.stderr


# --- while the instance drains -------------------------------------------------------------------------------------


DRAINS = '{"reason": "termination", "deadline": 1800000000, "until": "2027-01-15T08:00:00Z"}'


def _while_draining(directory: Path, drain: Path, refuse: bool, *command: str) -> subprocess.CompletedProcess[str]:
    options = f"Path(sys.argv[1]), drain=Path({str(drain)!r}), not_while_draining={refuse})"
    script = BUSY.replace("Path(sys.argv[1]))", options)
    arguments = [sys.executable, "-c", script, str(directory), *command]
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_case_65_work_that_comes_while_the_instance_drains_is_told_when_it_ends(
    directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "draining").write_text(DRAINS)
    done = _while_draining(directory, tmp_path / "draining", False, "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "this instance drains (termination, until 2027-01-15T08:00:00Z): the command runs" in done.stderr


def test_case_65_work_that_would_rather_be_done_elsewhere_is_not_begun(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "draining").write_text(DRAINS)
    done = _while_draining(directory, tmp_path / "draining", True, "touch", str(tmp_path / "done"))
    assert done.returncode == 75
    assert "'touch' is not run" in done.stderr
    assert not (tmp_path / "done").exists()
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("refuse", [False, True])
def test_nothing_is_said_while_the_instance_does_not_drain(directory: Path, tmp_path: Path, refuse: bool) -> None:
    done = _while_draining(directory, tmp_path / "draining", refuse, "sh", "-c", "exit 4")
    assert (done.returncode, done.stderr) == (4, "")


def test_case_12_the_mark_is_there_before_the_drain_is_asked_for(directory: Path, tmp_path: Path) -> None:
    """So either the drain sees the mark, or the command learns of the drain: the file is a pipe that tells when."""
    drain = tmp_path / "draining"
    os.mkfifo(drain)
    options = f"Path(sys.argv[1]), drain=Path({str(drain)!r}), not_while_draining=True)"
    with started("-c", BUSY.replace("Path(sys.argv[1]))", options), str(directory), "true") as busy:
        with drain.open("w") as asked:
            assert len(list(directory.iterdir())) == 1
            asked.write(DRAINS)
        busy.wait()
    assert busy.returncode == 75
