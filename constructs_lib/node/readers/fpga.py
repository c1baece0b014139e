"""FPGAs of F2, read from `fpga-describe-local-image -M`, once for each slot.

An FPGA has no busy time, only counters: what the loaded image (AFI) moved over its PCIe master port and its DDR memory
since it was loaded. Their sum is `transfers`; the FPGA is in use while it grows, and idle while it stays. An image that
moves data only through its HBM, or that is only written to by the host, has no counter that shows it. Power is that of
the supply Vccint, the last of one a minute, W. An image that failed to load, or that was stopped for its power
(afi-power-violation), has a fault and no known use.

Reading leaves the counters as they are, for whoever else reads them. The SDK wants its tools to be used by one process
at a time for each FPGA: a reading that meets another use of them can fail, and then the use is unknown.

Source: sdk/userspace/fpga_mgmt_tools of aws/aws-fpga, branch f2 (2025-01): fpga_local_cmd.c and its README. Kernel
lines: the XDMA driver (Xilinx/dma_ip_drivers).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..readings import Answer, Command, Device, Output, Reading
from .figures import count, watts
from .reports import LONGEST_TEXT, complete_lines, nothing_read, quote, said

FAULT_LINES: tuple[str, ...] = (
    r"afi-power-violation",
    r"xdma:.*(?:timed out|\berror\b)",
)

_TOOL = "fpga-describe-local-image"
_TIME_LIMIT_SECONDS = 5.0
_IMAGE = re.compile(
    r"AFI\s+(?P<slot>[0-9]{1,3})\s+\S+\s+(?P<status>\S+)\s+-?[0-9]+\s+(?P<error>\S+)\s+-?[0-9]+\s+0x\S+"
)
_COUNTER = re.compile(r"\s*(?:[a-z0-9-]+-)?(?:write|read)-count=(.*)")
_POWER = re.compile(r"\s*Last measured:(.*)")
_AFTER_COUNTERS = "Power consumption"
_IN_ORDER = ("loaded", "cleared", "not-programmed")


def commands(expected: int) -> tuple[Command, ...]:
    """Return one command for each slot of the machine, and one if none is known."""
    slots = range(max(expected, 1))
    return tuple(Command((_TOOL, "-S", str(slot), "-M"), time_limit_seconds=_TIME_LIMIT_SECONDS) for slot in slots)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read each slot's answer. A slot that gives none has a fault; if no slot gives one there is no reading."""
    lines = [complete_lines(output.stdout) if len(output.stdout) <= LONGEST_TEXT else [] for output in outputs]
    if not any(_image(answer) for answer in lines):
        return nothing_read(_TOOL, outputs)
    return Reading(tuple(_device(slot, outputs[slot], answer) for slot, answer in enumerate(lines)))


def _image(lines: Sequence[str]) -> re.Match[str] | None:
    """Return the line that describes the loaded image. The tool prints it before everything else."""
    return next((match for match in map(_IMAGE.fullmatch, map(str.rstrip, lines)) if match), None)


def _device(slot: int, output: Output, lines: Sequence[str]) -> Device:
    fault = _fault(slot, output, lines)
    transfers = None if fault else _transfers(lines)
    powers = [watts(match.group(1), "watts") for match in map(_POWER.fullmatch, lines) if match]
    return Device(
        slot,
        transfers=transfers,
        power_watts=powers[0] if len(powers) == 1 else None,
        fault=fault if fault or transfers is not None else "the counters of its transfers are not all there",
    )


def _fault(slot: int, output: Output, lines: Sequence[str]) -> str | None:
    image = _image(lines)
    if output.exit_status != 0 or image is None:
        return f"{_TOOL} ended with exit status {output.exit_status} and said: {said(output)}"
    if int(image["slot"]) != slot:
        return f"{_TOOL} answered for slot {image['slot']}"
    if image["status"] not in _IN_ORDER or image["error"] != "ok":
        return f"the image is {quote(image['status'])}: {quote(image['error'])}"
    return None


def _transfers(lines: Sequence[str]) -> int | None:
    """Return the sum of the counters, or None if one is no number or the list of them breaks off."""
    counters = [count(match.group(1)) for match in map(_COUNTER.fullmatch, lines) if match]
    known = [counter for counter in counters if counter is not None]
    complete = any(line.startswith(_AFTER_COUNTERS) for line in lines)
    return sum(known) if complete and known and len(known) == len(counters) else None
