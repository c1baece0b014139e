"""Media accelerators of VT1 (Alveo U30), read from the list that `xrmadm` writes as JSON.

A card is two devices, and each has compute units: decoders, scalers, look-ahead, encoders. A unit's `usedLoad` says how
much of it is given to streams, "831472 of 1000000"; the use of a device is that of its busiest unit, percent, and a
device without streams says 0. Only what asks the resource manager (XRM) is counted, as FFmpeg and GStreamer do. Memory,
power and temperature are not in the list. A device on which no program (xclbin) is loaded has no units: its use is
unknown. The keys are padded with blanks.

The vendor ended the life of this stack, and one release notes that the list does not work on VT1; then there is no
reading, and nothing is taken for idle.

Source: "Card Management", Xilinx Video SDK 2.0 to 3.0, and the XRM command line (Xilinx/XRM, docs/cli.rst, 2023).
Kernel lines: the drivers xocl and xclmgmt (Xilinx/XRT).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..readings import UNREADABLE, Answer, Command, Device, NoReading, Output, Reading
from .figures import share
from .reports import json_document, member, nothing_read, quote, text_of

FAULT_LINES: tuple[str, ...] = (
    r"(?:xocl|xclmgmt).*[Ff]irewall.*tripped",
    r"(?:xocl|xclmgmt).*[Cc]ard .*(?:reset|[Bb]ad state)",
)

REQUEST = Path(__file__).with_name("xrm-list.json")
"""What xrmadm is asked for: a list of all devices."""

_TOOL = "/opt/xilinx/xrm/bin/xrmadm"
_DEVICE = re.compile(r"device_([0-9]{1,3})")
_UNIT = re.compile(r"cu_[0-9]{1,4}")
_LOAD = re.compile(r"\s*([0-9]{1,12}) of ([0-9]{1,12})\s*")


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that describes all devices, however many there are."""
    return (Command((_TOOL, str(REQUEST))),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the list. What the resource manager says instead of one is the reason why there is no reading."""
    response = member(json_document(text_of(outputs)), "response")
    data = _trimmed(member(response, "data"))
    devices: dict[int, Device] = {}
    for name, description in data.items():
        match = _DEVICE.fullmatch(name)
        if match:
            index = int(match.group(1))
            devices[index] = _device(index, _trimmed(description))
    if devices:
        return Reading(tuple(devices[index] for index in sorted(devices)))
    if response is not None:
        return NoReading(UNREADABLE, f"xrmadm lists no device; it said: {quote(response)}")
    return nothing_read("xrmadm", outputs)


def _trimmed(mapping: object) -> Mapping[str, object]:
    """Return a JSON object with the blanks cut from its keys, empty if it is none."""
    return {str(key).strip(): value for key, value in mapping.items()} if isinstance(mapping, dict) else {}


def _device(index: int, description: Mapping[str, object]) -> Device:
    units = [_trimmed(value).get("usedLoad") for name, value in description.items() if _UNIT.fullmatch(name)]
    loads = [_load(said) for said in units]
    known = [load for load in loads if load is not None]
    if not units:
        return Device(index, fault="it has no compute units: no program (xclbin) is loaded")
    if len(known) < len(loads):
        unreadable = units[loads.index(None)]
        return Device(index, fault=f"the usedLoad of a compute unit says {quote(unreadable)}")
    return Device(index, utilization=max(known))


def _load(said: object) -> float | None:
    match = _LOAD.fullmatch(said) if isinstance(said, str) else None
    return share(match.group(1), match.group(2)) if match else None
