"""FSx for Lustre file systems that every instance of a fleet mounts: training input, checkpoints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_fsx as fsx

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.mount_path import check_mount_path
from constructs_lib.validation import complaint, instance_of, is_token, text

# "LustreFileSystemMountName", Amazon FSx API Reference.
_MOUNT_NAME = re.compile(r"[A-Za-z0-9_-]{1,8}")
_WHERE = "LustreMount"


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """An FSx for Lustre file system that each instance mounts at each boot, before the agent and the workload start.

    An image without the Lustre client gets it from its system's package source: that of Amazon Linux 2023, or the one
    that AWS has for Ubuntu, for the kernel that runs. What cannot be mounted within minutes counts in the metric
    ``setup_failures`` and raises an alarm, and the boot goes on. Fleet and file system may reach each other on Lustre's
    ports by rules that the fleet adds; it is mounted over TCP, also where the fleet has EFA.

    A file system stands in one zone: what instances of another zone read of it is billed as traffic between zones.

    Attributes:
        file_system: an ``fsx.LustreFileSystem`` of this app, or an imported one
            (``LustreFileSystem.from_lustre_file_system_attributes``). In the account and Region of the fleet.
        path: where it is mounted. Absolute, for example ``/fsx``.
        mount_name: the name that FSx has given it, 1 to 8 letters, digits, ``_`` or ``-``: see
            ``aws fsx describe-file-systems``. Default: a file system of this app knows it; an imported one needs it.
        read_only: mount it without the right to write. Default: False.

    Raises:
        ArgumentError: a value is of the wrong type, the path cannot be used, or the mount name is not known.
    """

    file_system: fsx.IFileSystem
    path: str
    mount_name: str | None = None
    read_only: bool | None = None

    def __post_init__(self) -> None:
        cure = "pass an fsx.LustreFileSystem, or LustreFileSystem.from_lustre_file_system_attributes(...)"
        instance_of(_WHERE, "file_system", self.file_system, fsx.FileSystemBase, cure=cure)
        check_mount_path(_WHERE, "path", self.path, cure="write for example '/fsx'")
        object.__setattr__(self, "mount_name", self._known_mount_name())
        read_only = False if self.read_only is None else self.read_only
        instance_of(_WHERE, "read_only", read_only, bool, cure="write True or leave it out")
        object.__setattr__(self, "read_only", read_only)

    @property
    def resource(self) -> fsx.FileSystemBase:
        """The file system, with what the CDK's interface for it leaves out: its DNS name and where it is."""
        assert isinstance(self.file_system, fsx.FileSystemBase)
        return self.file_system

    def settings(self) -> Mapping[str, object]:
        """What the node program is told; user data is short of room, so what is as usual is left out."""
        source = {"source": f"{self.resource.dns_name}@tcp:/{self.mount_name}"}
        return {**source, "read_only": True} if self.read_only else source

    def _known_mount_name(self) -> str:
        cure = "copy MountName from 'aws fsx describe-file-systems'"
        if self.mount_name is None:
            if isinstance(self.file_system, fsx.LustreFileSystem):
                return self.file_system.mount_name
            rule = "be given with an imported file system, which does not know its own"
            raise ArgumentError(complaint(_WHERE, "mount_name", rule, None, cure))
        name = text(_WHERE, "mount_name", self.mount_name, cure=cure)
        if not is_token(name) and not _MOUNT_NAME.fullmatch(name):
            rule = "be 1 to 8 letters, digits, _ or -"
            raise ArgumentError(complaint(_WHERE, "mount_name", rule, name, cure))
        return name
