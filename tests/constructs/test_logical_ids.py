"""Logical ids are a public contract: a changed one replaces what a user runs.

A difference here means a new major version and a note on how to migrate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template


def _inventory(made: Mapping[str, Any]) -> dict[str, str]:
    return {id: resource["Type"] for id, resource in made["Resources"].items()}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_inventory(scenario: str, snapshot: SnapshotAssertion) -> None:
    assert _inventory(template(scenario)) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("context", [name for name in CONTEXTS if name != "empty"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_feature_flags_change_no_logical_id(scenario: str, context: str) -> None:
    assert _inventory(template(scenario, context)) == _inventory(template(scenario))
