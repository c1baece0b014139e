"""How much of the machine's setup is not in force, from the report that the setup leaves."""

from __future__ import annotations

import json

from .settings import MachineSetup


def count_failures(setup: MachineSetup, report: str) -> int:
    """Return how many of the settings that were asked for the report does not call in force.

    Raises ValueError if it is no report.
    """
    try:
        document = json.loads(report)
    except RecursionError as error:
        raise ValueError("the setup's report is nested too deeply") from error
    results = document.get("settings") if isinstance(document, dict) else None
    if not isinstance(results, dict):
        raise ValueError("the setup's report must be an object with settings")
    return sum(not _in_force(results.get(name)) for name in setup.asked)


def _in_force(result: object) -> bool:
    return isinstance(result, dict) and result.get("ok") is True
