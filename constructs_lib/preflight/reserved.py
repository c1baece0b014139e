"""Whether the capacity reservations and blocks that a group is aimed at exist, fit it and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from constructs_lib.catalog import known_types
from constructs_lib.preflight.account import Account, Refused
from constructs_lib.preflight.places import Place
from constructs_lib.preflight.plan import Group
from constructs_lib.preflight.report import Finding
from constructs_lib.template.markers import Made, Unknown
from constructs_lib.template.plain_values import mapping, moment, whole

_ASKED = "capacity reservation"
_SOON = ("assessing", "payment-pending", "pending", "scheduled")
# "Capacity Blocks for ML" in the Amazon EC2 User Guide: so long before the end EC2 begins to terminate the instances,
# where the catalog does not say it of their type.
_MINUTES_BEFORE_END = 30
# All blocks begin and end at half past eleven UTC, so that days are between the wrong end and the right one; no drain
# takes one.
_A_DAY = timedelta(days=1)
_BLOCK = "capacity-block"


def check(
    account: Account, group: Group, types: Mapping[str, int], where: Sequence[Place], now: datetime
) -> tuple[list[Finding], int]:
    """Findings about the reservations of a group, and how many instances those of On-Demand capacity keep for it."""
    wanted, findings = _ids(account, group)
    if group.is_block and not group.reservation.ids and not group.reservation.groups:
        message = "the launch template asks for a Capacity Block and names none"
        findings.append(_finding(group, "error", message, "set CapacityReservationSpecification to the block's id"))
    kept = total = 0
    for id in wanted:
        try:
            found = _described(account, id)
        except Refused as refused:
            findings.append(refused.finding(group.logical_id, _ASKED))
            continue
        if found is None:
            message = f"{id} does not exist in {account.region}, or is not shared with this account"
            cure = "name a reservation that exists, in the account and Region of the deploy"
            findings.append(_finding(group, "error", message, cure, _list_command(account)))
            continue
        findings += _judged(group, id, found, types, where, now)
        total += whole(found.get("TotalInstanceCount")) or 0
        kept += 0 if found.get("ReservationType") == _BLOCK else (whole(found.get("TotalInstanceCount")) or 0)
    if total and group.reservation.only and group.most is not None and total < group.most:
        message = f"{total} instances are reserved and the group may grow to {group.most}: launches beyond them fail"
        findings.append(_finding(group, "warning", message, f"set the largest size to {total}, or reserve more"))
    return findings, kept


def _ids(account: Account, group: Group) -> tuple[list[str], list[Finding]]:
    found: list[str] = []
    findings = []
    for id in group.reservation.ids:
        if isinstance(id, str):
            found.append(id)
        elif not isinstance(id, Made):
            findings.append(_unsettled(group, "reservation", id))
    for arn in group.reservation.groups:
        if isinstance(arn, Made):
            continue
        if not isinstance(arn, str):
            findings.append(_unsettled(group, "resource group", arn))
            continue
        try:
            resources = account.ask("resource-groups", "list_group_resources", "Resources", Group=arn)
        except Refused as refused:
            findings.append(refused.finding(group.logical_id, _ASKED))
            continue
        identifiers = [mapping(mapping(each).get("Identifier")) for each in resources]
        members = [str(each.get("ResourceArn")).rpartition("/")[2] for each in identifiers]
        reservations = [each for each in members if each.startswith("cr-")]
        if not reservations:
            message = f"resource group {arn} holds no capacity reservation"
            findings.append(_finding(group, "error", message, "add one with aws resource-groups group-resources"))
        found += reservations
    return found, findings


def _unsettled(group: Group, what: str, value: object) -> Finding:
    reason = value.reason if isinstance(value, Unknown) else "it is settled by the deploy"
    cure = value.cure if isinstance(value, Unknown) else "write it into the template"
    return _finding(group, "unknown", f"the {what} cannot be known: {reason}", cure)


def _described(account: Account, id: str) -> dict[str, Any] | None:
    try:
        answer = account.ask(
            "ec2", "describe_capacity_reservations", "CapacityReservations", CapacityReservationIds=[id]
        )
    except Refused as refused:
        if refused.code.startswith("InvalidCapacityReservationId"):
            return None
        raise
    return mapping(answer[0]) if answer else None


def _judged(
    group: Group,
    id: str,
    found: Mapping[str, Any],
    types: Mapping[str, int],
    where: Sequence[Place],
    now: datetime,
) -> list[Finding]:
    findings = [
        *_state(group, id, found, now),
        *_fit(group, id, found, types, where),
        *_market(group, id, found),
        *_end(group, id, found, now),
    ]
    if findings:
        return findings
    kind = "Capacity Block" if found.get("ReservationType") == _BLOCK else "reservation"
    start = moment(found.get("StartDate"))
    state = "an active" if found.get("State") == "active" or start is None else f"from {_shown(start)} on a"
    shown = f"{id} is {state} {kind}: {found.get('TotalInstanceCount')} {found.get('InstanceType')}"
    end = moment(found.get("EndDate"))
    until = "" if end is None else f" until {_shown(end)}"
    return [_finding(group, "ok", f"{shown} in {found.get('AvailabilityZone')}{until}")]


def _state(group: Group, id: str, found: Mapping[str, Any], now: datetime) -> list[Finding]:
    state = str(found.get("State"))
    start = moment(found.get("StartDate"))
    if state == "active":
        return []
    if state in _SOON or (start is not None and start > now and state not in ("cancelled", "expired", "failed")):
        begins = f", from {_shown(start)} on" if start is not None else ""
        opens = _opens(group)
        if start is not None and opens is not None and opens >= start:
            return _opens_late(group, id, start, opens)
        message = f"{id} is {state}{begins}: launches before it is active fail"
        return [_finding(group, "warning", message, "keep the group at zero until then")]
    return [_finding(group, "error", f"{id} is {state}", "name a reservation that is active or scheduled")]


def _opens(group: Group) -> datetime | None:
    """When a group that begins at zero may grow. None: it may from the deploy on, or nobody knows."""
    if whole(group.properties.get("MaxSize")) != 0:
        return None
    opening = [each for each in group.actions if each.most]
    if any(each.start is None or each.recurs for each in opening):
        return None
    return min((each.start for each in opening if each.start is not None), default=None)


def _opens_late(group: Group, id: str, start: datetime, opens: datetime) -> list[Finding]:
    if opens - start < _A_DAY:
        return []
    message = (
        f"{id} begins at {_shown(start)}, and the template keeps the group at zero until {_shown(opens)}: what is "
        "reserved in between is paid for and not used"
    )
    return [_finding(group, "warning", message, f"let the group begin at {_written(start)}")]


def _fit(
    group: Group, id: str, found: Mapping[str, Any], types: Mapping[str, int], where: Sequence[Place]
) -> list[Finding]:
    findings = []
    its_type, zone = found.get("InstanceType"), found.get("AvailabilityZone")
    if types and its_type not in types:
        message = f"{id} is for {its_type}, the group launches {', '.join(types)}"
        findings.append(_finding(group, "error", message, "use the type that is reserved"))
    if zone is None:
        return findings
    possible = {each for place in where for each in place.zones}
    if possible and zone not in possible:
        message = f"{id} is in {zone}, the group launches in {', '.join(sorted(possible))}"
        findings.append(_finding(group, "error", message, f"use a subnet in {zone}"))
    elif len(where) > 1 and (group.reservation.only or group.is_block) and len(_targets(group)) == 1:
        outside = [place.name for place in where if place.zones and zone not in place.zones]
        if outside:
            message = f"{id} is in {zone}: launches in {', '.join(outside)} cannot use it"
            findings.append(_finding(group, "warning", message, f"keep only the subnet in {zone}"))
    return findings


def _targets(group: Group) -> tuple[object, ...]:
    return group.reservation.ids + group.reservation.groups


def _market(group: Group, id: str, found: Mapping[str, Any]) -> list[Finding]:
    by_launch_template = any(launch.data.get("CapacityReservationSpecification") for launch in group.launches)
    is_block = found.get("ReservationType") == _BLOCK
    if is_block and by_launch_template and not group.is_block:
        message = f"{id} is a Capacity Block, and the launch template does not say so: launches fail"
        cure = "set InstanceMarketOptions.MarketType to capacity-block in the launch template"
        return [_finding(group, "error", message, cure)]
    if group.is_block and not is_block:
        message = f"{id} is no Capacity Block, and the launch template's market type is capacity-block: launches fail"
        return [_finding(group, "error", message, "leave InstanceMarketOptions out")]
    return []


def _end(group: Group, id: str, found: Mapping[str, Any], now: datetime) -> list[Finding]:
    end = moment(found.get("EndDate"))
    if end is None:
        return []
    is_block = found.get("ReservationType") == _BLOCK
    last = end - _early(found) if is_block else end
    if last <= now:
        message = f"{id} ends at {_shown(end)}: its instances are being terminated, or are not reserved"
        return [_finding(group, "error", message, "name one that lasts, or extend this one")]
    if not is_block:
        return []
    zeroed = sorted(
        each.start
        for each in group.actions
        if each.most == 0 and not each.recurs and each.start is not None and each.start > now
    )
    in_time = [each for each in zeroed if each <= last]
    if in_time:
        return _ends_soon(group, id, end, in_time[-1])
    late = ""
    if zeroed:
        late = f" (it does so at {_shown(zeroed[0])}: the template was written for another end)"
    message = (
        f"{id} ends at {_shown(end)}, EC2 terminates its instances from {last:%H:%M} on, and no scheduled action sets "
        f"the group to zero before{late}: it would retry launches for ever, and work is lost"
    )
    return [_finding(group, "warning", message, f"schedule size zero, long enough for a drain before {_written(last)}")]


def _ends_soon(group: Group, id: str, end: datetime, zeroed: datetime) -> list[Finding]:
    """What a template leaves unused that was written for an earlier end, as before a block was extended."""
    if end - zeroed < _A_DAY:
        return []
    message = (
        f"{id} ends at {_shown(end)}, and the template sets the group to zero at {_shown(zeroed)}: what is reserved "
        "in between is paid for and not used"
    )
    return [_finding(group, "warning", message, f"write the template for the end {_written(end)}")]


def _early(found: Mapping[str, Any]) -> timedelta:
    """How long before a block's end its instances begin to be terminated."""
    known = known_types().get(str(found.get("InstanceType")))
    minutes = None if known is None else known.block_end_minutes
    return timedelta(minutes=_MINUTES_BEFORE_END if minutes is None else minutes)


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _list_command(account: Account) -> str:
    return f"aws ec2 describe-capacity-reservations --region {account.region}"


def _finding(group: Group, severity: str, message: str, cure: str = "", *commands: str) -> Finding:
    return Finding(
        severity=severity, resource=group.logical_id, asked=_ASKED, message=message, cure=cure, commands=commands
    )
