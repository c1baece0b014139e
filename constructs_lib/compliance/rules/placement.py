"""Placement groups of accelerated instances: "Placement strategies" and "Capacity Reservations in cluster placement
groups", Amazon EC2 User Guide, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import BATCH, GROUP, Launch, accelerated_launches
from constructs_lib.compliance.facts.subnets import in_several_zones, subnets_of
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_PLACEMENT_GROUP = "AWS::EC2::PlacementGroup"
_CLUSTER, _SPREAD = "cluster", "spread"
_MOST_SPREAD_IN_A_ZONE = 7
_RESERVATION = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
_STRATEGIES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"
_RESERVED = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html"
_OWN_GROUP = {GROUP: "PlacementGroup", BATCH: "ComputeResources.PlacementGroup"}


@dataclass(frozen=True)
class _Placed:
    """A launch into a placement group."""

    launch: Launch
    named: Value

    @property
    def resource(self) -> Resource:
        return self.named.resource

    @property
    def group(self) -> Resource:
        """The placement group.

        Raises:
            NotKnown: it is not in the templates.
        """
        made = self.named.made()
        if made is None or made.type != _PLACEMENT_GROUP:
            raise self.named.not_known("the placement group is not in the templates")
        return made

    @property
    def strategy(self) -> str:
        """``cluster``, ``partition`` or ``spread``.

        Raises:
            NotKnown: it is not known.
        """
        return self.group.properties.text("Strategy") or _CLUSTER


def _placed(deployment: Deployment) -> Iterator[_Placed | NotKnown]:
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            named = _placement(launch)
        except NotKnown as not_known:
            yield not_known
            continue
        if named is not None:
            yield _Placed(launch, named)


def _placement(launch: Launch) -> Value | None:
    own = _OWN_GROUP.get(launch.owner.type)
    if own is not None and not launch.owner.properties.at(own).is_absent:
        return launch.owner.properties.at(own)
    if launch.is_left_to_service:
        return None
    for path in ("Placement.GroupName", "Placement.GroupId", "PlacementGroupName"):
        if not launch.setting(path).is_absent:
            return launch.setting(path)
    return None


def _zones(placed: _Placed) -> Iterator[Broken]:
    if placed.strategy == _CLUSTER and in_several_zones(placed.launch.owner):
        yield placed.named.broken(
            must="be no cluster placement group where subnets are in different zones: it is in one zone",
            cure="name one subnet, or leave the placement group out",
        )


def _types(placed: _Placed) -> Iterator[Broken]:
    strategy = placed.strategy
    types = placed.launch.facts_of_all()
    without = [each.name for each in types if each.placement is not None and strategy not in each.placement]
    if without:
        yield placed.named.broken(
            must=f"be a group whose strategy {', '.join(without[:3])} takes ({strategy} is not)",
            cure="leave the placement group out, or choose another type",
        )
    elif unknown := next((each.name for each in types if each.placement is None), None):
        raise placed.named.not_known(f"in which placement groups {unknown} can be is not known")


def _spread(placed: _Placed) -> Iterator[Broken]:
    if placed.strategy != _SPREAD or placed.launch.owner.type != GROUP:
        return
    if placed.group.properties.text("SpreadLevel") == "host":
        return
    # Each subnet is in a zone, so there are no more zones than subnets.
    zones = len(subnets_of(placed.launch.owner))
    most, wanted = _MOST_SPREAD_IN_A_ZONE * zones, placed.launch.owner.properties.whole("MaxSize")
    if zones and wanted is not None and wanted > most:
        yield placed.launch.owner.properties.broken(
            "MaxSize",
            must=f"be at most {most} in a spread placement group, which takes {_MOST_SPREAD_IN_A_ZONE} in a zone",
            cure=f"lower MaxSize to {most}, add subnets in other zones, or use a partition placement group",
        )


def _reserved(placed: _Placed) -> Iterator[Broken]:
    if placed.launch.is_left_to_service:
        return
    reservation = placed.launch.setting(_RESERVATION)
    if reservation.is_absent or placed.strategy != _CLUSTER:
        return
    made = reservation.made()
    if made is None:
        raise reservation.not_known("whether the reservation was made in this placement group is not known")
    if not made.properties.at("PlacementGroupArn").is_absent:
        return
    yield placed.named.broken(
        must="be left out, or be the group in which the capacity reservation was made",
        cure="remove the placement group from the launch, or make the reservation with PlacementGroupArn of this group",
    )


RULES = (
    Rule(
        id="cluster-placement-in-several-zones",
        title="A cluster placement group is used from one zone",
        severity=ERROR,
        practices=("PERF04-BP02", "REL07-BP01"),
        why="A cluster placement group is in one zone: launches in the subnets of the others fail.",
        cure_here="FleetNetwork.efa() and Placement.cluster() keep a fleet in one zone.",
        cure_plain="Name one subnet, or leave the placement group out.",
        link=_STRATEGIES,
        subjects=_placed,
        judge=_zones,
    ),
    Rule(
        id="placement-not-taken-by-type",
        title="Instance types take the strategy of their placement group",
        severity=ERROR,
        practices=("PERF04-BP02",),
        why="EC2 refuses to start a type in a placement group whose strategy it does not take.",
        cure_here="Placement.none() is right for such a type; FleetNetwork.efa() chooses it.",
        cure_plain="Leave the placement group out.",
        link=_STRATEGIES,
        subjects=_placed,
        judge=_types,
    ),
    Rule(
        id="spread-placement-too-small",
        title="A spread placement group has room for the group's maximum",
        severity=WARNING,
        practices=("REL07-BP01",),
        why="A spread placement group takes 7 running instances in a zone: launches beyond that fail.",
        cure_here="AcceleratedFleet refuses a max_capacity that Placement.spread() has no room for.",
        cure_plain="Lower MaxSize, add zones, or use the strategy partition.",
        link=_STRATEGIES,
        subjects=_placed,
        judge=_spread,
    ),
    Rule(
        id="reservation-outside-placement-group",
        title="Reserved capacity is used without a placement group that it was not made in",
        severity=WARNING,
        practices=("COST07-BP01", "PERF04-BP02"),
        why=(
            "A launch into a cluster placement group uses only reservations that were made in it. Into another one "
            "it fails with insufficient capacity, while the reservation stands empty and is paid for."
        ),
        cure_here="FleetNetwork.efa() makes no placement group where capacity is reserved.",
        cure_plain="Remove the placement group, or make the reservation in it.",
        link=_RESERVED,
        subjects=_placed,
        judge=_reserved,
    ),
)
