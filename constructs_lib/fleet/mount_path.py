"""Where on an instance a file system may be mounted."""

from __future__ import annotations

import re

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, is_token, text

# What needs no quoting in a mount table, a unit's name or a shell.
_MOUNT_PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._-]*)+")
# A file system mounted over one of these hides the system's own files.
_SYSTEM_DIRECTORIES = (
    *("/media", "/opt", "/opt/dlami", "/srv", "/tmp", "/var"),
    *("/var/cache", "/var/lib", "/var/log", "/var/run", "/var/spool", "/var/tmp"),
)
# Nothing below these is for anybody else either.
_SYSTEM_TREES = (
    *(
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/home",
        "/lib",
        "/lib32",
        "/lib64",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/snap",
        "/sys",
        "/usr",
    ),
    *("/opt/accelerated-node", "/opt/aws", "/var/lib/accelerated-fleet", "/var/lib/cloud", "/var/log", "/var/run"),
)


def check_mount_path(where: str, parameter: str, path: str, *, cure: str) -> None:
    """Refuse a path that a mount table would misread, or that is one of the system's own directories.

    Raises:
        ArgumentError: the message names the cure.
    """
    text(where, parameter, path, cure=cure)
    if is_token(path):
        raise ArgumentError(complaint(where, parameter, "be known at synth, since it is checked", path, cure))
    if not _MOUNT_PATH.fullmatch(path):
        rule = "be an absolute path of letters, digits and . _ - without a slash at its end"
        raise ArgumentError(complaint(where, parameter, rule, path, cure))
    if path in _SYSTEM_DIRECTORIES or any(f"{path}/".startswith(f"{tree}/") for tree in _SYSTEM_TREES):
        rule = "be a directory of its own, not one of the system's"
        raise ArgumentError(complaint(where, parameter, rule, path, cure))


def overlap(one: str, other: str) -> bool:
    """Whether the paths are the same, or one lies below the other: the later mount would hide the earlier one."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
