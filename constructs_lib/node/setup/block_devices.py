"""The block devices of a machine, as `lsblk` lists them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..readings import NoReading
from .outcome import Machine, reason

_COLUMNS = "NAME,TYPE,MODEL,FSTYPE,LABEL,MOUNTPOINT"


class UnreadableDevices(Exception):
    """The devices cannot be listed; the message says why."""


@dataclass(frozen=True)
class BlockDevice:
    """A disk, or what lies on disks: a partition, an array. `holders` lie on this one."""

    path: str
    type: str
    model: str | None
    content: str | None
    label: str | None
    mount_point: str | None
    holders: tuple[BlockDevice, ...]

    def all(self) -> Iterator[BlockDevice]:
        """Yield this device and everything on it."""
        yield self
        for holder in self.holders:
            yield from holder.all()


def read(machine: Machine) -> tuple[BlockDevice, ...]:
    """Return all devices that lie on no other.

    Raises:
        UnreadableDevices: the machine does not list them.
    """
    settle(machine)
    answer = machine.run("lsblk", "--json", "--paths", "--output", _COLUMNS)
    if isinstance(answer, NoReading) or answer.exit_status != 0:
        raise UnreadableDevices(f"the disks cannot be listed ({reason(answer)})")
    try:
        return tuple(_device(entry) for entry in json.loads(answer.stdout)["blockdevices"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableDevices(f"the list of disks makes no sense ({type(error).__name__}: {error})") from error


def settle(machine: Machine) -> None:
    """Wait until the machine knows what is on its disks, after its start or after a change; best effort."""
    machine.run("udevadm", "settle", "--timeout=30", time_limit_seconds=40)


def _device(entry: Mapping[str, object]) -> BlockDevice:
    holders = entry.get("children") or []
    if not isinstance(holders, list):
        raise TypeError("children is not a list")
    return BlockDevice(
        path=str(entry["name"]),
        type=str(entry["type"]),
        model=_text(entry["model"]),
        content=_text(entry["fstype"]),
        label=_text(entry["label"]),
        mount_point=_text(entry["mountpoint"]),
        holders=tuple(_device(holder) for holder in holders),
    )


def _text(value: object) -> str | None:
    return str(value).strip() or None if value is not None else None
