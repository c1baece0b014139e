"""In how many subnets and zones the instances of an owner stand."""

from __future__ import annotations

from collections.abc import Iterable

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.launches import BATCH, FLEET, GROUP, NODE_GROUP, SPOT_FLEET
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.template.markers import Made, Unknown, ZoneAt, Zones, is_marker

SUBNET = "AWS::EC2::Subnet"
_PLACES = {GROUP: "VPCZoneIdentifier", BATCH: "ComputeResources.Subnets", NODE_GROUP: "Subnets"}


def subnets_of(owner: Resource) -> list[Value]:
    """The subnets that an owner names; none where it names none, or starts one instance.

    Raises:
        NotKnown: how many they are is not known.
    """
    path = _PLACES.get(owner.type)
    return [] if path is None else _counted(owner.properties.at(path))


def is_in_one_place(owner: Resource) -> bool:
    """Whether an owner names one subnet alone, or as a group or a fleet one zone in place of subnets.

    Raises:
        NotKnown: how many they are is not known.
    """
    if owner.type in (FLEET, SPOT_FLEET):
        return len(_places_of_fleet(owner)) == 1
    subnets = subnets_of(owner)
    if subnets or owner.type != GROUP:
        return len(subnets) == 1
    zones = owner.properties.at("AvailabilityZones")
    # Every Region has several zones.
    return not isinstance(zones.raw, Zones) and len(_counted(zones)) == 1


def in_several_zones(owner: Resource) -> bool:
    """Whether an owner's subnets are in zones that are known to differ.

    Raises:
        NotKnown: it names several, of which none are known to be in different zones, and not all in one.
    """
    subnets = subnets_of(owner)
    if len(subnets) > 1:
        return _differ(subnets, (_zone_of(each) for each in subnets))
    zones = [] if subnets or owner.type != GROUP else _counted(owner.properties.at("AvailabilityZones"))
    return len(zones) > 1 and _differ(zones, (each.raw for each in zones))


def _places_of_fleet(fleet: Resource) -> frozenset[object]:
    """Every subnet and zone that its specifications name; none where one names none, for which AWS chooses."""
    data = fleet.properties.at("SpotFleetRequestConfigData") if fleet.type == SPOT_FLEET else fleet.properties
    specifications = data.each("LaunchSpecifications")
    for config in data.each("LaunchTemplateConfigs"):
        specifications += config.each("Overrides") or [config]
    named = [_places_in(each) for each in specifications]
    return frozenset().union(*named) if all(named) else frozenset()


def _places_in(specification: Value) -> frozenset[object]:
    """The places of one specification of a fleet, whose text may name several between commas."""
    values = [specification.at(path) for path in ("SubnetId", "AvailabilityZone", "Placement.AvailabilityZone")]
    values += [each.at("SubnetId") for each in specification.each("NetworkInterfaces")]
    named = next((each for each in values if not each.is_absent), None)
    if named is None:
        return frozenset()
    if isinstance(named.raw, (Made, ZoneAt)):
        return frozenset([named.raw])
    return frozenset(part.strip() for part in (named.text() or "").split(","))


def _counted(places: Value) -> list[Value]:
    """The places of a list, each by itself.

    Raises:
        NotKnown: it is a value of which only a deploy tells how many it is.
    """
    if isinstance(places.raw, Unknown) or not is_marker(places.raw):
        return places.each()
    made = places.made()
    if made is not None and made.type == SUBNET:
        return [places]
    raise places.not_known("how many places these are is known at the deploy only")


def _zone_of(subnet: Value) -> object:
    try:
        made = subnet.made()
    except NotKnown:
        return None
    if made is None or made.type != SUBNET:
        return None
    return made.properties.at("AvailabilityZone").raw


def _differ(places: list[Value], zones: Iterable[object]) -> bool:
    """Whether two of the zones differ; a name and a place in the list of zones may be the same zone."""
    names, indices, unknown = set(), set(), False
    for zone in zones:
        if isinstance(zone, str):
            names.add(zone)
        elif isinstance(zone, ZoneAt):
            indices.add(zone.index)
        else:
            unknown = True
    if len(names) > 1 or len(indices) > 1:
        return True
    if unknown or (names and indices):
        raise places[0].not_known("the zones of its subnets are not known")
    return False
