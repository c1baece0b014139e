"""How the instances are wired: their network interfaces, and how close they stand to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType, known_types
from constructs_lib.catalog.efa import efa_family
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.placement import Placement
from constructs_lib.validation import complaint, instance_of, integer, is_token

_PARAMETER = "network"
_ENA, _EFA, _EFA_ONLY = "interface", "efa", "efa-only"
_MOST_NAMES = 5
_STATE_THE_CARDS = (
    "pass AcceleratedType(..., network_cards=(NetworkCard(interfaces=..., efa=True), ...)), one for each network card"
)


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One network interface of an instance.

    Attributes:
        card: index of its network card.
        device: its index on that card, 0 or 1: newer cards take two devices that may carry EFA.
        type: ``interface`` (ENA), ``efa`` (both) or ``efa-only`` (no IP address), as EC2 names them.
    """

    card: int
    device: int
    type: str


class FleetNetwork(ABC):
    """How the instances are wired; made by ``FleetNetwork.efa()`` or ``FleetNetwork.standard()``."""

    @staticmethod
    def standard(*, placement: Placement | None = None) -> FleetNetwork:
        """One ordinary network interface for each instance.

        Args:
            placement: where the instances stand in relation to each other. ``Placement.cluster()`` keeps the fleet in
                one zone. Default: wherever AWS has room.

        Raises:
            ArgumentError: the placement is none.
        """
        given = _checked("FleetNetwork.standard", placement)
        return _Standard(placement=Placement.none() if given is None else given)

    @staticmethod
    def efa(*, interfaces: int | None = None, placement: Placement | None = None) -> FleetNetwork:
        """Elastic Fabric Adapters, one on each network card that takes one: for work that spans instances.

        The fleet stays in one zone, since EFA traffic does not leave it: in the first one of the VPC's, unless
        ``vpc_subnets`` names another. The security group gets rules that let all traffic in from itself and out to
        itself, without which EFA hangs. An instance with several interfaces gets no public address. The types of the
        fleet need the same network cards. The image must have EFA's driver, as AWS's Deep Learning images do. A deploy
        that takes EFA from a fleet removes these rules at once: let work that spans instances end before.

        Args:
            interfaces: how many adapters, from the first card that takes one. Some types have documented choices, such
                as 4 or 8 on P6e-GB200. Default: as many as the type takes.
            placement: where the instances stand in relation to each other. Default: close together in a new cluster
                placement group; in none where the capacity is reserved, as it was made without that group, or where a
                type cannot be placed so.

        Raises:
            ArgumentError: a value is of the wrong type or out of range.
        """
        where = "FleetNetwork.efa"
        if interfaces is not None:
            cure = "give a count of network cards, or leave it out for all that take EFA"
            if is_token(interfaces):
                rule = "be known at synth, since it is checked"
                raise ArgumentError(complaint(where, "interfaces", rule, "a token", cure))
            integer(where, "interfaces", interfaces, minimum=1, cure=cure)
        return _Efa(count=interfaces, placement=_checked(where, placement))

    @property
    @abstractmethod
    def uses_efa(self) -> bool:
        """Whether the instances have Elastic Fabric Adapters."""

    @abstractmethod
    def interfaces(self, where: str, types: Sequence[AcceleratedType]) -> tuple[Interface, ...]:
        """The network interfaces of each instance; none if those of a launch without any statement will do.

        Raises:
            ArgumentError: a type takes no EFA or fewer, nobody knows its cards, or types differ. ``where`` is the path
                of the construct.
        """

    @abstractmethod
    def placement_of(self, where: str, types: Sequence[AcceleratedType], *, reserved: bool) -> Placement:
        """Where the instances stand in relation to each other, with the default in place.

        Args:
            where: construct path, for messages.
            types: every instance type of the fleet.
            reserved: whether the capacity was reserved before the fleet existed.

        Raises:
            ArgumentError: a type cannot be placed so, or reserved capacity cannot be in the group.
        """


@dataclass(frozen=True, kw_only=True)
class _Standard(FleetNetwork):
    placement: Placement

    def __repr__(self) -> str:
        usual = self.placement == Placement.none()
        return f"FleetNetwork.standard({_shown(placement=None if usual else self.placement)})"

    @property
    def uses_efa(self) -> bool:
        return False

    def interfaces(self, where: str, types: Sequence[AcceleratedType]) -> tuple[Interface, ...]:
        return ()

    def placement_of(self, where: str, types: Sequence[AcceleratedType], *, reserved: bool) -> Placement:
        return _fitting(where, self.placement, types, reserved)


@dataclass(frozen=True, kw_only=True)
class _Efa(FleetNetwork):
    count: int | None
    placement: Placement | None

    def __repr__(self) -> str:
        return f"FleetNetwork.efa({_shown(interfaces=self.count, placement=self.placement)})"

    @property
    def uses_efa(self) -> bool:
        return True

    def interfaces(self, where: str, types: Sequence[AcceleratedType]) -> tuple[Interface, ...]:
        self._check_known(where, types)
        self._check_efa(where, types)
        self._check_alone(where, types)
        layouts = {each.name: (_pattern(each), _layout(each, self._cards(where, each))) for each in types}
        if len(set(layouts.values())) > 1:
            cards = {name: f"EFA on {sum(pattern)} of {len(pattern)} cards" for name, (pattern, _) in layouts.items()}
            cure = "make one fleet for each: all instances of a group have the interfaces of one launch template"
            raise ArgumentError(complaint(where, "instance_types", "share one layout of network cards", cards, cure))
        return layouts[types[0].name][1]

    def placement_of(self, where: str, types: Sequence[AcceleratedType], *, reserved: bool) -> Placement:
        if self.placement is not None:
            return _fitting(where, self.placement, types, reserved)
        clustered = all(each.placement is None or "cluster" in each.placement for each in types)
        return Placement.cluster() if clustered and not reserved else Placement.none()

    def _check_known(self, where: str, types: Sequence[AcceleratedType]) -> None:
        unknown = [each.name for each in types if each.network_cards is None and each.efa_interfaces != 0]
        if unknown:
            rule = f"be FleetNetwork.standard() for {_listed(unknown)}, whose network cards are not known"
            raise ArgumentError(complaint(where, _PARAMETER, rule, self, _STATE_THE_CARDS))

    def _check_efa(self, where: str, types: Sequence[AcceleratedType]) -> None:
        without = [each for each in types if not _most(each)]
        if without:
            rule = f"be FleetNetwork.standard() for {_listed([each.name for each in without])}, which take no EFA"
            siblings = [each.name for each in known_types().values() if _most(each) and _is_offered_as(each, without)]
            cure = "choose other types: no size of the family takes it"
            if siblings:
                cure = f"choose from {_listed(siblings)}"
            raise ArgumentError(complaint(where, _PARAMETER, rule, self, cure))

    def _check_alone(self, where: str, types: Sequence[AcceleratedType]) -> None:
        families = {each.family: efa_family(each.family).alone for each in types}
        if len(families) > 1 and any(families.values()):
            alone = ", ".join(family for family, is_alone in families.items() if is_alone)
            rule = f"hold one family where EFA traffic reaches no other ({alone})"
            cure = "make one fleet for each family"
            raise ArgumentError(complaint(where, "instance_types", rule, [each.name for each in types], cure))

    def _cards(self, where: str, type_: AcceleratedType) -> tuple[int, ...]:
        """The cards with an adapter."""
        takers = _takers(type_)
        choices = {len(choice): choice for choice in efa_family(type_.family).choices if {*choice} <= {*takers}}
        if choices:
            count = max(choices) if self.count is None else self.count
            if count not in choices:
                rule = f"be {' or '.join(map(str, sorted(choices)))} for {type_.name}"
                cure = f"AWS documents these choices of its network cards: leave it out for {max(choices)}"
                raise ArgumentError(complaint(where, f"{_PARAMETER}.interfaces", rule, count, cure))
            return choices[count]
        most = _most(type_)
        if self.count is not None and self.count > most:
            rule = f"be at most {most} for {type_.name}"
            cure = f"leave it out for {most}, which is all that the type takes"
            raise ArgumentError(complaint(where, f"{_PARAMETER}.interfaces", rule, self.count, cure))
        return takers[: most if self.count is None else self.count]


def _takers(type_: AcceleratedType) -> tuple[int, ...]:
    return tuple(index for index, card in enumerate(type_.network_cards or ()) if card.efa)


def _most(type_: AcceleratedType) -> int:
    takers = len(_takers(type_))
    return takers if type_.efa_interfaces is None else min(takers, type_.efa_interfaces)


def _pattern(type_: AcceleratedType) -> tuple[bool, ...]:
    return tuple(card.efa for card in type_.network_cards or ())


def _layout(type_: AcceleratedType, chosen: Sequence[int]) -> tuple[Interface, ...]:
    """What AWS recommends in "Maximize network bandwidth on instances with multiple network cards", EC2 User Guide.

    The primary interface is an ordinary one, and each adapter is an interface without an IP address: second on the
    first card, first on every other. A single card needs one interface for both, which can have a public address.
    """
    cards = type_.network_cards or ()
    if 0 in chosen and (len(cards) == 1 or cards[0].interfaces == 1):
        first = [Interface(card=0, device=0, type=_EFA)]
    else:
        first = [Interface(card=0, device=0, type=_ENA)]
        first += [Interface(card=0, device=1, type=_EFA_ONLY)] if 0 in chosen else []
    return (*first, *(Interface(card=card, device=0, type=_EFA_ONLY) for card in chosen if card != 0))


def _is_offered_as(type_: AcceleratedType, wanted: Sequence[AcceleratedType]) -> bool:
    return type_.status != "retired" and type_.family in {each.family for each in wanted}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join([*names[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])


def _fitting(where: str, placement: Placement, types: Sequence[AcceleratedType], reserved: bool) -> Placement:
    placement.check_types(where, types)
    if reserved and placement.makes_cluster:
        rule = "not be a new cluster placement group where capacity is reserved"
        cure = (
            "leave it out, or write Placement.in_group(...) with the group that the reservation was made in: launches "
            "in another group do not use it"
        )
        raise ArgumentError(complaint(where, f"{_PARAMETER}.placement", rule, placement, cure))
    return placement


def _checked(where: str, placement: Placement | None) -> Placement | None:
    if placement is not None:
        instance_of(where, "placement", placement, Placement, cure="write Placement.cluster() or Placement.none()")
    return placement


def _shown(**given: object) -> str:
    stated: Mapping[str, object] = {name: value for name, value in given.items() if value is not None}
    return ", ".join(f"{name}={value!r}" for name, value in stated.items())
