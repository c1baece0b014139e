"""Whatever disks a machine has: only a blank instance-store disk, or an array of our own, is ever written to."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from constructs_lib.node.setup import instance_store
from tests.node.setup.machines import EBS, INSTANCE_STORE, Disk, Storage, Tools, machine

CONTENTS = st.sampled_from([None, None, None, "ext4", "xfs", "linux_raid_member", "LVM2_member", "swap"])
LABELS = st.sampled_from([None, None, None, "accelstore", "any:accelstore", "host:accelstore", "data"])
MOUNTS = st.sampled_from([None, None, None, "/mnt/data", "/opt/dlami/nvme"])
SIGNATURES = st.sampled_from(["", "", "", "crypto_LUKS"])


@st.composite
def holders(draw: st.DrawFn) -> Disk:
    path, type_ = draw(st.sampled_from([("/dev/md127", "raid0"), ("/dev/md0", "raid1"), ("/dev/dm-0", "lvm")]))
    return Disk(path, None, type_, draw(CONTENTS), draw(LABELS), draw(MOUNTS), draw(SIGNATURES))


@st.composite
def machines(draw: st.DrawFn) -> list[Disk]:
    shared = draw(holders())
    disks = []
    for number in range(draw(st.integers(0, 4))):
        model = draw(st.sampled_from([INSTANCE_STORE, INSTANCE_STORE, INSTANCE_STORE, EBS, None]))
        children = draw(st.sampled_from([[], [], [], [shared]]))
        disks.append(
            Disk(
                f"/dev/nvme{number + 1}n1",
                model,
                "disk",
                draw(CONTENTS),
                draw(LABELS),
                draw(MOUNTS),
                draw(SIGNATURES),
                list(children),
            )
        )
    return disks


def is_blank(device: Disk) -> bool:
    return not (device.content or device.label or device.mount_point or device.signature_unlisted or device.children)


def may_be_written(disks: list[Disk]) -> set[str]:
    """By the rule, not by the program: blank disks of the right model, and our own array while nothing is on it."""
    ours = [disk for disk in disks if disk.model == INSTANCE_STORE]
    allowed = {disk.path for disk in ours if is_blank(disk)}
    for holder in {id(child): child for disk in disks for child in disk.children}.values():
        parents = [disk for disk in disks if holder in disk.children]
        members = all(
            disk.model == INSTANCE_STORE
            and disk.content == "linux_raid_member"
            and (disk.label or "").rpartition(":")[2] == "accelstore"
            for disk in parents
        )
        if members and holder.type == "raid0" and is_blank(holder):
            allowed.add(holder.path)
    # An array that is made now lies on disks that were blank.
    return allowed | ({"/dev/md126"} if allowed else set())


@settings(max_examples=400)
@given(machines())
@example([Disk("/dev/nvme1n1", content="ext4", label="accelstore", mount_point="/opt/dlami/nvme")])
def test_no_disk_is_lost(disks: list[Disk]) -> None:
    allowed = may_be_written(disks)
    mounted = {id(each): each.mount_point for disk in disks for each in (disk, *disk.children)}
    tools = Tools()
    storage = Storage(tools, disks)
    storage.array_path = "/dev/md126"
    storage.asleep = [disk.children for disk in disks]
    with TemporaryDirectory() as root:
        outcome = instance_store.apply(machine(tools, Path(root)), "/mnt/data")
    assert set(storage.written) <= allowed
    for disk in disks:
        for each in (disk, *disk.children):
            before = mounted.get(id(each))
            assert before is None or each.mount_point == before, "what was mounted stays where it was"
            is_ours = (each.content, each.label) == ("ext4", "accelstore")
            assert is_ours or not each.mounted_too, "what is mounted and not ours is not mounted elsewhere as well"
    if not outcome.ok:
        assert tools.calls("mkfs.ext4") == [] or tools.calls("mount") == []
