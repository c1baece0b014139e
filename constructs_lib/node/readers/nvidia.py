"""NVIDIA GPUs, read from `nvidia-smi -q -x`.

The use of a GPU is `gpu_util`: the share of the time in which at least one kernel ran on it, percent, so a GPU that is
idle says 0. Memory is that of `fb_memory_usage`. Power is that of the GPU, not of the module around it; where a driver
gives both an average and an instant value, the instant one is taken, as the CloudWatch agent does. A GPU that is split
by MIG says N/A: its use is unknown, and nothing is broken.

Source: the DTDs v10 to v13 as reports of the drivers 470 to 590 have them (read 2026-11), and the plugin nvidia_smi of
the CloudWatch agent (aws/amazon-cloudwatch-agent, 2026-08-07). Kernel lines: the Xid catalogue of NVIDIA's
documentation, and awslabs/eks-node-monitoring-agent (2026-08-18).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..readings import Answer, Command, Device, Output, Reading
from .figures import celsius, mebibytes, number, percent, watts
from .reports import LONGEST_TEXT, nothing_read, quote, text_of

FAULT_LINES: tuple[str, ...] = (
    r"NVRM: Xid \(",
    r"nvidia-nvswitch\d+: SXid \(",
    r"NVRM: .*fallen off the bus",
    r"NVRM: .*RmInitAdapter failed",
)

_TOOL = "nvidia-smi"
_GPU_DEPTH = 2
_ROOT = re.compile(r"<nvidia_smi_log[\s>]")


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that describes all GPUs, however many there are."""
    return (Command((_TOOL, "-q", "-x")),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the report. What it says before it breaks off is taken; the GPU at which it breaks off has a fault."""
    gpus, breaks_off_within_gpu = _gpus(text_of(outputs))
    devices = [_device(index, gpu) for index, gpu in enumerate(gpus)]
    if breaks_off_within_gpu:
        devices.append(Device(len(devices), fault=f"{_TOOL} breaks off in the description of this GPU"))
    return Reading(tuple(devices)) if devices else nothing_read(_TOOL, outputs)


def persistence_modes(xml: str) -> tuple[bool | None, ...]:
    """Return for each GPU of a report whether its persistence mode is on; None where the report does not say."""
    modes = {"Enabled": True, "Disabled": False}
    return tuple(modes.get(_text(gpu, "persistence_mode")) for gpu in _gpus(xml)[0])


def application_clocks(xml: str) -> tuple[tuple[int, int] | None, ...]:
    """Return for each GPU of a report the clocks that are set for applications: memory, graphics, in MHz.

    None where the report gives none: a fractional GPU has none, and many drivers from 580 on call them deprecated.
    """
    return tuple(_clocks(gpu) for gpu in _gpus(xml)[0])


def _clocks(gpu: Element) -> tuple[int, int] | None:
    memory = number(_text(gpu, "applications_clocks/mem_clock"), "MHz")
    graphics = number(_text(gpu, "applications_clocks/graphics_clock"), "MHz")
    if memory is None or graphics is None or memory <= 0 or graphics <= 0:
        return None
    return int(memory), int(graphics)


def _device(index: int, gpu: Element) -> Device:
    said = _text(gpu, "utilization/gpu_util")
    split = _text(gpu, "mig_mode/current_mig") == "Enabled"
    utilization = None if split else percent(said)
    return Device(
        index,
        utilization=utilization,
        memory_used_mib=mebibytes(_text(gpu, "fb_memory_usage/used")),
        memory_total_mib=mebibytes(_text(gpu, "fb_memory_usage/total")),
        power_watts=_power(gpu),
        temperature_celsius=celsius(_text(gpu, "temperature/gpu_temp")),
        fault=_fault(split, utilization, said),
        use_unknown_by_design=split,
    )


def _fault(split: bool, utilization: float | None, said: str) -> str | None:
    if split:
        return "MIG is on: the driver does not say how much the GPU as a whole is used"
    return None if utilization is not None else f"gpu_util says {quote(said)}"


def _power(gpu: Element) -> float | None:
    # The names of the node and of what it holds differ between driver generations.
    for readings in ("gpu_power_readings", "power_readings"):
        for draw in ("instant_power_draw", "power_draw", "average_power_draw"):
            power = watts(_text(gpu, f"{readings}/{draw}"))
            if power is not None:
                return power
    return None


def _text(gpu: Element, path: str) -> str:
    """Return the text of a field, empty if there is none or it has parts, which no figure has."""
    field = gpu.find(path)
    return "" if field is None or len(field) else (field.text or "").strip()


def _gpus(text: str) -> tuple[list[Element], bool]:
    """Return the GPUs that are described in full, and whether the report breaks off within another one."""
    start = _ROOT.search(text)
    # No nvidia-smi declares entities, and those of a stranger can make a report grow without end. The DTD that the line
    # DOCTYPE names lies before the root, so nobody goes to look for it.
    if start is None or len(text) > LONGEST_TEXT or "<!ENTITY" in text:
        return [], False
    collector = _GpuCollector()
    parser = expat.ParserCreate()
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.data
    # A tool that fails half way leaves a report that is not well-formed; the GPUs before that are good.
    with contextlib.suppress(expat.ExpatError):
        parser.Parse(text[start.start() :].encode("utf-8", "replace"), True)
    return collector.gpus, collector.within_gpu


class _GpuCollector:
    """Builds one element for each GPU of a report, and nothing else of it."""

    def __init__(self) -> None:
        self.gpus: list[Element] = []
        self._depth = 0
        self._builder: TreeBuilder | None = None

    @property
    def within_gpu(self) -> bool:
        """Whether the description of a GPU has begun and not ended."""
        return self._builder is not None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == _GPU_DEPTH and tag == "gpu":
            self._builder = TreeBuilder()
        if self._builder is not None:
            self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(tag)
            if self._depth == _GPU_DEPTH:
                self.gpus.append(self._builder.close())
                self._builder = None
        self._depth -= 1

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)
