"""The instance types that a workload may run on, accelerated or not, as one kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from constructs_lib.catalog import AcceleratedType, CpuType, cpu_types, known_types
from constructs_lib.rightsizing import tables

_EVERY_PRECISION = ("fp32", "bf16", "fp16", "fp8", "int8", "int4")


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What software can do on a model of accelerator.

    Attributes:
        precisions: that it computes with.
        text: whether models are served on it that write text token by token.
        training: whether it is made for training.
        ended: what its maker has given up of its software, in words. None: nothing that is known.
    """

    precisions: tuple[str, ...]
    text: bool
    training: bool
    ended: str | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One instance type, seen as accelerators with memory; a CPU type is one device with the host's memory.

    Attributes:
        name: of the type.
        kind: of the accelerators, ``cpu`` for none.
        model: of the accelerators, ``cpu`` for none.
        devices: accelerators, 1 for a CPU type.
        memory_mib: of one device.
        fraction: of an accelerator, None for whole ones.
        architecture: of the CPU.
        processor: of a CPU type, for example ``Intel with AMX``. None for accelerated types.
        status: of the type.
        regions: that offer it, None for not known.
        efa: whether it takes Elastic Fabric Adapters.
        video_encoder: whether AWS offers it for graphics or media work.
        usd_per_hour: as its user states it, for a type that is not in the catalog's price lists.
        host_memory_mib: of the instance itself. None: not known.
        able: what software can do on it.
    """

    name: str
    kind: str
    model: str
    devices: int
    memory_mib: int
    fraction: float | None
    architecture: str
    processor: str | None
    status: str
    regions: tuple[str, ...] | None
    efa: bool
    video_encoder: bool
    usd_per_hour: float | None
    host_memory_mib: int | None
    able: Abilities

    @property
    def accelerators(self) -> int:
        """Of an instance, 0 for a CPU type."""
        return 0 if self.kind == "cpu" else self.devices


def machines(types: Sequence[AcceleratedType | CpuType] | None = None) -> tuple[Machine, ...]:
    """The given types, or all of the catalog, by name."""
    return _all() if types is None else tuple(sorted((_machine(each) for each in types), key=lambda each: each.name))


def abilities(model: str) -> Abilities:
    """What software can do on a model of accelerator; one that the table does not have can do everything."""
    return _abilities().get(model, Abilities(precisions=_EVERY_PRECISION, text=True, training=True))


@cache
def _all() -> tuple[Machine, ...]:
    every: list[AcceleratedType | CpuType] = [*known_types().values(), *cpu_types().values()]
    return tuple(sorted((_machine(each) for each in every), key=lambda each: each.name))


@cache
def _abilities() -> Mapping[str, Abilities]:
    return {
        row["model"]: Abilities(
            precisions=tuple(row["precisions"].split()),
            text=row["text"] == "yes",
            training=row["training"] == "yes",
            ended=row["ended"] or None,
        )
        for row in tables.read("precisions.csv")
    }


def _machine(facts: AcceleratedType | CpuType) -> Machine:
    regions = None if facts.regions is None else tuple(facts.regions)
    if isinstance(facts, CpuType):
        return Machine(
            name=facts.name,
            kind="cpu",
            model="cpu",
            devices=1,
            memory_mib=facts.memory_mib,
            fraction=None,
            architecture=facts.architecture,
            processor=_processor(facts),
            status="current",
            regions=regions,
            efa=False,
            video_encoder=False,
            usd_per_hour=facts.usd_per_hour,
            host_memory_mib=facts.memory_mib,
            able=abilities("cpu"),
        )
    return Machine(
        name=facts.name,
        kind=facts.kind,
        model=facts.model,
        devices=facts.accelerators,
        memory_mib=facts.accelerator_memory_mib,
        fraction=facts.fraction,
        architecture=facts.architecture,
        processor=None,
        status=facts.status or "current",
        regions=regions,
        efa=bool(facts.efa_interfaces),
        video_encoder=bool(facts.video_encoder),
        usd_per_hour=facts.usd_per_hour,
        host_memory_mib=facts.memory_mib,
        able=abilities(facts.model),
    )


def _processor(facts: CpuType) -> str:
    if facts.processor == "AWS":
        return "AWS Graviton"
    return f"{facts.processor} with AMX" if facts.amx else facts.processor
