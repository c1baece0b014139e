"""A report puts the worst first and is plain data when asked."""

from __future__ import annotations

import json

from constructs_lib.preflight import SEVERITIES, Finding, Report


def _finding(severity: str, message: str = "said") -> Finding:
    cure = "" if severity == "ok" else "do it"
    return Finding(severity=severity, resource="Group", asked="image", message=message, cure=cure, commands=("aws x",))


def _report(*findings: Finding) -> Report:
    return Report(region="us-east-1", account=None, findings=findings, not_judged=("capacity",))


def test_the_worst_comes_first_and_the_rest_keeps_its_order() -> None:
    report = _report(*(_finding(severity) for severity in SEVERITIES[::-1]), _finding("error", "second"))
    assert [finding.severity for finding in report.findings] == ["error", "error", "warning", "unknown", "ok"]
    assert report.findings[1].message == "second"
    assert report.worst == "error"


def test_nothing_asked_is_not_ok() -> None:
    assert _report().worst == "unknown"


def test_the_document_is_plain_data() -> None:
    document = _report(_finding("ok"), _finding("warning")).document()
    assert json.loads(json.dumps(document)) == document
    assert document["worst"] == "warning"
    assert document["counts"] == {"error": 0, "warning": 1, "unknown": 0, "ok": 1}
    assert document["not_judged"] == ["capacity"]
    findings = document["findings"]
    assert isinstance(findings, list)
    assert findings[0] == {
        "severity": "warning",
        "resource": "Group",
        "asked": "image",
        "message": "said",
        "cure": "do it",
        "commands": ["aws x"],
    }
