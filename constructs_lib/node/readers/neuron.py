"""AWS Neuron devices (Trainium, Inferentia), read from the second document that `neuron-monitor` streams.

The first one can come before anything was measured. The second covers three seconds: the use of a device is that of its
busiest NeuronCore in them, percent. Only programs that use the Neuron runtime are listed: if there is none, the
devices are idle, and each says 0. The memory is the sum over the cores of a device and over the programs, MiB.
neuron-monitor gives neither power nor temperature.

A core's device is its number divided by the cores that the document says a device has, as the CloudWatch agent counts.
Where logical NeuronCores join physical ones (LNC), both are taken to be counts of logical cores, which is what
neuron-ls lists; the busiest device of the machine is right either way.

Source: the Neuron Monitor User Guide (aws-neuron/aws-neuron-sdk, 2026-08-21) and a document from an inf2.xlarge with
runtime 2.30. Kernel lines: the runtime troubleshooting guide, and awslabs/eks-node-monitoring-agent (2026-08-18).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..readings import UNREADABLE, Answer, Command, Device, NoReading, Output, Reading
from .figures import count, mebibytes_of_bytes, number, percent
from .reports import json_document, member, nothing_read, quote, text_of

FAULT_LINES: tuple[str, ...] = (r"NEURON_HW_ERR=",)

CONFIGURATION = Path(__file__).with_name("neuron-monitor.json")
"""What neuron-monitor is asked for: the use of cores and memory, measured over three seconds."""

TOOL = "/opt/aws/neuron/bin/neuron-monitor"
"""Where the package aws-neuronx-tools has it: on no PATH of a service."""

_SECOND_LINE = 'test -x "$1" || { echo "$1: no such tool" >&2; exit 127; }; "$1" -c "$2" | sed -n "2{p;q;}"'
_TIME_LIMIT_SECONDS = 20.0
_COUNTERS = ("report", "neuroncore_counters")
_CORES_IN_USE = (*_COUNTERS, "neuroncores_in_use")
_MEMORY_OF_CORES = ("report", "memory_used", "neuron_runtime_used_bytes", "usage_breakdown", "neuroncore_memory_usage")
_MOST_DEVICES = 256
_MOST_CORES_PER_DEVICE = 64


def commands(expected: int) -> tuple[Command, ...]:
    """Return the one command that describes all devices, however many there are."""
    argv = ("sh", "-c", _SECOND_LINE, "sh", TOOL, str(CONFIGURATION))
    return (Command(argv, time_limit_seconds=_TIME_LIMIT_SECONDS, first_line_only=True),)


def parse(outputs: Sequence[Output]) -> Answer:
    """Read the document. Without the number of devices and cores in it, nothing can be said to be idle."""
    document = json_document(text_of(outputs))
    hardware = member(document, "neuron_hardware_info")
    runtimes = member(document, "neuron_runtime_data")
    if not isinstance(hardware, dict):
        return nothing_read("neuron-monitor", outputs)
    devices, cores = count(hardware.get("neuron_device_count")), count(hardware.get("neuroncore_per_device_count"))
    if hardware.get("error"):
        return NoReading(UNREADABLE, f"neuron_hardware_info says: {quote(hardware['error'])}")
    if not devices or not cores or devices > _MOST_DEVICES or cores > _MOST_CORES_PER_DEVICE:
        return NoReading(UNREADABLE, f"neuron_hardware_info gives no devices: {quote(hardware)}")
    if not isinstance(runtimes, list):
        return NoReading(UNREADABLE, "neuron_runtime_data is no list of programs")
    return _reading(runtimes, devices, cores, mebibytes_of_bytes(hardware.get("neuron_device_memory_size")))


def _reading(runtimes: Sequence[object], devices: int, cores: int, memory_mib: float | None) -> Answer:
    use = [pair for runtime in runtimes for pair in _use_of_cores(runtime)]
    memory = [pair for runtime in runtimes for pair in _memory_of_cores(runtime)]
    if any(core is None or core >= devices * cores for core, _ in (*use, *memory)):
        return NoReading(UNREADABLE, "a NeuronCore has a number that no core of this machine can have")
    use_by_device, memory_by_device = _by_device(use, cores), _by_device(memory, cores)
    error = next(filter(None, map(_error, runtimes)), None)
    memory_is_known = all(isinstance(member(runtime, *_MEMORY_OF_CORES), dict) for runtime in runtimes)
    readings = []
    for index in range(devices):
        utilization, fault = _use(use_by_device[index], error)
        used_mib = _used_mib(memory_by_device[index]) if memory_is_known else None
        readings.append(Device(index, utilization, None, used_mib, memory_mib, fault=fault))
    return Reading(tuple(readings))


def _use_of_cores(runtime: object) -> Iterator[tuple[int | None, float | None]]:
    """Return the number of each core that a program uses, and its use; None where it is no number."""
    in_use = member(runtime, *_CORES_IN_USE)
    for core, counters in in_use.items() if isinstance(in_use, dict) else ():
        yield count(core), percent(member(counters, "neuroncore_utilization"))


def _memory_of_cores(runtime: object) -> Iterator[tuple[int | None, float | None]]:
    """Return the number of each core whose memory a program uses, and the bytes; None where it is no number."""
    used = member(runtime, *_MEMORY_OF_CORES)
    for core, parts in used.items() if isinstance(used, dict) else ():
        for size in parts.values() if isinstance(parts, dict) else (None,):
            yield count(core), number(size)


def _by_device(pairs: Sequence[tuple[int | None, float | None]], cores: int) -> dict[int, list[float | None]]:
    """Group what is known of cores by the device that they belong to."""
    values: dict[int, list[float | None]] = defaultdict(list)
    for core, value in pairs:
        if core is not None:
            values[core // cores].append(value)
    return values


def _use(cores: Sequence[float | None], error: str | None) -> tuple[float | None, str | None]:
    """Return the use of the busiest core, or None and why it is not known.

    A program that could not be measured may use any device that looks idle.
    """
    known = [use for use in cores if use is not None]
    if len(known) < len(cores):
        return None, "the neuroncore_utilization of a NeuronCore is no percentage"
    busiest = max(known, default=0.0)
    return (None, error) if error and busiest == 0 else (busiest, None)


def _used_mib(sizes: Sequence[float | None]) -> float | None:
    """Return the sum of sizes in bytes, in MiB, or None if one is unknown or below 0."""
    known = [size for size in sizes if size is not None and size >= 0]
    return mebibytes_of_bytes(sum(known)) if len(known) == len(sizes) else None


def _error(runtime: object) -> str | None:
    """Return why the cores that a program uses are not known, or None if they are."""
    for said in (member(runtime, "error"), member(runtime, *_COUNTERS, "error")):
        if said:
            return f"neuron-monitor cannot measure a program: {quote(said)}"
    if not isinstance(member(runtime, *_CORES_IN_USE), dict):
        return "neuron-monitor lists a program without its NeuronCores"
    return None
