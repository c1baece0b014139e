"""The instance store becomes one file system, and no disk that anybody else uses is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from constructs_lib.node.setup import Outcome, instance_store
from tests.node.setup.machines import EBS, Answer, Disk, Storage, Tools, blank, fine, machine, refused

PATH = "/mnt/data"
ARRAY_OF_OURS = "any:accelstore"


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def apply(tools: Tools, tmp_path: Path) -> Callable[[], Outcome]:
    return lambda: instance_store.apply(machine(tools, tmp_path), PATH)


def writers(tools: Tools) -> list[str]:
    return [argv[0] for argv in tools.calls("mkfs.ext4", "mdadm", "mount") if argv[1] != "--version"]


def test_one_disk_gets_a_file_system_and_no_array(tools: Tools, apply: Callable[[], Outcome], tmp_path: Path) -> None:
    storage = Storage(tools, blank(1), mdadm=False)
    assert apply() == Outcome(True, "1 disk mounted at /mnt/data")
    assert writers(tools) == ["mkfs.ext4", "mount"]
    assert storage.device("/dev/nvme1n1").mount_point == PATH
    assert (tmp_path / "mnt" / "data").is_dir()


def test_several_disks_become_one_striped_file_system(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(3, 1, 2))
    assert apply() == Outcome(True, "3 disks mounted at /mnt/data")
    (create,) = [argv for argv in tools.calls("mdadm") if argv[1] == "--create"]
    assert {"--level=0", "--raid-devices=3", "--run"} <= set(create)
    assert create[-3:] == ["/dev/nvme1n1", "/dev/nvme2n1", "/dev/nvme3n1"]
    assert storage.device("/dev/md127").mount_point == PATH
    assert storage.written == ["/dev/nvme1n1", "/dev/nvme2n1", "/dev/nvme3n1", "/dev/md127"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_second_run_changes_nothing(tools: Tools, apply: Callable[[], Outcome], count: int) -> None:
    Storage(tools, blank(*range(1, count + 1)))
    apply()
    tools.commands.clear()
    assert apply().ok
    assert writers(tools) == []


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("assembled", [True, False])
def test_a_restart_keeps_the_content(tools: Tools, apply: Callable[[], Outcome], count: int, assembled: bool) -> None:
    storage = Storage(tools, blank(*range(1, count + 1)))
    apply()
    storage.restart(assembled=assembled or count == 1)
    storage.written.clear()
    tools.commands.clear()
    assert apply() == Outcome(True, f"{count} disk{'s' if count > 1 else ''} mounted at /mnt/data")
    assert storage.written == []
    assert writers(tools) == ["mount"] if assembled or count == 1 else ["mdadm", "mount"]


def test_the_array_is_found_under_whatever_name_it_comes_back(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1, 2))
    apply()
    storage.restart()
    storage.array_path = storage.disks[1].children[0].path = "/dev/md0"
    assert apply().ok
    assert tools.calls("mount")[-1][-2:] == ["/dev/md0", PATH]


def test_blank_disks_after_a_stop_are_set_up_anew(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1, 2))
    apply()
    storage.stop_and_start()
    assert apply().ok
    assert storage.written.count("/dev/md127") == 2


def test_a_machine_that_stopped_before_the_file_system_was_made(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1, 2))
    storage.mdadm(["--create", "/dev/md/accelstore", "--name=accelstore", "/dev/nvme1n1", "/dev/nvme2n1"])
    assert apply().ok
    assert storage.written[2:] == ["/dev/md127"]


def _partition() -> list[Disk]:
    return [Disk("/dev/nvme1n1", children=[Disk("/dev/nvme1n1p1", None, "part", None)])]


def _volume_group() -> list[Disk]:
    volume = Disk("/dev/mapper/vg-ephemeral", None, "lvm", "ext4", None, "/opt/dlami/nvme")
    return [Disk(f"/dev/nvme{number}n1", content="LVM2_member", children=[volume]) for number in (1, 2)]


def _array_of_somebody(content: str | None = None) -> list[Disk]:
    array = Disk("/dev/md0", None, "raid0", content, None)
    return [
        Disk(f"/dev/nvme{number}n1", content="linux_raid_member", label="host:data", children=[array])
        for number in (1, 2)
    ]


def _array_of_ours(
    content: str | None, label: str | None, type_: str = "raid0", children: Sequence[Disk] = ()
) -> list[Disk]:
    array = Disk("/dev/md127", None, type_, content, label, children=list(children))
    return [
        Disk(f"/dev/nvme{number}n1", content="linux_raid_member", label=ARRAY_OF_OURS, children=[array])
        for number in (1, 2)
    ]


def _one_replaced() -> list[Disk]:
    return [Disk("/dev/nvme1n1", content="linux_raid_member", label=ARRAY_OF_OURS), *blank(2)]


def _two_arrays() -> list[Disk]:
    return [
        Disk(
            f"/dev/nvme{number}n1",
            content="linux_raid_member",
            label=ARRAY_OF_OURS,
            children=[Disk(f"/dev/md{number}", None, "raid0")],
        )
        for number in (1, 2)
    ]


def _part_of_an_array() -> list[Disk]:
    first, second = _array_of_ours("ext4", "accelstore")
    second.children = []
    return [first, second]


SOMEBODY_ELSES = {
    "a file system": ([Disk("/dev/nvme1n1", content="xfs")], "/dev/nvme1n1 holds xfs"),
    "ext4 of another name": ([Disk("/dev/nvme1n1", content="ext4", label="data")], "/dev/nvme1n1 holds ext4"),
    "a label alone": ([Disk("/dev/nvme1n1", label="accelstore")], "/dev/nvme1n1 holds something"),
    "a partition": (_partition(), "/dev/nvme1n1 holds part /dev/nvme1n1p1"),
    "swap": ([Disk("/dev/nvme1n1", content="swap")], "/dev/nvme1n1 holds swap"),
    "a signature that only the disk itself shows": (
        [Disk("/dev/nvme1n1", signature_unlisted="crypto_LUKS")],
        "/dev/nvme1n1 holds something",
    ),
    "mounted without a known file system": (
        [Disk("/dev/nvme1n1", mount_point="/somewhere")],
        "/dev/nvme1n1 is mounted at /somewhere already",
    ),
    "mounted by the Ubuntu Deep Learning image": (
        _volume_group(),
        "/dev/mapper/vg-ephemeral is mounted at /opt/dlami/nvme already",
    ),
    "an array of another name": (_array_of_somebody(), "/dev/nvme1n1 holds linux_raid_member"),
    "our array, with somebody's file system": (_array_of_ours("xfs", None), "/dev/md127 holds xfs"),
    "one blank, one used": ([*blank(1), Disk("/dev/nvme2n1", content="xfs")], "/dev/nvme1n1 is blank and the others"),
    "one of ours replaced by a blank one": (_one_replaced(), "/dev/nvme2n1 is blank and the others"),
    "our file system, with something on top": (
        [Disk("/dev/nvme1n1", content="ext4", label="accelstore", children=[Disk("/dev/dm-0", None, "crypt")])],
        "/dev/nvme1n1 holds ext4, crypt /dev/dm-0",
    ),
    "our file system on each of two disks": (
        [Disk(f"/dev/nvme{number}n1", content="ext4", label="accelstore") for number in (1, 2)],
        "/dev/nvme1n1 holds ext4",
    ),
    "a mirror of our name": (_array_of_ours(None, None, "raid1"), "/dev/md127 holds something"),
    "a partition on our array": (
        _array_of_ours(None, None, children=[Disk("/dev/md127p1", None, "part")]),
        "/dev/md127 holds part /dev/md127p1",
    ),
    "an array of ours that lacks a disk": (_part_of_an_array(), "belong to several arrays or to a part of one"),
    "two arrays of our name": (_two_arrays(), "belong to several arrays"),
}


@pytest.mark.parametrize("case", SOMEBODY_ELSES)
def test_what_somebody_else_uses_is_left_alone(tools: Tools, apply: Callable[[], Outcome], case: str) -> None:
    disks, expected = SOMEBODY_ELSES[case]
    storage = Storage(tools, disks)
    outcome = apply()
    assert not outcome.ok
    assert expected in outcome.detail
    assert writers(tools) == []
    assert storage.written == []


def test_what_the_machine_lists_counts_even_if_the_disk_shows_nothing(
    tools: Tools, apply: Callable[[], Outcome]
) -> None:
    storage = Storage(tools, [Disk("/dev/nvme1n1", content="zfs_member")])
    tools.programs["wipefs"] = lambda _: fine("")
    assert not apply().ok
    assert storage.written == []


def test_a_new_array_that_shows_old_content_is_not_formatted(tools: Tools, apply: Callable[[], Outcome]) -> None:
    """The disks were blank where signatures of disks lie; the array begins elsewhere."""
    storage = Storage(tools, blank(1, 2))

    def create(argv: Sequence[str]) -> Answer:
        answer = storage.mdadm(argv)
        if argv[0] == "--create":
            storage.disks[1].children[0].signature_unlisted = "xfs"
        return answer

    tools.programs["mdadm"] = create
    assert apply() == Outcome(False, "/dev/md127 holds something that is not of this program: it is left alone")
    assert tools.calls("mkfs.ext4") == []


@pytest.mark.parametrize("model", [EBS, None, "Micron_7450", "Amazon EC2 NVMe Instance Storage 2"])
def test_a_disk_of_another_model_is_never_taken(tools: Tools, apply: Callable[[], Outcome], model: str | None) -> None:
    """A blank EBS volume is somebody's new data volume."""
    Storage(tools, [Disk("/dev/nvme1n1", model)])
    assert apply() == Outcome(False, "this machine has no instance-store disk")
    assert writers(tools) == []


def test_ebs_beside_the_instance_store_is_left_out(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, [Disk("/dev/nvme1n1", EBS), *blank(2, 3)])
    assert apply().ok
    assert storage.written == ["/dev/nvme2n1", "/dev/nvme3n1", "/dev/md127"]


def test_the_device_managers_spelling_of_the_model(tools: Tools, apply: Callable[[], Outcome]) -> None:
    Storage(tools, [Disk("/dev/nvme1n1", "Amazon_EC2_NVMe_Instance_Storage")])
    assert apply().ok


def test_a_partition_of_that_model_is_no_disk(tools: Tools, apply: Callable[[], Outcome]) -> None:
    Storage(tools, [Disk("/dev/nvme1n1p1", type="part")])
    assert apply() == Outcome(False, "this machine has no instance-store disk")


def test_a_disk_that_cannot_be_read_is_left_alone(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1))
    tools.programs["wipefs"] = lambda _: refused("wipefs: error: Input/output error")
    outcome = apply()
    assert not outcome.ok
    assert "what is on /dev/nvme1n1 cannot be read (exit status 1: wipefs: error: Input/output error)" in outcome.detail
    assert storage.written == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "the disks cannot be listed (lsblk: not on this machine)"),
        (refused("lsblk: unknown column"), "the disks cannot be listed (exit status 1: lsblk: unknown column)"),
        (fine("no json"), "the list of disks makes no sense"),
        (fine('{"blockdevices": [{"name": "/dev/nvme1n1"}]}'), "the list of disks makes no sense"),
        (fine('{"blockdevices": null}'), "the list of disks makes no sense"),
        (fine('["blockdevices"]'), "the list of disks makes no sense"),
        (fine('{"blockdevices": [{"name": "/dev/nvme1n1", "children": "x"}]}'), "the list of disks makes no sense"),
    ],
)
def test_disks_that_cannot_be_listed(
    tools: Tools, apply: Callable[[], Outcome], answer: Answer | None, expected: str
) -> None:
    Storage(tools, blank(1))
    if answer is None:
        del tools.programs["lsblk"]
    else:
        given = answer
        tools.programs["lsblk"] = lambda _: given
    outcome = apply()
    assert not outcome.ok
    assert expected in outcome.detail
    assert writers(tools) == []


def test_another_file_system_at_the_path_stays(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1))
    storage.elsewhere[PATH] = "nfs4"
    outcome = apply()
    assert outcome == Outcome(False, "/mnt/data has nfs4 mounted, not the file system on /dev/nvme1n1")
    assert tools.calls("mount") == []


def test_a_mount_that_did_not_happen_is_seen(tools: Tools, apply: Callable[[], Outcome]) -> None:
    Storage(tools, blank(1))
    tools.programs["mount"] = lambda _: fine()
    assert apply() == Outcome(False, "/mnt/data has nothing mounted, not the file system on /dev/nvme1n1")


@pytest.mark.parametrize("program", ["mkfs.ext4", "mdadm", "mount"])
def test_a_tool_that_fails_is_told(tools: Tools, apply: Callable[[], Outcome], program: str) -> None:
    Storage(tools, blank(1, 2))
    before = tools.programs[program]

    def failing(argv: Sequence[str]) -> Answer:
        return before(argv) if argv[0] == "--version" else refused("no space left on device")

    tools.programs[program] = failing
    assert apply() == Outcome(False, f"{program}: exit status 1: no space left on device")


def test_an_array_that_the_kernel_does_not_show_is_told(tools: Tools, apply: Callable[[], Outcome]) -> None:
    Storage(tools, blank(1, 2))
    tools.programs["mdadm"] = lambda _: fine()
    assert apply() == Outcome(False, "the disks should belong to one array now, and belong to 0")


@pytest.mark.parametrize("installer", ["dnf", "env"])
def test_mdadm_is_installed_where_it_is_missing(tools: Tools, apply: Callable[[], Outcome], installer: str) -> None:
    storage = Storage(tools, blank(1, 2), mdadm=False)

    def install(argv: Sequence[str]) -> Answer:
        assert "mdadm" in argv
        tools.programs["mdadm"] = storage.mdadm
        return fine()

    tools.programs[installer] = install
    assert apply().ok


def test_mdadm_that_cannot_be_installed_is_told(tools: Tools, apply: Callable[[], Outcome]) -> None:
    storage = Storage(tools, blank(1, 2), mdadm=False)
    assert apply() == Outcome(False, "mdadm, which stripes the disks, is missing and cannot be installed")
    assert storage.written == []


def test_the_label_fits_into_ext4() -> None:
    assert len(instance_store.LABEL) <= 16
