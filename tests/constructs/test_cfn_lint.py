"""cfn-lint, and the CDK's own template validation, have nothing to say about our templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import App, CfnResource, Stack
from cfnlint import api  # type: ignore[import-untyped]

from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet, stack

# The CDK writes each dependency out, also one that a reference in the same resource implies (W3005).
LINT = {"regions": ["us-east-1", "eu-central-1"], "ignore_checks": ["W3005"]}
# These types are not offered in Frankfurt.
REGIONS = {name: ["us-east-1"] for name in ("trainium", "fpga", "training")}


@pytest.mark.parametrize("context", ["empty", "project"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_cfn_lint_finds_nothing(scenario: str, context: str) -> None:
    found = api.lint(
        json.dumps(dict(template(scenario, context))),
        config={**LINT, "regions": REGIONS.get(scenario, LINT["regions"])},
    )
    assert [str(each) for each in found] == []


def test_cfn_lint_is_applied() -> None:
    broken = json.loads(json.dumps(dict(template("smallest"))))
    for resource in broken["Resources"].values():
        if resource["Type"] == "AWS::AutoScaling::AutoScalingGroup":
            resource["Properties"]["MaxSizes"] = "8"
    assert [each.rule.id for each in api.lint(json.dumps(broken), config=LINT)] == ["E3002"]


def validated(app: App) -> list[tuple[str, str]]:
    """What the CDK's own validation reports, besides the warnings that constructs give."""
    report = json.loads(Path(app.synth().directory, "validation-report.json").read_text())
    return [
        (each["pluginName"], violation["ruleName"])
        for each in report["pluginReports"]
        for violation in each["violations"]
        if each["pluginName"] != "Construct Annotations"
    ]


@pytest.mark.parametrize("scenario", ["fullest", "trainium", "fpga", "idle_release"])
def test_cdk_template_validation_finds_nothing(scenario: str) -> None:
    app = App(context=CONTEXTS["project"]())
    SCENARIOS[scenario](Stack(app, "Test"))
    assert validated(app) == []


def test_cdk_template_validation_is_applied() -> None:
    test_stack = stack()
    group = fleet(test_stack).node.default_child
    assert isinstance(group, CfnResource)
    group.add_property_override("MaxSizes", "8")
    app = test_stack.node.root
    assert isinstance(app, App)
    assert [rule for _, rule in validated(app)] == ["F3002"]
