"""That a template changed: one snapshot for each scenario and context. What it must mean is said elsewhere."""

from __future__ import annotations

import json
import re

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.constructs.scenarios import SCENARIOS, template

_ASSET = re.compile(r"[0-9a-f]{64}\.zip")


@pytest.mark.parametrize("context", ["empty", "project"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_template(scenario: str, context: str, snapshot: SnapshotAssertion) -> None:
    written = json.dumps(dict(template(scenario, context)))
    masked = json.loads(_ASSET.sub("<asset>.zip", written))
    assert masked == snapshot(extension_class=JSONSnapshotExtension)
