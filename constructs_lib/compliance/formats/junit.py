"""The outcome as JUnit XML, in the form that Jenkins and others take: a suite for each stack, a case for each rule and
resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from constructs_lib.compliance.findings import Finding, NotJudged
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.markup import Markup, element

_INPUT = "input"


@dataclass
class _Case:
    """What a rule says of a resource."""

    failures: list[Finding] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def as_junit(outcome: Outcome) -> str:
    """One document."""
    suites: dict[str, dict[tuple[str, str], _Case]] = {stack: {} for stack in outcome.report.stacks}

    def case(stack: str, rule: str, resource: str) -> _Case:
        return suites.setdefault(stack, {}).setdefault((rule, resource), _Case())

    def case_of(finding: Finding) -> _Case:
        return case(finding.location.stack, finding.rule, finding.resource)

    report = outcome.report
    for finding in report.findings:
        case_of(finding).failures.append(finding)
    for finding in report.known:
        case_of(finding).skipped.append(f"in the baseline: {finding.message}")
    for each in report.suppressed:
        case_of(each.finding).skipped.append(f"suppressed: {each.reason} ({each.finding.message})")
    for open_ in report.not_judged:
        case(open_.location.stack, open_.rule, open_.resource).skipped.append(_not_judged(open_))
    for kept in report.kept:
        case(kept.stack, kept.rule, kept.resource)

    written = [_suite(stack, cases) for stack, cases in suites.items()]
    if outcome.unreadable:
        written.append(_unreadable(outcome.unreadable))
    cases = [each for of_stack in suites.values() for each in of_stack.values()]
    root = element(
        "testsuites",
        *written,
        name="accel-fleet check",
        tests=len(cases) + len(outcome.unreadable),
        failures=sum(bool(each.failures) for each in cases),
        errors=len(outcome.unreadable),
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'


def _suite(stack: str, cases: Mapping[tuple[str, str], _Case]) -> Markup:
    return element(
        "testsuite",
        *(_case(stack, rule, resource, case) for (rule, resource), case in cases.items()),
        name=stack,
        tests=len(cases),
        failures=sum(bool(each.failures) for each in cases.values()),
        errors=0,
        skipped=sum(bool(each.skipped) and not each.failures for each in cases.values()),
    )


def _case(stack: str, rule: str, resource: str, case: _Case) -> Markup:
    content: list[Markup] = []
    if case.failures:
        first = case.failures[0]
        told = "\n\n".join(_told(each) for each in case.failures)
        content.append(element("failure", told, message=first.message, type=first.severity))
    elif case.skipped:
        content.append(element("skipped", message="; ".join(case.skipped)))
    return element("testcase", *content, name=f"{rule}: {resource}", classname=stack)


def _told(finding: Finding) -> str:
    location = finding.location
    place = "" if location.file is None else f"{location.file}:{location.line}: "
    return f"{place}{finding.message}\nTo mend it: {finding.fix}\nServes {finding.practice}"


def _not_judged(open_: NotJudged) -> str:
    return f"not judged{f' by {len(open_.rules)} rules' if open_.rules else ''}: {open_.reason}"


def _unreadable(messages: Iterable[str]) -> Markup:
    cases = [
        element("testcase", element("error", message=each, type="unreadable"), name=f"file {number}", classname=_INPUT)
        for number, each in enumerate(messages, 1)
    ]
    return element("testsuite", *cases, name=_INPUT, tests=len(cases), failures=0, errors=len(cases), skipped=0)
