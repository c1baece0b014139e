"""A person's mark on what must stay as it is."""

from __future__ import annotations

from collections.abc import Mapping


def why_held(tags: Mapping[str, str], key: str) -> str | None:
    """Return the mark as a reason to keep what carries these tags, or None. Any value but `false` is one."""
    mark = tags.get(key)
    if mark is None or mark.strip().lower() == "false":
        return None
    return f"tag {key} is {mark!r}"
