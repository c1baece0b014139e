"""The CloudWatch agent's own JSON schema, where a copy lies beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator  # type: ignore[import-untyped]

_SCHEMA = Path(__file__).resolve().parents[3] / "shared" / "facts" / "cwagent-schema.json"


def agent_schema_faults(config: Mapping[str, Any]) -> list[str]:
    """What the agent's schema finds in a configuration; skips the test where there is no copy of the schema."""
    if not _SCHEMA.exists():
        pytest.skip("the CloudWatch agent's JSON schema does not lie beside this checkout")
    return [error.message for error in _validator().iter_errors(dict(config))]


@cache
def _validator() -> Any:
    return Draft4Validator(json.loads(_SCHEMA.read_text(encoding="utf-8")))
