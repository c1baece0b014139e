"""Every example, as somebody meets it who has neither an account nor context."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks
from cfnlint import api  # type: ignore[import-untyped]

from tests.support.stacks import ROOT, project_context

EXAMPLES = sorted(app.parent.name for app in (ROOT / "examples").glob("*/app.py"))
LINT = {"regions": ["us-east-1"], "ignore_checks": ["W3005"]}


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "CDK_DEFAULT_"))]:
        monkeypatch.delenv(name)


def builder(name: str) -> Callable[[App], None]:
    build: Callable[[App], None] = importlib.import_module(f"examples.{name}.app").build
    return build


def templates(app: App) -> dict[str, dict[str, Any]]:
    return {stack.stack_name: stack.template for stack in app.synth().stacks_recursively}


@pytest.mark.parametrize("name", EXAMPLES)
def test_synthesizes_without_context_or_credentials(name: str) -> None:
    app = App()
    builder(name)(app)
    made = templates(app)
    assert made
    for template in made.values():
        assert template["Resources"]
        # Nothing was looked up, so nothing stands for what a lookup would have found.
        assert "vpc-12345" not in json.dumps(template)


@pytest.mark.parametrize("name", EXAMPLES)
def test_project_context_gives_templates_without_any_finding(name: str) -> None:
    app = App(context=project_context())
    builder(name)(app)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    assembly = app.synth()
    report = json.loads(Path(assembly.directory, "validation-report.json").read_text())
    assert [each for each in report["pluginReports"] if each["violations"]] == []
    for stack in assembly.stacks_recursively:
        found = api.lint(json.dumps(stack.template), config=LINT)
        assert [str(each) for each in found] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_email_subscribes_to_the_alarms(name: str) -> None:
    app = App(context={"email": "you@example.com"})
    builder(name)(app)
    subscriptions = [
        resource["Properties"]
        for template in templates(app).values()
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::SNS::Subscription"
    ]
    assert [(each["Protocol"], each["Endpoint"]) for each in subscriptions] == [("email", "you@example.com")]


@pytest.mark.parametrize("name", EXAMPLES)
def test_two_synths_give_the_same_templates(name: str) -> None:
    made = []
    for _ in range(2):
        app = App()
        builder(name)(app)
        made.append(json.dumps(templates(app)))
    assert made[0] == made[1]


@pytest.mark.parametrize("name", EXAMPLES)
def test_readme_names_the_stacks_the_cost_and_the_way_back(name: str) -> None:
    app = App()
    builder(name)(app)
    readme = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    for stack in templates(app):
        assert stack in readme
    for word in ("cdk deploy", "cdk destroy", "USD"):
        assert word in readme


def test_the_projects_own_app_holds_every_example(tmp_path: Path) -> None:
    expected: set[str] = set()
    for name in EXAMPLES:
        app = App()
        builder(name)(app)
        expected |= templates(app).keys()
    # The CDK command line says by this variable where the assembly goes.
    environment = {**os.environ, "CDK_OUTDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "examples"], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert {path.name.removesuffix(".template.json") for path in tmp_path.glob("*.template.json")} == expected
