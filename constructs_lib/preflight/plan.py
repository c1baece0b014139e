"""What a template wants of EC2: its Auto Scaling groups, as far as the template alone tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from constructs_lib.preflight.calls import called_services
from constructs_lib.template.loops import LOOP
from constructs_lib.template.markers import Made, SsmParameter, Unknown, is_marker
from constructs_lib.template.plain_values import items, mapping, moment, whole, yes
from constructs_lib.template.settling import Template

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_TEMPLATE = "AWS::EC2::LaunchTemplate"
# These start instances too, and preflight does not read them.
_OTHERS = (
    "AWS::Batch::ComputeEnvironment",
    "AWS::EC2::EC2Fleet",
    "AWS::EC2::Instance",
    "AWS::EC2::SpotFleet",
    "AWS::EKS::Nodegroup",
    "AWS::ECS::CapacityProvider",
    "AWS::SageMaker::Endpoint",
)
_LAUNCH_TIME_PARAMETER = "resolve:ssm:"

#: Tag by which the instances of one of this library's fleets are known; its value names the stack and the group.
FLEET_TAG = "accelerated-fleet:id"

#: Data of a launch template by its id or name and its version (None: the default one), or why they are not known.
Fetch = Callable[[str, str | None], dict[str, Any] | Unknown]


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One way in which a group launches instances: a launch template, with the types that it is used for.

    Attributes:
        data: the launch template's data, settled.
        types: names of the instance types, with the weight of each.
        requirements: attributes in place of names, as the template writes them.
        unknown: why the data or the types are not known.
    """

    data: Mapping[str, Any]
    types: tuple[tuple[str, int], ...] = ()
    requirements: tuple[Mapping[str, Any], ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def image(self) -> object:
        """The image: its id, an SSM parameter, or why it is not known. None: the template names none."""
        image = self.data.get("ImageId")
        if isinstance(image, str) and image.startswith(_LAUNCH_TIME_PARAMETER):
            return SsmParameter(image[len(_LAUNCH_TIME_PARAMETER) :].split(":")[0])
        return image

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """The network interfaces that the template names."""
        return [mapping(each) for each in items(self.data.get("NetworkInterfaces"))]

    @property
    def efa_interfaces(self) -> int:
        """How many of them are Elastic Fabric Adapters."""
        return sum(str(each.get("InterfaceType")).startswith("efa") for each in self.interfaces)

    @property
    def market(self) -> object:
        """Market type of the launch template: ``spot``, ``capacity-block`` or None for On-Demand."""
        return mapping(self.data.get("InstanceMarketOptions")).get("MarketType")

    @property
    def fleet_tag(self) -> str | None:
        """Value of the tag by which instances of the fleet are known. None: it is not one of this library's fleets."""
        for each in items(self.data.get("TagSpecifications")):
            if mapping(each).get("ResourceType") == "instance":
                for tag in items(mapping(each).get("Tags")):
                    value = mapping(tag).get("Value")
                    if mapping(tag).get("Key") == FLEET_TAG and isinstance(value, str):
                        return value
        return None

    @property
    def volumes(self) -> list[dict[str, Any]]:
        """The block device mappings."""
        return [mapping(each) for each in items(self.data.get("BlockDeviceMappings"))]


@dataclass(frozen=True, kw_only=True)
class Action:
    """A scheduled action of a group.

    Attributes:
        logical_id: of the action in the template.
        start: when it happens, or for one that recurs from when on. None: not stated, or not known.
        most: the largest size that it sets. None: it sets none, or it is not known.
        recurs: whether it happens more than once.
    """

    logical_id: str
    start: datetime | None
    most: int | None
    recurs: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """An Auto Scaling group and what it may launch.

    Attributes:
        logical_id: of the group in the template.
        properties: of the group, settled.
        launches: the launch templates that it uses.
        most: the largest size that the template lets it have, in its own unit. None: not known.
        actions: its scheduled actions.
        warm_pool: properties of its warm pool. None: it has none.
        services: services of AWS that its instances' role lets them call. None: not known.
    """

    logical_id: str
    properties: Mapping[str, Any]
    launches: tuple[Launch, ...]
    most: int | None
    actions: tuple[Action, ...]
    warm_pool: Mapping[str, Any] | None
    services: frozenset[str] | None

    @property
    def types(self) -> tuple[tuple[str, int], ...]:
        """Names and weights of all instance types that the template names."""
        return tuple(dict.fromkeys(each for launch in self.launches for each in launch.types))

    @property
    def counts_vcpus(self) -> bool:
        """Whether the sizes of the group are vCPUs."""
        return self.properties.get("DesiredCapacityType") == "vcpu"

    @property
    def counts_memory(self) -> bool:
        """Whether the sizes of the group are MiB of memory."""
        return self.properties.get("DesiredCapacityType") == "memory-mib"

    @property
    def is_block(self) -> bool:
        """Whether it launches into Capacity Blocks."""
        return any(launch.market == "capacity-block" for launch in self.launches)

    def split(self, size: int) -> tuple[int, int]:
        """How many of a size are On-Demand and how many are Spot at most."""
        policy = self.properties.get("MixedInstancesPolicy")
        if policy is None:
            spot = any(launch.market == "spot" for launch in self.launches)
            return (0, size) if spot else (size, 0)
        shares = mapping(mapping(policy).get("InstancesDistribution"))
        base = min(size, whole(shares.get("OnDemandBaseCapacity")) or 0)
        percent = whole(shares.get("OnDemandPercentageAboveBaseCapacity"))
        above = math.ceil((size - base) * (100 if percent is None else percent) / 100)
        return base + above, size - base - above

    @property
    def reservation(self) -> Reservation:
        """The capacity reservations that it is aimed at."""
        own = mapping(self.properties.get("CapacityReservationSpecification"))
        target = mapping(own.get("CapacityReservationTarget"))
        ids = items(target.get("CapacityReservationIds"))
        groups = items(target.get("CapacityReservationResourceGroupArns"))
        only = own.get("CapacityReservationPreference") == "capacity-reservations-only"
        for launch in self.launches:
            of_launch = mapping(
                mapping(launch.data.get("CapacityReservationSpecification")).get("CapacityReservationTarget")
            )
            named = of_launch.get("CapacityReservationId")
            group = of_launch.get("CapacityReservationResourceGroupArn")
            ids += [] if named is None else [named]
            groups += [] if group is None else [group]
            only = only or named is not None or group is not None
        return Reservation(ids=tuple(_each_once(ids)), groups=tuple(_each_once(groups)), only=only)


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Which capacity reservations a group is aimed at.

    Attributes:
        ids: of the reservations, or markers.
        groups: ARNs of resource groups of reservations, or markers.
        only: whether it launches nowhere else.
    """

    ids: tuple[object, ...]
    groups: tuple[object, ...]
    only: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The groups of a template, and what else in it starts instances and was not read."""

    groups: tuple[Group, ...]
    not_judged: tuple[str, ...]


def read(template: Template, fetch: Fetch) -> Plan:
    """What the template wants of EC2.

    Args:
        template: to read.
        fetch: gives the data of a launch template that is not in the template, or says why it cannot.
    """
    groups = tuple(_group(template, id, properties, fetch) for id, properties in template.resources(_GROUP).items())
    others = [
        f"{id} ({template.kind(id)}) starts instances too" for id in template.ids() if template.kind(id) in _OTHERS
    ]
    loops = [f"{id} makes resources that only a deploy tells" for id in template.ids() if id.startswith(LOOP)]
    return Plan(groups=groups, not_judged=(*others, *loops))


def _group(template: Template, id: str, properties: Mapping[str, Any], fetch: Fetch) -> Group:
    launches = tuple(_launches(template, properties, fetch))
    scheduled = _belonging(template, "AWS::AutoScaling::ScheduledAction", id)
    actions = tuple(_action(logical_id, each) for logical_id, each in scheduled.items())
    sizes = [whole(properties.get("MaxSize")), *(action.most for action in actions)]
    pools = list(_belonging(template, "AWS::AutoScaling::WarmPool", id).values())
    return Group(
        logical_id=id,
        properties=properties,
        launches=launches,
        most=None if sizes[0] is None else max(size for size in sizes if size is not None),
        actions=actions,
        warm_pool=pools[0] if pools else None,
        services=_services(launches),
    )


def _launches(template: Template, properties: Mapping[str, Any], fetch: Fetch) -> list[Launch]:
    def launch(specification: object, overrides: Sequence[Mapping[str, Any]]) -> Launch:
        return _launch(_data(template, specification, fetch), overrides)

    policy = properties.get("MixedInstancesPolicy")
    if policy is None:
        specification = properties.get("LaunchTemplate")
        if specification is None:
            reason = "the group has no launch template (a launch configuration or an instance id is not read)"
            return [Launch(data={}, unknown=(Unknown(reason, "use a launch template"),))]
        return [launch(specification, [])]
    default = mapping(mapping(policy).get("LaunchTemplate"))
    overrides = [mapping(each) for each in items(default.get("Overrides"))]
    own = [each for each in overrides if each.get("LaunchTemplateSpecification") is not None]
    shared = [each for each in overrides if each.get("LaunchTemplateSpecification") is None]
    launches = [launch(each["LaunchTemplateSpecification"], [each]) for each in own]
    if shared or not own:
        launches.insert(0, launch(default.get("LaunchTemplateSpecification"), shared))
    return launches


def _launch(found: dict[str, Any] | Unknown, overrides: Sequence[Mapping[str, Any]]) -> Launch:
    data, unknown = ({}, found) if isinstance(found, Unknown) else (found, None)
    problems = [] if unknown is None else [unknown]
    types: list[tuple[str, int]] = []
    requirements = []
    for choice in overrides or [data]:
        named, wanted = choice.get("InstanceType"), choice.get("InstanceRequirements")
        if isinstance(named, str):
            types.append((named, max(1, whole(choice.get("WeightedCapacity")) or 1)))
        elif isinstance(wanted, dict) and not _lacking(wanted):
            requirements.append(wanted)
        elif isinstance(wanted, dict):
            problems.append(Unknown(f"the attributes that it asks for lack {_lacking(wanted)}", "EC2 needs both"))
        elif unknown is None:
            problems.append(named if isinstance(named, Unknown) else _no_type(named))
    return Launch(data=data, types=tuple(types), requirements=tuple(requirements), unknown=tuple(problems))


def _lacking(requirements: Mapping[str, Any]) -> str:
    """Names of the attributes without which EC2 says nothing, of those that are not there."""
    missing = [each for each in ("VCpuCount", "MemoryMiB") if "Min" not in mapping(requirements.get(each))]
    return " and ".join(missing)


def _no_type(named: object) -> Unknown:
    if named is None:
        return Unknown("neither the group nor its launch template names an instance type", "name one in either")
    return Unknown("the instance type is settled by the deploy", "write its name into the template")


def _data(template: Template, specification: object, fetch: Fetch) -> dict[str, Any] | Unknown:
    """Data of a launch template, or why they are not known."""
    named = mapping(specification)
    given = named.get("LaunchTemplateId", named.get("LaunchTemplateName"))
    if isinstance(given, Made) and given.home.kind(given.logical_id) == _TEMPLATE:
        return mapping(given.home.properties(given.logical_id).get("LaunchTemplateData"))
    if isinstance(given, Unknown):
        return given
    if not isinstance(given, str):
        return Unknown("the group names no launch template that can be read", "name one of this template")
    for properties in template.resources(_TEMPLATE).values():
        if properties.get("LaunchTemplateName") == given:
            return mapping(properties.get("LaunchTemplateData"))
    version = named.get("Version")
    return fetch(given, version if isinstance(version, str) else None)


def _belonging(template: Template, kind: str, group: str) -> dict[str, dict[str, Any]]:
    found = template.resources(kind)
    return {id: each for id, each in found.items() if each.get("AutoScalingGroupName") == Made(template, group)}


def _action(logical_id: str, properties: Mapping[str, Any]) -> Action:
    return Action(
        logical_id=logical_id,
        start=moment(properties.get("StartTime")),
        most=whole(properties.get("MaxSize")),
        recurs=properties.get("Recurrence") is not None,
    )


def _services(launches: Sequence[Launch]) -> frozenset[str] | None:
    services: set[str] = set()
    for launch in launches:
        profile = mapping(launch.data.get("IamInstanceProfile"))
        given = profile.get("Arn", profile.get("Name"))
        if not isinstance(given, Made):
            return None
        found = called_services(given)
        if found is None:
            return None
        services |= found
    return frozenset(services)


def _each_once(values: Sequence[object]) -> list[object]:
    found: list[object] = []
    for value in values:
        if not any(value is each or (not is_marker(value) and value == each) for each in found):
            found.append(value)
    return found


def asks_public_address(launch: Launch) -> bool | None:
    """Whether the launch template gives the instances a public address; None: the subnet decides."""
    for interface in launch.interfaces:
        if interface.get("AssociatePublicIpAddress") is not None:
            return yes(interface["AssociatePublicIpAddress"])
    return None
