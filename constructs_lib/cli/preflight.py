"""``accel-fleet preflight``: whether an account can run what a template asks for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from constructs_lib.cli.arguments import Commands, Parser, add_command, add_json, parameters_of
from constructs_lib.cli.output import document, heading, paragraph, point
from constructs_lib.cli.spelling import Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND
from constructs_lib.errors import ArgumentError
from constructs_lib.plain_text import WIDTH
from constructs_lib.validation import complaint, one_of

if TYPE_CHECKING:
    from constructs_lib.preflight import Finding, Report, StackTemplate

_WHERE = "accel-fleet preflight"
_HELP = """\
It asks for quotas, offerings, reservations, images and ways to AWS, and changes
nothing. Exit status 1 tells of a finding that is not ok: also of one that
nobody could tell. Without credentials that AWS takes nothing is asked, and it
is 2."""


_SPELLING = Spelling(
    command="preflight",
    options={
        **options_of("template", "region"),
        "path": "--template",
        "subnets": "--subnet",
        "parameters": "--parameter",
        "session": "the AWS environment or --profile",
    },
    calls={"boto3.Session": "--profile NAME"},
)


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    added = add_command(
        commands,
        "preflight",
        _preflight,
        "ask an account, before a deploy, whether it can run a template",
        _HELP,
        spelling=_SPELLING,
    )
    added.add_argument("--template", metavar="PATH", help="a template in JSON, or the folder that cdk synth wrote")
    added.add_argument("--stack", action="append", metavar="NAME", help="of the folder; default: all of them")
    added.add_argument("--region", help="default: the stack's, else that of the profile or the AWS environment")
    added.add_argument("--profile", help="of the credentials; default: as the AWS environment has it")
    added.add_argument(
        "--subnet", action="append", metavar="ID", help="that the groups launch in, where the template does not tell"
    )
    added.add_argument(
        "--parameter", action="append", metavar="NAME=VALUE", help="of the template, as the deploy passes it"
    )
    added.add_argument("--print-policy", action="store_true", help="print the IAM policy that preflight needs, and end")
    add_json(added)


def _preflight(chosen: argparse.Namespace) -> int:
    from constructs_lib.preflight import policy_document, preflight, templates_in

    if chosen.print_policy:
        print(json.dumps(policy_document(), indent=2))
        return FINE
    if chosen.template is None:
        cure = "write --template cdk.out, or a template in it"
        raise ArgumentError(complaint(_WHERE, "--template", "be given", None, cure))
    templates = templates_in(chosen.template)
    parameters = parameters_of(_WHERE, chosen.parameter or ())
    from constructs_lib.cli.progress import progress
    from constructs_lib.cli.session import session_for

    session = session_for(chosen.profile, chosen.region)
    reports = []
    with progress("Asking AWS") as say:
        for each in _chosen(templates, chosen.stack):
            report = preflight(
                each.template,
                session,
                region=chosen.region or each.region,
                subnets=chosen.subnet,
                progress=say,
                parameters=parameters,
                beside={
                    other.stack: other.template for other in templates if other is not each and other.stack is not None
                },
            )
            reports.append((each, report))
    if chosen.json:
        stacks = [{"stack": each.stack, "meant_for": _meant(each), **report.document()} for each, report in reports]
        document("preflight/1", {"stacks": stacks})
    else:
        for number, (each, report) in enumerate(reports):
            if number:
                print()
            _show(each, report)
    return FINE if all(_fine(each, report) for each, report in reports) else FOUND


def _fine(stack: StackTemplate, report: Report) -> bool:
    return all(finding.severity == "ok" for finding in report.findings) and not _elsewhere(stack, report)


def _meant(stack: StackTemplate) -> dict[str, str | None]:
    return {"account": stack.account, "region": stack.region}


def _elsewhere(stack: StackTemplate, report: Report) -> list[str]:
    """How the place that was asked is not the one that the stack is bound to."""
    pairs = (("account", stack.account, report.account), ("Region", stack.region, report.region))
    return [
        f"the stack is bound to {what} {meant}, and {asked} was asked"
        for what, meant, asked in pairs
        if meant is not None and asked is not None and meant != asked
    ]


def _chosen(templates: Sequence[StackTemplate], names: Sequence[str] | None) -> list[StackTemplate]:
    if names is None:
        return list(templates)
    stacks = {each.stack: each for each in templates if each.stack is not None}
    for name in names:
        if not stacks:
            cure = "give the folder that cdk synth wrote, or leave --stack out"
            raise ArgumentError(complaint(_WHERE, "--stack", "be left out for one template", name, cure))
        one_of(_WHERE, "--stack", name, stacks, cure="these are in the folder")
    return [stacks[name] for name in dict.fromkeys(names)]


def _show(stack: StackTemplate, report: Report) -> None:
    counts = {finding.severity: 0 for finding in report.findings}
    for finding in report.findings:
        counts[finding.severity] += 1
    told = ", ".join(f"{count} {severity}" for severity, count in counts.items()) or "nothing was asked"
    account = "an account that cannot be told" if report.account is None else f"account {report.account}"
    paragraph(f"{stack.stack or 'Template'} in {report.region}, {account}: {told}.")
    for text in _elsewhere(stack, report):
        point(f"Attention: {text}.")
    for finding in report.findings:
        _show_finding(finding)
    if report.not_judged:
        heading("Not judged:")
        for text in report.not_judged:
            point(text)


def _show_finding(finding: Finding) -> None:
    begins = f"{finding.severity.upper():<8}"
    indent = " " * len(begins)
    if finding.severity != "ok":
        print()
    paragraph(f"{finding.resource}, {finding.asked}: {finding.message}", begins=begins, indent=indent)
    if finding.cure:
        paragraph(finding.cure, begins=f"{indent}-> ", indent=f"{indent}   ")
    for command in finding.commands:
        # Never broken: it is there to be copied.
        print(f"{indent}$ {command}" if len(command) + len(indent) < WIDTH else f"$ {command}")
