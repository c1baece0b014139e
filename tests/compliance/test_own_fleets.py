"""Our own fleets break no rule and need no suppression for it: the scenarios and the examples.

Random combinations of options, and each type of the catalogue, are checked where they are synthesized:
``test_any_combination.py``, ``test_purchase_combinations.py``, ``test_network.py`` and ``test_every_type*.py`` of
``tests/constructs/``.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from aws_cdk import App

from constructs_lib.compliance import assert_compliant
from scripts.synth import example_names
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import ROOT

REGIONS = [None, "us-east-1"]


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("context", ["empty", "project"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario(scenario: str, context: str, region: str | None) -> None:
    assert_compliant(template(scenario, context), region=region)


@pytest.mark.parametrize("name", example_names(ROOT / "examples"))
def test_every_example(name: str, tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    importlib.import_module(f"examples.{name}.app").build(app)
    for region in REGIONS:
        assert_compliant(app, region=region)
