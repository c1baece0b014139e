"""Application clocks: the frequencies at which NVIDIA GPUs run programs."""

from __future__ import annotations

from collections.abc import Mapping

from ..readers import nvidia
from ..readings import NoReading, Output
from .outcome import Machine, Outcome, not_in_force, not_read_back, reason


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
        return not_read_back(answer, f"no GPU can be read back ({reason(report)})")
    others = [f"{index} ({_shown(pair)})" for index, pair in enumerate(read) if pair not in (wanted, None)]
    if others:
        return not_in_force(answer, f"not {_shown(wanted)} on GPU {', '.join(others)}")
    # Newer drivers call application clocks deprecated and report none.
    silent = [str(index) for index, pair in enumerate(read) if pair is None]
    if silent:
        detail = f"GPU {', '.join(silent)} does not tell its clocks, {_shown(wanted)} were asked for"
        return not_read_back(answer, detail + _warning(answer))
    return Outcome(True, f"{_shown(wanted)} on all GPUs, {len(read)}")


def _shown(pair: tuple[int, int]) -> str:
    return f"memory {pair[0]} MHz, graphics {pair[1]} MHz"


def _warning(answer: Output | NoReading) -> str:
    """Return what the tool says about a GPU that has no such clocks; it ends well all the same."""
    lines = answer.stdout.splitlines() if isinstance(answer, Output) else []
    return next((f"; nvidia-smi: {line.strip()}" for line in lines if "not supported" in line), "")
