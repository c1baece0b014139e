"""A record of the kernel's log, as /dev/kmsg gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Documentation/ABI/testing/dev-kmsg: "priority,sequence,microseconds,flags[,...];text", then lines that begin with a
# space and hold properties of the device. The kernel itself escapes whatever is not printable ASCII.
_RECORD = re.compile(r"([0-9]{1,10}),([0-9]{1,20}),([0-9]{1,20}),[^;\n]*;([^\n]*)")
# A priority is 8 * facility + level (syslog(2)). Facility 0 is the kernel's; it lets no program write records of it.
_LEVELS = 8


@dataclass(frozen=True)
class Record:
    """A line of the kernel log. `microseconds` count from the boot; `sequence` numbers the records of a boot."""

    priority: int
    sequence: int
    microseconds: int
    text: str

    @property
    def is_the_kernels(self) -> bool:
        """Whether the kernel wrote it, not a program through /dev/kmsg."""
        return self.priority < _LEVELS


def parse_record(data: bytes) -> Record | None:
    """Return the record, or None if it is none, whatever the bytes."""
    found = _RECORD.match(data.decode("ascii", "backslashreplace"))
    return Record(int(found[1]), int(found[2]), int(found[3]), found[4].strip()) if found else None
