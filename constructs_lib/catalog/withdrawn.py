"""Families of accelerated types that are gone, and of which EC2 tells nothing any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables


@dataclass(frozen=True, kw_only=True)
class WithdrawnFamily:
    """A family that AWS has withdrawn.

    Attributes:
        family: for example ``g2``.
        kind: of its accelerators.
        retired_on: the day, ISO. None: not known.
        successor: a family to use in place of it.
    """

    family: str
    kind: str
    retired_on: str | None
    successor: str


def withdrawn_family(name: str) -> WithdrawnFamily | None:
    """Return the family of an instance type, for example ``g2.2xlarge``, if it has been withdrawn."""
    return _families().get(name.partition(".")[0])


@cache
def _families() -> Mapping[str, WithdrawnFamily]:
    return MappingProxyType(
        {
            row["family"]: WithdrawnFamily(
                family=row["family"],
                kind=row["kind"],
                retired_on=row["retired_on"] or None,
                successor=row["successor"],
            )
            for row in tables.read("withdrawn_families.csv")
        }
    )
