"""What a model of accelerator can move and draws, whatever instance type it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from constructs_lib.catalog import tables
from constructs_lib.validation import integer, text


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """Facts about one whole accelerator. None: no public figure is known.

    Attributes:
        model: as EC2 names it, for example ``L4``.
        memory_bandwidth_gb_s: of its memory, GB/s.
        power_limit_w: the most that it draws, W.
        idle_w: what it draws with nothing to do, W.
        bandwidth_source: where the bandwidth comes from.
        power_source: where the limit comes from.
        idle_source: where the idle draw comes from.
    """

    model: str
    memory_bandwidth_gb_s: float | None
    power_limit_w: float | None
    idle_w: float | None
    bandwidth_source: str | None
    power_source: str | None
    idle_source: str | None


def accelerator(model: str, *, memory_mib: int | None = None) -> Accelerator | None:
    """Return what is known about a model of accelerator, or None for a model that the table does not have.

    Args:
        model: as EC2 names it, for example ``A100``; ``AcceleratedType.model``.
        memory_mib: of the accelerator, for a model that EC2 rents with more than one size of memory.
            Default: the smallest.
    """
    text("catalog", "model", model, cure="write for example 'L4'")
    if memory_mib is not None:
        integer("catalog", "memory_mib", memory_mib, minimum=1, cure="give MiB of one accelerator, or leave it out")
    sizes = _accelerators().get(model, {})
    fitting = [size for size in sizes if memory_mib is None or size <= memory_mib]
    if not fitting:
        return None
    return sizes[min(fitting) if memory_mib is None else max(fitting)]


@cache
def _accelerators() -> Mapping[str, Mapping[int, Accelerator]]:
    found: dict[str, dict[int, Accelerator]] = {}
    for row in tables.read("accelerators.csv"):
        found.setdefault(row["model"], {})[int(row["memory_mib_from"])] = Accelerator(
            model=row["model"],
            memory_bandwidth_gb_s=_figure(row["memory_bandwidth_gb_s"]),
            power_limit_w=_figure(row["power_limit_w"]),
            idle_w=_figure(row["idle_w"]),
            bandwidth_source=row["bandwidth_source"] or None,
            power_source=row["power_source"] or None,
            idle_source=row["idle_source"] or None,
        )
    return found


def _figure(cell: str) -> float | None:
    return float(cell) if cell else None
