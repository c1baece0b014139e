"""EC2 instance types without accelerator, to answer whether a CPU is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.catalog.offerings import offered_in
from constructs_lib.catalog.prices import HOME, price


@dataclass(frozen=True, kw_only=True)
class CpuType:
    """The facts about one instance type without accelerator.

    Attributes:
        name: for example ``c8i.4xlarge``.
        vcpus: of an instance.
        memory_mib: of an instance, MiB.
        architecture: ``x86_64`` or ``arm64``.
        processor: who makes it: ``Intel``, ``AMD`` or ``AWS`` (Graviton).
        amx: whether it has Intel Advanced Matrix Extensions. None: not known.
        usd_per_hour: list price of a Linux On-Demand instance in us-east-1, USD. None: not known.
        regions: that offer it. None: not known.
    """

    name: str
    vcpus: int
    memory_mib: int
    architecture: str
    processor: str
    amx: bool | None = None
    usd_per_hour: float | None = None
    regions: tuple[str, ...] | None = None

    @property
    def family(self) -> str:
        """The part before the dot: ``c8i`` for ``c8i.4xlarge``."""
        return self.name.partition(".")[0]


@cache
def cpu_types() -> Mapping[str, CpuType]:
    """The types without accelerator that the catalog carries for comparison, by name: recent C and M families."""
    amx = {row["family"]: row["amx"] == "yes" for row in tables.read("cpu_baselines.csv")}
    return MappingProxyType({row["type"]: _from_row(row, amx) for row in tables.read("cpu_types.csv")})


def _from_row(row: Mapping[str, str], amx: Mapping[str, bool]) -> CpuType:
    name = row["type"]
    listed = price(name, HOME)
    return CpuType(
        name=name,
        vcpus=int(row["vcpus"]),
        memory_mib=int(row["memory_mib"]),
        architecture=row["architecture"],
        processor=row["processor"],
        amx=amx.get(name.partition(".")[0]),
        usd_per_hour=None if listed is None else listed.usd_per_hour,
        regions=offered_in(name),
    )
