"""Huge pages of 2 MiB that are set aside for programs that ask for them."""

from __future__ import annotations

from pathlib import Path

from .outcome import Machine, Outcome

_COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
_COMPACT = "/proc/sys/vm/compact_memory"


def apply(machine: Machine, count: int) -> Outcome:
    """Set so many aside."""
    file = machine.places.file(_COUNT)
    if not file.exists():
        return Outcome(False, "this kernel has no huge pages of 2 MiB")
    there = _set(file, count)
    if there < count:
        # Enough memory may be free, only not in one piece.
        machine.places.file(_COMPACT).write_text("1\n", encoding="ascii")
        there = _set(file, count)
    if there != count:
        return Outcome(False, f"the kernel set {there} of {count} pages aside: memory is too small or too fragmented")
    return Outcome(True, f"{there} pages of 2 MiB")


def _set(file: Path, count: int) -> int:
    if int(file.read_text(encoding="ascii")) != count:
        file.write_text(f"{count}\n", encoding="ascii")
    return int(file.read_text(encoding="ascii"))
