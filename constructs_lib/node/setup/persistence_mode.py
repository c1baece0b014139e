"""Persistence mode: the NVIDIA driver stays loaded while no program uses a GPU."""

from __future__ import annotations

from ..readers import nvidia
from ..readings import NoReading
from .outcome import Machine, Outcome, reason, succeeded


def apply(machine: Machine, on: bool) -> Outcome:
    """Turn it on, or off, for every GPU."""
    answer = machine.run("nvidia-smi", "-pm", "1" if on else "0")
    report = machine.run("nvidia-smi", "-q", "-x")
    modes = () if isinstance(report, NoReading) else nvidia.persistence_modes(report.stdout)
    if not modes:
        return Outcome(False, f"no GPU can be read back ({reason(report)})")
    wanted = "on" if on else "off"
    others = [str(index) for index, mode in enumerate(modes) if mode is not on]
    if others:
        why = "" if succeeded(answer) else f" ({reason(answer)})"
        return Outcome(False, f"not {wanted} for GPU {', '.join(others)}{why}")
    return Outcome(True, f"{wanted} for all GPUs, {len(modes)}")
