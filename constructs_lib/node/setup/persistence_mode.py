"""Persistence mode: the NVIDIA driver stays loaded while no program uses a GPU."""

from __future__ import annotations

from ..readers import nvidia
from ..readings import NoReading
from .outcome import Machine, Outcome, not_in_force, not_read_back, reason


def apply(machine: Machine, on: bool) -> Outcome:
    """Turn it on, or off, for every GPU."""
    answer = machine.run("nvidia-smi", "-pm", "1" if on else "0")
    report = machine.run("nvidia-smi", "-q", "-x")
    modes = () if isinstance(report, NoReading) else nvidia.persistence_modes(report.stdout)
    if not modes:
        return not_read_back(answer, f"no GPU can be read back ({reason(report)})")
    wanted = "on" if on else "off"
    others = [str(index) for index, mode in enumerate(modes) if mode is (not on)]
    if others:
        return not_in_force(answer, f"not {wanted} for GPU {', '.join(others)}")
    silent = [str(index) for index, mode in enumerate(modes) if mode is None]
    if silent:
        return not_read_back(answer, f"GPU {', '.join(silent)} does not tell whether it is {wanted}")
    return Outcome(True, f"{wanted} for all GPUs, {len(modes)}")
