"""Qualcomm Cloud AI 100 devices, read from `qaic-util -q`: a block of lines `Key:Value` under each `QID n`.

The tool knows no busy time. The use of a device is the share of its processors (NSPs) that programs have been given,
percent: a device with no network loaded is idle and says 0, and one whose network waits for work counts as used. Memory
is the part of the DRAM that is not free, MiB. Power is that of the board, W; a board of DL2q has one device. A device
whose Status is not Ready cannot be used, so its use is unknown.

Source: "System management", docs.qualcomm.com (read 2026-11), the tool's source (quic, qaic-util) and recorded answers
of SDK 1.6 to 1.20: they differ in the case of keys and in MB or KB. Kernel lines: the driver qaic in Linux
(drivers/accel/qaic, 6.16).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..readings import Answer, Command, Device, Output, Reading
from .figures import celsius, count, mebibytes_with_unit, share, watts
from .reports import complete_lines, nothing_read, quote, text_of

FAULT_LINES: tuple[str, ...] = (
    r"qaic .*RAS event",
    r"qaic .*[Ff]atal error",
)

_TOOL = "/opt/qti-aic/tools/qaic-util"
_BLOCK = re.compile(r"\s*QID\s+([0-9]{1,4})\b(.*)")
_REFUSAL = re.compile(r"\s*Failed to query Device ID:\s*([0-9]{1,4})\s*")
_READY = "ready"
_CONTRADICTION = "two different values"


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that describes all devices, however many there are."""
    return (Command((_TOOL, "-q")),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the blocks. A device that the tool cannot query has a fault."""
    blocks, refused = _blocks(complete_lines(text_of(outputs)))
    devices = {index: _device(index, values) for index, values in blocks.items()}
    devices.update({index: Device(index, fault="qaic-util cannot query it") for index in refused})
    if not devices:
        return nothing_read("qaic-util", outputs)
    return Reading(tuple(devices[index] for index in sorted(devices)))


def _blocks(lines: Sequence[str]) -> tuple[dict[int, dict[str, str]], set[int]]:
    """Return the values of each device by their keys, in lower case, and the devices that could not be queried."""
    blocks: dict[int, dict[str, str]] = {}
    refused: set[int] = set()
    values: dict[str, str] = {}
    for line in lines:
        refusal = _REFUSAL.fullmatch(line)
        block = _BLOCK.fullmatch(line)
        if refusal:
            refused.add(int(refusal.group(1)))
            values = {}
            continue
        if block:
            values = blocks.setdefault(int(block.group(1)), {})
            line = block.group(2)
        key, colon, value = line.partition(":")
        if colon:
            _note(values, " ".join(key.lower().split()), value.strip())
    return blocks, refused


def _note(values: dict[str, str], key: str, value: str) -> None:
    values[key] = value if values.get(key, value) == value else _CONTRADICTION


def _device(index: int, values: Mapping[str, str]) -> Device:
    status = values.get("status", "").lower()
    total, free = count(values.get("nsp total")), count(values.get("nsp free"))
    used = None if total is None or free is None else total - free
    utilization = share(used, total) if status == _READY else None
    return Device(
        index,
        utilization=utilization,
        memory_used_mib=_memory_used(values),
        memory_total_mib=mebibytes_with_unit(values.get("dram total", "")),
        power_watts=watts(values.get("board power(watts)")),
        temperature_celsius=celsius(values.get("soc temperature(degree c)")),
        fault=None if utilization is not None else _fault(status, values),
    )


def _fault(status: str, values: Mapping[str, str]) -> str:
    if status != _READY:
        return f"Status is {quote(status)}"
    return f"Nsp Total is {quote(values.get('nsp total', ''))}, Nsp Free is {quote(values.get('nsp free', ''))}"


def _memory_used(values: Mapping[str, str]) -> float | None:
    total = mebibytes_with_unit(values.get("dram total", ""))
    free = mebibytes_with_unit(values.get("dram free", ""))
    return None if total is None or free is None or free > total else total - free
