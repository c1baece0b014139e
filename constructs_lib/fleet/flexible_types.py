"""Instance types by what they have, not by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.catalog import ARCHITECTURES, AcceleratedType, known_kinds, known_types
from constructs_lib.errors import ArgumentError, UnsupportedInstanceTypeError
from constructs_lib.fleet.purchase import Purchase
from constructs_lib.validation import complaint, instance_of, integer, list_of, number, one_of, text

_WHERE = "FlexibleTypes"
_RANGES = ("accelerators", "accelerator_memory_mib", "vcpus", "memory_mib")
_LIMITS = (*_RANGES, "architecture", "models", "fractions", "previous_generations", "exclude", "usd_per_hour")
# "Create a mixed instances group using attribute-based instance type selection": a value such as this turns it off.
# With it, types are dropped that cost a fifth more than the cheapest, which are most with an accelerator.
_ANY_PRICE = 999_999
_MOST_ALLOWED = 400

DEAR_TYPES = "@cdk-accelerated-fleet/fleet:DearTypes"

Range = int | tuple[int, int | None]


@dataclass(frozen=True, kw_only=True)
class FlexibleTypes:
    """All types of the catalogue that have so much: more pools to start from, for work that runs on any of them.

    Given to a fleet as its ``instance_types``. The fleet is checked, measured and sized for each type that fits, and
    Auto Scaling may start these and no other: a type that AWS brings out later needs a newer release of the library,
    whose image and telemetry are known to fit it. What the fleet's ``purchase`` never sells is left out. On-Demand
    takes the cheapest first, as AWS demands of such a group, and its price protection, which drops most types with an
    accelerator, is off: so ``accelerators=1`` takes in machines of eight, unless ``usd_per_hour`` keeps them out.

    A number of what there is is a minimum; a pair is the least and the most, None for no most. Two that say the same
    are equal.

    Attributes:
        kind: of the accelerators, for example ``nvidia``.
        accelerators: how many of them an instance has. Default: any number.
        accelerator_memory_mib: memory of one accelerator, MiB. Default: any.
        vcpus: of an instance. Default: any number.
        memory_mib: of the instance itself, MiB. Default: any.
        architecture: of the CPU. Default: ``x86_64``.
        models: names of accelerators, for example ``["L4", "L40S"]``. Default: all of the kind.
        fractions: also types with a part of an accelerator. Default: no.
        previous_generations: also types that AWS lists as previous generation. Default: no.
        exclude: names left out, with ``*`` for any characters, for example ``["p4d*", "g6.xlarge"]``. Default: none.
        usd_per_hour: the most that an instance may cost, USD by the catalogue's On-Demand list of us-east-1, however
            and wherever it is bought; a type whose price that lacks is left out. Default: any price, and a warning that
            names the dearest type.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
        UnsupportedInstanceTypeError: nothing fits.
    """

    kind: str
    accelerators: Range | None = None
    accelerator_memory_mib: Range | None = None
    vcpus: Range | None = None
    memory_mib: Range | None = None
    architecture: str | None = None
    models: Sequence[str] | None = None
    fractions: bool | None = None
    previous_generations: bool | None = None
    exclude: Sequence[str] | None = None
    usd_per_hour: float | None = None

    def __post_init__(self) -> None:
        given_limits = {parameter: getattr(self, parameter) for parameter in _LIMITS}
        one_of(_WHERE, "kind", self.kind, known_kinds(), cure="NVIDIA GPUs are 'nvidia'")
        for parameter in _RANGES:
            given = getattr(self, parameter)
            if given is not None:
                object.__setattr__(self, parameter, _range(parameter, given))
        architecture = "x86_64" if self.architecture is None else self.architecture
        one_of(_WHERE, "architecture", architecture, ARCHITECTURES, cure="name the CPU's architecture")
        object.__setattr__(self, "architecture", architecture)
        for parameter in ("models", "exclude"):
            given = getattr(self, parameter)
            if given is not None:
                cure = "write a list of names, or leave it out"
                names = list_of(_WHERE, parameter, given, str, cure=cure)
                # Their order says nothing.
                named = sorted({text(_WHERE, parameter, each, cure=cure) for each in names})
                object.__setattr__(self, parameter, tuple(named))
        if self.usd_per_hour is not None:
            cure = "give the most that an instance may cost, USD an hour, or leave it out"
            bound = number(_WHERE, "usd_per_hour", self.usd_per_hour, above=0, cure=cure)
            object.__setattr__(self, "usd_per_hour", bound)
        for parameter in ("fractions", "previous_generations"):
            given = getattr(self, parameter)
            settled = False if given is None else given
            instance_of(_WHERE, parameter, settled, bool, cure="write True or leave it out")
            object.__setattr__(self, parameter, settled)
        _check_models(self.kind, self.models or ())
        fitting = self.types()
        if not fitting:
            raise UnsupportedInstanceTypeError(complaint(_WHERE, *self._what_leaves_nothing(given_limits)))
        if len(fitting) > _MOST_ALLOWED:
            cure = "ask for more, or exclude some: Auto Scaling takes no longer list"
            rule = f"leave at most {_MOST_ALLOWED} types"
            raise ArgumentError(complaint(_WHERE, "kind", rule, len(fitting), cure))

    def types(self) -> tuple[AcceleratedType, ...]:
        """What fits, the cheapest first."""
        return tuple(sorted((each for each in self._candidates() if not self._objections(each)), key=_by_price))

    def types_sold(self, purchase: Purchase) -> tuple[AcceleratedType, ...]:
        """What fits and is sold so, the cheapest first; all that fits where nothing is, for the purchase to refuse."""
        fitting = self.types()
        return tuple(each for each in fitting if purchase.sells(each)) or fitting

    def requirements(
        self, types: Sequence[AcceleratedType]
    ) -> autoscaling.CfnAutoScalingGroup.InstanceRequirementsProperty:
        """The types for Auto Scaling: a list that allows those, and requirements that take nothing from it.

        Its own attributes of accelerators are left alone: their lists lack newer ones, and would drop them.

        Args:
            types: those that fit and are sold as the fleet buys.
        """
        cfn = autoscaling.CfnAutoScalingGroup
        return cfn.InstanceRequirementsProperty(
            v_cpu_count=cfn.VCpuCountRequestProperty(min=min(each.vcpus or 0 for each in types)),
            memory_mib=cfn.MemoryMiBRequestProperty(min=min(each.memory_mib or 0 for each in types)),
            allowed_instance_types=[each.name for each in types],
            bare_metal="included" if any(each.bare_metal for each in types) else "excluded",
            on_demand_max_price_percentage_over_lowest_price=_ANY_PRICE,
            spot_max_price_percentage_over_lowest_price=_ANY_PRICE,
        )

    def warnings(self, types: Sequence[AcceleratedType]) -> Mapping[str, str]:
        """What may cost more than was thought of, by the warning's id."""
        if self.usd_per_hour is not None or len(types) < 2:
            return {}
        priced = [(each.usd_per_hour, each.name) for each in types if each.usd_per_hour is not None]
        unknown = [each.name for each in types if each.usd_per_hour is None]
        told = []
        if priced:
            most, name = max(priced)
            told.append(f"{name} for {most:.2f} USD an hour (On-Demand in us-east-1)")
        if unknown:
            told.append(f"{', '.join(unknown)}, whose price the list lacks")
        return {
            DEAR_TYPES: "without a limit of price, if AWS has none of the cheaper ones, instances may start of up to "
            f"{' and of '.join(told)}: give FlexibleTypes(usd_per_hour=...), or acknowledge this if it is meant"
        }

    def _candidates(self) -> list[AcceleratedType]:
        return [
            each
            for each in known_types().values()
            if each.kind == self.kind
            and each.status != "retired"
            # Sold in Capacity Blocks alone: they cannot be mixed with others.
            and each.on_demand is not False
            # All instances boot one image, which brings one driver.
            and each.driver in (None, "open")
        ]

    def _objections(self, each: AcceleratedType) -> frozenset[str]:
        """The parameters that leave a type out."""
        price = each.usd_per_hour
        kept = {
            "architecture": each.architecture == self.architecture,
            "models": not self.models or each.model in self.models,
            "fractions": self.fractions is True or each.fraction is None,
            "previous_generations": self.previous_generations is True or each.status == "current",
            "exclude": not any(fnmatchcase(each.name, pattern) for pattern in self.exclude or ()),
            "usd_per_hour": self.usd_per_hour is None or (price is not None and price <= self.usd_per_hour),
            **{parameter: _within(getattr(each, parameter), getattr(self, parameter)) for parameter in _RANGES},
        }
        return frozenset(parameter for parameter, is_kept in kept.items() if not is_kept)

    def _what_leaves_nothing(self, given: Mapping[str, object]) -> tuple[str, str, object, str]:
        """Parameter, rule, value and cure: of the least that would have to be asked otherwise."""
        objections = sorted(
            (self._objections(each) for each in self._candidates()), key=lambda each: (len(each), *each)
        )
        if len(objections[0]) == 1:
            guilty, word = sorted({name for each in objections if len(each) == 1 for name in each}), "or"
        else:
            guilty, word = sorted(objections[0]), "and"
        shown = {name: getattr(self, name) if given[name] is None else given[name] for name in guilty}
        return (
            f" {word} ".join(guilty),
            "leave at least one type of the catalogue",
            shown[guilty[0]] if len(guilty) == 1 else shown,
            "ask for less, or name the types: `accel-fleet catalog list` shows what there is",
        )


def _by_price(each: AcceleratedType) -> tuple[float, str]:
    return (float("inf") if each.usd_per_hour is None else each.usd_per_hour), each.name


def _range(parameter: str, given: object) -> tuple[int, int | None]:
    cure = "write a minimum, or (minimum, maximum) with None for no maximum"
    pair = tuple(given) if isinstance(given, (tuple, list)) else (given, None)
    if len(pair) != 2:
        raise ArgumentError(complaint(_WHERE, parameter, "be a number or a pair of numbers", given, cure))
    least, most = pair
    floor = integer(_WHERE, parameter, least, minimum=1, cure=cure)
    if most is None:
        return floor, None
    return floor, integer(_WHERE, parameter, most, minimum=floor, cure=cure)


def _within(value: int | None, limits: tuple[int, int | None] | None) -> bool:
    """Whether a fact is in the range. What is not known fits no range, so that nothing unfit starts."""
    if limits is None:
        return True
    least, most = limits
    return value is not None and value >= least and (most is None or value <= most)


def _check_models(kind: str, models: Sequence[str]) -> None:
    known = {each.model for each in known_types().values() if each.kind == kind}
    for model in models:
        one_of(_WHERE, "models", model, known, cure=f"name accelerators of kind {kind!r}")
