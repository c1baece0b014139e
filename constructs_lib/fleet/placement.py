"""Where the instances stand in relation to each other: placement groups of EC2."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.references import check_regions
from constructs_lib.validation import complaint, integer, is_token

_PARAMETER = "network.placement"
_CLUSTER, _PARTITION, _SPREAD = "cluster", "partition", "spread"
_STRATEGIES = {
    _CLUSTER: ec2.PlacementGroupStrategy.CLUSTER,
    _PARTITION: ec2.PlacementGroupStrategy.PARTITION,
    _SPREAD: ec2.PlacementGroupStrategy.SPREAD,
}
# "Placement group rules and limitations" and "CreatePlacementGroup", EC2.
_MOST_PARTITIONS = 7
_MOST_SPREAD_IN_A_ZONE = 7
_LONGEST_NAME = 255
_GROUP_ID = re.compile(r"pg-[0-9a-f]{8,17}")


class Placement(ABC):
    """Where the instances stand in relation to each other; made by one of the five factories below."""

    @staticmethod
    def cluster() -> Placement:
        """Close together in one zone, in a new placement group: the shortest way between instances.

        AWS finds room for many at once more easily than for one after the other.
        """
        return _New(_CLUSTER)

    @staticmethod
    def partition(partitions: int) -> Placement:
        """In a new placement group of partitions which share no rack; AWS spreads the instances evenly over them.

        Args:
            partitions: 1 to 7.

        Raises:
            ArgumentError: the number is of the wrong type, out of range or a token.
        """
        cure = "write for example Placement.partition(3)"
        if is_token(partitions):
            rule = "be known at synth, since it is checked"
            raise ArgumentError(complaint("Placement.partition", "partitions", rule, "a token", cure))
        integer("Placement.partition", "partitions", partitions, minimum=1, maximum=_MOST_PARTITIONS, cure=cure)
        return _New(_PARTITION, partitions)

    @staticmethod
    def spread() -> Placement:
        """Each instance on a rack of its own, in a new placement group: at most 7 instances in each zone."""
        return _New(_SPREAD)

    @staticmethod
    def none() -> Placement:
        """Wherever AWS has room, which finds capacity soonest."""
        return _Anywhere()

    @staticmethod
    def in_group(group: ec2.IPlacementGroup | str) -> Placement:
        """In a placement group that exists, for example the one that a capacity reservation was made in.

        Args:
            group: the group or its name. The limits of a group whose strategy the CDK does not know, as by its name,
                are not checked.

        Raises:
            ArgumentError: it is no placement group, or nothing that names one.
        """
        if isinstance(group, str):
            _check_name(group)
        elif not hasattr(group, "placement_group_name"):
            cure = "pass an ec2.PlacementGroup, or the name of a group"
            raise ArgumentError(complaint("Placement.in_group", "group", "be a placement group", group, cure))
        return _Existing(group)

    @property
    @abstractmethod
    def strategy(self) -> str | None:
        """``cluster``, ``partition`` or ``spread``; None without a group, or if nobody knows."""

    @property
    def needs_one_zone(self) -> bool:
        """Whether a fleet in several zones could not start."""
        return self.strategy == _CLUSTER

    @property
    def makes_cluster(self) -> bool:
        """Whether a new group is made that capacity reserved before cannot be in."""
        return False

    @abstractmethod
    def group_name(self, scope: Construct, id: str) -> str | None:
        """The group's name, after making it if it is a new one; None for no group."""

    def check_types(self, where: str, types: Sequence[AcceleratedType]) -> None:
        """Refuse a strategy that a type does not take. A type whose strategies are not known is not refused.

        Raises:
            ArgumentError: the message names the types.
        """
        strategy = self.strategy
        if strategy is None:
            return
        without = [each.name for each in types if each.placement is not None and strategy not in each.placement]
        if without:
            rule = f"be one that {', '.join(without)} can be placed by"
            cure = "write Placement.none(), or choose other types"
            raise ArgumentError(complaint(where, _PARAMETER, rule, self, cure))

    def check_size(self, where: str, max_capacity: int, zones: int, *, waiting: int) -> None:
        """Refuse more instances than a spread group takes in a fleet's zones, those ``waiting`` in a pool included.

        Raises:
            ArgumentError: the maximum could never be reached.
        """
        most = _MOST_SPREAD_IN_A_ZONE * zones - waiting
        if self.strategy == _SPREAD and max_capacity > most:
            beside = f" beside the {waiting} that wait in the warm pool" if waiting else ""
            rule = f"be at most {most}{beside} with Placement.spread() in {zones} {'zone' if zones == 1 else 'zones'}"
            cure = (
                f"a spread group takes {_MOST_SPREAD_IN_A_ZONE} instances in each zone: lower it, add zones, or write "
                "Placement.partition(7)"
            )
            raise ArgumentError(complaint(where, "max_capacity", rule, max_capacity, cure))


@dataclass(frozen=True)
class _New(Placement):
    kind: str
    partitions: int | None = None

    def __repr__(self) -> str:
        return f"Placement.{self.kind}({'' if self.partitions is None else self.partitions})"

    @property
    def strategy(self) -> str | None:
        return self.kind

    @property
    def makes_cluster(self) -> bool:
        return self.kind == _CLUSTER

    def group_name(self, scope: Construct, id: str) -> str | None:
        # Without a name of its own: a second stack, or a replacement of this group, would collide with it.
        group = ec2.PlacementGroup(scope, id, strategy=_STRATEGIES[self.kind], partitions=self.partitions)
        resource = group.node.default_child
        assert isinstance(resource, ec2.CfnPlacementGroup)
        # CloudFormation replaces a group whose tags change: later instances would stand apart from those that work.
        resource.add_property_deletion_override("Tags")
        return group.placement_group_name


@dataclass(frozen=True)
class _Existing(Placement):
    group: ec2.IPlacementGroup | str

    def __repr__(self) -> str:
        return f"Placement.in_group({self.group!r})"

    @property
    def strategy(self) -> str | None:
        known = None if isinstance(self.group, str) else self.group.strategy
        return next((name for name, strategy in _STRATEGIES.items() if strategy is known), None)

    def group_name(self, scope: Construct, id: str) -> str | None:
        if isinstance(self.group, str):
            return self.group
        check_regions(scope, network__placement=self.group)
        return self.group.placement_group_name


@dataclass(frozen=True)
class _Anywhere(Placement):
    def __repr__(self) -> str:
        return "Placement.none()"

    @property
    def strategy(self) -> str | None:
        return None

    def group_name(self, scope: Construct, id: str) -> str | None:
        return None


def _check_name(name: str) -> None:
    where, parameter = "Placement.in_group", "group"
    if is_token(name):
        return
    if _GROUP_ID.fullmatch(name):
        raise ArgumentError(complaint(where, parameter, "be a group's name, not its id", name, "give its name"))
    if not name.strip() or not name.isascii() or len(name) > _LONGEST_NAME:
        rule = f"be a name of 1 to {_LONGEST_NAME} ASCII characters"
        raise ArgumentError(complaint(where, parameter, rule, name, "give the name of a placement group that exists"))
