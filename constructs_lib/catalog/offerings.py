"""Which region offers which instance type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.validation import text


def offered_in(name: str) -> tuple[str, ...] | None:
    """Return the regions that offer an instance type, in alphabetical order, or None if the table does not say."""
    return _offerings().get(text("catalog", "instance_type", name, cure="write for example 'g6.xlarge'"))


@cache
def regions() -> Mapping[str, str]:
    """The day on which each region was asked what it offers, by the name of the region, as ISO dates."""
    return MappingProxyType({row["region"]: row["asked_on"] for row in tables.read("regions.csv")})


@cache
def _offerings() -> Mapping[str, tuple[str, ...]]:
    return {
        f"{row['family']}.{size}": tuple(row["regions"].split())
        for row in tables.read("offerings.csv")
        for size in row["sizes"].split()
    }
