"""The instance store: its NVMe disks as one ext4 file system, striped over all of them if there are several.

A disk is written to only if it is an instance-store disk by its model and nothing at all is on it, or if this module
has written to it before. The content survives a restart of the machine; after a stop the disks are blank again, and so
this runs on each boot.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import block_devices
from .block_devices import BlockDevice, UnreadableDevices
from .outcome import Machine, Outcome, reason, succeeded

MODEL = "Amazon EC2 NVMe Instance Storage"
LABEL = "accelstore"
"""Of the file system and of the array: by it this module knows its own again. ext4 takes 16 characters."""

ARRAY = f"/dev/md/{LABEL}"

_ARRAY_MEMBER = "linux_raid_member"
_FORMAT_SECONDS = 300.0
_INSTALL_SECONDS = 300.0
_INSTALLERS = (
    ("dnf", "install", "-y", "-q", "mdadm"),
    # What apt would add by itself is a mail server.
    ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends", "mdadm"),
)


class _Refused(Exception):
    """The disks are left as they are; the message says why."""


def apply(machine: Machine, path: str) -> Outcome:
    """Mount the instance store at `path`, and make its file system first if the disks are blank."""
    try:
        disks = _disks(machine)
        device = _single(machine, disks[0]) if len(disks) == 1 else _array(machine, disks)
        _mount(machine, device, path)
    except (_Refused, UnreadableDevices) as refusal:
        return Outcome(False, str(refusal))
    return Outcome(True, f"{len(disks)} disk{'s' if len(disks) > 1 else ''} mounted at {path}")


def _disks(machine: Machine) -> list[BlockDevice]:
    disks = [each for each in block_devices.read(machine) if _is_instance_store(each)]
    if not disks:
        raise _Refused("this machine has no instance-store disk")
    for disk in disks:
        for device in disk.all():
            if device.mount_point is not None and device.label != LABEL:
                raise _Refused(
                    f"{device.path} is mounted at {device.mount_point} already, as some images do with these disks: "
                    "it is left alone; use that path, or an image that does not mount them"
                )
    return sorted(disks, key=lambda disk: disk.path)


def _is_instance_store(device: BlockDevice) -> bool:
    # The device manager writes underscores for spaces.
    return device.type == "disk" and device.model is not None and device.model.replace("_", " ") == MODEL


def _single(machine: Machine, disk: BlockDevice) -> str:
    if not _is_blank(machine, disk):
        if disk.content != "ext4" or disk.label != LABEL or disk.holders:
            raise _Refused(_foreign(disk))
        return disk.path
    _format(machine, disk.path)
    return disk.path


def _array(machine: Machine, disks: Sequence[BlockDevice]) -> str:
    blank = [disk for disk in disks if _is_blank(machine, disk)]
    if len(blank) == len(disks):
        return _new_array(machine, disks)
    for disk in disks:
        if disk in blank:
            raise _Refused(f"{disk.path} is blank and the others are not: the array has lost a disk and its content")
        if not _is_member(disk):
            raise _Refused(_foreign(disk))
    arrays = {holder.path: holder for disk in disks for holder in disk.holders}
    if not arrays:
        _must(machine, "mdadm", "--assemble", "--run", ARRAY, *(disk.path for disk in disks))
        return _content_of(machine, _found_array(machine))
    if len(arrays) > 1 or any(not disk.holders for disk in disks):
        raise _Refused(f"the disks belong to several arrays or to a part of one: {', '.join(sorted(arrays)) or 'none'}")
    return _content_of(machine, next(iter(arrays.values())))


def _new_array(machine: Machine, disks: Sequence[BlockDevice]) -> str:
    _install_mdadm(machine)
    _must(
        machine,
        *("mdadm", "--create", ARRAY, "--run", "--level=0", "--metadata=1.2", "--homehost=any", f"--name={LABEL}"),
        f"--raid-devices={len(disks)}",
        *(disk.path for disk in disks),
    )
    array = _found_array(machine)
    if not _is_blank(machine, array):
        raise _Refused(_foreign(array))
    _format(machine, array.path)
    return array.path


def _found_array(machine: Machine) -> BlockDevice:
    """The array as the machine lists it now, whatever name it has there."""
    arrays = {holder.path: holder for disk in _disks(machine) for holder in disk.holders if _is_member(disk)}
    if len(arrays) != 1:
        raise _Refused(f"the disks should belong to one array now, and belong to {len(arrays)}")
    return next(iter(arrays.values()))


def _content_of(machine: Machine, array: BlockDevice) -> str:
    """The array with its file system, which is still to be made if the machine stopped just before that."""
    if array.type != "raid0" or array.holders:
        raise _Refused(_foreign(array))
    if _is_blank(machine, array):
        _format(machine, array.path)
    elif array.content != "ext4" or array.label != LABEL:
        raise _Refused(_foreign(array))
    return array.path


def _is_member(disk: BlockDevice) -> bool:
    """Whether the disk is part of an array of ours. mdadm writes the host before the name."""
    return disk.content == _ARRAY_MEMBER and (disk.label or "").rpartition(":")[2] == LABEL


def _is_blank(machine: Machine, device: BlockDevice) -> bool:
    """Whether nothing is on a device. What `lsblk` says may be old, so the device itself is read, too."""
    if device.content is not None or device.label is not None or device.holders or device.mount_point is not None:
        return False
    answer = machine.run("wipefs", "--no-act", "--noheadings", device.path)
    if not succeeded(answer):
        raise _Refused(f"what is on {device.path} cannot be read ({reason(answer)}), so it is left alone")
    return not getattr(answer, "stdout", "").strip()


def _foreign(device: BlockDevice) -> str:
    parts = [device.content or "", *(f"{holder.type} {holder.path}" for holder in device.holders)]
    content = ", ".join(part for part in parts if part) or "something"
    return f"{device.path} holds {content} that is not of this program: it is left alone"


def _format(machine: Machine, device: str) -> None:
    # The disks come trimmed, and trimming terabytes again takes long; nothing is held back for root on a data disk.
    _must(machine, "mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", "-L", LABEL, device, seconds=_FORMAT_SECONDS)


def _mount(machine: Machine, device: str, path: str) -> None:
    found = _mounted_at(machine, path)
    if found is None:
        machine.places.file(path).mkdir(parents=True, exist_ok=True)
        _must(machine, "mount", "-t", "ext4", "-o", "noatime", device, path)
        found = _mounted_at(machine, path)
    if found != ("ext4", LABEL):
        there = "nothing" if found is None else f"{found[0]} {found[1]}".strip()
        raise _Refused(f"{path} has {there} mounted, not the file system on {device}")


def _mounted_at(machine: Machine, path: str) -> tuple[str, str] | None:
    block_devices.settle(machine)
    answer = machine.run("findmnt", "--noheadings", "--output", "FSTYPE,LABEL", "--mountpoint", path)
    lines = getattr(answer, "stdout", "").strip().splitlines()
    if not succeeded(answer) or not lines:
        return None
    kind, _, label = lines[-1].partition(" ")
    return kind, label.strip()


def _install_mdadm(machine: Machine) -> None:
    if succeeded(machine.run("mdadm", "--version")):
        return
    for installer in _INSTALLERS:
        if succeeded(machine.run(*installer, time_limit_seconds=_INSTALL_SECONDS)):
            return
    raise _Refused("mdadm, which stripes the disks, is missing and cannot be installed")


def _must(machine: Machine, *argv: str, seconds: float = 60.0) -> None:
    answer = machine.run(*argv, time_limit_seconds=seconds)
    if not succeeded(answer):
        raise _Refused(f"{argv[0]}: {reason(answer)}")
