"""One measurement of the program in a fresh process; prints its result as a line of JSON.

Called by ``benchmarks.node`` as a script, with the directory of the program, so that nothing else is loaded.
"""

from __future__ import annotations

import importlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

INTERVAL_SECONDS = 60
READINGS_AN_HOUR = 3600 // INTERVAL_SECONDS
LAUNCHED = 1_800_000_000.0

_SECTIONS = 16
_FIELDS_A_SECTION = 24


def nvidia_report(count: int) -> str:
    """Return a report as ``nvidia-smi -q -x`` writes it: about 20 KB and 400 elements for each GPU."""
    filler = "".join(
        f"\t\t<section_{section}>\n"
        + "".join(
            f"\t\t\t<quite_a_long_name_{field}>N/A</quite_a_long_name_{field}>\n" for field in range(_FIELDS_A_SECTION)
        )
        + f"\t\t</section_{section}>\n"
        for section in range(_SECTIONS)
    )
    gpus = "".join(
        f'\t<gpu id="00000000:{index:02X}:00.0">\n\t\t<product_name>NVIDIA L4</product_name>\n'
        "\t\t<mig_mode>\n\t\t\t<current_mig>N/A</current_mig>\n\t\t</mig_mode>\n"
        f"{filler}"
        "\t\t<fb_memory_usage>\n\t\t\t<total>23034 MiB</total>\n\t\t\t<used>1024 MiB</used>\n\t\t</fb_memory_usage>\n"
        "\t\t<utilization>\n\t\t\t<gpu_util>37 %</gpu_util>\n\t\t</utilization>\n"
        "\t\t<temperature>\n\t\t\t<gpu_temp>41 C</gpu_temp>\n\t\t</temperature>\n"
        "\t\t<gpu_power_readings>\n\t\t\t<instant_power_draw>33.51 W</instant_power_draw>\n\t\t</gpu_power_readings>\n"
        "\t</gpu>\n"
        for index in range(count)
    )
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
    return f"{head}\t<attached_gpus>{count}</attached_gpus>\n{gpus}</nvidia_smi_log>\n"


def neuron_document(count: int) -> str:
    """Return a document of ``neuron-monitor`` for devices of two cores, all used by one program."""
    cores = {str(core): {"neuroncore_utilization": 37.5} for core in range(2 * count)}
    memory = {core: dict.fromkeys(("constants", "model_code", "tensors", "runtime_memory"), 1 << 28) for core in cores}
    used = {"host": 1 << 30, "neuron_device": 1 << 30, "usage_breakdown": {"neuroncore_memory_usage": memory}}
    report = {
        "execution_stats": {"period": 1.0, "error_summary": {}, "latency_stats": {}, "error": ""},
        "memory_used": {"period": 1.0, "neuron_runtime_used_bytes": used, "error": ""},
        "neuroncore_counters": {"period": 1.0, "neuroncores_in_use": cores, "error": ""},
    }
    document = {
        "neuron_runtime_data": [{"pid": 100, "neuron_runtime_tag": "train", "error": "", "report": report}],
        "neuron_hardware_info": {
            "neuron_device_count": count,
            "neuroncore_per_device_count": 2,
            "neuron_device_memory_size": 32 << 30,
            "error": "",
        },
    }
    return json.dumps(document) + "\n"


ANSWERS: dict[str, Callable[[int], str]] = {"nvidia": nvidia_report, "neuron": neuron_document}


def part(name: str) -> Any:
    """Return a module of the program."""
    return importlib.import_module(f"accelerated_node.{name}")


class Simulated:
    """The program, a clock that its owner moves, and an agent that listens and forgets."""

    def __init__(self, kind: str, count: int, directory: Path, tools: Any, reader: Any) -> None:
        self.now = LAUNCHED
        self._agent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._agent.bind(("127.0.0.1", 0))
        self._agent.setblocking(False)
        names, places = part("names"), part("places").Places(directory)
        settings = part("settings").Settings(
            kind, INTERVAL_SECONDS, self._agent.getsockname(), 5.0, names.MEASUREMENTS, {"type.size": count}
        )
        identity = part("instance_metadata").Identity("i-1", "type.size", LAUNCHED)
        sender = part("statsd").connect(settings.statsd)
        stuck = part("stuck").Stuck()
        events = part("events").Events(sys.stderr.write, lambda: self.now)
        composed = part("composition").machine_of(settings, reader, tools or self._tools(stuck), sender, places)
        machine = replace(
            composed, identity=lambda: identity, now=lambda: self.now, since_boot=lambda: self.now - LAUNCHED
        )
        self._program = part("program").Program(settings, machine, events, stuck, places)

    @staticmethod
    def _tools(stuck: Any) -> Any:
        return part("tool").Tools(stuck, time.monotonic)

    def read(self) -> None:
        """Do what the program does in an interval; fail unless the accelerators were read."""
        self.now += INTERVAL_SECONDS
        self._program.read_once()
        received = b""
        while True:
            try:
                received += self._agent.recv(65536)
            except BlockingIOError:
                break
        if b"node_heartbeat" not in received:
            raise SystemExit(f"no heartbeat in {received!r}")


class Handed:
    """Answers that are handed over, without a process; nobody is logged in."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._output = part("readings").Output

    def run(self, commands: Any) -> Any:
        return [self._output(0, self._text) for _ in commands]

    def run_one(self, command: Any) -> Any:
        return self._output(0, "")


class StandIn:
    """A kind's reader whose tool is a script of ours."""

    def __init__(self, reader: Any, script: Path) -> None:
        self.FAULT_LINES = reader.FAULT_LINES
        self.parse = reader.parse
        self._reader = reader
        self._script = script

    def commands(self, expected: int) -> Any:
        return tuple(replace(command, argv=("sh", str(self._script))) for command in self._reader.commands(expected))


def way_to_read(way: str, kind: str, count: int, directory: Path) -> Callable[[], None]:
    """Return what is done in each interval."""
    text = ANSWERS[kind](count)
    answer, script = directory / "answer", directory / "tool"
    answer.write_text(text)
    script.write_text(f"exec cat {answer}\n")
    if way == "plain":
        return lambda: _run_bare(script)
    reader = part("readers").reader_of(kind)
    if way == "in_process":
        return Simulated(kind, count, directory, Handed(text), reader).read
    return Simulated(kind, count, directory, None, StandIn(reader, script)).read


def _run_bare(script: Path) -> None:
    subprocess.run(["sh", str(script)], capture_output=True, check=True)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def memory_mib(key: str) -> float:
    """Return a figure of this process's memory; what its parent had is not in it, as it is in ru_maxrss."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:")) / 1024


def main(program: str, way: str, kind: str, count: str, hours: str) -> None:
    """Measure one way to read, and print what it took."""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "lib"
        library.mkdir()
        (library / "accelerated_node").symlink_to(program)
        sys.path.insert(0, str(library))
        read = way_to_read(way, kind, int(count), Path(directory))
        for _ in range(READINGS_AN_HOUR):
            read()
        before, resident = cpu_seconds(), memory_mib("VmRSS")
        readings = READINGS_AN_HOUR * int(hours)
        for _ in range(readings):
            read()
        share = 100 * (cpu_seconds() - before) / (readings * INTERVAL_SECONDS)
        result = {
            "share_percent": round(share, 4),
            "peak_mib": round(memory_mib("VmHWM"), 1),
            "grown_mib": round(memory_mib("VmRSS") - resident, 1),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
