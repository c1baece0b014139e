"""Prints texts and tables that are read at 80 columns, and documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from constructs_lib import plain_text


def document(schema: str, content: Mapping[str, object]) -> None:
    """Print a document."""
    print(json.dumps({"schema": f"accel-fleet/{schema}", **content}, indent=2))


def heading(text: str) -> None:
    """Print a line above what follows, and an empty one before it."""
    print()
    paragraph(text)


def paragraph(text: str, *, begins: str = "", indent: str = "") -> None:
    """Print a text in lines of 80 columns.

    Args:
        text: words and blanks.
        begins: what the first line begins with. Default: nothing.
        indent: what the others begin with. Default: nothing.
    """
    print("\n".join(plain_text.paragraph(text, begins=begins, indent=indent)) or begins.rstrip())


def point(text: str) -> None:
    """Print a text as one of several."""
    paragraph(text, begins="- ", indent="  ")


def named(name: str, text: str, *, width: int) -> None:
    """Print a name and what belongs to it, in two columns."""
    paragraph(text, begins=f"{name:<{width}}", indent=" " * width)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print a table.

    Args:
        heads: of the columns.
        rows: of as many texts each.
        right: heads of the columns whose texts stand at the right, separated by ``|``. Default: none.
    """
    flush = set(right.split("|"))
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    for row in (heads, *rows):
        cells = [
            text.rjust(width) if head in flush else text.ljust(width)
            for head, text, width in zip(heads, row, widths, strict=True)
        ]
        print("  ".join(cells).rstrip())


def amount(value: float | None, *, digits: int = 3) -> str:
    """A number with so many digits that count, ``-`` for none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    whole = f"{value:,.0f}"
    if abs(value) >= 10 ** (digits - 1):
        return whole
    return f"{value:.{digits}g}" if abs(value) >= 1e-4 else f"{value:.2e}"


def gib(mib: float | None) -> str:
    """MiB as GiB."""
    return "-" if mib is None else f"{mib / 1024:.1f}"
