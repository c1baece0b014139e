"""Whether the instance drains, as the drain tells everybody on it: by a file."""

from __future__ import annotations

import json
from pathlib import Path

from .files import read_text

NOT_NOW = 75
"""Exit status of a command that was not run because the instance drains (EX_TEMPFAIL, sysexits(3))."""


def said(path: Path) -> str | None:
    """Return why the instance drains and until when, None if it does not. Raises OSError if that cannot be read."""
    try:
        text = read_text(path)
        if text is None:
            return None
        told = json.loads(text)
        return f"{told['reason']}, until {told['until']}"
    except (ValueError, TypeError, LookupError, RecursionError):
        # It is there, and that is what counts.
        return "nobody knows why"
