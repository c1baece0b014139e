"""Asks rules about deployments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from constructs_lib.collecting import without_collecting
from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.facts.reasons import stated_in
from constructs_lib.compliance.findings import Finding, Kept, Location, NotJudged, Report, Stated, Suppressed
from constructs_lib.compliance.out_of_sight import OUT_OF_SIGHT, out_of_sight
from constructs_lib.compliance.rule import ERROR, Rule
from constructs_lib.compliance.suppressions import faults_of, reason_for
from constructs_lib.compliance.values import Broken, NotKnown, Value, dotted, shown
from constructs_lib.statements import KEY, SUPPRESS
from constructs_lib.template.plain_values import mapping

BAD_SUPPRESSION = "suppression-not-usable"
"""Id of the finding that a suppression has no reason, or names no rule: what it was to answer stays."""

SUPPRESSIONS_RULE: Rule[Any] = Rule(
    id=BAD_SUPPRESSION,
    title="A suppression names a rule and says why the finding stays",
    severity=ERROR,
    practices=("SUS05-BP04/measure",),
    why="An answer that names no rule, or gives no reason, answers nothing, and nobody would notice.",
    cure_here="Name the id of a rule, and give a reason.",
    cure_plain=(
        f"Write Metadata: {{{KEY}: {{{SUPPRESS}: [{{rule: minimum-above-zero, reason: why it has to be so}}]}}}}."
    ),
    link="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-metadata.html",
    # It is about metadata, also of a template as a whole, and is asked with every check.
    subjects=lambda deployment: (),
    judge=lambda subject: iter(()),
)
"""What that finding is about, for those who read reports."""

Verdict = Finding | Suppressed | NotJudged | Kept


@without_collecting()
def check(
    deployments: Iterable[Deployment],
    rules: Sequence[Rule[Any]],
    *,
    all_ids: Collection[str] = (),
    baseline: Collection[tuple[str, str, str, str]] = (),
) -> Report:
    """Ask rules about deployments.

    Args:
        deployments: what is deployed together is one of them.
        rules: to be asked.
        all_ids: of rules that a suppression may name. Default: those of ``rules``.
        baseline: fingerprints of findings that are known. Default: none.
    """
    verdicts: list[Verdict] = []
    stated: list[Stated] = []
    stacks: list[str] = []
    ids = {*all_ids, *(each.id for each in rules)}
    for deployment in deployments:
        stacks += [each.name for each in deployment.stacks]
        stated += _stated(deployment)
        verdicts += _bad_suppressions(deployment, ids)
        for rule in rules:
            verdicts += _asked(rule, deployment)
        verdicts += [_not_judged(OUT_OF_SIGHT, each) for each in out_of_sight(deployment)]
    distinct = list(dict.fromkeys(_told_once(verdicts)))
    findings = [each for each in distinct if isinstance(each, Finding)]
    return Report(
        findings=tuple(each for each in findings if each.fingerprint not in baseline),
        known=tuple(each for each in findings if each.fingerprint in baseline),
        suppressed=tuple(each for each in distinct if isinstance(each, Suppressed)),
        stated=tuple(stated),
        not_judged=tuple(each for each in distinct if isinstance(each, NotJudged)),
        kept=tuple(each for each in distinct if isinstance(each, Kept)),
        stacks=tuple(stacks),
    )


def _asked(rule: Rule[Any], deployment: Deployment) -> Iterator[Verdict]:
    for subject in _subjects(rule, deployment):
        if isinstance(subject, NotKnown):
            yield replace(_not_judged(rule, subject), rules=(rule.id,))
            continue
        resource: Resource = subject.resource
        kept = True
        try:
            for broken in rule.judge(subject):
                kept = False
                yield _found(rule, broken, suppressed_at=resource)
        except NotKnown as not_known:
            kept = False
            yield _not_judged(rule, not_known)
        if kept:
            yield Kept(rule=rule.id, resource=resource.id, stack=resource.stack.name)


def _told_once(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """One line for all rules that nobody can tell for the same reason whether they concern a resource."""
    concerned: dict[NotJudged, dict[str, None]] = {}
    for each in verdicts:
        if isinstance(each, NotJudged) and each.rules:
            concerned.setdefault(replace(each, rule=OUT_OF_SIGHT.id, rules=()), {})[each.rule] = None
        else:
            yield each
    for told, rules in concerned.items():
        alone = len(rules) == 1
        yield replace(told, rule=next(iter(rules))) if alone else replace(told, rules=tuple(rules))


def _subjects(rule: Rule[Any], deployment: Deployment) -> Iterator[Any]:
    try:
        yield from rule.subjects(deployment)
    except NotKnown as not_known:
        # Some of what follows may concern the rule, and nobody can tell what.
        yield not_known


def _found(rule: Rule[Any], broken: Broken, *, suppressed_at: Resource) -> Finding | Suppressed:
    # Attributes beside the properties stand in angle brackets: <UpdatePolicy>.
    named = (
        broken.property.replace("<", "", 1).replace(">", "", 1) if broken.property.startswith("<") else broken.property
    )
    where = f"{broken.resource.id}: {named}" if broken.path else broken.resource.id
    finding = Finding(
        rule=rule.id,
        severity=rule.severity,
        resource=broken.resource.id,
        type=broken.resource.type,
        message=f"{where} must {broken.must}, got {broken.shown}{_default_of(broken)}",
        fix=broken.cure,
        practice=rule.practices[0],
        location=_location(broken.resource, broken.path),
    )
    # Either of the two may have the answer: the group, or the launch template that the finding is about.
    for resource in dict.fromkeys((broken.resource, suppressed_at)):
        reason = reason_for(resource, rule.id)
        if reason is not None:
            return Suppressed(finding=finding, reason=reason)
    return finding


def _default_of(broken: Broken) -> str:
    """Where the value comes from, if that is the default of a parameter and no line of the resource has it."""
    written: Any = broken.resource.written
    named = str(broken.path[0]) if broken.path else ""
    steps = (named.strip("<>"), *broken.path[1:]) if named.startswith("<") else ("Properties", *broken.path)
    for step in steps:
        entries: dict[Any, Any] = dict(enumerate(written)) if isinstance(written, list) else mapping(written)
        if step not in entries:
            break
        written = entries[step]
    name = written.get("Ref") if isinstance(written, Mapping) and len(written) == 1 else None
    if not isinstance(name, str) or not broken.resource.stack.template.has_default(name):
        return ""
    return f", the default of parameter {name}"


def _not_judged(rule: Rule[Any], not_known: NotKnown) -> NotJudged:
    place = not_known.place
    resource, path = (place.resource, place.path) if isinstance(place, Value) else (place, ())
    return NotJudged(rule=rule.id, resource=resource.id, reason=not_known.reason, location=_location(resource, path))


def _location(resource: Resource, path: tuple[str | int, ...]) -> Location:
    return Location(
        stack=resource.stack.name,
        file=resource.stack.source.file,
        line=resource.line(path),
        property=dotted(path),
    )


def _stated(deployment: Deployment) -> Iterator[Stated]:
    for place, reason in stated_in(deployment):
        yield Stated(
            what=str(place.path[-1]),
            resource=place.resource.id,
            reason=reason,
            location=_location(place.resource, place.path),
        )


def _bad_suppressions(deployment: Deployment, ids: Collection[str]) -> Iterator[Finding]:
    for stack in deployment.stacks:
        for logical_id, must, got in faults_of(stack, ids):
            path = (*(("Resources", logical_id) if logical_id else ()), "Metadata", KEY, SUPPRESS)
            line_of = stack.source.line_of
            yield Finding(
                rule=SUPPRESSIONS_RULE.id,
                severity=SUPPRESSIONS_RULE.severity,
                resource=logical_id or stack.name,
                type="" if logical_id is None else stack.resources[logical_id].type,
                message=f"{logical_id or 'template'}: Metadata.{KEY}.{SUPPRESS} must {must}, got {shown(got)}",
                fix="write for example {'rule': 'minimum-above-zero', 'reason': 'why it has to be so'}",
                practice=SUPPRESSIONS_RULE.practices[0],
                location=Location(
                    stack=stack.name,
                    file=stack.source.file,
                    line=None if line_of is None else line_of(path),
                    property=f"Metadata.{KEY}.{SUPPRESS}",
                ),
            )
