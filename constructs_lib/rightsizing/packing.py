"""Packs many models on few accelerators."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType, known_types, lookup
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.rightsizing import packing_search
from constructs_lib.rightsizing.packing_problem import Item, Problem, Unit, first_packing
from constructs_lib.validation import complaint, instance_of, integer, list_of, number, one_of, text

APART = ("accelerator", "instance")
DEFAULT_EFFORT = 3.0

# Shares are counted in billionths and rounded down: six times 1/6 is one whole.
_WHOLE_SHARE = 1_000_000_000
_WHERE = "pack"


class DoesNotFitError(ArgumentError):
    """A model fits on no accelerator of the type."""


@dataclass(frozen=True, kw_only=True)
class PackableModel:
    """A model, or any other program, that can share an accelerator with others.

    Attributes:
        name: of its own among those that are packed together.
        memory_mib: what it takes of an accelerator's memory at most, MiB: weights, cache, activations, and what the
            framework keeps for its process.
        share: what it takes of an accelerator's computing time, above 0 and at most 1. It belongs to one type of
            accelerator. Default: not counted.
        replicas: how many of it run, each with all of ``memory_mib`` and ``share``. No two of them share an
            accelerator. Default: 1.
        groups: names of groups of which no two members share an accelerator. Default: none.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    name: str
    memory_mib: int
    share: float | None = None
    replicas: int | None = None
    groups: Sequence[str] | None = None

    def __post_init__(self) -> None:
        where = "PackableModel"
        text(where, "name", self.name, cure="give the model a name, for example 'reranker'")
        where = f"PackableModel {self.name}"
        integer(where, "memory_mib", self.memory_mib, minimum=1, cure="give MiB of the accelerator's memory")
        if self.share is not None:
            cure = "0.25 is a quarter of one accelerator; split what takes more than one into replicas"
            number(where, "share", self.share, above=0, maximum=1, cure=cure)
        if self.replicas is None:
            object.__setattr__(self, "replicas", 1)
        integer(where, "replicas", self.replicas, minimum=1, cure="leave out a model that does not run")
        cure = "name the groups as ['a', 'b'], or leave it out for none"
        groups = () if self.groups in (None, [], ()) else list_of(where, "groups", self.groups, str, cure=cure)
        for group in groups:
            text(where, "groups", group, cure=cure)
        object.__setattr__(self, "groups", tuple(dict.fromkeys(groups)))


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where one replica of a model lies, and what it takes there.

    Attributes:
        model: its name.
        replica: the replicas of a model are counted from 0.
        instance: counted from 0.
        accelerator: of the instance, counted from 0.
        memory_mib: of the accelerator.
        share: of the accelerator's computing time. None: not counted.
    """

    model: str
    replica: int
    instance: int
    accelerator: int
    memory_mib: int
    share: float | None


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Which models share which accelerator.

    Attributes:
        instance_type: facts about the type whose accelerators are used.
        apart: what keeps replicas and members of a group apart: an ``accelerator`` of its own, or an ``instance``.
        usable_mib: memory of each accelerator that models may take.
        placements: one for each replica, in the order of instances and accelerators.
        lower_bound: no packing needs fewer: accelerators, or instances where ``apart`` is ``instance``.
        proven: whether no packing can do with fewer than this one has.
    """

    instance_type: AcceleratedType
    apart: str
    usable_mib: int
    placements: tuple[Placement, ...]
    lower_bound: int
    proven: bool

    @property
    def accelerators(self) -> int:
        """How many accelerators have a model."""
        return len({(each.instance, each.accelerator) for each in self.placements})

    @property
    def instances(self) -> int:
        """How many instances are needed."""
        return len({each.instance for each in self.placements})

    @property
    def over_bound(self) -> float:
        """By which part the packing is larger than the lower bound: 0.05 for 5 %."""
        used = self.accelerators if self.apart == "accelerator" else self.instances
        return used / self.lower_bound - 1

    @property
    def usd_per_hour(self) -> float | None:
        """List price of the instances On-Demand in us-east-1, USD for an hour. None: not known."""
        price = self.instance_type.usd_per_hour
        return None if price is None else round(price * self.instances, 6)

    @property
    def places(self) -> tuple[tuple[Placement, ...], ...]:
        """The placements of each accelerator that has some."""
        lying: dict[tuple[int, int], list[Placement]] = {}
        for each in self.placements:
            lying.setdefault((each.instance, each.accelerator), []).append(each)
        return tuple(tuple(each) for each in lying.values())

    def document(self) -> dict[str, object]:
        """The packing as plain data, ready for JSON."""
        return {
            "instance_type": self.instance_type.name,
            "accelerator": self.instance_type.model,
            "accelerators_per_instance": self.instance_type.accelerators,
            "usable_mib": self.usable_mib,
            "apart": self.apart,
            "accelerators": self.accelerators,
            "instances": self.instances,
            "lower_bound": self.lower_bound,
            "over_bound": round(self.over_bound, 4),
            "proven": self.proven,
            "usd_per_hour": self.usd_per_hour,
            "places": [
                {
                    "instance": lying[0].instance,
                    "accelerator": lying[0].accelerator,
                    "memory_mib": sum(each.memory_mib for each in lying),
                    "share": round(sum(each.share or 0 for each in lying), 6),
                    "models": [{"model": each.model, "replica": each.replica} for each in lying],
                }
                for lying in self.places
            ],
        }


def pack(
    models: Sequence[PackableModel],
    *,
    instance_type: str | AcceleratedType,
    apart: str | None = None,
    reserve_mib: int | None = None,
    effort: float | None = None,
) -> Packing:
    """Put models on as few accelerators of one type as possible.

    The same models give the same packing, in whichever order they are named. On an accelerator nothing enforces what a
    model takes of memory and computing time: measure both, and let the serving program limit itself.

    Args:
        models: what is to be packed.
        instance_type: whose accelerators are used, or the facts about it.
        apart: what replicas of one model, and members of a group, do not share: an ``accelerator``, or an ``instance``
            with all of its accelerators. Default: ``accelerator``.
        reserve_mib: memory of each accelerator that stays free, MiB. Default: 0.
        effort: what the solver may spend, above 0: about seconds, counted in steps of its work and not by the clock.
            It spends less if it reaches the lower bound. Default: 3.

    Raises:
        ArgumentError: a value is of the wrong type or out of range, or two models have one name.
        DoesNotFitError: a model fits on no accelerator of the type.
        MissingExtraError: ``ortools`` is not installed (``pip install ortools``).
        UnknownInstanceTypeError: the catalog has no facts about the type.
        UnsupportedInstanceTypeError: the type has no accelerator, or one that programs cannot share.
    """
    chosen = list_of(_WHERE, "models", models, PackableModel, cure="give at least one PackableModel")
    facts = _shareable(instance_type)
    apart = "accelerator" if apart is None else apart
    one_of(_WHERE, "apart", apart, APART, cure="replicas are always kept apart by accelerator")
    reserved = 0 if reserve_mib is None else reserve_mib
    integer(
        _WHERE,
        "reserve_mib",
        reserved,
        minimum=0,
        maximum=facts.accelerator_memory_mib - 1,
        cure=f"{facts.name} has {facts.accelerator_memory_mib} MiB for each accelerator",
    )
    spend = DEFAULT_EFFORT if effort is None else effort
    number(_WHERE, "effort", spend, above=0, cure="leave it out if in doubt")
    usable = facts.accelerator_memory_mib - reserved
    for model in chosen:
        _check_fits(model, facts, usable)
    ordered = _in_order(chosen)
    packing_search.solver()  # before any work

    replicas = [(model, replica) for model in ordered for replica in range(model.replicas or 1)]
    problem = Problem(
        items=tuple(_item(model) for model, _ in replicas),
        memory=usable,
        share=_WHOLE_SHARE,
        slots=1 if apart == "accelerator" else facts.accelerators,
    )
    fewest = problem.fewest_units()
    units, proven = packing_search.search(problem, first_packing(problem), enough=fewest, effort=spend)
    return Packing(
        instance_type=facts,
        apart=apart,
        usable_mib=usable,
        placements=tuple(_placements(problem, units, replicas, facts.accelerators)),
        lower_bound=len(units) if proven else fewest,
        proven=proven,
    )


def _shareable(instance_type: str | AcceleratedType) -> AcceleratedType:
    if isinstance(instance_type, AcceleratedType):
        facts = instance_type
    else:
        cure = "write for example 'g6e.xlarge'"
        facts = lookup(instance_of(_WHERE, "instance_type", instance_type, str, cure=cure), where=_WHERE)
    if facts.kind == "fpga":
        rule = "be a type whose accelerators programs can share"
        cure = "one program has an FPGA at a time: give each an accelerator of its own"
        raise UnsupportedInstanceTypeError(complaint(_WHERE, "instance_type", rule, facts.name, cure))
    return facts


def _check_fits(model: PackableModel, facts: AcceleratedType, usable: int) -> None:
    if model.memory_mib <= usable:
        return
    larger = [
        each
        for each in known_types().values()
        if each.kind == facts.kind and each.status == "current" and each.accelerator_memory_mib >= model.memory_mib
    ]
    cheapest = min(larger, key=lambda each: (each.usd_per_hour or math.inf, each.name), default=None)
    other = "" if cheapest is None else f"choose a type with more, for example {cheapest.name!r}, or "
    rule = f"be at most {usable}, what an accelerator of {facts.name} has for models"
    cure = f"{other}take a smaller precision, or serve it across several accelerators outside of the packing"
    raise DoesNotFitError(complaint(_WHERE, f"memory_mib of {model.name!r}", rule, model.memory_mib, cure))


def _in_order(models: Sequence[PackableModel]) -> tuple[PackableModel, ...]:
    for name, times in Counter(each.name for each in models).items():
        if times > 1:
            cure = "give each model a name of its own, or write replicas=2"
            raise ArgumentError(complaint(_WHERE, "models", "have different names", name, cure))
    return tuple(sorted(models, key=lambda each: each.name))


def _item(model: PackableModel) -> Item:
    groups = [f"group {each}" for each in model.groups or ()]
    # A single replica has no other to stay away from.
    own = [f"replicas of {model.name}"] if (model.replicas or 1) > 1 else []
    share = 0 if model.share is None else int(model.share * _WHOLE_SHARE)
    return Item(memory=model.memory_mib, share=share, groups=frozenset(own + groups))


def _placements(
    problem: Problem, units: Sequence[Unit], replicas: Sequence[tuple[PackableModel, int]], per_instance: int
) -> Iterator[Placement]:
    """Number instances and accelerators, those with the first models first."""
    lying = sorted(tuple(sorted(tuple(sorted(slot)) for slot in unit if slot)) for unit in units)
    for position, unit in enumerate(lying):
        for slot, items in enumerate(unit):
            place = divmod(position, per_instance) if problem.slots == 1 else (position, slot)
            for item in items:
                model, replica = replicas[item]
                yield Placement(
                    model=model.name,
                    replica=replica,
                    instance=place[0],
                    accelerator=place[1],
                    memory_mib=model.memory_mib,
                    share=model.share,
                )
