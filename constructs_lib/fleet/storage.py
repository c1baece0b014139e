"""The root volume."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Size, Token

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of, integer

# gp3 limits, "General Purpose SSD volumes" in the EBS User Guide: 1 GiB to 64 TiB, 3,000 to 80,000 IOPS,
# 125 to 2,000 MiB/s; at most 500 IOPS for each GiB and 1 MiB/s for each 4 IOPS.
_LARGEST_GIB = 65_536
_IOPS = (3_000, 80_000)
_THROUGHPUT_MIB_S = (125, 2_000)
_MOST_IOPS_PER_GIB = 500
_LEAST_IOPS_PER_MIB_S = 4


@dataclass(frozen=True, kw_only=True)
class FleetStorage:
    """The root volume of each instance: gp3, encrypted, deleted with the instance.

    Attributes:
        root_volume_size: whole GiB, 1 to 65,536. EC2 refuses a volume smaller than the image.
            Default: the size that the image was made with.
        root_volume_iops: 3,000 to 80,000, at most 500 for each GiB of ``root_volume_size``.
            Default: what gp3 includes, 3,000.
        root_volume_throughput_mib_s: 125 to 2,000 MiB/s, at most a quarter of the IOPS.
            Default: what gp3 includes, 125 MiB/s.

    Raises:
        ArgumentError: a value is out of range, or EC2 would refuse the combination at each launch.
    """

    root_volume_size: Size | None = None
    root_volume_iops: int | None = None
    root_volume_throughput_mib_s: int | None = None

    def __post_init__(self) -> None:
        if self.root_volume_size is not None:
            _check_size(self.root_volume_size)
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
        self._check_ratios()

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
    if Token.is_unresolved(size) or size.is_unresolved():
        return
    gibibytes = size.to_kibibytes() / 1024**2
    if gibibytes != int(gibibytes) or not 1 <= gibibytes <= _LARGEST_GIB:
        rule = f"be whole GiB from 1 to {_LARGEST_GIB}"
        cure = "write for example Size.gibibytes(200)"
        raise ArgumentError(complaint("FleetStorage", "root_volume_size", rule, gibibytes, cure))
