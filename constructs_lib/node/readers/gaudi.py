"""Intel Gaudi accelerators, read from the CSV that `hl-smi --query-aip` writes: one line for each.

The use of a device is `utilization.aip`, percent; a device that is idle says 0. Memory is MiB (an idle Gaudi has some
in use: its firmware's), power W, the temperature that of the chip. A value that is not given is N/A.

Source: "System Management Interface Tool", docs.habana.ai (read 2026-11). Kernel lines: the driver habanalabs in Linux
(drivers/accel/habanalabs, 6.8), whose device is called habanalabs hlN or, newer, accel accelN.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..readings import Answer, Command, Device, Output, Reading
from .figures import celsius, count, mebibytes, percent, watts
from .reports import complete_lines, nothing_read, quote, text_of

_DRIVER = r"(?:habanalabs|accel accel\d+).*"
FAULT_LINES: tuple[str, ...] = (
    _DRIVER + r"heartbeat failed",
    _DRIVER + r"[Gg]oing to .*reset",
    _DRIVER + r"(?:[Ff]ailed to reset|NOT usable|device unusable)",
    _DRIVER + r"ECC (?:error|interrupt)",
    _DRIVER + r"RAZWI",
)

_TOOL = "hl-smi"
_MOST_DEVICES = 256
_FIELDS = ("index", "utilization.aip", "memory.used", "memory.total", "power.draw", "temperature.aip")


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that describes all devices, however many there are."""
    return (Command((_TOOL, f"--query-aip={','.join(_FIELDS)}", "--format=csv,noheader")),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the lines that begin with the number of a device; others are a header or a message."""
    devices: dict[int, Device] = {}
    for line in complete_lines(text_of(outputs)):
        values = [value.strip() for value in line.split(",")]
        index = count(values[0])
        if index is not None and index < _MOST_DEVICES and len(values) > 1:
            twice = index in devices
            devices[index] = Device(index, fault=f"{_TOOL} lists it twice") if twice else _device(index, values)
    return Reading(tuple(devices[index] for index in sorted(devices))) if devices else nothing_read(_TOOL, outputs)


def _device(index: int, values: Sequence[str]) -> Device:
    if len(values) != len(_FIELDS):
        return Device(index, fault=f"{_TOOL} does not give the {len(_FIELDS)} values: {quote(','.join(values))}")
    utilization = percent(values[1])
    return Device(
        index,
        utilization=utilization,
        memory_used_mib=mebibytes(values[2]),
        memory_total_mib=mebibytes(values[3]),
        power_watts=watts(values[4]),
        temperature_celsius=celsius(values[5]),
        fault=None if utilization is not None else f"utilization.aip says {quote(values[1])}",
    )
