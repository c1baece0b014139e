"""Whether the agent on the instances can reach the services of AWS that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constructs_lib.preflight.account import Account, Refused, filters
from constructs_lib.preflight.places import Place
from constructs_lib.preflight.plan import Group, asks_public_address
from constructs_lib.preflight.report import Finding
from constructs_lib.template.markers import Made
from constructs_lib.template.plain_values import items, mapping, yes

_ASKED = "agent reachable"
_EVERYWHERE = ("0.0.0.0/0",)
# The service without which an agent is silent, and an idle fleet is never seen to be idle.
_METRICS = "monitoring"
_GATEWAYS = ("dynamodb", "s3")
# Prefixes of actions that no instance needs an endpoint for.
_WITHOUT_ENDPOINT = frozenset({"iam"})
_TARGETS = {
    "NatGatewayId": "a NAT gateway",
    "TransitGatewayId": "a transit gateway",
    "VpcPeeringConnectionId": "a peering connection",
    "NetworkInterfaceId": "a network interface",
    "InstanceId": "an instance",
    "CarrierGatewayId": "a carrier gateway",
    "LocalGatewayId": "a local gateway",
    "CoreNetworkArn": "a core network",
    "VpcEndpointId": "an endpoint of a gateway load balancer",
}


@dataclass(frozen=True, kw_only=True)
class Way:
    """How traffic leaves a subnet.

    Attributes:
        out: what the default route leads to: ``internet``, ``nat``, a description of anything else, ``nowhere`` for a
            target that is gone, or None for no default route.
        gives_public_address: whether instances in the subnet get one.
        endpoints: services that have an endpoint with private names, or a gateway endpoint in the route table.
        cannot_tell: why the rest is not known. Empty: it is.
    """

    out: str | None
    gives_public_address: bool
    endpoints: frozenset[str]
    cannot_tell: str = ""


def check(account: Account, group: Group, where: Sequence[Place]) -> list[Finding]:
    """Findings about the way from the subnets to the services that the instances call."""
    findings = []
    fine = []
    for place in where:
        if place.subnet is None and place.made is None:
            message = f"default subnet of {place.name}: its route is not looked at"
            findings.append(_finding(group, "unknown", message, "pass --subnet ID"))
            continue
        try:
            way = _way(account, place)
        except Refused as refused:
            findings.append(refused.finding(group.logical_id, _ASKED))
            continue
        found = _judged(account, group, place, way)
        fine += [] if found else [f"{place.name} by {_shown(way)}"]
        findings += found
    if fine:
        findings.append(_finding(group, "ok", f"the instances reach AWS from {', '.join(fine)}"))
    return list(dict.fromkeys(findings))


def _shown(way: Way) -> str:
    if way.out == "internet":
        return "an internet gateway"
    return "a NAT gateway" if way.out == "nat" else "endpoints"


def _judged(account: Account, group: Group, place: Place, way: Way) -> list[Finding]:
    addresses = [asks_public_address(launch) for launch in group.launches]
    interfaces = max((len(launch.interfaces) for launch in group.launches), default=0)
    if way.out == "nat":
        return []
    if way.out == "internet":
        public = all(way.gives_public_address if each is None else each for each in addresses)
        if public and interfaces < 2:
            return []
        reason = "several network interfaces get no public address" if interfaces > 1 else "they get no public address"
        return _by_endpoints(account, group, place, way, f"{place.name} leads to an internet gateway, but {reason}")
    if way.cannot_tell:
        return [
            _finding(
                group, "unknown", f"{place.name}: {way.cannot_tell}", "look at its route table, or pass --subnet ID"
            )
        ]
    if way.out is None:
        return _by_endpoints(account, group, place, way, f"{place.name} has no route to the internet")
    if way.out == "nowhere":
        return _by_endpoints(account, group, place, way, f"the default route of {place.name} leads nowhere (blackhole)")
    missing = _missing(group, way)
    if not missing:
        return []
    message = f"the default route of {place.name} leads to {way.out}; whether AWS is reached behind it is not known"
    return [
        _finding(group, "unknown", message, f"try it from an instance there; services called: {', '.join(missing)}")
    ]


def _by_endpoints(account: Account, group: Group, place: Place, way: Way, reason: str) -> list[Finding]:
    missing = _missing(group, way)
    if not missing:
        return []
    vpc = str((place.subnet or {}).get("VpcId", "VPC_ID"))
    severity = "error" if _METRICS in missing else "warning"
    consequence = "the agent stays silent" if severity == "error" else "what calls them fails"
    message = f"{reason} and there is no endpoint for {', '.join(missing)}: {consequence}"
    command = [_endpoint_command(account.region, vpc, service) for service in missing]
    cure = "add the endpoints, a NAT gateway, or use other subnets"
    if way.out == "internet":
        cure = "give the instances a public address, add the endpoints, or use subnets with a NAT gateway"
    return [_finding(group, severity, message, cure, *command)]


def _missing(group: Group, way: Way) -> list[str]:
    called = {_METRICS} if group.services is None else {_METRICS, *group.services}
    return sorted(called - way.endpoints - _WITHOUT_ENDPOINT)


def _endpoint_command(region: str, vpc: str, service: str) -> str:
    name = f"com.amazonaws.{region}.{service}"
    command = f"aws ec2 create-vpc-endpoint --region {region} --vpc-id {vpc} --service-name {name}"
    if service in _GATEWAYS:
        return f"{command} --vpc-endpoint-type Gateway --route-table-ids ROUTE_TABLE_ID"
    return f"{command} --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids SUBNET_ID"


def _way(account: Account, place: Place) -> Way:
    if place.made is not None:
        return _of_template(place.made)
    subnet = place.subnet or {}
    table = _table(account, str(subnet.get("SubnetId")), str(subnet.get("VpcId")))
    if table is None:
        public = subnet.get("MapPublicIpOnLaunch") is True
        return Way(out=None, gives_public_address=public, endpoints=frozenset(), cannot_tell="it has no route table")
    answer = account.ask(
        "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=filters(vpc_id=str(subnet.get("VpcId")))
    )
    return Way(
        out=_default_route(map(mapping, items(table.get("Routes")))),
        gives_public_address=subnet.get("MapPublicIpOnLaunch") is True,
        endpoints=_endpoints(map(mapping, answer), table.get("RouteTableId")),
    )


def _table(account: Account, subnet: str, vpc: str) -> dict[str, Any] | None:
    """The route table of a subnet: its own, or the VPC's main one."""
    own = account.ask("ec2", "describe_route_tables", "RouteTables", Filters=filters(association__subnet_id=subnet))
    if own:
        return mapping(own[0])
    main = account.ask(
        "ec2", "describe_route_tables", "RouteTables", Filters=filters(vpc_id=vpc, association__main="true")
    )
    return mapping(main[0]) if main else None


def _default_route(routes: Iterable[Mapping[str, Any]]) -> str | None:
    for route in routes:
        if route.get("DestinationCidrBlock") in _EVERYWHERE:
            return "nowhere" if route.get("State") == "blackhole" else _target(route)
    return None


def _target(route: Mapping[str, Any]) -> str:
    gateway = route.get("GatewayId")
    if isinstance(gateway, Made):
        kind = gateway.home.kind(gateway.logical_id)
        return "internet" if kind == "AWS::EC2::InternetGateway" else "a virtual private gateway"
    if isinstance(gateway, str):
        return "internet" if gateway.startswith("igw-") else "a virtual private gateway"
    if route.get("NatGatewayId") is not None:
        return "nat"
    return next((shown for name, shown in _TARGETS.items() if route.get(name) is not None), "something unknown")


def _endpoints(endpoints: Iterable[Mapping[str, Any]], table: object) -> frozenset[str]:
    found = set()
    for endpoint in endpoints:
        service = endpoint.get("ServiceName")
        if not isinstance(service, str) or str(endpoint.get("State", "available")).lower() != "available":
            continue
        if endpoint.get("VpcEndpointType", "Gateway") == "Gateway":
            usable = table in items(endpoint.get("RouteTableIds"))
        else:
            usable = yes(endpoint.get("PrivateDnsEnabled", False))
        if usable:
            found.add(service.rpartition(".")[2])
    return frozenset(found)


def _of_template(subnet: Made) -> Way:
    """The way of a subnet that the template makes, as far as the template tells."""
    home = subnet.home
    properties = home.properties(subnet.logical_id)
    public = yes(properties.get("MapPublicIpOnLaunch"))
    associations = home.resources("AWS::EC2::SubnetRouteTableAssociation").values()
    tables = [each.get("RouteTableId") for each in associations if _names(each.get("SubnetId"), subnet)]
    if not tables:
        reason = "the template gives it no route table"
        return Way(out=None, gives_public_address=public, endpoints=frozenset(), cannot_tell=reason)
    routes = [each for each in home.resources("AWS::EC2::Route").values() if _same(each.get("RouteTableId"), tables[0])]
    vpc = properties.get("VpcId")
    endpoints = [each for each in home.resources("AWS::EC2::VPCEndpoint").values() if _same(each.get("VpcId"), vpc)]
    found = set()
    for endpoint in endpoints:
        service = endpoint.get("ServiceName")
        if not isinstance(service, str):
            continue
        if endpoint.get("VpcEndpointType", "Gateway") == "Gateway":
            usable = any(_same(each, tables[0]) for each in items(endpoint.get("RouteTableIds")))
        else:
            usable = yes(endpoint.get("PrivateDnsEnabled"))
        if usable:
            found.add(service.rpartition(".")[2])
    return Way(out=_default_route(routes), gives_public_address=public, endpoints=frozenset(found))


def _names(value: object, subnet: Made) -> bool:
    return isinstance(value, Made) and (value.home, value.logical_id) == (subnet.home, subnet.logical_id)


def _same(value: object, other: object) -> bool:
    if isinstance(value, Made) and isinstance(other, Made):
        return (value.home, value.logical_id) == (other.home, other.logical_id)
    return isinstance(value, str) and value == other


def _finding(group: Group, severity: str, message: str, cure: str = "", *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=_ASKED, message=message, cure=cure, commands=commands
    )
