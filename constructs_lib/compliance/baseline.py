"""Findings of an earlier run, which do not count in this one: a team begins with what it has, and lets it not grow."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from constructs_lib.compliance.findings import Finding, Location, Report
from constructs_lib.compliance.formats.json import SCHEMA
from constructs_lib.errors import ArgumentError
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.validation import complaint

Fingerprint = tuple[str, str, str, str]

_CURE = "give what an earlier run wrote with --format json"


def read_baseline(file: str | Path) -> dict[Fingerprint, Finding]:
    """The findings of an earlier run, from its JSON.

    Raises:
        ArgumentError: the file cannot be read, or is something else.
    """
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable("be a file that can be read", str(file)) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(f"be JSON ({error})", str(file)) from error
    if mapping(document).get("schema") != SCHEMA:
        raise _unusable(f"be of schema {SCHEMA}", mapping(document).get("schema"))
    entries = [*items(document.get("findings")), *items(document.get("known"))]
    try:
        found = [_finding(each) for each in entries]
    except (KeyError, TypeError) as error:
        raise _unusable("have findings as the check writes them", str(file)) from error
    return {each.fingerprint: each for each in found}


def gone(baseline: Mapping[Fingerprint, Finding], report: Report, asked: Collection[str]) -> tuple[Finding, ...]:
    """Findings of the baseline that are not there any more, of the stacks that were checked and the rules asked."""
    answered = [each.finding for each in report.suppressed]
    there = {each.fingerprint for each in (*report.findings, *report.known, *answered)}
    unknown = {(each.location.stack, each.resource, rule) for each in report.not_judged for rule in each.all_rules}
    return tuple(
        each
        for fingerprint, each in baseline.items()
        if fingerprint not in there
        and fingerprint[:3] not in unknown
        and each.location.stack in report.stacks
        and each.rule in asked
    )


def _finding(entry: Any) -> Finding:
    location = entry["location"]
    made = Finding(
        rule=entry["rule"],
        severity="error" if entry["severity"] == "error" else "warning",
        resource=entry["resource"],
        type=entry["type"],
        message=entry["message"],
        fix=entry["fix"],
        practice=entry["practice"],
        location=Location(
            stack=location["stack"], file=location["file"], line=location["line"], property=location["property"]
        ),
    )
    if not all(isinstance(each, str) for each in (*made.fingerprint, made.message, made.fix)):
        raise TypeError("a text is none")
    return made


def _unusable(rule: str, value: object) -> ArgumentError:
    return ArgumentError(complaint("check", "baseline", rule, value, _CURE))
