"""The outcome as plain data, for programs, and as the baseline of later runs."""

from __future__ import annotations

import json
from typing import Any

from constructs_lib.compliance.findings import Finding, NotJudged, Stated
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.score import Score, scores

SCHEMA = "accel-fleet/check/1"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """One object; its fields are those of the dataclasses of this room."""
    report = outcome.report
    severities = [each.severity for each in report.findings]
    return {
        "schema": SCHEMA,
        "stacks": list(report.stacks),
        "rules": [each.id for each in outcome.rules],
        "findings": [_told(each) for each in report.findings],
        "known": [_told(each) for each in report.known],
        "gone": None if outcome.gone is None else [_told(each) for each in outcome.gone],
        "suppressed": [{**_told(each.finding), "reason": each.reason} for each in report.suppressed],
        "stated": [_told(each) for each in report.stated],
        "not_judged": [_told(each) for each in report.not_judged],
        "unreadable": list(outcome.unreadable),
        "summary": {
            "errors": severities.count("error"),
            "warnings": severities.count("warning"),
            "known": len(report.known),
            "suppressed": len(report.suppressed),
            "stated": len(report.stated),
            "not_judged": len(report.not_judged),
            "kept": len(report.kept),
            "practices": [_score(each) for each in scores(report, outcome.rules)],
        },
    }


def as_json_text(outcome: Outcome) -> str:
    """The object written with each entry of its lists on a line, so that thousands of findings can be read by line."""
    fields = ",\n".join(f"  {json.dumps(name)}: {_written(value)}" for name, value in as_json(outcome).items())
    return f"{{\n{fields}\n}}\n"


def _written(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    entries = ",\n".join(f"    {json.dumps(each)}" for each in value)
    return f"[\n{entries}\n  ]"


def _told(each: Finding | Stated | NotJudged) -> dict[str, Any]:
    return {**vars(each), "location": vars(each.location)}


def _score(score: Score) -> dict[str, Any]:
    return {
        "practice": score.practice.id,
        "title": score.practice.title,
        "url": score.practice.url,
        "kept": score.kept,
        "broken": score.broken,
        "suppressed": score.suppressed,
        "not_judged": score.not_judged,
        "score": score.share,
    }
