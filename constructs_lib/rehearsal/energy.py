"""What power the instances of a run draw, and what carbon the grid of their region emits for it. An estimate.

An accelerator draws its idle power, and in use the limit that its driver has on EC2, which is the most: work that does
not fill it draws less. The server beside it is reckoned by vCPUs and memory, between rest and half of its load by how
many of its accelerators are in use. The data centre adds its share (PUE). Making the machines is not in here.

Where a figure is missing, as for all that AWS designs itself (Trainium, Inferentia), nothing is told, and why.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from constructs_lib.catalog import accelerator, lookup
from constructs_lib.errors import FleetError
from constructs_lib.rehearsal import tables
from constructs_lib.rehearsal.figures import uses
from constructs_lib.rehearsal.record import Record

_HOUR = 3_600
_MIB_IN_GB = 1_024
_DIGITS = 6
_AT_REST, _AT_HALF = 0, 1
_HOST_SOURCE = "servers: Teads, 2021, by way of Cloud Carbon Footprint, 2026-04-24; so is AWS's PUE of 1.135"


class Power(NamedTuple):
    """What a machine draws at the plug of its server, in W, with its accelerators idle and with all of them in use."""

    idle_w: float
    busy_w: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy and carbon of a run.

    Attributes:
        kwh: drawn, None if a figure of a type that ran is missing.
        kg_co2e: emitted for it by the grid, None likewise, or if nothing is known of the region's grid.
        reasons: why one of them is None.
        sources: what the figures are from, with dates.
    """

    kwh: float | None
    kg_co2e: float | None
    reasons: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Why a figure is missing, and where the others are from."""
        return (*self.reasons, *self.sources)

    def as_json(self) -> dict[str, Any]:
        """Return both figures under the report's keys."""
        return {
            "energy_kwh": None if self.kwh is None else round(self.kwh, _DIGITS),
            "carbon_kg": None if self.kg_co2e is None else round(self.kg_co2e, _DIGITS),
        }


class MissingFigureError(LookupError):
    """No public figure is known that it takes to tell a type's power."""


def energy(record: Record, region: str) -> Energy:
    """Return energy and carbon of a run.

    Args:
        record: of the run.
        region: where it runs, for example ``eu-west-1``.
    """
    try:
        powers = {name: power_of(name) for name in sorted({each.instance_type for each in record.instances})}
    except MissingFigureError as missing:
        return Energy(kwh=None, kg_co2e=None, reasons=(str(missing),), sources=())
    worked: dict[int, float] = defaultdict(float)
    for use in uses(record):
        worked[use.instance] += use.accelerators * (use.end_s - use.begin_s) / record.accelerators
    joules = []
    for number, each in enumerate(record.instances):
        power = powers[each.instance_type]
        paid = (record.end_s if each.ended_s is None else each.ended_s) - each.launched_s
        joules += [power.idle_w * paid, (power.busy_w - power.idle_w) * worked[number]]
    kwh = math.fsum(joules) * _host()["pue"][0] / _HOUR / 1_000
    sources = (_HOST_SOURCE, *dict.fromkeys(power.source for power in powers.values()))
    grid = _grid().get(region)
    if grid is None:
        return Energy(kwh=kwh, kg_co2e=None, reasons=(f"no figure of the grid of {region} is known",), sources=sources)
    return Energy(kwh=kwh, kg_co2e=kwh * grid.grams_per_kwh / 1_000, reasons=(), sources=(*sources, grid.source))


def power_of(instance_type: str) -> Power:
    """Return what an instance of a type draws, without the data centre's share.

    Raises:
        MissingFigureError: the catalogue lacks the type, its vCPUs or memory, or a figure of its accelerators' power.
    """
    try:
        type_ = lookup(instance_type)
    except FleetError as unknown:
        raise MissingFigureError(f"{instance_type}: the catalogue has no facts about it") from unknown
    chip = accelerator(type_.model, memory_mib=type_.accelerator_memory_mib)
    if chip is None or chip.power_limit_w is None:
        raise MissingFigureError(f"{instance_type}: no public figure of the power of its {type_.model} is known")
    if chip.idle_w is None:
        raise MissingFigureError(f"{instance_type}: no public figure of the idle power of its {type_.model} is known")
    if type_.vcpus is None or type_.memory_mib is None:
        raise MissingFigureError(f"{instance_type}: its vCPUs and memory are not in the catalogue")
    chips = type_.accelerators * (1.0 if type_.fraction is None else type_.fraction)
    gigabytes = type_.memory_mib / _MIB_IN_GB
    host = _host()
    idle, busy = (
        type_.vcpus * (host["package"][load] + host["machine"][load]) + gigabytes * host["memory"][load]
        for load in (_AT_REST, _AT_HALF)
    )
    sources = "; ".join(dict.fromkeys(filter(None, (chip.power_source, chip.idle_source))))
    return Power(
        idle_w=idle + chips * chip.idle_w,
        busy_w=busy + chips * chip.power_limit_w,
        source=f"{type_.model}, {chip.idle_w:g} to {chip.power_limit_w:g} W: {sources}",
    )


@cache
def _host() -> Mapping[str, tuple[float, float]]:
    """W for each vCPU or GB by part of the server, at rest and at half of its load; the factor of the data centre."""
    return {row["part"]: (float(row["idle"]), float(row["half"])) for row in tables.read("host_power.csv")}


class _Grid(NamedTuple):
    grams_per_kwh: float
    source: str


@cache
def _grid() -> Mapping[str, _Grid]:
    found = {}
    for row in tables.read("grid.csv"):
        figure = f"grid of {row['region']}, {row['grams_per_kwh']} g CO2e for a kWh"
        source = f"{figure}: {row['source']}, by way of Cloud Carbon Footprint, {row['date']}"
        found[row["region"]] = _Grid(float(row["grams_per_kwh"]), source)
    return found
