"""Whether the instance drains, as the drain tells everybody on it: by a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .files import read_text

NOT_NOW = 75
"""Exit status of a command that was not run because the instance drains (EX_TEMPFAIL, sysexits(3))."""


def announced(path: Path) -> Mapping[str, object] | None:
    """Return what the drain says of itself, None if there is no drain. Raises OSError if that cannot be read."""
    try:
        text = read_text(path)
        if text is None:
            return None
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    # It is there, and that is what counts.
    return told if isinstance(told, dict) else {}


def described(told: Mapping[str, object]) -> str:
    """Write for people why the instance drains and until when."""
    if "reason" in told and "until" in told:
        return f"{told['reason']}, until {told['until']}"
    return "nobody knows why"


def said(path: Path) -> str | None:
    """Return why the instance drains and until when, None if it does not. Raises OSError if that cannot be read."""
    told = announced(path)
    return None if told is None else described(told)
