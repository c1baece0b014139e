"""How much of the machine's setup is not in force, from the report that the setup leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .settings import MachineSetup


def not_in_force(setup: MachineSetup, report: str) -> dict[str, str]:
    """Return the settings that were asked for and are not in force, and why: those of which the report says neither
    that they are nor that nobody can tell.

    Raises ValueError if it is no report.
    """
    results = _results(report)
    failed = (name for name in setup.asked if not any(_says(results.get(name), outcome) for outcome in (True, None)))
    return {name: _detail(results.get(name)) or "the report does not say why" for name in failed}


def unverified(setup: MachineSetup, report: str) -> dict[str, str]:
    """Return the settings that were asked for, and of which nobody can tell whether they are in force, and why.

    Raises ValueError if it is no report.
    """
    results = _results(report)
    return {name: _detail(results[name]) for name in setup.asked if _says(results.get(name), None)}


def _results(report: str) -> Mapping[str, object]:
    try:
        document = json.loads(report)
    except RecursionError as error:
        raise ValueError("the setup's report is nested too deeply") from error
    results = document.get("settings") if isinstance(document, dict) else None
    if not isinstance(results, dict):
        raise ValueError("the setup's report must be an object with settings")
    return results


def _says(result: object, outcome: bool | None) -> bool:
    return isinstance(result, dict) and "ok" in result and result["ok"] is outcome


def _detail(result: object) -> str:
    detail = result.get("detail") if isinstance(result, dict) else None
    return detail if isinstance(detail, str) else ""
