"""Who holds a mark, among real processes, and who gets the signal."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from constructs_lib.node.busy import prepare_directory, read_locks
from constructs_lib.node.drain.holders import Herald, Process, find_holders
from tests.node.doors.processes import AS_ON_AN_INSTANCE, lock_holder, started

WRAPPER = AS_ON_AN_INSTANCE + "from accelerated_node.cli import main\nsys.exit(main(sys.argv[1:]))\n"
SAYS = "import os; print(os.getpid(), flush=True); import sys; sys.stdin.read()"


@pytest.fixture
def root() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="drain-"))
    prepare_directory(place / "run/accelerated-fleet/busy")
    if read_locks(place / "run/accelerated-fleet/busy") is None:
        pytest.skip("this machine's kernel does not show locks of the directory's file system")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def directory(root: Path) -> Path:
    return root / "run/accelerated-fleet/busy"


def pids(directory: Path) -> list[int]:
    return [process.pid for process in find_holders(directory)]


def said(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_nobody(directory: Path) -> None:
    (directory / "left").touch()
    assert pids(directory) == []


def test_a_program_that_locks_a_file_of_its_own(directory: Path) -> None:
    with lock_holder(directory / "mine") as holder:
        assert pids(directory) == [holder.pid]
    assert pids(directory) == []


def test_a_lock_elsewhere_is_no_mark(directory: Path, root: Path) -> None:
    with lock_holder(root / "elsewhere"):
        assert pids(directory) == []


@contextmanager
def busy(root: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    with started("-c", WRAPPER, "--root", str(root), "busy", "--", *command) as wrapper:
        yield wrapper


def test_of_busy_it_is_the_command_and_not_the_one_that_passes_signals_on(directory: Path, root: Path) -> None:
    """The command would get it twice, and may then give up what it is saving."""
    with busy(root, sys.executable, "-c", SAYS) as wrapper:
        command = said(wrapper)
        assert pids(directory) == [command]
        assert command != wrapper.pid


def test_what_the_command_started_is_told_too(directory: Path, root: Path) -> None:
    """A shell does not pass signals on: it ends, and the program that it waited for would go on unaware."""
    with busy(root, "/bin/bash", "-c", f'{sys.executable} -c "{SAYS}"; true') as wrapper:
        program = said(wrapper)
        assert program in pids(directory)
        assert wrapper.pid not in pids(directory)
        assert len(pids(directory)) == 2


def test_a_command_whose_wrapper_was_killed_holds_the_mark_itself(directory: Path, root: Path) -> None:
    with busy(root, sys.executable, "-c", SAYS) as wrapper:
        command = said(wrapper)
        wrapper.kill()
        wrapper.wait()
        assert pids(directory) == [command]


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock is not on this machine")
def test_of_flock_it_is_the_job_too(directory: Path) -> None:
    """`flock` ends of the signal and does not pass it on."""
    (directory / "job").touch()
    pipe = subprocess.PIPE
    command = ["flock", str(directory / "job"), sys.executable, "-c", SAYS]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as flock:
        assert {said(flock), flock.pid} == set(pids(directory))


def test_a_programs_own_forks_are_left_to_it(directory: Path) -> None:
    """A loader of data that ends takes the training with it, before that has saved anything."""
    forks = f"""
import fcntl, os, sys
mark = os.open({str(directory / "train")!r}, os.O_RDWR | os.O_CREAT)
fcntl.flock(mark, fcntl.LOCK_EX)
ready, done = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        os.write(done, b"!")
        sys.stdin.read()
        os._exit(0)
while len(os.read(ready, 1)) < 1: pass
os.read(ready, 1)
print(os.getpid(), flush=True)
sys.stdin.read()
"""
    with started("-c", forks) as train:
        assert [said(train)] == pids(directory)


def herald(directory: Path, root: Path) -> tuple[Herald, list[tuple[int, int]]]:
    sent: list[tuple[int, int]] = []

    def send(pidfd: int, number: int) -> None:
        sent.append((pid_of(pidfd), number))

    return Herald(directory, root / "run/told.json", signal.SIGUSR1, send), sent


def pid_of(pidfd: int) -> int:
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    raise AssertionError("not a pidfd")


def test_each_gets_it_once_and_who_comes_later_too(directory: Path, root: Path) -> None:
    crier, sent = herald(directory, root)
    with lock_holder(directory / "one") as one:
        assert crier.signal_holders() == 1
        assert crier.signal_holders() == 0
        with lock_holder(directory / "two") as two:
            assert crier.signal_holders() == 1
            assert sent == [(one.pid, signal.SIGUSR1), (two.pid, signal.SIGUSR1)]


def test_a_program_that_is_started_again_tells_nobody_twice(directory: Path, root: Path) -> None:
    with lock_holder(directory / "one"):
        first, _ = herald(directory, root)
        assert first.signal_holders() == 1
        second, sent = herald(directory, root)
        assert second.signal_holders() == 0
        assert sent == []
        second.forget()
        assert second.signal_holders() == 1


@pytest.mark.parametrize("text", ["", "{}", "[[1]]", "[5]", "garbage", "[" * 100_000])
def test_a_memory_that_makes_no_sense_is_none(directory: Path, root: Path, text: str) -> None:
    (root / "run/told.json").write_text(text)
    crier, _ = herald(directory, root)
    with lock_holder(directory / "one"):
        assert crier.signal_holders() == 1


def test_a_memory_that_cannot_be_read_keeps_nobody_from_being_told(directory: Path, root: Path) -> None:
    (root / "run/told.json").write_bytes(b"\xff")
    crier, sent = herald(directory, root)
    with lock_holder(directory / "one") as one:
        assert crier.signal_holders() == 1
        assert sent == [(one.pid, signal.SIGUSR1)]


def test_who_holds_a_mark_is_told_also_where_nothing_can_be_written(directory: Path, root: Path) -> None:
    (root / "run/.told.json.new").mkdir()
    crier, sent = herald(directory, root)
    with lock_holder(directory / "one") as one:
        with pytest.raises(OSError, match=r"told\.json"):
            crier.signal_holders()
        assert sent == [(one.pid, signal.SIGUSR1)]
        assert crier.signal_holders() == 0


def test_the_drains_own_command_is_left_to_save_what_it_saves(
    directory: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team may well protect it by a mark."""
    monkeypatch.setenv("ACCELERATED_DRAIN_REASON", "termination")
    with busy(root, "/bin/bash", "-c", f'{sys.executable} -c "{SAYS}"; true') as wrapper:
        said(wrapper)
        assert pids(directory) == []


def test_one_that_lets_nobody_look_keeps_no_other_from_being_told(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == "environ":
            raise PermissionError(str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with lock_holder(directory / "one") as one:
        assert pids(directory) == [one.pid]


def test_another_process_with_the_same_number_gets_nothing(directory: Path, root: Path, tmp_path: Path) -> None:
    crier, sent = herald(directory, root)
    with lock_holder(directory / "one") as one:
        (process,) = find_holders(directory)
        assert process.pid == one.pid
        crier._signal(Process(process.pid, process.start + 1))
        assert sent == []
    crier._signal(process)
    assert sent == []


def test_the_real_signal_arrives_at_the_command_of_busy_once(directory: Path, root: Path) -> None:
    counts = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
print("ready", flush=True)
print(signal.Signals(signal.sigwait({signal.SIGTERM})).name, flush=True)
sys.stdin.readline()
print(signal.SIGTERM in signal.sigpending(), flush=True)
"""
    with busy(root, sys.executable, "-c", counts) as wrapper:
        assert wrapper.stdout is not None
        assert wrapper.stdin is not None
        assert wrapper.stdout.readline() == "ready\n"
        crier = Herald(directory, root / "run/told.json", signal.SIGTERM)
        assert crier.signal_holders() == 1
        assert wrapper.stdout.readline() == "SIGTERM\n"
        assert crier.signal_holders() == 0
        wrapper.stdin.write("\n")
        wrapper.stdin.flush()
        assert wrapper.stdout.readline() == "False\n"
    assert wrapper.returncode == 0


def test_looking_takes_no_lock(directory: Path) -> None:
    with lock_holder(directory / "shared"):
        find_holders(directory)
    handle = os.open(directory / "shared", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)
