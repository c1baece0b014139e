"""Capacity Blocks for ML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aws_cdk import Duration

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.purchase.base import RESERVED_CAPACITY_BILLS, Purchase, PurchaseContext
from constructs_lib.fleet.purchase.block_hours import BlockHours, SizeChange, moment, stamp
from constructs_lib.fleet.purchase.checks import check_reservation_id
from constructs_lib.validation import complaint, integer


@dataclass(frozen=True, kw_only=True)
class CapacityBlockPurchase(Purchase):
    """Made by :meth:`Purchase.capacity_block`."""

    reservation_id: str
    end: str | datetime
    start: str | datetime | None = None
    instances_at_start: int | None = None

    def __post_init__(self) -> None:
        where = "Purchase.capacity_block"
        check_reservation_id(where, self.reservation_id)
        ends = moment(where, "end", self.end)
        begins = None if self.start is None else moment(where, "start", self.start)
        if begins is not None and begins >= ends:
            cure = "give the times that EC2 tells of the reservation"
            raise ArgumentError(complaint(where, "start", f"be before end ({stamp(ends)})", stamp(begins), cure))
        if self.instances_at_start is not None:
            cure = "give a number of instances, or leave it out"
            integer(where, "instances_at_start", self.instances_at_start, minimum=1, cure=cure)
            if begins is None:
                cure = "give start: instances start with the block by the group's own clock"
                rule = "be left out without start"
                raise ArgumentError(complaint(where, "instances_at_start", rule, self.instances_at_start, cure))
        # However they were written: the same moment is the same.
        object.__setattr__(self, "end", ends)
        object.__setattr__(self, "start", begins)

    @property
    def opens_later(self) -> bool:
        return self.start is not None

    @property
    def starts_instances(self) -> bool:
        return self.instances_at_start is not None

    @property
    def is_in_one_subnet(self) -> bool:
        return True

    def sells(self, type_: AcceleratedType) -> bool:
        return type_.capacity_block is not False

    def leave_from(self, types: Sequence[AcceleratedType], drain_seconds: int) -> datetime | None:
        return self._hours(types).leave_from(drain_seconds)

    @property
    def usual_drain(self) -> Drain:
        """Shorter than others: everybody leaves so much earlier, in time that is paid for."""
        return Drain(deadline=Duration.minutes(5))

    @property
    def is_reserved(self) -> bool:
        return True

    def check(self, where: str, fleet: PurchaseContext) -> None:
        names = [each.name for each in fleet.types]
        if fleet.by_attributes or len(fleet.types) > 1:
            cure = "name the type of the block alone, and make one fleet for each block"
            raise ArgumentError(complaint(where, "instance_types", "be one type for a Capacity Block", names, cure))
        if not self.sells(fleet.types[0]):
            cure = "name the type of the block, for example 'p5.48xlarge', or buy another way"
            rule = "be a type that AWS sells in Capacity Blocks"
            raise ArgumentError(complaint(where, "instance_types", rule, names[0], cure))
        if fleet.min_capacity > 0:
            cure = "leave it out, and give instances_at_start: outside the block no minimum can be reached"
            raise ArgumentError(complaint(where, "min_capacity", "be 0 for a Capacity Block", fleet.min_capacity, cure))
        if fleet.has_schedule:
            cure = (
                "leave it out: it gives back the group's sizes when it opens or is resumed, also after the block's end"
            )
            rule = "be left out for a Capacity Block"
            raise ArgumentError(complaint(where, "schedule", rule, "a FleetSchedule", cure))
        if self.instances_at_start is not None and self.instances_at_start > fleet.max_capacity:
            rule = f"not exceed max_capacity ({fleet.max_capacity})"
            cure = "raise max_capacity, or start fewer"
            raise ArgumentError(complaint(where, "purchase.instances_at_start", rule, self.instances_at_start, cure))
        self._hours(fleet.types).check_room(where, fleet.drain_seconds)

    def needs_mixed_policy(self, types: Sequence[AcceleratedType]) -> bool:
        # Auto Scaling refuses the market type beside one.
        return False

    def launch_data(self) -> Mapping[str, object]:
        return {
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {
                "CapacityReservationTarget": {"CapacityReservationId": self.reservation_id}
            },
        }

    def size_changes(
        self, types: Sequence[AcceleratedType], *, max_capacity: int, drain_seconds: int
    ) -> tuple[SizeChange, ...]:
        return self._hours(types).size_changes(
            max_capacity=max_capacity, instances_at_start=self.instances_at_start, drain_seconds=drain_seconds
        )

    def warnings(self, types: Sequence[AcceleratedType], zones: Collection[str]) -> Mapping[str, str]:
        return {
            RESERVED_CAPACITY_BILLS: "the block is paid for ahead, so releasing idle instances saves nothing: keep "
            "them for faster starts with IdlePolicy(keep_warm=...), and buy a shorter block next time. Acknowledge "
            "this warning when that is known"
        }

    def _hours(self, types: Sequence[AcceleratedType]) -> BlockHours:
        assert isinstance(self.end, datetime)
        assert self.start is None or isinstance(self.start, datetime)
        return BlockHours(begins=self.start, ends=self.end, taken_before_end=types[0].block_end_minutes)
