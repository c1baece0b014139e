"""Which measurements a type can report, held against what ``nvidia-smi -q -x`` printed on real instances."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from constructs_lib.catalog import lookup
from constructs_lib.telemetry import NVIDIA

_REPORTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "nvidia_smi"
# Where the agent finds each measurement; the names of the power node differ between driver generations.
_NODES = {
    "utilization_gpu": ("utilization/gpu_util",),
    "utilization_memory": ("utilization/memory_util",),
    "temperature_gpu": ("temperature/gpu_temp",),
    "power_draw": (
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
    ),
    "memory_total": ("fb_memory_usage/total",),
    "memory_used": ("fb_memory_usage/used",),
    "memory_free": ("fb_memory_usage/free",),
    "pcie_link_gen_current": ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",),
    "pcie_link_width_current": ("pci/pci_gpu_link_info/link_widths/current_link_width",),
    "encoder_stats_session_count": ("encoder_stats/session_count",),
    "encoder_stats_average_fps": ("encoder_stats/average_fps",),
    "encoder_stats_average_latency": ("encoder_stats/average_latency",),
    "clocks_current_graphics": ("clocks/graphics_clock",),
    "clocks_current_sm": ("clocks/sm_clock",),
    "clocks_current_memory": ("clocks/mem_clock",),
    "clocks_current_video": ("clocks/video_clock",),
}
# Passively cooled cards have no fan to report; it is nobody's standard measurement.
_FAN = "fan_speed"


@pytest.mark.parametrize(
    "name",
    [
        "g4dn.xlarge",
        "g4dn.12xlarge",
        "g5.xlarge",
        "g5.12xlarge",
        "g5g.xlarge",
        "g6.xlarge",
        "g6e.xlarge",
        "g6f.large",
        "g7e.2xlarge",
        "gr6.4xlarge",
        "p2.xlarge",
        "p3.2xlarge",
        "p4d.24xlarge",
    ],
)
def test_the_readable_measurements_are_those_with_a_value(name: str) -> None:
    report = _REPORTS / f"{name}.xml"
    if not report.exists():
        pytest.skip("no recorded nvidia-smi report lies beside this checkout")
    gpus = ElementTree.parse(report).getroot().findall("gpu")
    facts = lookup(name)
    assert len(gpus) == facts.accelerators
    answered = {measurement for measurement, nodes in _NODES.items() if _value(gpus[0], nodes) != "N/A"}
    readable = {measurement.name for measurement in NVIDIA.measurements if measurement.readable_on(facts)}
    assert readable - {_FAN} == answered


def _value(gpu: ElementTree.Element, nodes: tuple[str, ...]) -> str:
    for node in nodes:
        found = gpu.findtext(node)
        if found is not None:
            return found
    return "N/A"
