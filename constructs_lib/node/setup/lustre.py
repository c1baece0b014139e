"""FSx for Lustre: its file systems are mounted on each boot, and the client is installed where the image has none.

The machine's own mount table is left alone: with an entry there a machine that cannot reach the file system would wait
for it at its start, and this module tells instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ..files import read_text, write_atomically
from ..readings import MISSING, NoReading, Output
from ..settings import LustreMount
from .outcome import Machine, Outcome, reason, succeeded

HELPER = "/sbin/mount.lustre"
"""What `mount` calls; the kernel's module alone mounts nothing."""

# "Installing the Lustre client", FSx for Lustre User Guide: AWS has the modules for Ubuntu's kernels, each in a package
# of its own; Amazon Linux 2023 has them with its kernel.
UBUNTU_KEY = "/usr/share/keyrings/fsx-ubuntu-public-key.asc"
UBUNTU_SOURCE = "/etc/apt/sources.list.d/fsxlustreclientrepo.list"
_UBUNTU_KEY_URL = "https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc"
_UBUNTU_URL = "https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu"
_OS_RELEASE = "/etc/os-release"
_CODENAME = re.compile(r'^VERSION_CODENAME="?([a-z]+)"?$', re.MULTILINE)

# As AWS mounts it ("Mounting from an Amazon EC2 instance"); at its stop the machine lets go of it before the network.
_OPTIONS = "relatime,flock,_netdev"
_MOUNT_SECONDS = 45.0
_INSTALL_SECONDS = 240.0
_PAUSES = (5, 10)
"""Seconds between attempts. The network, or a file system that was made a moment ago, may need them."""


class _Refused(Exception):
    """The client cannot be used; the message says why."""


def apply(machine: Machine, mounts: Mapping[str, LustreMount]) -> Outcome:
    """Mount each file system at its path; one that cannot be mounted stops no other."""
    try:
        _need_client(machine)
    except _Refused as refusal:
        return Outcome(False, str(refusal))
    objections = [_mount(machine, path, mount) for path, mount in mounts.items()]
    failed = [objection for objection in objections if objection is not None]
    return Outcome(False, "; ".join(failed)) if failed else Outcome(True, f"mounted at {', '.join(mounts)}")


def _need_client(machine: Machine) -> None:
    missing = _missing(machine)
    if missing is None:
        return
    answer = machine.run("dnf", "install", "-y", "-q", "lustre-client", time_limit_seconds=_INSTALL_SECONDS)
    if isinstance(answer, NoReading) and answer.cause == MISSING:
        answer = _install_on_ubuntu(machine)
    missing = _missing(machine)
    if missing is not None:
        why = "" if succeeded(answer) else f"; it cannot be installed ({reason(answer)})"
        raise _Refused(f"the Lustre client is missing: {missing}{why}")


def _missing(machine: Machine) -> str | None:
    """What the client lacks, None if it is whole."""
    if not machine.places.file(HELPER).exists():
        return f"there is no {HELPER}"
    answer = machine.run("modprobe", "lustre")
    return None if succeeded(answer) else f"the kernel has no module for it ({reason(answer)})"


def _install_on_ubuntu(machine: Machine) -> Output | NoReading:
    codename = _CODENAME.search(read_text(machine.places.file(_OS_RELEASE)) or "")
    kernel = machine.run("uname", "-r")
    if codename is None or not isinstance(kernel, Output):
        raise _Refused("the Lustre client is missing, and this is neither Amazon Linux 2023 nor Ubuntu")
    key = machine.run("curl", "-sSf", "--retry", "3", "-o", UBUNTU_KEY, _UBUNTU_KEY_URL, time_limit_seconds=60.0)
    if not succeeded(key):
        return key
    source = f"deb [signed-by={UBUNTU_KEY}] {_UBUNTU_URL} {codename[1]} main\n"
    write_atomically(machine.places.file(UBUNTU_SOURCE), source)
    # A list that cannot be fetched is no failure if another has the package.
    machine.run("apt-get", "-o", "DPkg::Lock::Timeout=60", "update", "-q", time_limit_seconds=120.0)
    # Nothing restarts services because of this one package.
    quietly = ("env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
    package = f"lustre-client-modules-{kernel.stdout.strip()}"
    return machine.run(
        *quietly,
        *("apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "-y", "-q", "--no-install-recommends", package),
        time_limit_seconds=_INSTALL_SECONDS,
    )


def _mount(machine: Machine, path: str, mount: LustreMount) -> str | None:
    """Mount one file system, and return what a person should know if that failed."""
    found = _mounted_at(machine, path)
    if found is None:
        try:
            machine.places.file(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return f"{path} cannot be made ({error})"
        answer = _try(machine, path, mount)
        found = _mounted_at(machine, path)
        if found is None:
            return f"{mount.source} is not mounted at {path} ({reason(answer)})"
    kind, source, options = found
    # The kernel names the server by its address.
    if kind != "lustre" or source.partition(":/")[2] != mount.source.partition(":/")[2]:
        return f"{path} has {kind} {source} mounted, not {mount.source}"
    if ("ro" in options) is not mount.read_only:
        return f"{path} is mounted read-{'only' if 'ro' in options else 'write'} already"
    return None


def _try(machine: Machine, path: str, mount: LustreMount) -> Output | NoReading:
    options = f"ro,{_OPTIONS}" if mount.read_only else _OPTIONS
    argv = ("mount", "-t", "lustre", "-o", options, mount.source, path)
    for pause in _PAUSES:
        answer = machine.run(*argv, time_limit_seconds=_MOUNT_SECONDS)
        # Where there was no answer in time the security groups are wrong, or the zone is down: no pause helps.
        if succeeded(answer) or isinstance(answer, NoReading):
            return answer
        machine.run("sleep", str(pause))
    return machine.run(*argv, time_limit_seconds=_MOUNT_SECONDS)


def _mounted_at(machine: Machine, path: str) -> tuple[str, str, frozenset[str]] | None:
    """Type, source and options of what is mounted at a path, None if that is nothing."""
    columns = "FSTYPE,SOURCE,OPTIONS"
    answer = machine.run("findmnt", "--json", "--output", columns, "--mountpoint", path, time_limit_seconds=10.0)
    if not isinstance(answer, Output) or answer.exit_status != 0:
        return None
    top = json.loads(answer.stdout)["filesystems"][-1]
    return str(top["fstype"]), str(top["source"]), frozenset(str(top["options"]).split(","))
