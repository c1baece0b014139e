"""cfn-lint, and the CDK's own template validation, have nothing to say about our templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from cfnlint import api  # type: ignore[import-untyped]

from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template

# The CDK writes each dependency out, also one that a reference in the same resource implies (W3005).
LINT = {"regions": ["us-east-1", "eu-central-1"], "ignore_checks": ["W3005"]}


@pytest.mark.parametrize("context", ["empty", "project"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_cfn_lint_finds_nothing(scenario: str, context: str) -> None:
    found = api.lint(json.dumps(dict(template(scenario, context))), config=LINT)
    assert [str(each) for each in found] == []


def test_cfn_lint_is_applied() -> None:
    broken = json.loads(json.dumps(dict(template("smallest"))))
    for resource in broken["Resources"].values():
        if resource["Type"] == "AWS::AutoScaling::AutoScalingGroup":
            resource["Properties"]["MaxSizes"] = "8"
    assert [each.rule.id for each in api.lint(json.dumps(broken), config=LINT)] == ["E3002"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_cdk_template_validation_finds_nothing(scenario: str) -> None:
    # With the project's flags its findings are errors, which fail the synth.
    app = App(context=CONTEXTS["project"]())
    SCENARIOS[scenario](Stack(app, "Test"))
    report = json.loads(Path(app.synth().directory, "validation-report.json").read_text())
    found = [
        (each["pluginName"], violation["ruleName"])
        for each in report["pluginReports"]
        for violation in each["violations"]
        if each["pluginName"] != "Annotations"
    ]
    assert found == []
