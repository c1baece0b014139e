"""Puts all questions about a template to an account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.preflight import images, offering, quotas, reach, reserved, rights, schedules
from constructs_lib.preflight.account import Account, account_number, check_credentials
from constructs_lib.preflight.launch_templates import launch_template_data
from constructs_lib.preflight.places import places
from constructs_lib.preflight.plan import read
from constructs_lib.preflight.report import Finding, Report
from constructs_lib.template.loops import without_loops
from constructs_lib.template.parameters import check_parameters
from constructs_lib.template.settling import Surroundings, Template
from constructs_lib.validation import complaint

_WHERE = "preflight"
# True of every template.
_NEVER_JUDGED = (
    "whether EC2 has capacity for the types at the moment of a launch: no call tells",
    "rules of security groups, network ACLs, firewalls and endpoint policies on the way to the services",
    "service control policies and permission boundaries over the roles of the deploy and of the instances",
)


def preflight(
    template: Mapping[str, Any],
    session: Any,
    *,
    region: str | None = None,
    subnets: Sequence[str] | None = None,
    progress: Callable[[str], object] | None = None,
    parameters: Mapping[str, str] | None = None,
    beside: Mapping[str, Mapping[str, Any]] | None = None,
    now: datetime | None = None,
) -> Report:
    """Ask an account whether it can run the Auto Scaling groups of a template. Nothing is changed.

    Args:
        template: a synthesized CloudFormation template as plain data; not only of this library's fleets.
        session: a ``boto3.Session`` with credentials of the account.
        region: to ask. Default: the session's.
        subnets: ids of the subnets that the groups will launch in, where the template does not tell them.
            Default: none.
        progress: called with the name of each call before it is made. Default: nobody is told.
        parameters: values that the deploy passes for the template's parameters. Default: their defaults.
        beside: templates of other stacks that are deployed together with it, by the name of the stack, so that what
            crosses from stack to stack is followed. Default: none.
        now: the time at which reservations are judged. Default: the current time.

    Raises:
        ArgumentError: the template is none, or has no such parameter, no Region is named, or the credentials are
            missing, have expired or are wrong. What AWS refuses to tell to good ones raises nothing: it is a finding of
            severity ``unknown``.
    """
    others = {} if beside is None else beside
    given = check_parameters("preflight", "parameters", parameters or {}, [template, *others.values()])
    account = Account(session, _region(session, region), progress)
    check_credentials(account)
    around = Surroundings(
        region=account.region,
        account=account_number(account),
        parameters=given,
        beside=others,
    )
    plan = read(Template(without_loops(template, around), around), partial(launch_template_data, account))
    time = datetime.now(timezone.utc) if now is None else now
    findings: list[Finding] = []
    types: dict[str, dict[str, int]] = {}
    kept: dict[str, int] = {}
    for group in plan.groups:
        id = group.logical_id
        types[id], found = offering.types_of(account, group)
        findings += found
        where, found = places(account, group, () if subnets is None else subnets)
        findings += found
        findings += offering.check(account, group, types[id], where)
        findings += offering.capabilities(account, group, types[id])
        found, kept[id] = reserved.check(account, group, types[id], where, time)
        findings += found
        findings += schedules.check(group, time)
        findings += images.check(account, group, time)
        findings += reach.check(account, group, where)
        findings += rights.check(account, group)
    findings += quotas.check(account, plan.groups, types, kept)
    not_judged = [*plan.not_judged, *_NEVER_JUDGED]
    if not plan.groups:
        not_judged.insert(0, "the template makes no Auto Scaling group: nothing was asked")
    if any(group.is_block for group in plan.groups):
        not_judged.append("quotas of Capacity Blocks: a block that exists has passed them")
    return Report(
        region=account.region,
        account=around.account,
        findings=tuple(dict.fromkeys(findings)),
        not_judged=tuple(not_judged),
    )


def _region(session: Any, region: str | None) -> str:
    chosen = getattr(session, "region_name", None) if region is None else region
    if isinstance(chosen, str) and chosen.strip():
        return chosen
    cure = "pass region='eu-central-1', or set one in the credentials' profile"
    raise ArgumentError(complaint(_WHERE, "region", "be the name of a Region", chosen, cure))
