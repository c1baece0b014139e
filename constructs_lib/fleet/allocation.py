"""In which order AWS tries the types of a fleet."""

from __future__ import annotations

from enum import Enum

from aws_cdk import aws_autoscaling as autoscaling


class SpotAllocation(Enum):
    """From which of its pools, a type in a zone, a fleet takes Spot capacity.

    The cheapest pool alone is not offered: it is the first that AWS takes back.
    """

    PRICE_CAPACITY = "price-capacity-optimized"
    """The cheapest of the pools that have capacity to spare."""

    CAPACITY = "capacity-optimized"
    """The pool with the most capacity to spare: the fewest interruptions, whatever it costs."""

    RANKED = "capacity-optimized-prioritized"
    """As ``CAPACITY``, and of pools that are about as deep the one whose type is named first."""

    @property
    def strategy(self) -> autoscaling.SpotAllocationStrategy:
        """The CDK's name for it."""
        return autoscaling.SpotAllocationStrategy[_SPOT[self]]


class OnDemandAllocation(Enum):
    """Which type On-Demand instances have."""

    RANKED = "prioritized"
    """The first in the list that AWS has."""

    LOWEST_PRICE = "lowest-price"
    """The cheapest that AWS has."""

    @property
    def strategy(self) -> autoscaling.OnDemandAllocationStrategy:
        """The CDK's name for it."""
        return autoscaling.OnDemandAllocationStrategy[_ON_DEMAND[self]]


_SPOT = {
    SpotAllocation.PRICE_CAPACITY: "PRICE_CAPACITY_OPTIMIZED",
    SpotAllocation.CAPACITY: "CAPACITY_OPTIMIZED",
    SpotAllocation.RANKED: "CAPACITY_OPTIMIZED_PRIORITIZED",
}
_ON_DEMAND = {OnDemandAllocation.RANKED: "PRIORITIZED", OnDemandAllocation.LOWEST_PRICE: "LOWEST_PRICE"}
