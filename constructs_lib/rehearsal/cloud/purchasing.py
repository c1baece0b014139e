"""How a group buys: on which market and of which type the next instance is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from constructs_lib.catalog import known_types
from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.member import Instance, Market
from constructs_lib.validation import complaint


@dataclass(frozen=True, kw_only=True)
class Purchasing:
    """The types of a group in their order, and how much of it is bought On-Demand.

    Without a mixed instances policy all is On-Demand, or all is Spot where the launch template asks for it.
    """

    types: tuple[str, ...]
    on_demand_base: int = 0
    """So many are bought On-Demand before anything else."""
    on_demand_percentage: int = 100
    """Of what is above the base."""

    @property
    def uses_spot(self) -> bool:
        """Whether any instance can be bought on the Spot market."""
        return self.on_demand_percentage < 100

    def market(self, there: Sequence[Instance]) -> Market:
        """Return the market of the next instance, beside those that are there. Fractions round towards On-Demand."""
        size = len(there) + 1
        above = max(0, size - self.on_demand_base)
        wanted = min(size, self.on_demand_base) + math.ceil(above * self.on_demand_percentage / 100)
        bought = sum(instance.market == "on-demand" for instance in there)
        return "on-demand" if bought < wanted else "spot"

    def type(self, unavailable: Collection[str] = ()) -> str | None:
        """Return the first type of the order that the cloud has; None if it has none of them."""
        return next((each for each in self.types if each not in unavailable), None)


ONE_TYPE = Purchasing(types=("g6.xlarge",))
"""What a group buys whose template does not say it, as far as the rehearsal is concerned."""


def read_purchasing(group: str, properties: Mapping[str, Any], launch: Mapping[str, Any]) -> Purchasing:
    """Return how a group buys, from its resolved properties and those of its launch template.

    Raises:
        ArgumentError: the type is not stated, instances weigh differently, or capacity is not counted in instances.
    """
    unit = properties.get("DesiredCapacityType", "units")
    if unit != "units":
        rule, cure = "count instances", "leave it out"
        raise ArgumentError(complaint(group, "DesiredCapacityType", rule, unit, cure))
    mixed = properties.get("MixedInstancesPolicy")
    if mixed is None:
        types = _types(group, launch)
        spot = launch.get("InstanceMarketOptions", {}).get("MarketType") == "spot" or "SpotPrice" in launch
        return Purchasing(types=types, on_demand_percentage=0 if spot else 100)
    overrides = mixed["LaunchTemplate"].get("Overrides", ())
    weights = {str(each.get("WeightedCapacity", 1)) for each in overrides}
    if weights - {"1"}:
        rule, cure = "count each instance as one", "leave WeightedCapacity out"
        raise ArgumentError(complaint(group, "MixedInstancesPolicy", rule, sorted(weights), cure))
    given = [_types(group, {**launch, **each} if "InstanceRequirements" not in each else each) for each in overrides]
    distribution = mixed.get("InstancesDistribution", {})
    return Purchasing(
        types=tuple(dict.fromkeys(each for types in given for each in types)) or _types(group, launch),
        on_demand_base=int(distribution.get("OnDemandBaseCapacity", 0)),
        on_demand_percentage=int(distribution.get("OnDemandPercentageAboveBaseCapacity", 100)),
    )


def _types(group: str, launch: Mapping[str, Any]) -> tuple[str, ...]:
    if "InstanceType" in launch:
        return (str(launch["InstanceType"]),)
    allowed = launch.get("InstanceRequirements", {}).get("AllowedInstanceTypes", ())
    found = tuple(dict.fromkeys(each for pattern in allowed for each in _matching(pattern)))
    if not found:
        rule = "say which instance types it launches"
        cure = "name them in the launch template, in overrides or in AllowedInstanceTypes"
        raise ArgumentError(complaint(group, "instance types", rule, launch.get("InstanceRequirements"), cure))
    return found


def _matching(pattern: str) -> list[str]:
    """Return the types that a name stands for, which may hold wildcards."""
    if "*" not in pattern:
        return [pattern]
    return sorted(name for name in known_types() if fnmatchcase(name, pattern))
