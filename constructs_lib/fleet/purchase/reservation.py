"""On-Demand Capacity Reservations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_autoscaling as autoscaling

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.allocation import OnDemandAllocation
from constructs_lib.fleet.purchase.base import RESERVED_CAPACITY_BILLS, Purchase, PurchaseContext
from constructs_lib.fleet.purchase.checks import check_allocation, check_reservation_id, check_sold
from constructs_lib.fleet.purchase.distribution import all_on_demand
from constructs_lib.validation import complaint, instance_of, is_token, text

RESERVATION_IN_ONE_ZONE = "@cdk-accelerated-fleet/fleet:ReservationInOneZone"

_GROUP_ARN = re.compile(r"arn:[a-z-]+:resource-groups:[a-z0-9-]+:\d{12}:group/\S+")
_ONLY, _FIRST = "capacity-reservations-only", "capacity-reservations-first"


@dataclass(frozen=True, kw_only=True)
class ReservationPurchase(Purchase):
    """Made by :meth:`Purchase.reservation`."""

    reservation_id: str | None
    resource_group_arn: str | None
    fall_back: bool
    allocation: OnDemandAllocation | None = None

    def __post_init__(self) -> None:
        where = "Purchase.reservation"
        if self.reservation_id is not None:
            check_reservation_id(where, self.reservation_id)
        if self.resource_group_arn is not None:
            _check_group_arn(where, self.resource_group_arn)
            if self.reservation_id is not None:
                rule = "be left out beside reservation_id"
                cure = "name one of them: a group of instances has one target"
                raise ArgumentError(complaint(where, "resource_group_arn", rule, self.resource_group_arn, cure))
        instance_of(where, "fall_back", self.fall_back, bool, cure="write False, or leave it out")
        check_allocation(where, "allocation", self.allocation, OnDemandAllocation)
        # Its types have names, and so an order.
        settled = OnDemandAllocation.RANKED if self.allocation is None else self.allocation
        object.__setattr__(self, "allocation", settled)

    @property
    def is_reserved(self) -> bool:
        return True

    def check(self, where: str, fleet: PurchaseContext) -> None:
        check_sold(where, "On-Demand", [each.name for each in fleet.types if not self.sells(each)])
        if fleet.by_attributes:
            cure = "name the types of the reservations: each is of one type"
            rule = "name types where capacity is reserved"
            names = [each.name for each in fleet.types]
            raise ArgumentError(complaint(where, "instance_types", rule, names, cure))
        if self.reservation_id is not None and not self.fall_back and len(fleet.types) > 1:
            rule = "name one type, that of the reservation"
            cure = "leave the others out, or target a resource_group_arn with a reservation of each"
            names = [each.name for each in fleet.types]
            raise ArgumentError(complaint(where, "instance_types", rule, names, cure))

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        return all_on_demand(self.allocation, by_attributes)

    def reservations(self) -> autoscaling.CfnAutoScalingGroup.CapacityReservationSpecificationProperty | None:
        cfn, target = autoscaling.CfnAutoScalingGroup, None
        if self.reservation_id is not None:
            target = cfn.CapacityReservationTargetProperty(capacity_reservation_ids=[self.reservation_id])
        elif self.resource_group_arn is not None:
            groups = [self.resource_group_arn]
            target = cfn.CapacityReservationTargetProperty(capacity_reservation_resource_group_arns=groups)
        return cfn.CapacityReservationSpecificationProperty(
            capacity_reservation_preference=_FIRST if self.fall_back else _ONLY, capacity_reservation_target=target
        )

    def warnings(self, types: Sequence[AcceleratedType], zones: Collection[str]) -> Mapping[str, str]:
        told = {
            RESERVED_CAPACITY_BILLS: "AWS bills the reservation whether instances run in it or not, so releasing idle "
            "ones saves nothing while it lasts; it leaves its room to others of the account. Cancel or shrink the "
            "reservation when the fleet needs less, or keep instances for faster starts with min_capacity or "
            "IdlePolicy(keep_warm=...). Acknowledge this warning when that is known"
        }
        if self.reservation_id is not None and len(set(zones)) > 1:
            elsewhere = "may run On-Demand beside an unused reservation" if self.fall_back else "fail"
            told[RESERVATION_IN_ONE_ZONE] = (
                f"a reservation is in one zone, and launches in the others of the fleet's {_named(zones)} {elsewhere}: "
                "choose its zone with vpc_subnets"
            )
        return told


def _named(zones: Collection[str]) -> str:
    """Zones for a message: their names, or their number where only a deploy names them."""
    each = sorted(set(zones))
    return f"{len(each)} zones" if any(is_token(zone) for zone in each) else ", ".join(each)


def _check_group_arn(where: str, value: str) -> None:
    cure = "write the ARN of a group of reservations in Resource Groups"
    text(where, "resource_group_arn", value, cure=cure)
    if not is_token(value) and not _GROUP_ARN.fullmatch(value):
        raise ArgumentError(complaint(where, "resource_group_arn", "be the ARN of a resource group", value, cure))
