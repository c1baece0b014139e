"""What the network cards of an instance type do not tell about Elastic Fabric Adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables


@dataclass(frozen=True, kw_only=True)
class EfaFamily:
    """What AWS documents about EFA on the types of one family.

    Attributes:
        alone: whether its EFA traffic reaches no other type. Default: it reaches them.
        choices: the choices of network cards, by how many are used. Default: any cards that take EFA.
    """

    alone: bool = False
    choices: tuple[tuple[int, ...], ...] = ()


def efa_family(family: str) -> EfaFamily:
    """Return what is particular to a family of instance types, for example ``p4d``."""
    return _families().get(family, EfaFamily())


@cache
def _families() -> Mapping[str, EfaFamily]:
    return MappingProxyType(
        {
            row["family"]: EfaFamily(
                alone={"yes": True, "no": False}[row["alone"]],
                choices=tuple(tuple(map(int, each.split())) for each in row["cards"].split(";") if each),
            )
            for row in tables.read("efa_families.csv")
        }
    )
