"""List prices of what a fleet can leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from constructs_lib.catalog import tables
from constructs_lib.catalog.instance_types import known_types


@cache
def leftover_prices() -> Mapping[str, float]:
    """USD for one unit of each item of the table, for example ``gp3`` for a GiB and a month, in us-east-1."""
    return MappingProxyType({row["item"]: float(row["usd"]) for row in tables.read("leftover_prices.csv")})


@cache
def instance_prices() -> Mapping[str, float]:
    """USD for an hour of each instance type that can be running and whose price is known, in us-east-1."""
    types = known_types().values()
    return MappingProxyType(
        {each.name: each.usd_per_hour for each in types if each.usd_per_hour is not None and each.status != "retired"}
    )
