"""EC2 instance types without accelerator, to answer whether a CPU is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.catalog.cells import is_type
from constructs_lib.catalog.offerings import offered_in
from constructs_lib.catalog.prices import HOME, price
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of, integer, list_of, number, one_of, text

_MOST = 10**12  # beyond all machines, and within what can be calculated with


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

    Raises:
        ArgumentError: a fact is of the wrong type or out of range.
    """

    name: str
    vcpus: int
    memory_mib: int
    architecture: str
    processor: str
    amx: bool | None = None
    usd_per_hour: float | None = None
    regions: Sequence[str] | None = None

    def __post_init__(self) -> None:
        where = "CpuType"
        cure = "write for example 'c8i.4xlarge'"
        if not is_type(text(where, "name", self.name, cure=cure)):
            raise ArgumentError(complaint(where, "name", "be an instance type in lower case", self.name, cure))
        where = f"CpuType {self.name}"
        integer(where, "vcpus", self.vcpus, minimum=1, maximum=_MOST, cure="count those of an instance")
        integer(where, "memory_mib", self.memory_mib, minimum=1, maximum=_MOST, cure="give MiB of an instance")
        one_of(where, "architecture", self.architecture, ("x86_64", "arm64"), cure="name the CPU's architecture")
        text(where, "processor", self.processor, cure="name who makes it, for example 'Intel'")
        if self.amx is not None:
            instance_of(where, "amx", self.amx, bool, cure="write True or False, or leave it out if you do not know")
        if self.usd_per_hour is not None:
            number(where, "usd_per_hour", self.usd_per_hour, above=0, cure="leave it out if you do not know")
        if self.regions is not None:
            cure = "write an empty list for none, or leave it out if you do not know"
            none = isinstance(self.regions, (list, tuple)) and not self.regions
            named = () if none else list_of(where, "regions", self.regions, str, cure=cure)
            object.__setattr__(self, "regions", named)

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
