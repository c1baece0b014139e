"""The clocks at which AWS recommends to run NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from constructs_lib.catalog import tables
from constructs_lib.validation import text


def application_clocks(family: str) -> tuple[int, int] | None:
    """Return the application clocks that AWS recommends for a family of NVIDIA types: memory and graphics, MHz.

    Return None for a family for which AWS publishes none.
    """
    return _application_clocks().get(text("catalog", "family", family, cure="write for example 'g6'"))


@cache
def _application_clocks() -> Mapping[str, tuple[int, int]]:
    rows = tables.read("application_clocks.csv")
    return {row["family"]: (int(row["memory_mhz"]), int(row["graphics_mhz"])) for row in rows}
