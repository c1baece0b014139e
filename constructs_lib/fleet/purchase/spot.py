"""Spot capacity, alone or above an On-Demand part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation
from constructs_lib.fleet.purchase.base import Purchase, PurchaseContext
from constructs_lib.fleet.purchase.checks import check_allocation, check_ranked, check_sold
from constructs_lib.fleet.purchase.distribution import on_demand_order
from constructs_lib.validation import complaint, instance_of, integer

SINGLE_SPOT_POOL = "@cdk-accelerated-fleet/fleet:SingleSpotPool"

_ALL = 100


@dataclass(frozen=True, kw_only=True)
class SpotPurchase(Purchase):
    """Made by :meth:`Purchase.spot` and :meth:`Purchase.mixed`."""

    on_demand_base: int = 0
    on_demand_percent: int = 0
    allocation: SpotAllocation | None = None
    on_demand_allocation: OnDemandAllocation | None = None
    capacity_rebalance: bool | None = None

    def __post_init__(self) -> None:
        where = "Purchase"
        cure = "give a number of instances, 0 for none"
        integer(where, "on_demand_base", self.on_demand_base, minimum=0, cure=cure)
        if self.on_demand_percent == _ALL:
            cure = "write Purchase.on_demand()"
            raise ArgumentError(complaint(where, "on_demand_percent", f"be below {_ALL}", self.on_demand_percent, cure))
        cure = "give a whole percentage, 0 for Spot only above the base"
        integer(where, "on_demand_percent", self.on_demand_percent, minimum=0, maximum=_ALL - 1, cure=cure)
        check_allocation(where, "allocation", self.allocation, SpotAllocation)
        check_allocation(where, "on_demand_allocation", self.on_demand_allocation, OnDemandAllocation)
        settled = SpotAllocation.PRICE_CAPACITY if self.allocation is None else self.allocation
        object.__setattr__(self, "allocation", settled)
        rebalance = False if self.capacity_rebalance is None else self.capacity_rebalance
        instance_of(where, "capacity_rebalance", rebalance, bool, cure="write True or leave it out")
        object.__setattr__(self, "capacity_rebalance", rebalance)

    @property
    def uses_spot(self) -> bool:
        return True

    @property
    def rebalances(self) -> bool:
        return self.capacity_rebalance is True

    def sells(self, type_: AcceleratedType) -> bool:
        return type_.spot is not False

    def check(self, where: str, fleet: PurchaseContext) -> None:
        if self.on_demand_base >= fleet.max_capacity:
            rule = f"have an on_demand_base below max_capacity ({fleet.max_capacity})"
            cure = "lower the base, or write Purchase.on_demand(): no instance would ever be Spot"
            raise ArgumentError(complaint(where, "purchase", rule, self.on_demand_base, cure))
        check_sold(where, "Spot", [each.name for each in fleet.types if not self.sells(each)])
        if self.allocation is SpotAllocation.RANKED and fleet.by_attributes:
            rule = "not be RANKED for types that are chosen by their attributes"
            cure = "name the types in their order, or leave it out"
            raise ArgumentError(complaint(where, "purchase.allocation", rule, self.allocation.name, cure))
        check_ranked(where, "purchase.on_demand_allocation", self.on_demand_allocation, fleet)

    def needs_mixed_policy(self, types: Sequence[AcceleratedType]) -> bool:
        return True

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        assert self.allocation is not None
        return autoscaling.InstancesDistribution(
            on_demand_allocation_strategy=on_demand_order(self.on_demand_allocation, by_attributes).strategy,
            on_demand_base_capacity=self.on_demand_base,
            on_demand_percentage_above_base_capacity=self.on_demand_percent,
            spot_allocation_strategy=self.allocation.strategy,
        )

    def warnings(self, types: Sequence[AcceleratedType], zones: Collection[str]) -> Mapping[str, str]:
        if len(types) > 1 or len(set(zones)) > 1:
            return {}
        return {
            SINGLE_SPOT_POOL: f"all Spot capacity comes from one pool ({types[0].name} in one zone), which AWS can "
            "take back at once: add instance types, zones, or on_demand_base"
        }
