"""Huge pages of 2 MiB that are set aside for programs that ask for them."""

from __future__ import annotations

from pathlib import Path

from .outcome import Machine, Outcome

_COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
_COMPACT = "/proc/sys/vm/compact_memory"


def apply(machine: Machine, count: int) -> Outcome:
    """Set so many aside. If the kernel grants fewer, those of before are set aside again: programs that need more could
    not use them, and to everything else they would be lost."""
    file = machine.places.file(_COUNT)
    if not file.exists():
        return Outcome(False, "this kernel has no huge pages of 2 MiB")
    before = _there(file)
    there = _set(file, count)
    if there < count:
        try:
            # Enough memory may be free, only not in one piece.
            machine.places.file(_COMPACT).write_text("1\n", encoding="ascii")
            there = _set(file, count)
        finally:
            if there < count:
                kept = _set(file, before)
    if there < count:
        missing = f"the kernel set {there} of {count} pages aside: memory is too small or too fragmented"
        return Outcome(False, f"{missing}; given back, {kept} are set aside now")
    if there > count:
        return Outcome(False, f"{there} pages of 2 MiB are set aside, not {count}: programs use them")
    return Outcome(True, f"{there} pages of 2 MiB")


def _there(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))


def _set(file: Path, count: int) -> int:
    if _there(file) != count:
        file.write_text(f"{count}\n", encoding="ascii")
    return _there(file)
