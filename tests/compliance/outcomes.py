"""An outcome with one of everything, for the tests of the forms in which it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from constructs_lib.compliance.baseline import gone
from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.findings import Finding, Location, Report
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.rule import WARNING, Itself, Rule, resources_of
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.values import Broken


def _tokens(instance: Itself) -> Iterator[Broken]:
    tokens = instance.resource.properties.at("MetadataOptions.HttpTokens")
    if tokens.text() != "required":
        yield tokens.broken(must="be 'required'", cure="set MetadataOptions: {HttpTokens: required}")


RULE = "tokens-for-metadata"
ASKED: Rule[Itself] = Rule(
    id=RULE,
    title="Metadata is handed out for a token",
    severity=WARNING,
    practices=("SEC06-BP02",),
    why="Otherwise one request gets <credentials>.",
    cure_here="Nothing is to be set.",
    cure_plain="Set HttpTokens.",
    link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html",
    subjects=resources_of("AWS::EC2::Instance"),
    judge=_tokens,
)
HOSTILE = "<script>alert(1)</script>&\"'\x1b[2J\u202e"
GONE = Finding(
    rule=RULE,
    severity="warning",
    resource="Former",
    type="AWS::EC2::Instance",
    message="Former: MetadataOptions.HttpTokens must be 'required', got nothing",
    fix="set it",
    practice="SEC06-BP02",
    location=Location(stack="Fleet", file="cdk.out/Fleet.json", line=99, property="MetadataOptions.HttpTokens"),
)


def machine(tokens: Any = None, *, suppress: Any = None) -> dict[str, Any]:
    """An instance with an accelerator."""
    made: dict[str, Any] = {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}}
    if tokens is not None:
        made["Properties"]["MetadataOptions"] = {"HttpTokens": tokens}
    if suppress is not None:
        made["Metadata"] = {"accel-fleet": {"suppress": suppress}}
    return made


TEMPLATE: dict[str, Any] = {
    "Parameters": {"Tokens": {"Type": "String"}},
    "Resources": {
        "Breaks": machine(),
        "Known": machine("optional"),
        "Keeps": machine("required"),
        "Open": machine({"Ref": "Tokens"}),
        "Answered": machine("optional", suppress=[{"rule": RULE, "reason": HOSTILE}]),
        "Unanswered": machine("required", suppress=[{"rule": RULE}]),
        f"Evil{HOSTILE}": machine(HOSTILE),
    },
}


def outcome(*, unreadable: tuple[str, ...] = ("bad.json: template must be JSON",), baseline: bool = True) -> Outcome:
    """What came of checking the template by one rule."""
    report = checked()
    known = {each.fingerprint: each for each in report.findings if each.resource == "Known"} if baseline else {}
    if baseline:
        known[GONE.fingerprint] = GONE
    report = checked(known)
    return Outcome(
        report=report,
        rules=(ASKED,),
        unreadable=unreadable,
        gone=gone(known, report, {RULE}) if baseline else None,
    )


def checked(known: Any = ()) -> Report:
    """The report on the template by one rule."""
    source = Source(
        name="Fleet",
        content=TEMPLATE,
        file="cdk.out/Fleet template.json",
        line_of=lambda path: 10 + len(path),
        stack="Fleet",
    )
    return check([Deployment([source])], [ASKED], all_ids=RULES, baseline=known)


def nothing() -> Outcome:
    """What comes of a template that no rule has anything to do with."""
    source = Source(name="Empty", content={"Resources": {}})
    report = check([Deployment([source])], list(RULES.values()))
    return Outcome(report=report, rules=tuple(RULES.values()))


def moved(found: Report, lines: int) -> Report:
    """The report, had somebody put lines before everything."""
    findings = [
        replace(each, location=replace(each.location, line=(each.location.line or 0) + lines))
        for each in found.findings
    ]
    return replace(found, findings=tuple(findings))


SCHEMAS = Path(__file__).parent / "schemas"
