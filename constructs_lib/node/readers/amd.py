"""AMD GPUs of G4ad (Radeon Pro V520), read from the files that the driver amdgpu has under /sys/class/drm.

The use of a GPU is `gpu_busy_percent`; a GPU that is idle says 0. Memory is its VRAM, given in bytes; power, given in
microwatts, and temperature, in thousandths of a degree, are those of its hwmon, and not every card has them. A GPU's
number is that of its card; the numbers need not begin at 0, since other drivers have cards too.

No tool of the ROCm suite is needed, and none supports this GPU. `grep` ends with a status of its own if one of the
files is missing, so its status says nothing while there are lines.

Source: "GPU Power/Thermal Controls and Monitoring", Linux kernel documentation for amdgpu (6.12). Kernel lines: the
same driver (drivers/gpu/drm/amd).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..readings import Answer, Command, Device, Output, Reading
from .figures import celsius, mebibytes_of_bytes, percent, scaled, watts
from .reports import complete_lines, nothing_read, quote, text_of

FAULT_LINES: tuple[str, ...] = (
    r"amdgpu.*ring \S+ timeout",
    r"amdgpu.*GPU reset",
    r"amdgpu.*VRAM is lost",
    r"amdgpu.*(?:fatal error|uncorrectable hardware error)",
)

_CARDS = "/sys/class/drm/card[0-9]*/device"
_BUSY, _USED, _TOTAL = "gpu_busy_percent", "mem_info_vram_used", "mem_info_vram_total"
_OF_THIS_DRIVER = frozenset((_BUSY, _USED, _TOTAL))
_POWER, _TEMPERATURE = ("power1_average", "power1_input"), "temp1_input"
_FILES = (_BUSY, _USED, _TOTAL, *(f"hwmon/hwmon*/{name}" for name in (*_POWER, _TEMPERATURE)))
_LINE = re.compile(r"/sys/class/drm/card([0-9]{1,4})/device/(?:hwmon/hwmon[0-9]+/)?([a-z0-9_]+):(.*)")
_MICRO, _MILLI = 1e6, 1e3


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that prints the files of all GPUs, however many there are."""
    files = " ".join(f"{_CARDS}/{name}" for name in _FILES)
    return (Command(("sh", "-c", f"exec grep -Hs . {files}")),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the lines `path:value`. A card is a GPU of this kind if the driver has a file of its use or its memory."""
    cards: dict[int, dict[str, str]] = {}
    for line in complete_lines(text_of(outputs)):
        match = _LINE.fullmatch(line)
        if match:
            cards.setdefault(int(match.group(1)), {}).setdefault(match.group(2), match.group(3))
    devices = [_device(card, files) for card, files in sorted(cards.items()) if not _OF_THIS_DRIVER.isdisjoint(files)]
    return Reading(tuple(devices)) if devices else nothing_read("the driver amdgpu", outputs)


def _device(index: int, files: Mapping[str, str]) -> Device:
    utilization = percent(files.get(_BUSY))
    powers = [watts(scaled(files.get(name), _MICRO)) for name in _POWER]
    return Device(
        index,
        utilization=utilization,
        memory_used_mib=mebibytes_of_bytes(files.get(_USED)),
        memory_total_mib=mebibytes_of_bytes(files.get(_TOTAL)),
        power_watts=next((power for power in powers if power is not None), None),
        temperature_celsius=celsius(scaled(files.get(_TEMPERATURE), _MILLI)),
        fault=None if utilization is not None else f"gpu_busy_percent says {quote(files.get(_BUSY, ''))}",
    )
