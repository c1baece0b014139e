"""Application clocks: the frequencies at which NVIDIA GPUs run programs."""

from __future__ import annotations

from collections.abc import Mapping

from ..readers import nvidia
from ..readings import NoReading
from .outcome import Machine, Outcome, reason, succeeded


def apply(machine: Machine, clocks: Mapping[str, tuple[int, int]]) -> Outcome:
    """Set memory and graphics clock, MHz, as the table has them for the family of this machine's instance type."""
    if machine.instance_type is None:
        return Outcome(False, "the instance type is not known, so neither are its clocks")
    family = machine.instance_type.partition(".")[0]
    if family not in clocks:
        return Outcome(False, f"no clocks are given for the family {family}")
    memory, graphics = wanted = clocks[family]
    answer = machine.run("nvidia-smi", "-ac", f"{memory},{graphics}")
    report = machine.run("nvidia-smi", "-q", "-x")
    read = () if isinstance(report, NoReading) else nvidia.application_clocks(report.stdout)
    if not read:
        return Outcome(False, f"no GPU can be read back ({reason(report)})")
    others = [f"{index} ({_shown(pair)})" for index, pair in enumerate(read) if pair != wanted]
    if others:
        why = "" if succeeded(answer) else f"; {reason(answer)}"
        return Outcome(False, f"not {_shown(wanted)} on GPU {', '.join(others)}{why}")
    return Outcome(True, f"{_shown(wanted)} on all GPUs, {len(read)}")


def _shown(pair: tuple[int, int] | None) -> str:
    # Newer drivers call application clocks deprecated and report none: then nobody can say that they are in force.
    return "the driver tells none" if pair is None else f"memory {pair[0]} MHz, graphics {pair[1]} MHz"
