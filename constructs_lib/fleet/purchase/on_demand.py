"""On-Demand capacity alone."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.fleet.allocation import OnDemandAllocation
from constructs_lib.fleet.purchase.base import Purchase, PurchaseContext
from constructs_lib.fleet.purchase.checks import check_allocation, check_ranked, check_sold
from constructs_lib.fleet.purchase.distribution import all_on_demand


@dataclass(frozen=True, kw_only=True)
class OnDemandPurchase(Purchase):
    """Made by :meth:`Purchase.on_demand`."""

    allocation: OnDemandAllocation | None = None

    def __post_init__(self) -> None:
        check_allocation("Purchase.on_demand", "allocation", self.allocation, OnDemandAllocation)

    @property
    def keeps_warm_pools(self) -> bool:
        return True

    def check(self, where: str, fleet: PurchaseContext) -> None:
        check_sold(where, "On-Demand", [each.name for each in fleet.types if not self.sells(each)])
        check_ranked(where, "purchase.allocation", self.allocation, fleet)

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        return all_on_demand(self.allocation, by_attributes)
