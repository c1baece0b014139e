"""How a mixed instances policy distributes what is On-Demand."""

from __future__ import annotations

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation


def all_on_demand(allocation: OnDemandAllocation | None, by_attributes: bool) -> autoscaling.InstancesDistribution:
    """Of a group without Spot; all shares are explicit."""
    return autoscaling.InstancesDistribution(
        on_demand_allocation_strategy=on_demand_order(allocation, by_attributes).strategy,
        on_demand_base_capacity=0,
        on_demand_percentage_above_base_capacity=100,
        spot_allocation_strategy=SpotAllocation.PRICE_CAPACITY.strategy,
    )


def on_demand_order(given: OnDemandAllocation | None, by_attributes: bool) -> OnDemandAllocation:
    """The order that was asked for, or the usual one: by the list, where there is a list."""
    if given is not None:
        return given
    return OnDemandAllocation.LOWEST_PRICE if by_attributes else OnDemandAllocation.RANKED
