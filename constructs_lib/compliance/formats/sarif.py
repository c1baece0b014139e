"""The outcome in SARIF 2.1.0, which code scanning of GitHub and others, and editors, show beside the line.

Sections in comments are those of "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS, 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from constructs_lib.compliance.explain import cures, markdown
from constructs_lib.compliance.findings import Finding, Location, NotJudged
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.rule import Rule

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(outcome: Outcome) -> dict[str, Any]:
    """One log with one run."""
    asked = list(dict.fromkeys((*(each.id for each in outcome.rules), *_found(outcome))))
    index = {id: number for number, id in enumerate(asked)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "accel-fleet check",
                        "rules": [_descriptor(outcome.described[id]) for id in asked],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": not outcome.unreadable,
                        # What could not be judged is no result: a reader that overlooks its kind would make alerts
                        # of it, and "SARIF support for code scanning", GitHub Docs, does not name the kind.
                        "toolExecutionNotifications": [
                            *({"level": "error", "message": {"text": each}} for each in outcome.unreadable),
                            *(_not_judged(each, index) for each in outcome.report.not_judged),
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [{**each, "ruleIndex": index[each["ruleId"]]} for each in _results(outcome)],
            }
        ],
    }


def _found(outcome: Outcome) -> Iterator[str]:
    """The rules of all that is told, also of findings that the baseline has alone."""
    report = outcome.report
    findings = (*report.findings, *report.known, *(each.finding for each in report.suppressed), *(outcome.gone or ()))
    yield from (each.rule for each in findings)
    yield from (each.rule for each in report.not_judged)


def _descriptor(rule: Rule[Any]) -> dict[str, Any]:
    help = "\n\n".join((rule.why, *(f"{heading}: {text}" for heading, text in cures(rule))))
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": help, "markdown": markdown(rule)},
        "helpUri": rule.link,
        "defaultConfiguration": {"level": rule.severity},
        # "precision" and "problem.severity" are GitHub's own: "SARIF support for code scanning", GitHub Docs.
        "properties": {"tags": list(rule.practices), "precision": "high", "problem.severity": rule.severity},
    }


def _results(outcome: Outcome) -> Iterator[dict[str, Any]]:
    report = outcome.report
    state = None if outcome.gone is None else "new"
    for finding in report.findings:
        yield _result(finding, state)
    for finding in report.known:
        yield _result(finding, "unchanged")
    for suppressed in report.suppressed:
        yield _result(suppressed.finding, state, reason=suppressed.reason)
    for finding in outcome.gone or ():
        yield _result(finding, "absent")


def _result(finding: Finding, state: str | None, *, reason: str | None = None) -> dict[str, Any]:
    # Either all results of a run have suppressions, if only none, or no result has (3.27.23).
    suppressions = [] if reason is None else [{"kind": "inSource", "status": "accepted", "justification": reason}]
    return {
        "ruleId": finding.rule,
        "kind": "fail",
        "level": finding.severity,
        "message": {"text": f"{finding.message}. To mend it: {finding.fix}."},
        "locations": [_location(finding.location, finding.resource)],
        "partialFingerprints": {"accelFleetFinding/v1": _hash(finding.fingerprint)},
        "suppressions": suppressions,
        **_baseline(state),
    }


def _not_judged(not_judged: NotJudged, index: Mapping[str, int]) -> dict[str, Any]:
    return {
        "level": "note",
        "message": {"text": f"{not_judged.resource} cannot be judged: {not_judged.reason}."},
        "locations": [_location(not_judged.location, not_judged.resource)],
        "associatedRule": {"id": not_judged.rule, "index": index[not_judged.rule]},
    }


def _baseline(state: str | None) -> dict[str, str]:
    return {} if state is None else {"baselineState": state}


def _location(location: Location, resource: str) -> dict[str, Any]:
    whole = "/".join(part for part in (location.stack, resource, location.property) if part)
    kind = "member" if location.property else "resource"
    logical = {"name": location.property or resource, "fullyQualifiedName": whole, "kind": kind}
    found: dict[str, Any] = {"logicalLocations": [logical]}
    if location.file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(location.file)}}
        if location.line is not None:
            physical["region"] = {"startLine": location.line}
        found["physicalLocation"] = physical
    return found


def _uri(file: str) -> str:
    quoted = quote(file, errors="surrogateescape")
    return f"file://{quoted}" if file.startswith("/") else quoted


def _hash(parts: Sequence[str]) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
