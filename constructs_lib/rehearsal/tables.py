"""Reads the tables under ``data/``: CSV whose leading comment lines give source, date and licence."""

from __future__ import annotations

from pathlib import Path

from constructs_lib.catalog.tables import read_from

_DATA = Path(__file__).resolve().parent / "data"


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table; every value is text as it stands in the file."""
    return read_from(_DATA, name)
