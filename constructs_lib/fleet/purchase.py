"""How the fleet's capacity is bought."""

from __future__ import annotations

from dataclasses import dataclass

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, integer


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """On-Demand, Spot, or a base of the one under the other. Made by ``Purchase.on_demand()`` or ``Purchase.spot()``.

    Attributes:
        on_demand_base: this many instances are always On-Demand, the first ones to start.
        on_demand_percent: share of the instances above the base that is On-Demand, 0 to 100.
    """

    on_demand_base: int
    on_demand_percent: int

    def __post_init__(self) -> None:
        integer(
            "Purchase", "on_demand_base", self.on_demand_base, minimum=0, cure="give a number of instances, 0 for none"
        )
        integer(
            "Purchase",
            "on_demand_percent",
            self.on_demand_percent,
            minimum=0,
            maximum=100,
            cure="give a whole percentage, 0 for Spot only above the base",
        )
        if self.on_demand_percent == 100 and self.on_demand_base != 0:
            rule = "be 0 when on_demand_percent is 100"
            cure = "everything is On-Demand then: write Purchase.on_demand()"
            raise ArgumentError(complaint("Purchase", "on_demand_base", rule, self.on_demand_base, cure))

    @staticmethod
    def on_demand() -> Purchase:
        """On-Demand only: nothing takes an instance away from running work."""
        return Purchase(on_demand_base=0, on_demand_percent=100)

    @staticmethod
    def spot(*, on_demand_base: int | None = None, on_demand_percent: int | None = None) -> Purchase:
        """Spot capacity, which AWS may take back with two minutes' notice.

        Args:
            on_demand_base: number of instances that are On-Demand before any Spot is used. Default: none.
            on_demand_percent: share of the rest that is On-Demand as well. Default: none of it.
        """
        if on_demand_percent == 100:
            cure = "write Purchase.on_demand()"
            raise ArgumentError(complaint("Purchase.spot", "on_demand_percent", "be below 100", 100, cure))
        return Purchase(
            on_demand_base=0 if on_demand_base is None else on_demand_base,
            on_demand_percent=0 if on_demand_percent is None else on_demand_percent,
        )

    @property
    def uses_spot(self) -> bool:
        """Whether any instance may be Spot."""
        return self.on_demand_percent < 100
