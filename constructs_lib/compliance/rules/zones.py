"""The zones that a template names, and the Region that it goes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Deployment, Resource, Stack
from constructs_lib.compliance.facts.accelerated_stacks import stacks_with_accelerators
from constructs_lib.compliance.facts.regions import may_be_elsewhere, region_of_zone, zones_of
from constructs_lib.compliance.rule import ERROR, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value


@dataclass(frozen=True)
class _Zoned:
    """A stack with accelerators, and the zones that its resources name."""

    stack: Stack
    zones: Sequence[Value]

    @property
    def resource(self) -> Resource:
        return self.zones[0].resource


def _zoned(deployment: Deployment) -> Iterator[_Zoned | NotKnown]:
    for stack, verdict in stacks_with_accelerators(deployment).items():
        zones = zones_of(stack)
        if zones:
            yield verdict if isinstance(verdict, NotKnown) else _Zoned(stack, zones)


def _are_of_one_region(zoned: _Zoned) -> Iterator[Broken]:
    expected, said_by = zoned.stack.region, "the stack"
    for zone in zoned.zones:
        region = region_of_zone(zone)
        if expected is None and region is not None:
            expected, said_by = region, zone.resource.id
        elif region is not None and region != expected:
            yield zone.broken(
                must=f"be a zone of {expected}, where {said_by} is: a stack is in one Region",
                cure="name zones of one Region, take them from Fn::GetAZs, or make a stack for each Region",
            )
            return
    for zone in zoned.zones:
        if may_be_elsewhere(zone):
            raise zone.not_known()


RULES = (
    Rule(
        id="zones-of-several-regions",
        title="The zones that a stack names are of the Region that it goes to",
        severity=ERROR,
        practices=("REL08-BP05",),
        why="A stack is deployed to one Region, which refuses the zones of any other: the deploy fails.",
        cure_here="Zones come from the VPC that AcceleratedFleet is given; nothing is to be set.",
        cure_plain="Take zones from Fn::GetAZs, or from a parameter of the type AWS::EC2::AvailabilityZone::Name.",
        link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html",
        subjects=_zoned,
        judge=_are_of_one_region,
    ),
)
