"""What is on an accelerated EC2 instance type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.catalog.network_cards import NetworkCard, read_cards
from constructs_lib.catalog.offerings import offered_in, regions
from constructs_lib.catalog.prices import HOME, price
from constructs_lib.errors import ArgumentError, UnknownInstanceTypeError, UnsupportedInstanceTypeError
from constructs_lib.validation import complaint, instance_of, integer, list_of, number, one_of, text

ARCHITECTURES = ("x86_64", "arm64")
DRIVERS = ("open", "proprietary")
STATUSES = ("current", "previous", "retired")
PLACEMENTS = ("cluster", "partition", "spread")

_NAME = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_MOST = 10**12  # beyond all machines, and within what can be calculated with
_MOST_ACCELERATORS = 10_000
_DAY_MINUTES = 24 * 60
_IF_UNKNOWN = "leave it out if you do not know"
_STATE_THE_FACTS = (
    "pass AcceleratedType(name=..., kind=..., model=..., accelerators=..., accelerator_memory_mib=..., "
    "architecture=...) in place of the name"
)


@dataclass(frozen=True, kw_only=True)
class AcceleratedType:
    """The facts about one instance type that a fleet depends on.

    :func:`lookup` returns them for the types of the catalog. State them yourself for a type that is newer
    than it.

    Attributes:
        name: for example ``g6.xlarge``.
        kind: of the accelerators, one of :func:`known_kinds`, for example ``nvidia``.
        model: the accelerator's name, for example ``L4``.
        accelerators: how many the operating system sees. At least 1; exactly 1 on a type with a fraction of
            one.
        accelerator_memory_mib: memory of one accelerator, in MiB.
        architecture: of the CPU, ``x86_64`` or ``arm64``.
        fraction: the share of an accelerator that the type has, above 0 and below 1. Default: whole
            accelerators.
        driver: flavour of the NVIDIA kernel driver, ``open`` or ``proprietary``.
            Default: ``open`` for ``nvidia`` types (it runs from the Turing generation on), none for others.
        video_encoder: whether AWS offers the type for graphics or media work. Default: no.
        instance_store_gb: all NVMe instance-store disks together, GB, 0 for none. Default: not known.
        efa_interfaces: most Elastic Fabric Adapters of an instance, 0 for none. Default: not known.
        status: ``current``, ``previous`` or ``retired``. Default: ``current``.
        vcpus: of an instance. Default: not known.
        usd_per_hour: list price of a Linux On-Demand instance in us-east-1, USD. Default: not known.
        memory_mib: of the instance itself, MiB. Default: not known.
        network_cards: in the order of their index. Default: not known.
        spot: whether EC2 sells it as Spot Instance somewhere. Default: not known.
        on_demand: whether EC2 sells it On-Demand somewhere. Default: not known.
        capacity_block: whether EC2 sells Capacity Blocks of it somewhere. Default: not known.
        block_end_minutes: how long before the end of a Capacity Block EC2 begins to end its instances, minutes;
            of a type that has such blocks. Default: not known.
        hibernation: whether an instance can hibernate. Default: not known.
        placement: strategies of placement groups that take it, of ``cluster``, ``partition``, ``spread``; empty for
            none. Default: not known.
        regions: that offer it; empty for none that the table knows of. Default: not known.
        bare_metal: whether there is no hypervisor under it. Default: not known.
        retired_on: the day from which no instance can be launched, for example ``2025-12-20``, of a retired type only.
            Default: not known.
        successor: name of the type to use in its place. Default: none is named.

    Raises:
        ArgumentError: a fact is of the wrong type, out of range or at odds with another one.
    """

    name: str
    kind: str
    model: str
    accelerators: int
    accelerator_memory_mib: int
    architecture: str
    fraction: float | None = None
    driver: str | None = None
    video_encoder: bool | None = None
    instance_store_gb: int | None = None
    efa_interfaces: int | None = None
    status: str | None = None
    vcpus: int | None = None
    usd_per_hour: float | None = None
    memory_mib: int | None = None
    network_cards: Sequence[NetworkCard] | None = None
    spot: bool | None = None
    on_demand: bool | None = None
    capacity_block: bool | None = None
    block_end_minutes: int | None = None
    hibernation: bool | None = None
    placement: Sequence[str] | None = None
    regions: Sequence[str] | None = None
    bare_metal: bool | None = None
    retired_on: str | None = None
    successor: str | None = None

    def __post_init__(self) -> None:
        where = "AcceleratedType"
        cure = "write for example 'g6.xlarge'"
        if not _NAME.fullmatch(text(where, "name", self.name, cure=cure)):
            raise ArgumentError(complaint(where, "name", "be an instance type in lower case", self.name, cure))
        where = f"AcceleratedType {self.name}"
        one_of(where, "kind", self.kind, known_kinds(), cure="NVIDIA GPUs are 'nvidia'")
        text(where, "model", self.model, cure="give the accelerator's name, for example 'L4'")
        cure = "count what the operating system sees"
        integer(where, "accelerators", self.accelerators, minimum=1, maximum=_MOST_ACCELERATORS, cure=cure)
        integer(
            where,
            "accelerator_memory_mib",
            self.accelerator_memory_mib,
            minimum=1,
            maximum=_MOST,
            cure="give MiB of one accelerator",
        )
        one_of(where, "architecture", self.architecture, ARCHITECTURES, cure="name the CPU's architecture")
        if self.video_encoder is None:
            object.__setattr__(self, "video_encoder", False)
        instance_of(where, "video_encoder", self.video_encoder, bool, cure="write True or False")
        self._check_equipment(where)
        if self.status is None:
            object.__setattr__(self, "status", "current")
        one_of(where, "status", self.status, STATUSES, cure="leave it out for a type that AWS sells today")
        self._check_network(where)
        self._check_sale(where)
        self._check_life_cycle(where)
        self._check_fraction(where)
        self._settle_driver(where)

    def _check_equipment(self, where: str) -> None:
        none = f"write 0 for none, or {_IF_UNKNOWN}"
        disks, adapters = ("instance_store_gb", self.instance_store_gb), ("efa_interfaces", self.efa_interfaces)
        for parameter, value in (disks, adapters):
            if value is not None:
                integer(where, parameter, value, minimum=0, cure=none)
        for parameter, value in (("vcpus", self.vcpus), ("memory_mib", self.memory_mib)):
            if value is not None:
                integer(where, parameter, value, minimum=1, cure=_IF_UNKNOWN)
        if self.usd_per_hour is not None:
            number(where, "usd_per_hour", self.usd_per_hour, above=0, cure=_IF_UNKNOWN)

    def _check_network(self, where: str) -> None:
        if self.network_cards is None:
            return
        cure = "write for example [NetworkCard(interfaces=4, efa=False)], the card with index 0 first"
        cards = list_of(where, "network_cards", self.network_cards, NetworkCard, cure=cure)
        object.__setattr__(self, "network_cards", cards)
        with_efa = sum(card.efa for card in cards)
        if self.efa_interfaces not in (None, with_efa):
            rule = f"be {with_efa}, one for each network card that takes EFA"
            raise ArgumentError(complaint(where, "efa_interfaces", rule, self.efa_interfaces, _IF_UNKNOWN))

    def _check_sale(self, where: str) -> None:
        for parameter, value in (
            ("spot", self.spot),
            ("on_demand", self.on_demand),
            ("capacity_block", self.capacity_block),
            ("hibernation", self.hibernation),
            ("bare_metal", self.bare_metal),
        ):
            if value is not None:
                instance_of(where, parameter, value, bool, cure=f"write True or False, or {_IF_UNKNOWN}")
        if self.block_end_minutes is not None:
            cure = f"give minutes, or {_IF_UNKNOWN}"
            integer(where, "block_end_minutes", self.block_end_minutes, minimum=0, maximum=_DAY_MINUTES, cure=cure)
            if self.capacity_block is False:
                rule = "be left out for a type without Capacity Blocks"
                raise ArgumentError(complaint(where, "block_end_minutes", rule, self.block_end_minutes, cure))
        for parameter, words in (("placement", self.placement), ("regions", self.regions)):
            if words is not None:
                cure = f"write an empty list for none, or {_IF_UNKNOWN}"
                named = tuple(list_of(where, parameter, words, str, cure=cure)) if words != () and words != [] else ()
                object.__setattr__(self, parameter, named)
        for strategy in self.placement or ():
            one_of(where, "placement", strategy, PLACEMENTS, cure="name strategies of placement groups")
        for region in self.regions or ():
            text(where, "regions", region, cure="write regions as 'eu-west-1'")

    def _check_life_cycle(self, where: str) -> None:
        if self.retired_on is not None:
            cure = f"write it as '2025-12-20', or {_IF_UNKNOWN}"
            day = text(where, "retired_on", self.retired_on, cure=cure)
            if self.status != "retired" or not _DATE.fullmatch(day):
                rule = "be a date, of a type whose status is 'retired'"
                raise ArgumentError(complaint(where, "retired_on", rule, day, cure))
        if self.successor is not None:
            cure = "write for example 'g6.xlarge', or leave it out"
            if not _NAME.fullmatch(text(where, "successor", self.successor, cure=cure)) or self.successor == self.name:
                rule = "be another instance type in lower case"
                raise ArgumentError(complaint(where, "successor", rule, self.successor, cure))

    def _check_fraction(self, where: str) -> None:
        if self.fraction is None:
            return
        number(where, "fraction", self.fraction, above=0, below=1, cure="leave it out for whole accelerators")
        if self.accelerators != 1:
            rule = "be 1 on a type with a fraction of an accelerator"
            cure = "the operating system sees the fraction as one device"
            raise ArgumentError(complaint(where, "accelerators", rule, self.accelerators, cure))

    def _settle_driver(self, where: str) -> None:
        if self.driver is None:
            object.__setattr__(self, "driver", "open" if self.kind == "nvidia" else None)
        elif self.kind != "nvidia":
            rule = f"be left out for kind {self.kind!r}"
            cure = "only NVIDIA GPUs have a choice of kernel driver"
            raise ArgumentError(complaint(where, "driver", rule, self.driver, cure))
        else:
            one_of(where, "driver", self.driver, DRIVERS, cure="GPUs from the Turing generation on run 'open'")

    @property
    def family(self) -> str:
        """The part before the dot: ``g6`` for ``g6.xlarge``."""
        return self.name.partition(".")[0]


def lookup(name: str, *, where: str = "catalog", parameter: str = "instance_type") -> AcceleratedType:
    """Return the catalog's facts about an instance type.

    Args:
        name: for example ``g6.xlarge``.
        where: construct path, for messages. Default: ``catalog``.
        parameter: whose value the name is, for messages. Default: ``instance_type``.

    Raises:
        ArgumentError: ``name`` is not a text.
        UnsupportedInstanceTypeError: the type has no accelerator.
        UnknownInstanceTypeError: the catalog has no facts about the type; the message names similar ones.
    """
    text(where, parameter, name, cure="write an instance type, for example 'g6.xlarge'")
    types = known_types()
    if name in types:
        return types[name]
    if name.partition(".")[0] in _cpu_families():
        raise UnsupportedInstanceTypeError(
            complaint(where, parameter, "be an instance type with an accelerator", name, _instead_of_cpu(name))
        )
    rule = f"be an accelerated instance type that the catalog ({max(regions().values())}) knows"
    raise UnknownInstanceTypeError(complaint(where, parameter, rule, name, _similar(name, types) + _STATE_THE_FACTS))


@cache
def known_types() -> Mapping[str, AcceleratedType]:
    """All accelerated instance types of the catalog by name, retired ones included."""
    return MappingProxyType({row["type"]: _from_row(row) for row in tables.read("instance_types.csv")})


@cache
def known_kinds() -> tuple[str, ...]:
    """All kinds of accelerators that the catalog has a type of, in alphabetical order."""
    return tuple(sorted({row["kind"] for row in tables.read("instance_types.csv")}))


@cache
def _block_ends() -> Mapping[str, int]:
    return {row["family"]: int(row["minutes"]) for row in tables.read("block_ends.csv")}


@cache
def _cpu_families() -> frozenset[str]:
    return frozenset(row["family"] for row in tables.read("cpu_families.csv"))


def _from_row(row: Mapping[str, str]) -> AcceleratedType:
    name = row["type"]
    listed = price(name, HOME)
    return AcceleratedType(
        name=name,
        kind=row["kind"],
        model=row["model"],
        accelerators=int(row["count"]),
        accelerator_memory_mib=int(row["memory_mib"]),
        architecture=row["architecture"],
        fraction=float(row["fraction"]) if row["fraction"] else None,
        driver=row["driver"] or None,
        video_encoder=_said(row["video_encoder"]),
        instance_store_gb=int(row["instance_store_gb"]),
        efa_interfaces=_counted(row["efa_interfaces"]),
        status=row["status"],
        vcpus=_counted(row["vcpus"]),
        usd_per_hour=None if listed is None else listed.usd_per_hour,
        memory_mib=_counted(row["host_memory_mib"]),
        network_cards=read_cards(row["network_cards"]),
        spot=_said(row["spot"]),
        on_demand=_said(row["on_demand"]),
        capacity_block=_said(row["capacity_block"]),
        block_end_minutes=_block_end(name) if _said(row["capacity_block"]) else None,
        hibernation=_said(row["hibernation"]),
        placement=tuple(row["placement"].split()) or None,
        regions=offered_in(name),
        bare_metal=_said(row["bare_metal"]),
        retired_on=row["retired_on"] or None,
        successor=row["successor"] or None,
    )


def _block_end(name: str) -> int:
    ends = _block_ends()
    return ends.get(name.partition(".")[0], ends[""])


def _said(cell: str) -> bool | None:
    return {"yes": True, "no": False, "": None}[cell]


def _counted(cell: str) -> int | None:
    return int(cell) if cell else None


def _instead_of_cpu(name: str) -> str:
    family = name.partition(".")[0]
    return f"no type of the {family} family has one: choose a type with a GPU, for example 'g6.xlarge'"


def _similar(name: str, types: Mapping[str, AcceleratedType]) -> str:
    """Sizes of the same family are what was meant if the family is known, else whatever is spelled alike."""
    family = name.partition(".")[0]
    siblings: Sequence[str] = [known for known, facts in types.items() if facts.family == family]
    from difflib import get_close_matches  # only an error message needs it

    matches = get_close_matches(name, siblings or list(types), n=3)
    return f"did you mean {' or '.join(matches)}? Else " if matches else ""
