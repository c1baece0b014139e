"""Texts that are read on a terminal: in lines of 80 columns, and nothing in them that would steer it."""

from __future__ import annotations

import textwrap

WIDTH = 80


def paragraph(text: str, *, begins: str = "", indent: str = "") -> list[str]:
    """A text in lines.

    Args:
        text: words and blanks.
        begins: what the first line begins with. Default: nothing.
        indent: what the others begin with. Default: nothing.
    """
    # Texts of ours hold names that nothing may break.
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=begins,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def harmless(text: str) -> str:
    """The text with what a terminal would obey, and the names of a template could hold, written out."""
    if text.isprintable():
        return text
    return "".join(
        each if each == "\n" or each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def several(count: int, one: str, more: str | None = None) -> str:
    """A number and what is counted; ``more`` is what several are called, if not that with an s."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
