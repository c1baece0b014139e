"""Where a group launches: its subnets, in this account or in the template, and their zones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from constructs_lib.preflight.account import Account, Refused, filters, ssm_value
from constructs_lib.preflight.plan import Group
from constructs_lib.preflight.report import Finding
from constructs_lib.template.markers import Made, SsmParameter, StackOutput, Unknown, ZoneAt, Zones
from constructs_lib.template.plain_values import items, mapping, whole

_SAY_SUBNETS = "pass --subnet ID"
_ASKED = "subnets"


@dataclass(frozen=True, kw_only=True)
class Place:
    """One subnet, or one zone, that a group launches in.

    Attributes:
        name: id of the subnet, its logical id in the template, or the zone.
        zones: the zone; several: the one of them that ``Fn::GetAZs`` puts at the place that the template asks for.
            Empty: not known.
        subnet: what EC2 says about it. None: it does not exist yet.
        made: the subnet in the template. None: it exists already.
    """

    name: str
    zones: tuple[str, ...]
    subnet: dict[str, Any] | None = field(default=None, compare=False)
    made: Made | None = None


def places(account: Account, group: Group, given: Sequence[str]) -> tuple[list[Place], list[Finding]]:
    """Where a group launches, and what is wrong with it.

    Args:
        account: to ask.
        group: of the template.
        given: ids of subnets, for those that the template does not tell.
    """
    wanted, problems = _wanted(account, group)
    findings: list[Finding] = []
    if problems and given:
        wanted, problems = [each for each in wanted if not isinstance(each, Unknown)], []
        wanted += [each for each in given if each not in wanted]
    for problem in problems:
        message = f"where the group launches cannot be known: {problem.reason}"
        findings.append(_finding(group, "unknown", message, f"{problem.cure}, or {_SAY_SUBNETS}"))
    found: list[Place] = []
    try:
        found += _existing(account, group, [each for each in wanted if isinstance(each, str)], findings)
    except Refused as refused:
        findings.append(refused.finding(group.logical_id, _ASKED))
    try:
        found += [_of_template(account, each) for each in wanted if isinstance(each, Made)]
        found += _zones(account, group, bool(wanted))
    except Refused as refused:
        findings.append(refused.finding(group.logical_id, "zones"))
    if not found and not findings:
        cure = f"name subnets in the template, or {_SAY_SUBNETS}"
        findings.append(_finding(group, "unknown", "the template does not say where the group launches", cure))
    return found, findings


def _wanted(account: Account, group: Group) -> tuple[list[object], list[Unknown]]:
    subnets = group.properties.get("VPCZoneIdentifier")
    if subnets is None:
        return [], []
    wanted: list[object] = []
    problems: list[Unknown] = []
    for each in subnets if isinstance(subnets, list) else [subnets]:
        for part in _settled(account, each):
            if isinstance(part, str) or (isinstance(part, Made) and _is_subnet(part)):
                wanted += [] if part in wanted else [part]
            else:
                problems.append(part if isinstance(part, Unknown) else _unsettled())
    return wanted, list(dict.fromkeys(problems))


def _settled(account: Account, value: object) -> list[object]:
    """Subnets that one item stands for; a text may name several."""
    if isinstance(value, StackOutput):
        value = _output(account, value)
    if isinstance(value, SsmParameter):
        value = _parameter(account, value)
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else [value]


def _parameter(account: Account, wanted: SsmParameter) -> object:
    try:
        value = ssm_value(account, wanted.name)
    except Refused as refused:
        return Unknown(refused.reason, refused.cure)
    missing = Unknown(f"there is no SSM parameter {wanted.name}", "correct its name")
    return missing if value is None else value


def _is_subnet(made: Made) -> bool:
    return made.home.kind(made.logical_id) == "AWS::EC2::Subnet"


def _unsettled() -> Unknown:
    return Unknown("the subnets are settled by the deploy", "write their ids into the template")


def _output(account: Account, wanted: StackOutput) -> object:
    """Value of an output of a stack that is deployed already."""
    cure = "deploy that stack first"
    try:
        if wanted.stack is None:
            exports = account.ask("cloudformation", "list_exports", "Exports")
            values = [mapping(each).get("Value") for each in exports if mapping(each).get("Name") == wanted.name]
        else:
            stacks = account.ask("cloudformation", "describe_stacks", "Stacks", StackName=wanted.stack)
            outputs = [mapping(output) for stack in stacks for output in items(mapping(stack).get("Outputs"))]
            values = [output.get("OutputValue") for output in outputs if output.get("OutputKey") == wanted.name]
    except Refused as refused:
        return Unknown(refused.reason, cure if refused.code == "ValidationError" else refused.cure)
    of_stack = f" of stack {wanted.stack}" if wanted.stack else ""
    return values[0] if values else Unknown(f"there is no output {wanted.name}{of_stack} yet", cure)


def _existing(account: Account, group: Group, ids: Sequence[str], findings: list[Finding]) -> list[Place]:
    if not ids:
        return []
    answer = account.ask("ec2", "describe_subnets", "Subnets", Filters=filters(subnet_id=ids))
    found = {str(mapping(each).get("SubnetId")): mapping(each) for each in answer}
    for id in ids:
        if id not in found:
            message = f"subnet {id} does not exist in {account.region} in this account"
            command = f"aws ec2 describe-subnets --region {account.region}"
            cure = "name a subnet that exists, or ask the account that the deploy goes to"
            findings.append(_finding(group, "error", message, cure, command))
    for network in {str(each.get("VpcId")) for each in list(found.values())[1:]} - _first(found):
        message = f"the subnets are of several VPCs, among them {network}"
        findings.append(_finding(group, "error", message, "choose subnets of one VPC"))
    if group.most is not None and found:
        free = sum(whole(each.get("AvailableIpAddressCount")) or 0 for each in found.values())
        if free < group.most and all(each.get("AvailableIpAddressCount") is not None for each in found.values()):
            message = f"the subnets have {free} free addresses, fewer than the group's largest size {group.most}"
            findings.append(_finding(group, "warning", message, "add a subnet, or lower the largest size"))
    return [
        Place(name=id, zones=(str(found[id].get("AvailabilityZone")),), subnet=found[id]) for id in ids if id in found
    ]


def _first(found: dict[str, dict[str, Any]]) -> set[str]:
    return {str(next(iter(found.values())).get("VpcId"))} if found else set()


def _of_template(account: Account, made: Made) -> Place:
    properties = made.home.properties(made.logical_id)
    zone, id = properties.get("AvailabilityZone"), properties.get("AvailabilityZoneId")
    if zone is None and id is not None:
        zones = tuple(str(each.get("ZoneName")) for each in _open_zones(account) if each.get("ZoneId") == id)
        return Place(name=made.logical_id, zones=zones, made=made)
    return Place(name=made.logical_id, zones=_possible(account, zone), made=made)


def _zones(account: Account, group: Group, has_subnets: bool) -> list[Place]:
    """Zones that a group without subnets names; it launches in their default subnets."""
    named = group.properties.get("AvailabilityZones")
    if has_subnets or named is None:
        return []
    if isinstance(named, Zones):
        return [Place(name=zone, zones=(zone,)) for zone in _all(account)]
    return [Place(name=str(zone), zones=_possible(account, zone)) for zone in items(named)]


def _possible(account: Account, zone: object) -> tuple[str, ...]:
    if isinstance(zone, str):
        return (zone,)
    if zone is None or isinstance(zone, ZoneAt):
        return _all(account)
    return ()


def _all(account: Account) -> tuple[str, ...]:
    return tuple(sorted(str(each.get("ZoneName")) for each in _open_zones(account)))


def _open_zones(account: Account) -> list[dict[str, Any]]:
    answer = account.ask(
        "ec2", "describe_availability_zones", "AvailabilityZones", Filters=filters(zone_type="availability-zone")
    )
    return [mapping(each) for each in answer if mapping(each).get("State", "available") == "available"]


def _finding(group: Group, severity: str, message: str, cure: str, *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=_ASKED, message=message, cure=cure, commands=commands
    )
