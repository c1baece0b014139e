"""Which files count as busy marks, and when nobody can say (field cases 7 and 68)."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.busy import (
    LONGEST_LIST,
    MOST_FILES,
    count_marks,
    locked_files,
    prepare_directory,
    read_kernel_list,
    read_locks,
)
from tests.node.doors.processes import lock_holder

NEVER = 1e12
"""Later than anything was written: only locks count."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    marks = tmp_path / "busy"
    prepare_directory(marks)
    return marks


@pytest.fixture
def told() -> list[str]:
    return []


def _lock_line(file: Path, kind: str = "FLOCK ", waiting: str = "") -> str:
    """A line as the kernel writes it (fs/locks.c)."""
    status = file.lstat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    return f"1: {waiting}{kind} ADVISORY  WRITE 1834 {device}:{status.st_ino} 0 EOF\n"


def _write(directory: Path, name: str, at: float) -> Path:
    file = directory / name
    file.touch()
    os.utime(file, (at, at))
    return file


def _real_locks(directory: Path) -> str:
    text = read_locks(directory)
    if text is None:
        pytest.skip("this machine's kernel does not show locks of the directory's file system")
    return text


def test_the_directory_is_open_to_every_user_and_keeps_files_their_owners(directory: Path) -> None:
    assert stat.S_IMODE(directory.stat().st_mode) == 0o1777


def test_preparing_again_keeps_the_marks(directory: Path) -> None:
    (directory / "mark").touch()

    prepare_directory(directory)

    assert (directory / "mark").exists()


def test_a_file_of_the_directorys_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "busy").touch()

    with pytest.raises(FileExistsError):
        prepare_directory(tmp_path / "busy")


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "busy").symlink_to("elsewhere")

    with pytest.raises(OSError, match="busy"):
        prepare_directory(tmp_path / "busy")
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["FLOCK", "POSIX", "OFDLCK"])
def test_a_lock_that_another_process_really_holds_is_a_mark(directory: Path, kind: str) -> None:
    _real_locks(directory)

    with lock_holder(directory / "mark", kind):
        assert count_marks(directory, read_locks(directory), NEVER) == 1
    assert count_marks(directory, read_locks(directory), NEVER) == 0


def test_a_mark_does_not_outlive_a_killed_owner(directory: Path) -> None:
    _real_locks(directory)

    with lock_holder(directory / "mark") as owner:
        owner.kill()
        owner.wait()
        assert (directory / "mark").exists()
        assert count_marks(directory, read_locks(directory), NEVER) == 0


def test_a_lock_on_the_directory_itself_is_a_mark(directory: Path) -> None:
    _real_locks(directory)

    with lock_holder(directory):
        assert count_marks(directory, read_locks(directory), NEVER) == 1


def test_looking_neither_disturbs_locks_nor_leaves_anything(directory: Path) -> None:
    before = directory.stat().st_mtime_ns

    read_locks(directory)

    assert list(directory.iterdir()) == []
    assert directory.stat().st_mtime_ns == before


def test_who_waits_for_a_lock_holds_no_mark(directory: Path) -> None:
    mark = _write(directory, "mark", at=1)

    assert count_marks(directory, _lock_line(mark, waiting="-> "), NEVER) == 0


@pytest.mark.parametrize("kind", ["LEASE ", "DELEG "])
def test_a_lease_is_no_mark(directory: Path, kind: str) -> None:
    mark = _write(directory, "mark", at=1)

    assert count_marks(directory, _lock_line(mark, kind), NEVER) == 0


def test_the_same_inode_on_another_device_is_no_mark(directory: Path) -> None:
    mark = _write(directory, "mark", at=1)
    elsewhere = re.sub(r"[0-9a-f]+:[0-9a-f]+:", "ff:ee:", _lock_line(mark))

    assert count_marks(directory, elsewhere, NEVER) == 0


def test_a_file_locked_twice_or_under_two_names_is_one_mark(directory: Path) -> None:
    mark = _write(directory, "mark", at=1)
    (directory / "same").hardlink_to(mark)

    assert count_marks(directory, _lock_line(mark) * 2 + _lock_line(mark, "POSIX "), NEVER) == 1


def test_a_link_to_a_locked_file_elsewhere_is_no_mark(directory: Path, tmp_path: Path) -> None:
    target = _write(tmp_path, "target", at=1)
    (directory / "link").symlink_to(target)

    assert count_marks(directory, _lock_line(target), NEVER) == 0


def test_a_mark_shorter_than_the_interval_counts_by_its_time_of_writing(directory: Path) -> None:
    _write(directory, "old", at=100)
    _write(directory, "at-the-last-reading", at=200)
    _write(directory, "short-a", at=201)
    _write(directory, "short-b", at=230)

    assert count_marks(directory, "", since=200) == 2


def test_a_file_dated_into_the_future_does_not_count_for_ever(directory: Path) -> None:
    _write(directory, "future", at=4e9)
    os.utime(directory, (100, 100))

    assert count_marks(directory, "", since=200) == 0


def test_marks_that_left_no_file_count_as_one_together(directory: Path) -> None:
    os.utime(directory, (201, 201))

    assert count_marks(directory, "", since=200) == 1
    assert count_marks(directory, "", since=201) == 0


def test_what_is_no_file_is_counted_only_if_locked_and_never_opened(directory: Path) -> None:
    (directory / "subdirectory").mkdir()
    os.mkfifo(directory / "fifo")  # opening it would wait for a writer
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "socket"))
    (directory / "dangling").symlink_to("nowhere")
    os.utime(directory, (100, 100))

    assert count_marks(directory, "", since=200) == 0
    assert count_marks(directory, _lock_line(directory / "fifo"), since=200) == 1


@pytest.mark.parametrize(
    "name", ["two\nlines", "Ärger 🔥", "-rf", " ", "a'b\"c$d", "x" * 255, os.fsdecode(b"\xff\xfe")]
)
def test_any_name_will_do(directory: Path, name: str) -> None:
    mark = _write(directory, name, at=1)

    assert count_marks(directory, _lock_line(mark), NEVER) == 1


def test_thousands_of_leftover_files_hide_no_mark(directory: Path) -> None:
    for number in range(MOST_FILES - 1):
        (directory / f"{number}").touch()
    mark = _write(directory, "mark", at=1)

    assert count_marks(directory, _lock_line(mark), NEVER) == 1


def test_a_directory_that_somebody_fills_without_end_is_unknown(
    directory: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even looked at to its end: where it has no file system of its own, nothing bounds how long that takes."""
    taken: list[str] = []

    class Endless:
        def __init__(self, handle: int) -> None:
            self.name, self.inode = "file", lambda: 0

        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def __iter__(self) -> Endless:
            return self

        def __next__(self) -> Endless:
            taken.append(self.name)
            return self

        def stat(self, follow_symlinks: bool) -> os.stat_result:
            return directory.stat()

    monkeypatch.setattr(os, "scandir", Endless)

    assert count_marks(directory, "", NEVER, told.append) is None
    assert len(taken) == MOST_FILES + 1
    assert told == [
        f"busy marks in {directory} cannot be counted: it holds more than 4096 files; remove those that nobody locks"
    ]


def _locks(directory: Path, text: str) -> Path:
    file = directory.with_name("locks")
    file.write_text(text)
    return file


def test_the_kernels_list_is_read_whole_up_to_a_limit(directory: Path) -> None:
    line = "1: POSIX  ADVISORY  WRITE 18463 00:1a:3 128 191\n"

    for text in ("", line, line * 1000, "x" * LONGEST_LIST):
        assert read_kernel_list(_locks(directory, text)) == text


def test_a_list_that_somebody_makes_endless_is_unknown(directory: Path, told: list[str]) -> None:
    """100,000 locks of one user cost seconds of the processor in each interval, since the kernel starts each piece of
    its list from the front."""
    for endless in (Path("/dev/zero"), _locks(directory, "x" * (LONGEST_LIST + 1))):

        def read(path: Path = endless) -> str:
            return read_kernel_list(path)

        assert read_locks(directory, read, told.append) is None
    assert told == [f"busy marks in {directory} cannot be counted: the kernel lists more than 1 MiB of locks"] * 2


def test_case_07_a_directory_that_is_gone_is_unknown_not_zero(tmp_path: Path, told: list[str]) -> None:
    assert count_marks(tmp_path / "gone", "", 0, told.append) is None
    assert "gone" in told[0]


def test_case_07_a_file_in_place_of_the_directory_is_unknown(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "busy").touch()

    assert count_marks(tmp_path / "busy", "", 0, told.append) is None
    assert read_locks(tmp_path / "busy", lambda: "", told.append) is None
    assert len(told) == 2


def test_case_07_a_link_in_place_of_the_directory_is_unknown(directory: Path, told: list[str]) -> None:
    link = directory.with_name("link")
    link.symlink_to(directory)

    assert count_marks(link, "", 0, told.append) is None


def test_case_07_without_the_kernels_list_marks_are_unknown(directory: Path, told: list[str]) -> None:
    locks = read_locks(directory, (directory / "no-proc").read_text, told.append)

    assert locks is None
    assert count_marks(directory, locks, 0, told.append) is None
    assert "no-proc" in told[0]


def test_case_07_a_list_without_the_directorys_file_system_is_unknown(directory: Path, told: list[str]) -> None:
    """As with Btrfs, whose files have another device number there, or in a container that sees no other's locks."""
    locks = read_locks(directory, lambda: "1: FLOCK  ADVISORY  WRITE 7 ff:ee:99 0 EOF\n", told.append)

    assert locks is None
    assert "file system" in told[0]


def test_a_lock_that_one_of_two_readings_misses_is_seen(directory: Path) -> None:
    real = _real_locks(directory)
    mark = _write(directory, "mark", at=1)
    readings = iter([Path("/proc/locks").read_text, lambda: _lock_line(mark)])

    locks = read_locks(directory, lambda: next(readings)())

    assert real is not None
    assert count_marks(directory, locks, NEVER) == 1


def test_the_list_as_the_kernel_writes_it() -> None:
    text = (
        "1: FLOCK  ADVISORY  WRITE 18504 00:27:5 0 EOF\n"
        "1: -> FLOCK  ADVISORY  WRITE 18506 00:27:6 0 EOF\n"
        "2: FLOCK  ADVISORY  READ  18463 103:02:1 0 EOF\n"
        "3: OFDLCK ADVISORY  WRITE -1 fe:00:10027190 0 EOF\n"
        "4: POSIX  ADVISORY  WRITE 18463 00:1a:3 128 191\n"
        "5: POSIX  *NOINODE* READ  7 <none>:0 0 EOF\n"
        "6: LEASE  ACTIVE    READ  9 00:27:8 0 EOF\n"
    )

    assert locked_files(text) == {(0, 0x27, 5), (0x103, 2, 1), (0xFE, 0, 10027190), (0, 0x1A, 3)}


@given(
    st.text()
    | st.lists(st.sampled_from(["1: ", "-> ", "FLOCK  ", "ADVISORY ", "00:27:5 ", "9" * 5000, "\n"])).map("".join)
)
def test_no_text_is_too_strange(text: str) -> None:
    assert all(major >= 0 and minor >= 0 and inode >= 0 for major, minor, inode in locked_files(text))
