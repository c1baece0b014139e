"""Which log files leave the instances."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_logs as logs

from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names
from constructs_lib.validation import complaint, instance_of, list_of

_WHERE = "FleetLogs"
_FAULTS = "faults"


@dataclass(frozen=True, kw_only=True)
class FleetLogs:
    """Log files that the agent copies to the fleet's log group, one stream for each instance and file.

    A fleet without it copies nothing. What CloudWatch Logs takes in, and keeps, is billed by its size.

    Attributes:
        files: absolute paths, for example ``("/var/log/worker.log",)``. Of a pattern such as ``/var/log/worker-*.log``
            the agent copies the file that was written to last. Default: none.
        faults: whether to copy the lines of the kernel log that tell of a faulty accelerator. Default: yes.
        retention: how long the log group keeps them. Default: one month.

    Raises:
        ArgumentError: a path is not absolute or given twice, there is nothing to copy, or a value is of the wrong type.
    """

    files: Sequence[str] | None = None
    faults: bool | None = None
    retention: logs.RetentionDays | None = None

    def __post_init__(self) -> None:
        given = () if self.files is None else self.files
        if given != ():
            cure = 'write for example files=("/var/log/worker.log",), or leave it out'
            given = list_of(_WHERE, "files", given, str, cure=cure)
        _check_paths(given)
        object.__setattr__(self, "files", tuple(given))
        faults = True if self.faults is None else self.faults
        object.__setattr__(self, "faults", instance_of(_WHERE, "faults", faults, bool, cure="write True or False"))
        retention = logs.RetentionDays.ONE_MONTH if self.retention is None else self.retention
        cure = "write for example logs.RetentionDays.ONE_WEEK: CloudWatch Logs knows only its fixed terms"
        object.__setattr__(
            self, "retention", instance_of(_WHERE, "retention", retention, logs.RetentionDays, cure=cure)
        )
        if not self.streams:
            rule = "name at least one file when faults is False"
            cure = "leave the logs out of Telemetry instead"
            raise ArgumentError(complaint(_WHERE, "files", rule, list(given), cure))

    @property
    def streams(self) -> Mapping[str, str]:
        """Every file that is copied, by the last part of its stream's name."""
        assert self.files is not None
        files = {_stream(path): path for path in self.files}
        return {_FAULTS: names.FAULT_LOG, **files} if self.faults else files

    def section(self) -> dict[str, Any]:
        """The agent's section ``logs``, with :data:`~constructs_lib.telemetry.names.LOG_GROUP_PLACEHOLDER`.

        It leaves the retention out: the log group has it, and so the instances need no permission to change it.
        """
        entries = [
            {
                "file_path": path,
                "log_group_name": names.LOG_GROUP_PLACEHOLDER,
                "log_stream_name": f"{{instance_id}}/{stream}",
            }
            for stream, path in self.streams.items()
        ]
        return {"logs_collected": {"files": {"collect_list": entries}}}


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not path.startswith("/") or path.endswith("/"):
            rule = "hold absolute paths of files"
            raise ArgumentError(complaint(_WHERE, "files", rule, path, "write for example '/var/log/worker.log'"))
    streams = [_stream(path) for path in [*paths, names.FAULT_LOG]]
    for path, stream in zip(paths, streams, strict=False):
        if streams.count(stream) > 1 or stream == _FAULTS:
            cure = "remove one: two files would be mixed in one log stream"
            raise ArgumentError(complaint(_WHERE, "files", "name each file once", path, cure))


def _stream(path: str) -> str:
    """A name that CloudWatch Logs accepts: colons and asterisks may not stand in it."""
    return re.sub(r"[^A-Za-z0-9._/-]", "_", path.lstrip("/"))
