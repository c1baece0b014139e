"""Same input, same bytes; and not more of them than a user can review."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.constructs.scenarios import built
from tests.support.stacks import ROOT

PROGRAM = """
from tests.constructs.test_size_and_determinism import written
print(written("fullest").decode())
"""


def written(scenario: str, context: str = "empty") -> bytes:
    """The template file as the CDK writes it into the cloud assembly."""
    assembly = built(scenario, context).node.root.synth()  # type: ignore[attr-defined]
    return Path(assembly.directory, "Test.template.json").read_bytes()


def test_a_fleet_with_default_options_and_a_queue_is_small() -> None:
    template = written("with_queue")
    assert len(template) <= 45 * 1024
    assert len(json.loads(template)["Resources"]) <= 40


@pytest.mark.parametrize("scenario", ["fullest", "idle_release"])
def test_two_synths_give_the_same_bytes(scenario: str) -> None:
    assert written(scenario, "project") == written(scenario, "project")


def test_no_set_is_iterated_while_resources_are_made() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert "AWS::AutoScaling::AutoScalingGroup" in found[0]
    assert found[0] == found[1]
