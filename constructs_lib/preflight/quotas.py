"""Whether the account's vCPU quotas let the groups reach their largest size, and how much of them is in use.

Quotas are found by their names: the codes are nowhere published as a list, and the division has changed before (Spot
requests for P types have had one quota for each generation).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.preflight.account import Account, Refused, account_number, filters
from constructs_lib.preflight.machines import Machine, known_machines
from constructs_lib.preflight.plan import FLEET_TAG, Group
from constructs_lib.preflight.report import Finding
from constructs_lib.template.plain_values import items, mapping, whole

ON_DEMAND = "On-Demand"
SPOT = "Spot"
_NAMES = {
    ON_DEMAND: re.compile(r"Running On-Demand (.+) instances", re.IGNORECASE),
    SPOT: re.compile(r"All (.+) Spot Instance Requests", re.IGNORECASE),
}
_FAMILY = re.compile(r"([a-z]+)(\d*)")
_WORD = re.compile(r"[A-Za-z]+\d*")
_ASKED = "vCPU quota"


@dataclass(frozen=True)
class Quota:
    """A vCPU quota of EC2.

    Attributes:
        name: as Service Quotas shows it.
        code: with which an increase is asked for.
        value: vCPUs.
        kind: class of the types that count towards it, see :func:`class_of`.
    """

    name: str
    code: str
    value: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Need:
    """vCPUs that one group wants of one quota at its largest size.

    Attributes:
        group: its logical id.
        instances: the largest number of instances.
        least: vCPUs with its smallest type.
        most: vCPUs with its largest type.
        smallest: vCPUs of one instance of the smallest type.
        alternatives: whether the group has types of another quota, of which at least one instance can start.
    """

    group: str
    instances: int
    least: int
    most: int
    smallest: int
    alternatives: bool


def class_of(instance_type: str) -> str | None:
    """Which quota a type counts towards, by the first word of its label; None: none, or not known.

    A family that the table does not tell of is not guessed at.
    """
    match = _FAMILY.match(instance_type)
    if match is None:
        return None
    letters = match[1]
    by_all, by_first = _classes("all"), _classes("first")
    return by_all[letters] if letters in by_all else by_first.get(letters[0])


@cache
def _classes(match: str) -> Mapping[str, str | None]:
    """The classes by the letters of families: by all of the letters, or by the first one."""
    rows = tables.read("quota_classes.csv")
    return MappingProxyType({row["letters"]: row["quota"] or None for row in rows if row["match"] == match})


def check(
    account: Account, groups: Sequence[Group], types: Mapping[str, Mapping[str, int]], reserved: Mapping[str, int]
) -> list[Finding]:
    """Findings about the quotas.

    Args:
        account: to ask.
        groups: of the template.
        types: weights of the types of each group, by group and name.
        reserved: instances that capacity reservations keep for a group, by group.
    """
    facts = known_machines(account, {name for group in types.values() for name in group})
    findings: list[Finding] = []
    needs: dict[tuple[Quota, str], list[Need]] = {}
    unanswered: dict[str, list[tuple[str, str]]] = {}
    for group in groups:
        weights = types.get(group.logical_id, {})
        findings += _objections(group, weights, facts)
        known = {name: weight for name, weight in weights.items() if class_of(name) and _vcpus(facts, name)}
        for market, size in _sizes(group, reserved.get(group.logical_id, 0)).items():
            _add(account, group, market, size, known, facts, needs, unanswered)
    findings += [_unanswered(account, market, missing) for market, missing in unanswered.items()]
    own = frozenset(launch.fleet_tag for group in groups for launch in group.launches if launch.fleet_tag)
    for (quota, market), wanted in needs.items():
        findings += _judged(account, quota, market, wanted, own)
    return findings


def _objections(group: Group, weights: Mapping[str, int], facts: Mapping[str, Machine]) -> list[Finding]:
    """Why the need of a group cannot be told, or not wholly."""
    id = group.logical_id
    if group.is_block or not weights:
        return []
    if _largest(group) is None:
        cure = "write MaxSize as a number, or pass --parameter NAME=VALUE"
        return [_unknown(id, "the largest size of the group is settled by the deploy", cure)]
    if group.counts_memory:
        cure = "compare the vCPUs of the types with the quota yourself"
        return [_unknown(id, "the group counts its size in memory, not in instances", cure)]
    findings = []
    for name in weights:
        if class_of(name) is None:
            cure = "see the EC2 quotas in the Service Quotas console"
            findings.append(_unknown(id, f"which quota {name} counts towards is not known", cure))
        elif _vcpus(facts, name) is None:
            cure = "see that the type exists in the Region"
            findings.append(_unknown(id, f"how many vCPUs {name} has is not known", cure))
    return findings


def _sizes(group: Group, reserved: int) -> dict[str, int]:
    """The largest number of units that the group may have of each market, beyond what is reserved for it."""
    most = _largest(group)
    if most is None or group.is_block or group.counts_memory:
        return {}
    on_demand, spot = group.split(most)
    # What a reservation keeps has been counted when it was made.
    return {ON_DEMAND: 0 if group.reservation.only else max(0, on_demand - reserved), SPOT: spot}


def _largest(group: Group) -> int | None:
    """The largest size, with the instances of a running warm pool: stopped ones do not count towards a quota."""
    if group.most is None or group.warm_pool is None or group.warm_pool.get("PoolState") != "Running":
        return group.most
    return max(group.most, whole(group.warm_pool.get("MaxGroupPreparedCapacity")) or 0)


def _add(
    account: Account,
    group: Group,
    market: str,
    size: int,
    weights: Mapping[str, int],
    facts: Mapping[str, Machine],
    needs: dict[tuple[Quota, str], list[Need]],
    unanswered: dict[str, list[tuple[str, str]]],
) -> None:
    if size == 0:
        return
    by_quota: dict[Quota | None, list[str]] = {}
    for name in weights:
        try:
            quota = quota_of(account, name, market)
        except Refused:
            quota = None
        if quota is None:
            unanswered.setdefault(market, []).append((group.logical_id, name))
        by_quota.setdefault(quota, []).append(name)
    smallest = {quota: min(_vcpus(facts, name) or 1 for name in names) for quota, names in by_quota.items()}
    # A quota that is not known may be enough.
    able = [quota for quota in by_quota if quota is None or quota.value >= smallest[quota]]
    for quota, names in by_quota.items():
        if quota is None:
            continue
        totals, counts = [], []
        for name in names:
            vcpus = _vcpus(facts, name) or 1
            instances = math.ceil(size / (vcpus if group.counts_vcpus else weights[name]))
            totals.append(instances * vcpus)
            counts.append(instances)
        need = Need(
            group=group.logical_id,
            instances=max(counts),
            least=min(totals),
            most=max(totals),
            smallest=smallest[quota],
            alternatives=any(other != quota for other in able),
        )
        needs.setdefault((quota, market), []).append(need)


def _unanswered(account: Account, market: str, missing: Sequence[tuple[str, str]]) -> Finding:
    """Why there is no quota for some types of some groups."""
    resource = ", ".join(dict.fromkeys(group for group, _ in missing))
    try:
        for _, name in missing:
            quota_of(account, name, market)
    except Refused as refused:
        return refused.finding(resource, _ASKED)
    generations = ", ".join(sorted({_generation(name) for _, name in missing}))
    return Finding(
        severity="unknown",
        resource=resource,
        asked=_ASKED,
        message=f"Service Quotas lists no {market} quota of EC2 for {generations} types",
        cure="look for it in the list",
        commands=(f"aws service-quotas list-service-quotas --region {account.region} --service-code ec2",),
    )


def quota_of(account: Account, instance_type: str, market: str) -> Quota | None:
    """The quota that a type counts towards in a market: as applied to the account, else AWS's default.

    Return None if Service Quotas lists none.

    Raises:
        Refused: Service Quotas does not say.
    """
    for method in ("list_service_quotas", "list_aws_default_service_quotas"):
        listed = account.ask("service-quotas", method, "Quotas", ServiceCode="ec2")
        found = _matching(map(mapping, listed), class_of(instance_type), _generation(instance_type), market)
        if found is not None:
            return found
    return None


def _matching(quotas: Iterable[Mapping[str, object]], kind: str | None, generation: str, market: str) -> Quota | None:
    of_class, of_generation = None, None
    for each in quotas:
        name, value = str(each.get("QuotaName")), whole(each.get("Value"))
        label = _NAMES[market].fullmatch(name.strip())
        if label is None or value is None or kind is None:
            continue
        words = [word.lower() for word in _WORD.findall(label[1])]
        found = Quota(name, str(each.get("QuotaCode")), value, kind)
        if generation in words:
            of_generation = found
        elif words and words[0] == kind.lower():
            of_class = found
    return of_generation or of_class


def _generation(instance_type: str) -> str:
    """Letters and number at the front: ``p5`` for ``p5en.48xlarge``."""
    match = _FAMILY.match(instance_type)
    return match[0] if match else instance_type


def _judged(account: Account, quota: Quota, market: str, needs: Sequence[Need], own: frozenset[str]) -> list[Finding]:
    used, remark, refusals = _in_use(account, quota, market, own)
    unless = "" if own else ", unless what is in use is this fleet's own"
    finding = _compared(account.region, quota, used, remark, needs, unless)
    if not refusals:
        return [finding]
    # "Enough" is not said without knowing what is in use.
    known = [] if finding.severity == "ok" else [finding]
    return known + [refused.finding(finding.resource, f"{_ASKED} in use") for refused in refusals]


def _compared(region: str, quota: Quota, used: int, remark: str, needs: Sequence[Need], unless: str) -> Finding:
    resource = ", ".join(need.group for need in needs)
    least, most = sum(need.least for need in needs), sum(need.most for need in needs)
    wanted = f"{most} vCPUs" if least == most else f"{least} to {most} vCPUs"
    instances = sum(need.instances for need in needs)
    state = f"{quota.name}: the quota is {quota.value} vCPUs, {used} in use{remark}"
    state += f"; at the largest size {instances} instances need {wanted}"
    severity, verdict = _verdict(quota.value, used, needs, unless)
    if severity == "ok":
        return Finding(severity="ok", resource=resource, asked=_ASKED, message=f"{state}; {verdict}")
    increase = (
        f"aws service-quotas request-service-quota-increase --region {region} --service-code ec2 "
        f"--quota-code {quota.code} --desired-value {most + used}"
    )
    return Finding(
        severity=severity,
        resource=resource,
        asked=_ASKED,
        message=f"{state}; {verdict}",
        cure="ask for a higher quota, or lower the largest size",
        commands=(increase,),
    )


def _verdict(quota: int, used: int, needs: Sequence[Need], unless: str) -> tuple[str, str]:
    least, most = sum(need.least for need in needs), sum(need.most for need in needs)
    smallest = min(need.smallest for need in needs)
    worst = "warning" if all(need.alternatives for need in needs) else "error"
    free = quota - used
    if quota < smallest:
        return worst, "not one instance can start"
    if quota < least:
        return worst, f"that is enough for {quota // smallest}"
    if free < smallest:
        return "warning", f"nothing is left{unless}"
    if free < least:
        return "warning", f"{free} are left, enough for {free // smallest}{unless}"
    if free < most:
        return "warning", f"{free} are left: enough with the smallest types, not with the largest"
    return "ok", f"{free} are left"


def _in_use(account: Account, quota: Quota, market: str, own: frozenset[str]) -> tuple[int, str, list[Refused]]:
    """vCPUs in use by others than the fleets of the template, a remark on them, and what could not be asked.

    Running instances count, and On-Demand capacity reservations do even while nothing runs in them ("On-Demand
    Instance quotas" in the Amazon EC2 User Guide).
    """
    refusals = []
    running: list[dict[str, object]] = []
    reservations: list[dict[str, object]] = []
    try:
        running = [
            each for each in _running(account) if _market(each) == market and _is_of(account, each, market, quota)
        ]
    except Refused as refused:
        refusals.append(refused)
    try:
        if market == ON_DEMAND:
            reservations = [each for each in _unused(account) if _is_of(account, each, market, quota)]
    except Refused as refused:
        refusals.append(refused)
    facts = known_machines(account, {_type(each) for each in [*running, *reservations]})
    used = sum(_vcpus_of(facts, each) for each in running if _fleet(each) not in own)
    held = sum(
        (_vcpus(facts, _type(each)) or 0) * (whole(each.get("AvailableInstanceCount")) or 0) for each in reservations
    )
    remark = f" ({held} of them kept by capacity reservations)" if held else ""
    return used + held, remark + (" as far as is known" if refusals else ""), refusals


def _fleet(instance: Mapping[str, object]) -> str | None:
    """Which of this library's fleets an instance belongs to."""
    for tag in map(mapping, items(instance.get("Tags"))):
        if tag.get("Key") == FLEET_TAG:
            return str(tag.get("Value"))
    return None


def _is_of(account: Account, answer: Mapping[str, object], market: str, quota: Quota) -> bool:
    return class_of(_type(answer)) == quota.kind and quota_of(account, _type(answer), market) == quota


def _market(instance: Mapping[str, object]) -> str:
    """Market of an instance; those in a Capacity Block are in neither of the two."""
    lifecycle = instance.get("InstanceLifecycle")
    return {"": ON_DEMAND, "spot": SPOT}.get(str(lifecycle or ""), "other")


def _running(account: Account) -> list[dict[str, object]]:
    """Running instances; those on dedicated hosts count towards the hosts' own quotas."""
    answer = account.ask(
        "ec2", "describe_instances", "Reservations", Filters=filters(instance_state_name="running"), MaxResults=1000
    )
    instances = [mapping(each) for reservation in answer for each in items(mapping(reservation).get("Instances"))]
    return [each for each in instances if mapping(each.get("Placement")).get("Tenancy") != "host"]


def _unused(account: Account) -> list[dict[str, object]]:
    """Active On-Demand capacity reservations of the account itself."""
    answer = account.ask(
        "ec2", "describe_capacity_reservations", "CapacityReservations", Filters=filters(state="active")
    )
    own = account_number(account)
    return [
        each
        for each in map(mapping, answer)
        if each.get("ReservationType") != "capacity-block" and (own is None or each.get("OwnerId") in (None, own))
    ]


def _type(answer: Mapping[str, object]) -> str:
    return str(answer.get("InstanceType"))


def _vcpus(facts: Mapping[str, Machine], name: str) -> int | None:
    return facts[name].vcpus if name in facts else None


def _vcpus_of(facts: Mapping[str, Machine], instance: Mapping[str, object]) -> int:
    known = _vcpus(facts, _type(instance))
    if known is not None:
        return known
    cores = mapping(instance.get("CpuOptions"))
    return (whole(cores.get("CoreCount")) or 0) * (whole(cores.get("ThreadsPerCore")) or 1)


def _unknown(resource: str, message: str, cure: str) -> Finding:
    return Finding(severity="unknown", resource=resource, asked=_ASKED, message=message, cure=cure)
