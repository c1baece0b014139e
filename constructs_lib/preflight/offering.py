"""Whether the types exist in the Region and in each zone that the group launches in, and can do what it asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from constructs_lib.preflight.account import Account, Refused, filters
from constructs_lib.preflight.images import architecture_of
from constructs_lib.preflight.machines import Machine, machines, matching
from constructs_lib.preflight.places import Place
from constructs_lib.preflight.plan import Group
from constructs_lib.preflight.report import Finding
from constructs_lib.template.plain_values import mapping

_ASKED = "type offered"
_ARCHITECTURES = ("x86_64", "arm64")
_NARROW = (
    "loosen the attributes; price protection drops accelerated types unless "
    "OnDemandMaxPricePercentageOverLowestPrice and SpotMaxPricePercentageOverLowestPrice are high (999999)"
)


def types_of(account: Account, group: Group) -> tuple[dict[str, int], list[Finding]]:
    """Names and weights of the types that a group may launch, those that attributes stand for included."""
    found = dict(group.types)
    findings = []
    for launch in group.launches:
        for problem in launch.unknown:
            message = f"which instances the group launches cannot be known wholly: {problem.reason}"
            findings.append(_finding(group, "unknown", "instance types", message, problem.cure))
    wanted = [(launch, requirements) for launch in group.launches for requirements in launch.requirements]
    for launch, requirements in wanted:
        asked = "types that the attributes stand for"
        architecture = architecture_of(account, launch)
        try:
            names = matching(account, requirements, [architecture] if architecture else _ARCHITECTURES)
        except Refused as refused:
            findings.append(refused.finding(group.logical_id, asked))
            continue
        if not names:
            message = f"no instance type in {account.region} has the attributes that the group asks for"
            findings.append(_finding(group, "error", asked, message, _NARROW))
        else:
            shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            findings.append(_finding(group, "ok", asked, f"the attributes stand for {shown}"))
        found.update({name: 1 for name in names if name not in found})
    return found, findings


def check(account: Account, group: Group, names: Iterable[str], where: Sequence[Place]) -> list[Finding]:
    """Findings about where the types are offered."""
    wanted = list(names)
    if not wanted:
        return []
    try:
        in_region = _offered(account, "region", wanted)
        in_zones = _offered(account, "availability-zone", wanted)
    except Refused as refused:
        return [refused.finding(group.logical_id, _ASKED)]
    here = [name for name in wanted if account.region in in_region.get(name, ())]
    absent = [name for name in wanted if name not in here]
    findings = [_nowhere(account, group, name, alone=not here) for name in absent]
    return findings + (_zone_by_zone(account, group, here, in_zones, where) if here else [])


def capabilities(account: Account, group: Group, weights: Mapping[str, int]) -> list[Finding]:
    """Findings about what the types must be able to do: Spot, EFA, hibernation, Capacity Blocks."""
    asked = "what the type can do"
    try:
        facts = machines(account, weights)
    except Refused as refused:
        return [refused.finding(group.logical_id, asked)] if weights else []
    findings = []
    _, spot = group.split(group.most or 1)
    for name in dict(group.types):
        if name in facts:
            for severity, lack in _lacks(group, facts[name], spot > 0):
                findings.append(
                    _finding(group, severity, asked, f"{name} {lack}", "choose another type, or leave it out")
                )
    return findings


def _lacks(group: Group, machine: Machine, spot: bool) -> list[tuple[str, str]]:
    found = []
    wanted_market = "capacity-block" if group.is_block else "spot" if spot else "on-demand"
    if machine.usage_classes is not None and wanted_market not in machine.usage_classes:
        # EC2's own answers have lagged behind with blocks.
        found.append(("warning" if group.is_block else "error", f"is not sold as {wanted_market} in this Region"))
    efa = max((launch.efa_interfaces for launch in group.launches), default=0)
    if machine.efa_interfaces is not None and efa > machine.efa_interfaces:
        found.append(
            ("error", f"takes {machine.efa_interfaces} Elastic Fabric Adapters, the launch template has {efa}")
        )
    hibernated = group.warm_pool is not None and group.warm_pool.get("PoolState") == "Hibernated"
    if hibernated and machine.hibernates is False:
        found.append(("error", "cannot hibernate, which the warm pool asks for"))
    return found


def _zone_by_zone(
    account: Account, group: Group, names: Sequence[str], in_zones: Mapping[str, set[str]], where: Sequence[Place]
) -> list[Finding]:
    findings = []
    served = dict.fromkeys(names, 0)
    for place in where:
        if not place.zones:
            cure = "write the zone into the template, or pass --subnet ID"
            message = f"the zone of {place.name} is settled by the deploy"
            findings.append(_finding(group, "unknown", _ASKED, message, cure))
            continue
        lacking = {name: [zone for zone in place.zones if zone not in in_zones.get(name, ())] for name in names}
        for name, zones in lacking.items():
            served[name] += len(zones) < len(place.zones)
        if all(lacking.values()):
            findings.append(_bad_place(account, group, names, place, lacking))
    judged = [place for place in where if place.zones]
    for name in names:
        if judged and not served[name]:
            alone = not any(served.values())
            findings.append(_unserved(account, group, name, judged, in_zones, alone=alone))
    if not findings and judged:
        zones = sorted({zone for place in judged for zone in place.zones})
        some = "" if len(names) == 1 else ", at least one of them in each"
        message = f"{', '.join(names)} in {', '.join(zones)}{some}"
        findings.append(_finding(group, "ok", _ASKED, message))
    return findings


def _bad_place(
    account: Account, group: Group, names: Sequence[str], place: Place, lacking: Mapping[str, list[str]]
) -> Finding:
    shown = ", ".join(names)
    command = _command(account, "availability-zone", names)
    everywhere = all(len(zones) == len(place.zones) for zones in lacking.values())
    if everywhere:
        zone = place.zones[0] if len(place.zones) == 1 else "any zone that it can be in"
        message = f"{place.name} is in {zone}, where none of {shown} is offered: launches there are wasted"
        return _finding(group, "warning", _ASKED, message, "leave that subnet or zone out", command)
    bad = sorted({zone for zones in lacking.values() for zone in zones})
    message = (
        f"{place.name} is in a zone that Fn::GetAZs picks at the deploy, and {shown} is not offered in {', '.join(bad)}"
    )
    cure = "name the zones: give the stack an environment, or the VPC its availability_zones"
    return _finding(group, "warning", _ASKED, message, cure, command)


def _unserved(
    account: Account,
    group: Group,
    name: str,
    where: Sequence[Place],
    in_zones: Mapping[str, set[str]],
    *,
    alone: bool,
) -> Finding:
    zones = sorted({zone for place in where for zone in place.zones})
    offered = ", ".join(sorted(in_zones.get(name, ()))) or "none"
    message = f"{name} is not offered in {', '.join(zones)}; zones of {account.region} that have it: {offered}"
    cure = "use subnets in those zones, or another type" if alone else "add a subnet there, or leave the type out"
    return _finding(
        group, "error" if alone else "warning", _ASKED, message, cure, _command(account, "availability-zone", [name])
    )


def _nowhere(account: Account, group: Group, name: str, *, alone: bool) -> Finding:
    message = f"{name} is not offered in {account.region}"
    cure = "choose another Region or type" if alone else "leave the type out"
    severity = "error" if alone else "warning"
    return _finding(
        group, severity, _ASKED, message, cure, _command(account, "region", [f"{name.partition('.')[0]}.*"])
    )


def _offered(account: Account, location: str, names: Sequence[str]) -> dict[str, set[str]]:
    """Where each type is offered."""
    found: dict[str, set[str]] = {}
    for start in range(0, len(names), 200):
        answer = account.ask(
            "ec2",
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType=location,
            Filters=filters(instance_type=names[start : start + 200]),
        )
        for each in map(mapping, answer):
            found.setdefault(str(each.get("InstanceType")), set()).add(str(each.get("Location")))
    return found


def _command(account: Account, location: str, names: Sequence[str]) -> str:
    return (
        f"aws ec2 describe-instance-type-offerings --region {account.region} --location-type {location} "
        f"--filters Name=instance-type,Values={','.join(names)}"
    )


def _finding(group: Group, severity: str, asked: str, message: str, cure: str = "", *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=asked, message=message, cure=cure, commands=commands
    )
