"""Network interfaces of accelerated instances: Elastic Fabric Adapters (EFA), network cards and their rules.

Sources: "Elastic Fabric Adapter for AI/ML and HPC workloads" and "Maximize network bandwidth on Amazon EC2 instances
with multiple network cards", Amazon EC2 User Guide, read in November 2026; the cards of each type are the catalogue's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.catalog import AcceleratedType, NetworkCard
from constructs_lib.catalog.efa import efa_family
from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.launches import Launch, accelerated_launches
from constructs_lib.compliance.facts.policies import elements
from constructs_lib.compliance.facts.subnets import in_several_zones, subnets_of
from constructs_lib.compliance.rule import ERROR, WARNING, Rule
from constructs_lib.compliance.values import Broken, NotKnown, Value

_EFA_GUIDE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
_EFA_START = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"
_CARDS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_INTERFACES = "NetworkInterfaces"
_EFA_ONLY = "efa-only"
_EFA_TYPES = ("efa", _EFA_ONLY)
_INTERFACE = "AWS::EC2::NetworkInterface"
_GROUP = "AWS::EC2::SecurityGroup"
_ALL = "-1"


# --- which launches --------------------------------------------------------------------------------------------------


def _with_interfaces(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    """Launches that state their network interfaces."""
    for launch in accelerated_launches(deployment):
        if isinstance(launch, NotKnown):
            yield launch
            continue
        try:
            if not launch.is_left_to_service and not launch.setting(_INTERFACES).is_absent:
                yield launch
        except NotKnown as not_known:
            yield not_known


def _with_efa(deployment: Deployment) -> Iterator[Launch | NotKnown]:
    for launch in _with_interfaces(deployment):
        try:
            if isinstance(launch, NotKnown) or _adapters(launch):
                yield launch
        except NotKnown as not_known:
            yield not_known


def _adapters(launch: Launch) -> list[Value]:
    """Its interfaces that are Elastic Fabric Adapters."""
    described = map(_described, launch.setting(_INTERFACES).each())
    return [each for each in described if each.text("InterfaceType") in _EFA_TYPES]


def _described(interface: Value) -> Value:
    """Where an interface is described: one that is named by its id is a resource of its own."""
    named = interface.at("NetworkInterfaceId")
    if named.is_absent:
        return interface
    made = named.made()
    if made is None or made.type != _INTERFACE:
        raise named.not_known("the network interface is not in the templates")
    return made.properties


# --- adapters --------------------------------------------------------------------------------------------------------


def _beyond_type(launch: Launch) -> Iterator[Broken]:
    adapters = _adapters(launch)
    for facts in launch.facts_of_all():
        most = facts.efa_interfaces
        if most is None:
            raise launch.named_types[0].not_known(f"how many adapters {facts.name} takes is not known")
        if len(adapters) > most:
            place = adapters[most].at("InterfaceType")
            yield place.broken(
                must=f"not be an Elastic Fabric Adapter, since {facts.name} takes {most or 'none'}",
                cure="leave the interface out, or choose a type that takes it"
                if most
                else "write interface in place of efa, or choose a type that takes it",
            )
            return


def _reaching(launch: Launch) -> Iterator[Broken]:
    families = dict.fromkeys(each.family for each in launch.facts_of_all())
    alone = [each for each in families if efa_family(each).alone]
    if alone and len(families) > 1:
        yield launch.named_types[0].broken(
            must=f"be of the same family as the other types: EFA traffic of {', '.join(alone)} reaches no other",
            got=", ".join(launch.types),
            cure="make a group for each family",
        )


def _one_zone(launch: Launch) -> Iterator[Broken]:
    if in_several_zones(launch.owner):
        subnets = subnets_of(launch.owner)
        place = (
            launch.owner.properties.at("AvailabilityZones")
            if not subnets
            else Value(launch.owner, subnets[0].path[:-1], [each.raw for each in subnets])
        )
        yield place.broken(
            must="be in one zone, since EFA traffic does not leave it",
            got=f"{len(subnets) or 'several'} in different zones",
            cure="name one subnet, and make a group for each zone that works alone",
        )


# --- layout of cards -------------------------------------------------------------------------------------------------


def _layout(launch: Launch) -> Iterator[Broken]:
    interfaces = launch.setting(_INTERFACES).each()
    places = [(each.whole("NetworkCardIndex") or 0, each.whole("DeviceIndex") or 0) for each in interfaces]
    counted = Counter(places)
    for interface, (card, device) in zip(interfaces, places, strict=True):
        if counted[card, device] > 1:
            yield interface.broken(
                "DeviceIndex",
                must=f"be another one on each interface of network card {card}",
                cure="give the interfaces of a card the device indices 0 and 1",
            )
            return
        if (card, device) == (0, 0) and interface.text("InterfaceType") == _EFA_ONLY:
            yield interface.broken(
                "InterfaceType",
                must="be interface or efa on device 0 of card 0, which needs an IP address",
                cure="write interface, and add an efa-only one with device index 1 on card 0",
            )
    if (0, 0) not in counted:
        yield launch.setting(_INTERFACES).broken(
            must="have one with device index 0 on network card 0, the primary one",
            got=f"none among {len(interfaces)}",
            cure="add an interface with NetworkCardIndex: 0 and DeviceIndex: 0",
        )
    for facts in launch.facts_of_all():
        if facts.network_cards is None:
            raise launch.named_types[0].not_known(f"the network cards of {facts.name} are not known")
        yield from _on_cards(facts, facts.network_cards, interfaces, places)


def _on_cards(
    facts: AcceleratedType, cards: Sequence[NetworkCard], interfaces: list[Value], places: list[tuple[int, int]]
) -> Iterator[Broken]:
    adapters: Counter[int] = Counter()
    for interface, (card, device) in zip(interfaces, places, strict=True):
        is_adapter = interface.text("InterfaceType") in _EFA_TYPES
        adapters[card] += is_adapter
        if card >= len(cards):
            yield interface.broken(
                "NetworkCardIndex",
                must=f"be at most {len(cards) - 1}: {facts.name} has {_counted(len(cards), 'network card')}",
                cure="leave the interface out, or choose a type with so many cards",
            )
        elif device >= cards[card].interfaces:
            yield interface.broken(
                "DeviceIndex",
                must=f"be below {cards[card].interfaces}, the interfaces that a card of {facts.name} takes",
                cure="count devices on each card anew: 0, then 1; it does not go up with the card",
            )
        elif is_adapter and cards[card].efa and adapters[card] > 1:
            yield interface.broken(
                "InterfaceType",
                must=f"be interface: card {card} has an Elastic Fabric Adapter already, and takes one",
                cure="write interface, and put the adapter on another card",
            )
        elif is_adapter and not cards[card].efa and facts.efa_interfaces:
            yield interface.broken(
                "InterfaceType",
                must=f"be interface on card {card} of {facts.name}, which takes no Elastic Fabric Adapter",
                cure="write interface, and put the adapter on another card",
            )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _public_address(launch: Launch) -> Iterator[Broken]:
    interfaces = launch.setting(_INTERFACES).each()
    if len(interfaces) < 2:
        return
    for each in interfaces:
        if each.flag("AssociatePublicIpAddress", default=False):
            yield each.broken(
                "AssociatePublicIpAddress",
                must="be left out where an instance has several interfaces",
                cure="remove it; use a private subnet with a NAT gateway or endpoints, or an Elastic IP address",
            )


def _groups_beside(launch: Launch) -> Iterator[Broken]:
    if not launch.setting(_INTERFACES).each():
        return
    for name in ("SecurityGroupIds", "SecurityGroups"):
        groups = launch.setting(name)
        if not groups.is_absent:
            yield groups.broken(
                must="be left out where NetworkInterfaces are given",
                got="security groups beside the interfaces",
                cure="name the security groups in Groups of each network interface",
            )


# --- rules of the security group -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EfaGroups:
    """The security groups of the adapters of a launch."""

    launch: Launch
    adapters: tuple[Value, ...]

    @property
    def resource(self) -> Resource:
        return self.launch.resource


def _efa_groups(deployment: Deployment) -> Iterator[_EfaGroups | NotKnown]:
    for launch in _with_efa(deployment):
        yield launch if isinstance(launch, NotKnown) else _EfaGroups(launch, tuple(_adapters(launch)))


def _self_rules(subject: _EfaGroups) -> Iterator[Broken]:
    checked: set[tuple[object, ...]] = set()
    for adapter in subject.adapters:
        groups = _groups_of(adapter)
        if tuple(groups) not in checked:
            checked.add(tuple(groups))
            yield from _lacking(groups)


def _groups_of(adapter: Value) -> list[Resource]:
    groups = adapter.at("GroupSet" if adapter.resource.type == _INTERFACE else "Groups")
    named = elements(groups)
    if not named:
        raise groups.not_known("the adapter has the default security group, which is not in the templates")
    found = []
    for each in named:
        made = each.made()
        if made is None or made.type != _GROUP:
            raise each.not_known("the security group is not in the templates")
        found.append(made)
    return found


def _lacking(groups: list[Resource]) -> Iterator[Broken]:
    """What one of the groups has to have: the traffic of an adapter matches the rules of all its groups together."""
    ways = {
        "Ingress": ("SecurityGroupIngress", "SourceSecurityGroupId", "from"),
        "Egress": ("SecurityGroupEgress", "DestinationSecurityGroupId", "to"),
    }
    for inline, other, word in ways.values():
        if _some_lets_through(groups, inline, other):
            continue
        _check_seen(groups)
        yield groups[0].properties.broken(
            inline,
            must=f"have a rule for all traffic {word} the security group itself, which EFA needs; one for 0.0.0.0/0 is "
            "not enough, since EFA traffic has no IP address",
            got="none" if groups[0].properties.at(inline).is_absent else "rules without it",
            cure=f"add an AWS::EC2::{inline} with IpProtocol: -1, and GroupId and {other} both of the group",
        )


def _some_lets_through(groups: list[Resource], inline: str, other: str) -> bool:
    doubt: NotKnown | None = None
    for group in groups:
        for rule in _rules_of(group, inline):
            try:
                if isinstance(rule, NotKnown):
                    raise rule
                if rule.text("IpProtocol") in (_ALL, "all") and rule.made(other) in groups:
                    return True
            except NotKnown as not_known:
                doubt = doubt or not_known
    if doubt is not None:
        raise doubt
    return False


def _rules_of(group: Resource, inline: str) -> Iterable[Value | NotKnown]:
    rules: list[Value | NotKnown] = []
    try:
        rules += group.properties.each(inline)
    except NotKnown as not_known:
        rules.append(not_known)
    return (*rules, *group.deployment.once(_separate_rules).get((group, inline), ()))


def _separate_rules(deployment: Deployment) -> dict[tuple[Resource, str], list[Value]]:
    """The rules that are resources of their own, by their group and their property's name."""
    found: dict[tuple[Resource, str], list[Value]] = {}
    for inline in ("SecurityGroupIngress", "SecurityGroupEgress"):
        for rule in deployment.resources(f"AWS::EC2::{inline}"):
            try:
                group = rule.properties.made("GroupId")
            except NotKnown:
                continue
            if group is not None:
                found.setdefault((group, inline), []).append(rule.properties)
    return found


def _check_seen(groups: list[Resource]) -> None:
    """A rule may also be added where nobody sees it here."""
    for group in groups:
        if group.deployment.unread:
            raise NotKnown(group, f"{group.deployment.unread[0]} may add the rule")
        if group.deployment.exported(group):
            raise NotKnown(group, "another stack may add the rule: an output exports the group")
        if opaque := next((each for each in group.users() if each.type.startswith("Custom::")), None):
            raise NotKnown(group, f"{opaque.id} may add the rule")


RULES = (
    Rule(
        id="efa-not-on-type",
        title="Instance types take as many Elastic Fabric Adapters as they are given",
        severity=ERROR,
        practices=("PERF04-BP02", "SUS05-BP04/tune"),
        why="EC2 refuses to start an instance with an adapter that its type does not take.",
        cure_here="FleetNetwork.efa() knows how many each type takes.",
        cure_plain="Leave out the adapters beyond what the type takes.",
        link=_EFA_GUIDE,
        subjects=_with_efa,
        judge=_beyond_type,
    ),
    Rule(
        id="efa-without-self-rules",
        title="The security group of EFA lets all traffic from and to itself through",
        severity=ERROR,
        practices=("PERF04-BP02", "SUS05-BP04/tune"),
        why=(
            "EFA traffic is no IP traffic: a rule for 0.0.0.0/0 does not match it. Without rules that name the group "
            "itself, in and out, jobs start, hang in the handshake, and the most expensive nodes do nothing."
        ),
        cure_here="FleetNetwork.efa() adds both rules.",
        cure_plain="Add a SecurityGroupIngress and a SecurityGroupEgress with IpProtocol -1 from and to the group.",
        link=_EFA_START,
        subjects=_efa_groups,
        judge=_self_rules,
    ),
    Rule(
        id="efa-between-types",
        title="Types of a group with EFA reach each other by it",
        severity=ERROR,
        practices=("PERF04-BP02", "SUS05-BP04/tune"),
        why="EFA traffic of some families, such as P4d, reaches no other type: nodes of both wait for each other.",
        cure_here="FleetNetwork.efa() refuses such types in one fleet.",
        cure_plain="Make a group for each family.",
        link=_EFA_GUIDE,
        subjects=_with_efa,
        judge=_reaching,
    ),
    Rule(
        id="efa-in-several-zones",
        title="Instances with EFA are in one zone",
        severity=WARNING,
        practices=("PERF04-BP02", "SUS05-BP04/tune"),
        why="EFA traffic does not leave a zone: nodes of a group that is in several cannot reach each other by it.",
        cure_here="FleetNetwork.efa() keeps a fleet in one zone.",
        cure_plain="Name one subnet.",
        link=_EFA_GUIDE,
        subjects=_with_efa,
        judge=_one_zone,
    ),
    Rule(
        id="network-card-layout",
        title="Network interfaces are on cards and devices that the instance types have",
        severity=ERROR,
        practices=("PERF04-BP02",),
        why=(
            "Cards and devices are counted apart. A device index that goes up with the card, a card too many or two "
            "interfaces in one place are refused when an instance is started."
        ),
        cure_here="FleetNetwork.efa() lays out the interfaces of each type.",
        cure_plain="Card 0 has device 0; each other card begins anew with device 0 or 1, as AWS has it for the type.",
        link=_CARDS,
        subjects=_with_interfaces,
        judge=_layout,
    ),
    Rule(
        id="public-address-with-several-interfaces",
        title="Instances with several network interfaces ask for no public address",
        severity=ERROR,
        practices=("PERF04-BP02",),
        why="EC2 gives no public address to an instance that starts with several interfaces, and refuses the launch.",
        cure_here="FleetNetwork.efa() asks for none.",
        cure_plain="Remove AssociatePublicIpAddress; use a NAT gateway, endpoints or an Elastic IP address.",
        link=_CARDS,
        subjects=_with_interfaces,
        judge=_public_address,
    ),
    Rule(
        id="security-groups-beside-interfaces",
        title="Security groups are named at the network interfaces, if those are given",
        severity=ERROR,
        practices=("PERF04-BP02",),
        why="EC2 refuses a launch with network interfaces and, beside them, security groups of the instance.",
        cure_here="AcceleratedFleet puts them where they belong.",
        cure_plain="Move SecurityGroupIds to Groups of each network interface.",
        link=_EFA_START,
        subjects=_with_interfaces,
        judge=_groups_beside,
    ),
)
