"""Reads the tables under ``data/``: CSV whose leading comment lines give source, date and licence."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).resolve().parent / "data"


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table; every value is text as it stands in the file."""
    import csv  # the tables are read at the first question, not at import

    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
