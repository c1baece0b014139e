"""cdk-nag's AwsSolutions pack has nothing to say about our constructs that has no answer beside the resource."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from tests.constructs.scenarios import CONTEXTS, SCENARIOS


def synthesized(app: App) -> dict[str, Any]:
    """Apply the pack, synthesize, and return the report of all validations; a finding makes the synth raise."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    report = Path(app.synth().directory, "validation-report.json")
    return dict(json.loads(report.read_text()))


@pytest.mark.parametrize("context", ["empty", "project"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_finding(scenario: str, context: str) -> None:
    app = App(context=CONTEXTS[context]())
    SCENARIOS[scenario](Stack(app, "Test"))
    failed = [each for each in synthesized(app)["pluginReports"] if each["conclusion"] != "success"]
    assert failed == []


def test_the_pack_is_applied() -> None:
    app = App()
    sqs.Queue(Stack(app, "Test"), "Plain")
    with pytest.raises(RuntimeError, match="AwsSolutions-SQS3"):
        synthesized(app)
