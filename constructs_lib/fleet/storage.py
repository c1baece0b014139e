"""The root volume, the disks that some instance types bring, and the file systems that are mounted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aws_cdk import Size

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.lustre import LustreMount
from constructs_lib.fleet.mount_path import check_mount_path, overlap
from constructs_lib.validation import complaint, instance_of, integer, list_of

# gp3 limits, "General Purpose SSD volumes" in the EBS User Guide: 1 GiB to 64 TiB, 3,000 to 80,000 IOPS,
# 125 to 2,000 MiB/s; at most 500 IOPS for each GiB and 1 MiB/s for each 4 IOPS.
_LARGEST_GIB = 65_536
_IOPS = (3_000, 80_000)
_THROUGHPUT_MIB_S = (125, 2_000)
_MOST_IOPS_PER_GIB = 500
_LEAST_IOPS_PER_MIB_S = 4

# Each may take minutes at a boot that cannot reach it.
_MOST_LUSTRE_MOUNTS = 4


@dataclass(frozen=True, kw_only=True)
class FleetStorage:
    """The disks of each instance: the root volume, gp3, encrypted, deleted with the instance, the instance store, and
    FSx for Lustre.

    Attributes:
        root_volume_size: whole GiB, 1 to 65,536. EC2 refuses a volume smaller than the image.
            Default: the size that the image was made with.
        root_volume_iops: 3,000 to 80,000, at most 500 for each GiB of ``root_volume_size``.
            Default: what gp3 includes, 3,000.
        root_volume_throughput_mib_s: 125 to 2,000 MiB/s, at most a quarter of the IOPS.
            Default: what gp3 includes, 125 MiB/s.
        instance_store_path: where the instance-store NVMe disks are mounted as one ext4 file system, striped if there
            are several. Absolute, for example ``/mnt/data``. What is on it survives a reboot and nothing else. A disk
            that somebody else uses is left alone, and reported: the Ubuntu Deep Learning images mount these disks
            themselves, at ``/opt/dlami/nvme``. Default: the disks are left as the image leaves them.
        lustre: FSx for Lustre file systems that each instance mounts, 1 to 4. Default: none.

    Two that say the same are equal.

    Raises:
        ArgumentError: a value is out of range, EC2 would refuse the combination at each launch, or two file systems
            would be mounted over each other.
    """

    # The CDK's Sizes have no equality, so the GiB stand for it; of one that only a deploy settles it is itself.
    root_volume_size: Size | None = field(default=None, compare=False, repr=False)
    root_volume_iops: int | None = None
    root_volume_throughput_mib_s: int | None = None
    instance_store_path: str | None = None
    lustre: Sequence[LustreMount] | None = None
    root_volume_gib: int | Size | None = field(init=False)

    def __post_init__(self) -> None:
        size = self.root_volume_size
        gib: int | Size | None = size
        if size is not None:
            _check_size(size)
            gib = size if size.is_unresolved() else int(size.to_gibibytes())
        object.__setattr__(self, "root_volume_gib", gib)
        if self.root_volume_iops is not None:
            integer(
                "FleetStorage",
                "root_volume_iops",
                self.root_volume_iops,
                minimum=_IOPS[0],
                maximum=_IOPS[1],
                cure="leave it out for what gp3 includes",
            )
        if self.root_volume_throughput_mib_s is not None:
            integer(
                "FleetStorage",
                "root_volume_throughput_mib_s",
                self.root_volume_throughput_mib_s,
                minimum=_THROUGHPUT_MIB_S[0],
                maximum=_THROUGHPUT_MIB_S[1],
                cure="leave it out for what gp3 includes",
            )
        if self.instance_store_path is not None:
            cure = "write for example '/mnt/data'"
            check_mount_path("FleetStorage", "instance_store_path", self.instance_store_path, cure=cure)
        if self.lustre is not None:
            object.__setattr__(self, "lustre", self._checked_mounts(self.lustre))
        self._check_ratios()

    def check_types(self, where: str, types: Sequence[AcceleratedType]) -> None:
        """Refuse what some of a fleet's types cannot have.

        Raises:
            ArgumentError: a file system of instance-store disks is asked for, and a type has none.
        """
        without = [each.name for each in types if each.instance_store_gb == 0]
        if self.instance_store_path is not None and without:
            rule = f"be left out for {', '.join(without)}"
            cure = "remove it, or choose types with an instance store: these have no such disk"
            raise ArgumentError(complaint(where, "storage.instance_store_path", rule, self.instance_store_path, cure))

    def settings(self) -> dict[str, object]:
        """What the node program is told, only what was asked for."""
        asked: dict[str, object] = {}
        if self.instance_store_path is not None:
            asked["instance_store"] = self.instance_store_path
        if self.lustre is not None:
            asked["lustre"] = {mount.path: mount.settings() for mount in self.lustre}
        return asked

    def _checked_mounts(self, given: Sequence[LustreMount]) -> tuple[LustreMount, ...]:
        where, parameter = "FleetStorage", "lustre"
        cure = "write [LustreMount(file_system=..., path='/fsx')], or leave it out"
        mounts = list_of(where, parameter, given, LustreMount, cure=cure)
        if len(mounts) > _MOST_LUSTRE_MOUNTS:
            rule = f"hold at most {_MOST_LUSTRE_MOUNTS} file systems"
            cure = "each delays the boot if it cannot be reached: let the workload mount what it needs beside them"
            raise ArgumentError(complaint(where, parameter, rule, len(mounts), cure))
        taken = [] if self.instance_store_path is None else [self.instance_store_path]
        for mount in mounts:
            others = [path for path in taken if overlap(path, mount.path)]
            if others:
                rule = f"be mounted apart from {others[0]}"
                cure = "choose paths of which none lies below another: the later mount would hide the earlier one"
                raise ArgumentError(complaint(where, parameter, rule, mount.path, cure))
            taken.append(mount.path)
        return mounts

    def _check_ratios(self) -> None:
        iops = _IOPS[0] if self.root_volume_iops is None else self.root_volume_iops
        throughput = (
            _THROUGHPUT_MIB_S[0] if self.root_volume_throughput_mib_s is None else self.root_volume_throughput_mib_s
        )
        if throughput * _LEAST_IOPS_PER_MIB_S > iops:
            rule = f"be at most a quarter of root_volume_iops ({iops})"
            cure = f"set root_volume_iops to {throughput * _LEAST_IOPS_PER_MIB_S} or more"
            raise ArgumentError(complaint("FleetStorage", "root_volume_throughput_mib_s", rule, throughput, cure))
        if self.root_volume_iops is None or self.root_volume_size is None or self.root_volume_size.is_unresolved():
            return
        most = int(self.root_volume_size.to_gibibytes()) * _MOST_IOPS_PER_GIB
        if iops > max(most, _IOPS[0]):
            rule = f"be at most {_MOST_IOPS_PER_GIB} for each GiB of root_volume_size"
            cure = f"enlarge the volume to {-(-iops // _MOST_IOPS_PER_GIB)} GiB or more"
            raise ArgumentError(complaint("FleetStorage", "root_volume_iops", rule, iops, cure))


def _check_size(size: Size) -> None:
    instance_of("FleetStorage", "root_volume_size", size, Size, cure="write for example Size.gibibytes(200)")
    if size.is_unresolved():
        return
    gibibytes = size.to_kibibytes() / 1024**2
    if gibibytes != int(gibibytes) or not 1 <= gibibytes <= _LARGEST_GIB:
        rule = f"be whole GiB from 1 to {_LARGEST_GIB}"
        cure = "write for example Size.gibibytes(200)"
        raise ArgumentError(complaint("FleetStorage", "root_volume_size", rule, gibibytes, cure))
