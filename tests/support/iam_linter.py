"""Parliament, which knows the actions of IAM and the resources that each of them takes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any


def findings(document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return what the linter says about a policy: what it found, and in what."""
    # It leaves files open while it is imported, and imports what setuptools means to take away.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from parliament import analyze_policy_string
    return {(each.issue, str(each.detail)) for each in analyze_policy_string(json.dumps(document)).findings}
