"""Busy marks: files that a program keeps locked for as long as the instance must not be taken for idle.

The kernel drops a lock when its last holder ends, however it ends, so no mark outlives its owner. Marks are found in
the kernel's own list of locks: nothing in the directory is opened or locked, so looking disturbs nobody.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from . import names
from .events import Tell

# "1: FLOCK  ADVISORY  WRITE 1834 00:1a:773 0 EOF" (proc_locks(5)): device in hexadecimal, inode in decimal. Who still
# waits for a lock has "->" after the number, and leases are not locks that anybody asked for.
_LOCK = re.compile(
    r"^[0-9]+: +(?:FLOCK|POSIX|OFDLCK) +[^ \n]+ +[^ \n]+ +-?[0-9]+ +([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9]{1,20}) ",
    re.MULTILINE,
)
_KERNEL_LIST = Path("/proc/locks")

MOST_FILES = 4096
LONGEST_LIST = 1 << 20
"""More files in the directory, or bytes in the kernel's list, and the number of marks is unknown. Any user can make
more, and the kernel starts each piece of its list from the front: twice as many locks take four times as long."""

LockedFile = tuple[int, int, int]


def to_stderr(text: str) -> None:
    """Tell whoever started the program."""
    print(f"accelerated-node: {text}", file=sys.stderr, flush=True)


def prepare_directory(directory: Path = Path(names.BUSY_DIRECTORY)) -> None:
    """Make the directory of marks, in which every user may create files and remove only their own.

    Raises OSError if that cannot be done, also if something else has the directory's name.
    """
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(handle, 0o1777)
    finally:
        os.close(handle)


def read_kernel_list(path: Path = _KERNEL_LIST) -> str:
    """Return the kernel's list of locks; raise OSError if it cannot be read, ValueError if it is too long."""
    with path.open("rb") as file:
        text = file.read(LONGEST_LIST + 1)
    if len(text) > LONGEST_LIST:
        raise ValueError(f"the kernel lists more than {LONGEST_LIST >> 20} MiB of locks")
    return text.decode("ascii")


def read_locks(
    directory: Path = Path(names.BUSY_DIRECTORY),
    read: Callable[[], str] = read_kernel_list,
    tell: Tell = to_stderr,
) -> str | None:
    """Return the kernel's list of locks, or None if locks in the directory would not show in it.

    Not every file system gives the list the device and inode that it gives to everybody else (Btrfs, layers of
    containers), and a process namespace hides the locks of others. So a nameless file is locked for as long as the
    list is read, and must be in it. The list is read twice: an entry can slip out of one reading when locks before it
    go away meanwhile.
    """
    try:
        probe = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
            text = f"{read()}\n{read()}"
            status = os.fstat(probe)
        finally:
            os.close(probe)
    except (OSError, ValueError) as problem:
        tell(f"busy marks in {directory} cannot be counted: {problem}")
        return None
    if _identity(status) in locked_files(text):
        return text
    tell(f"busy marks in {directory} cannot be counted: the kernel's list does not show locks of its file system")
    return None


def locked_files(locks_text: str) -> frozenset[LockedFile]:
    """Return device major, minor and inode of each file that somebody holds a lock on, whatever the text."""
    return frozenset((int(m[1], 16), int(m[2], 16), int(m[3])) for m in _LOCK.finditer(locks_text))


def count_marks(directory: Path, locks_text: str | None, since: float, tell: Tell = to_stderr) -> int | None:
    """Return how many marks are held now or were made after `since` (seconds since the epoch), None if unknown.

    That is so, among others, if the directory holds more than 4,096 files.

    A mark is whatever in the directory is locked, or a regular file that was written after `since`: so a mark that
    came and went between two readings counts. Those whose file is gone too have changed the directory, and count as
    one together if nothing else does.
    """
    if locks_text is None:
        return None
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            return _count(handle, locked_files(locks_text), since)
        finally:
            os.close(handle)
    except (OSError, ValueError) as problem:
        tell(f"busy marks in {directory} cannot be counted: {problem}")
        return None


def _count(handle: int, locked: frozenset[LockedFile], since: float) -> int:
    here = os.fstat(handle)
    inodes = {inode for major, minor, inode in locked if (major, minor) == _identity(here)[:2]}
    # Locking the directory itself is a slip of the hand, and meant as a mark.
    marks = {here.st_ino} & inodes
    with os.scandir(handle) as entries:
        for number, entry in enumerate(islice(entries, MOST_FILES + 1)):
            if number == MOST_FILES:
                raise ValueError(f"it holds more than {MOST_FILES} files; remove those that nobody locks")
            if entry.inode() in inodes or _is_new(entry, since):
                marks.add(entry.inode())
    return len(marks) or int(_written_after(here, since))


def _is_new(entry: os.DirEntry[str], since: float) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and _written_after(status, since)


def _written_after(status: os.stat_result, since: float) -> bool:
    # Anybody can give a file a time of writing in the future, but not a later time of change: it would count for ever.
    return since < status.st_mtime <= status.st_ctime


def _identity(status: os.stat_result) -> LockedFile:
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino
