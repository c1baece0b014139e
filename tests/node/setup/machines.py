"""A machine for the settings to be made on: its tools answer, its disks remember, and every command is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from constructs_lib.node.places import Places
from constructs_lib.node.readings import MISSING, Command, NoReading, Output
from constructs_lib.node.setup import Machine

INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
EBS = "Amazon Elastic Block Store"
Answer = Output | NoReading
Tool = Callable[[Sequence[str]], Answer]


def fine(stdout: str = "") -> Output:
    """The answer of a command that went well."""
    return Output(0, stdout)


def refused(stderr: str, status: int = 1) -> Output:
    """The answer of a command that did not."""
    return Output(status, "", stderr)


@dataclass
class Tools:
    """The commands of a machine; one that is not among them is missing."""

    programs: dict[str, Tool] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)

    def run_one(self, command: Command) -> Answer:
        assert command.time_limit_seconds <= 600, "every command has a time limit"
        argv = list(command.argv)
        self.commands.append(argv)
        program = self.programs.get(argv[0])
        return NoReading(MISSING, f"{argv[0]}: not on this machine") if program is None else program(argv[1:])

    def calls(self, *programs: str) -> list[list[str]]:
        """The commands that called one of these."""
        return [argv for argv in self.commands if argv[0] in programs]


@dataclass
class Disk:
    """A block device; `children` lie on it. `mounted_too` is where else it was mounted while it was mounted already."""

    path: str
    model: str | None = INSTANCE_STORE
    type: str = "disk"
    content: str | None = None
    label: str | None = None
    mount_point: str | None = None
    signature_unlisted: str = ""
    children: list[Disk] = field(default_factory=list)
    mounted_too: list[str] = field(default_factory=list)

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": self.path,
            "type": self.type,
            "model": self.model,
            "fstype": self.content,
            "label": self.label,
            "mountpoint": self.mount_point,
        }
        return {**entry, "children": [child.entry() for child in self.children]} if self.children else entry


def root_volume() -> Disk:
    """The EBS volume that the machine runs from."""
    system = Disk("/dev/nvme0n1p1", None, "part", "xfs", "/", "/")
    return Disk("/dev/nvme0n1", EBS, children=[system])


def blank(*numbers: int) -> list[Disk]:
    """Instance-store disks as they come."""
    return [Disk(f"/dev/nvme{number}n1") for number in numbers]


class Storage:
    """The disks of a machine and the tools that work on them; ``written`` is every device that was written to."""

    def __init__(self, tools: Tools, disks: Sequence[Disk], *, mdadm: bool = True) -> None:
        self.disks = [root_volume(), *disks]
        self.written: list[str] = []
        self.elsewhere: dict[str, str] = {}
        self.array_path = "/dev/md127"
        self.asleep: list[list[Disk]] = []
        tools.programs.update(
            {
                "udevadm": lambda _: fine(),
                "lsblk": lambda _: fine(json.dumps({"blockdevices": [disk.entry() for disk in self.disks]})),
                "wipefs": self._wipefs,
                "mkfs.ext4": self._mkfs,
                "mount": self._mount,
                "findmnt": self._findmnt,
            }
        )
        if mdadm:
            tools.programs["mdadm"] = self.mdadm

    def restart(self, *, assembled: bool = True) -> None:
        """The machine restarts: nothing is mounted, and the kernel has found the array again, or not."""
        for disk in self.disks[1:]:
            for each in (disk, *disk.children):
                each.mount_point, each.mounted_too = None, []
        if not assembled:
            self.asleep = [disk.children for disk in self.disks[1:]]
            for disk in self.disks[1:]:
                disk.children = []

    def stop_and_start(self) -> None:
        """The machine comes up elsewhere, with blank disks."""
        self.disks[1:] = [Disk(disk.path) for disk in self.disks[1:]]

    def device(self, path: str) -> Disk:
        """The device of that name."""
        pending = list(self.disks)
        while pending:
            found = pending.pop()
            if path in (found.path, "/dev/md/accelstore" if found.path == self.array_path else ""):
                return found
            pending.extend(found.children)
        raise KeyError(path)

    def _wipefs(self, argv: Sequence[str]) -> Answer:
        assert "--no-act" in argv
        disk = self.device(argv[-1])
        found = disk.content or disk.signature_unlisted
        return fine(f"{found} 0x438 uuid\n" if found else "")

    def _mkfs(self, argv: Sequence[str]) -> Answer:
        disk = self.device(argv[-1])
        self.written.append(disk.path)
        disk.content, disk.label = "ext4", argv[argv.index("-L") + 1]
        return fine()

    def mdadm(self, argv: Sequence[str]) -> Answer:
        """Stripe disks, or find the stripes again."""
        if argv[0] == "--version":
            return fine("mdadm - v4.2")
        members = [self.device(word) for word in argv if word.startswith("/dev/nvme")]
        if argv[0] == "--assemble":
            for disk, children in zip(self.disks[1:], self.asleep, strict=True):
                disk.children = children
            return fine()
        assert argv[0] == "--create"
        name = next(word.partition("=")[2] for word in argv if word.startswith("--name="))
        array = Disk(self.array_path, None, "raid0")
        for disk in members:
            self.written.append(disk.path)
            disk.content, disk.label, disk.children = "linux_raid_member", f"any:{name}", [array]
        return fine()

    def _mount(self, argv: Sequence[str]) -> Answer:
        disk = self.device(argv[-2])
        if disk.mount_point is None:
            disk.mount_point = argv[-1]
        else:
            disk.mounted_too.append(argv[-1])
        return fine()

    def _findmnt(self, argv: Sequence[str]) -> Answer:
        pending = list(self.disks)
        while pending:
            found = pending.pop()
            if argv[-1] in (found.mount_point, *found.mounted_too):
                return fine(f"{found.content} {found.label}\n")
            pending.extend(found.children)
        if argv[-1] in self.elsewhere:
            return fine(f"{self.elsewhere[argv[-1]]}\n")
        return refused("")


def machine(tools: Tools, root: Path, instance_type: str | None = "g6.12xlarge") -> Machine:
    """The machine as the settings see it."""
    return Machine(tools, instance_type, Places(root))


def gpu_report(*gpus: dict[str, str], dtd: str = "v12") -> str:
    """A report as `nvidia-smi -q -x` writes it, with only what is asked for here."""
    bodies = "".join(
        f"<gpu id='00000000:00:{index:02x}.0'><persistence_mode>{gpu.get('persistence', 'Enabled')}</persistence_mode>"
        f"<applications_clocks><graphics_clock>{gpu.get('graphics', 'N/A')}</graphics_clock>"
        f"<mem_clock>{gpu.get('memory', 'N/A')}</mem_clock></applications_clocks></gpu>"
        for index, gpu in enumerate(gpus)
    )
    return (
        f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{dtd}.dtd">\n'
        f"<nvidia_smi_log>{bodies}</nvidia_smi_log>\n"
    )
