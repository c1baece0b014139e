"""What every way to buy capacity answers, and the functions that make one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.purchase.block_hours import SizeChange
from constructs_lib.fleet.purchase.distribution import all_on_demand
from constructs_lib.validation import complaint

RESERVED_CAPACITY_BILLS = "@cdk-accelerated-fleet/fleet:ReservedCapacityBills"


@dataclass(frozen=True, kw_only=True)
class PurchaseContext:
    """What a way to buy is checked against: the rest of the fleet's arguments."""

    types: tuple[AcceleratedType, ...]
    by_attributes: bool
    min_capacity: int
    max_capacity: int
    has_schedule: bool
    drain_seconds: int


class Purchase(ABC):
    """How a fleet's instances are bought: one of the ways below, each made by its function.

    A type has no weight in any of them. The release function counts instances, one job wakes one of them, and a group
    that counts in weights could only be lowered by more or less than the instance that goes.

    Two that say the same are equal.

    Attributes:
        on_demand_base: this many instances are always On-Demand, the first ones to start.
        on_demand_percent: share of the instances above the base that is On-Demand, 0 to 100.
    """

    on_demand_base: int = 0
    on_demand_percent: int = 100

    # Each way to buy is a Purchase, so its module needs this one, and is imported when its function is called.

    @staticmethod
    def on_demand(*, allocation: OnDemandAllocation | None = None) -> Purchase:
        """On-Demand only: nothing takes an instance away from running work.

        Args:
            allocation: which type of several. Default: the first in the list that AWS has; of types chosen by their
                attributes the cheapest.

        Raises:
            ArgumentError: it is no ``OnDemandAllocation``.
        """
        from constructs_lib.fleet.purchase.on_demand import OnDemandPurchase

        return OnDemandPurchase(allocation=allocation)

    @staticmethod
    def spot(
        *,
        on_demand_base: int | None = None,
        on_demand_percent: int | None = None,
        allocation: SpotAllocation | None = None,
        on_demand_allocation: OnDemandAllocation | None = None,
        capacity_rebalance: bool | None = None,
    ) -> Purchase:
        """Spot capacity, which AWS may take back with two minutes' notice.

        When a pool, a type in a zone, has none left, AWS tries the others by itself, for as long as it takes; it never
        starts On-Demand in place of Spot. So name several types and zones, and let ``mixed`` say how much goes on
        without Spot, or a second fleet with ``ShortfallDemand`` stand in for what Spot lacks. There is no maximum
        price: one interrupts more and saves nothing, since the current price is paid.

        Args:
            on_demand_base: number of instances that are On-Demand before any Spot is used. Default: none.
            on_demand_percent: share of the rest that is On-Demand as well. Default: none of it.
            allocation: from which pools. Default: the cheapest of those with capacity to spare.
            on_demand_allocation: as in ``on_demand``.
            capacity_rebalance: when AWS sees an interruption coming, start another instance, and end the one at risk
                once that is in service; its drain has the time that AWS leaves. AWS may do this to one that would have
                lived on. Default: no, an instance works until AWS takes it.

        Raises:
            ArgumentError: a value is of the wrong type or out of range.
        """
        from constructs_lib.fleet.purchase.spot import SpotPurchase

        return SpotPurchase(
            on_demand_base=0 if on_demand_base is None else on_demand_base,
            on_demand_percent=0 if on_demand_percent is None else on_demand_percent,
            allocation=allocation,
            on_demand_allocation=on_demand_allocation,
            capacity_rebalance=capacity_rebalance,
        )

    @staticmethod
    def mixed(
        *,
        on_demand_base: int | None = None,
        on_demand_percent: int | None = None,
        allocation: SpotAllocation | None = None,
        on_demand_allocation: OnDemandAllocation | None = None,
        capacity_rebalance: bool | None = None,
    ) -> Purchase:
        """Spot above an On-Demand part on which the fleet works on when Spot is gone.

        The steps when capacity is short: Spot of the type and zone that suit best, Spot of every other type and zone,
        and beside it the On-Demand part, which does not wait for Spot, of the first type that AWS has. Base and share
        are fixed: what Spot lacks AWS does not start On-Demand, so size them for what has to go on, or let a second
        fleet with ``ShortfallDemand`` stand in for it. Work that waits keeps Spot wanted, and it comes as soon as AWS
        has some; until then the shortfall alarm tells. When every launch has failed for an hour, launching is stopped
        as in any fleet: see ``IdlePolicy(max_failed_launches=...)``.

        Args:
            on_demand_base: number of instances that are On-Demand before any Spot is used. Default: none.
            on_demand_percent: share of the rest that is On-Demand as well, rounded up. Default: none of it.
            allocation: as in ``spot``.
            on_demand_allocation: as in ``on_demand``.
            capacity_rebalance: as in ``spot``.

        Raises:
            ArgumentError: neither base nor share is above 0, or a value is of the wrong type or out of range.
        """
        if not on_demand_base and not on_demand_percent:
            cure = "give on_demand_base or on_demand_percent, or write Purchase.spot()"
            rule = "leave something to On-Demand, with on_demand_percent"
            raise ArgumentError(complaint("Purchase.mixed", "on_demand_base", rule, on_demand_base, cure))
        return Purchase.spot(
            on_demand_base=on_demand_base,
            on_demand_percent=on_demand_percent,
            allocation=allocation,
            on_demand_allocation=on_demand_allocation,
            capacity_rebalance=capacity_rebalance,
        )

    @staticmethod
    def reservation(
        *,
        reservation_id: str | None = None,
        resource_group_arn: str | None = None,
        fall_back: bool | None = None,
        allocation: OnDemandAllocation | None = None,
    ) -> Purchase:
        """On-Demand Capacity Reservations that the account has. AWS bills them used or not, until they are cancelled.

        Args:
            reservation_id: the one to use, for example ``cr-0123456789abcdef0``. It is of one type and in one zone.
            resource_group_arn: of a group of reservations to use, in place of one. Default: without both, any open
                reservation of the account that fits type and zone.
            fall_back: start On-Demand what the reservation has no room for. AWS spreads instances over the zones before
                it looks for reserved room, so in several zones some may be paid twice. Default: yes.
            allocation: which type of several. Default: the first in the list that AWS has.

        Raises:
            ArgumentError: a value is of the wrong type or names no such thing, or both targets are given.
        """
        from constructs_lib.fleet.purchase.reservation import ReservationPurchase

        return ReservationPurchase(
            reservation_id=reservation_id,
            resource_group_arn=resource_group_arn,
            fall_back=True if fall_back is None else fall_back,
            allocation=allocation,
        )

    @staticmethod
    def capacity_block(
        *,
        reservation_id: str,
        end: str | datetime,
        start: str | datetime | None = None,
        instances_at_start: int | None = None,
    ) -> Purchase:
        """A Capacity Block for ML: accelerated instances of one type in one zone, paid ahead, from one day to another.

        The group's own scheduled actions open it at the start and set its sizes to 0 ahead of the end, so that no
        launch is tried before or after. EC2 ends the instances from 30 minutes before the end on, those of UltraServers
        from 60 on (``AcceleratedType.block_end_minutes``). From so much earlier that each can drain for its whole
        ``deadline`` and the functions have a quarter of an hour, the release function ends every instance, at work or
        not, except those that are held.

        With ``start`` the template's own maximum is 0, which the group's clock raises when the block begins. So once it
        has begun leave ``start`` out of any deploy that changes ``max_capacity``: Auto Scaling refuses a scheduled
        action in the past. When a deploy fails during the block, and is rolled back to a template with ``start``, the
        maximum may be 0 again: what runs stays, and nothing starts. Set it at once, with ``aws autoscaling
        update-auto-scaling-group --auto-scaling-group-name NAME --max-size N``, then deploy without ``start``. When the
        block is over, remove the fleet or give the next one with its ``start``, else its sizes stay at 0.

        Args:
            reservation_id: of the block, for example ``cr-0123456789abcdef0``.
            end: of the block, as EC2 tells it, mostly 11:30 UTC. A ``datetime`` with a time zone, or a text in ISO 8601
                with its zone.
            start: of the block. Default: it has begun. Until it has, each launch fails, and after an hour of that
                launching is stopped: so give it for a block to come.
            instances_at_start: how many start with the block. Needs ``start``. Default: as the demand asks.

        Raises:
            ArgumentError: a value is of the wrong type, or the times make no block.
        """
        from constructs_lib.fleet.purchase.capacity_block import CapacityBlockPurchase

        return CapacityBlockPurchase(
            reservation_id=reservation_id, end=end, start=start, instances_at_start=instances_at_start
        )

    # --- what the fleet asks ---------------------------------------------------------------------------------------

    @property
    def uses_spot(self) -> bool:
        """Whether any instance may be Spot."""
        return False

    @property
    def rebalances(self) -> bool:
        """Whether AWS replaces an instance that it sees at risk."""
        return False

    @property
    def keeps_warm_pools(self) -> bool:
        """Whether Auto Scaling allows a warm pool beside it."""
        return False

    @property
    def opens_later(self) -> bool:
        """Whether the group may have no instance until its own clock says so."""
        return False

    def leave_from(self, types: Sequence[AcceleratedType], drain_seconds: int) -> datetime | None:
        """From when on nobody stays. None: there is no such time."""
        return None

    @property
    def starts_instances(self) -> bool:
        """Whether the group's own clock starts instances, so that nothing else has to."""
        return False

    @property
    def usual_drain(self) -> Drain:
        """How instances drain unless the fleet says otherwise."""
        return Drain()

    @property
    def is_reserved(self) -> bool:
        """Whether the capacity is there, and paid for, before the fleet is."""
        return False

    @property
    def is_in_one_subnet(self) -> bool:
        """Whether nothing could start anywhere else."""
        return False

    def sells(self, type_: AcceleratedType) -> bool:
        """Whether AWS is not known never to sell a type so."""
        return type_.on_demand is not False

    @abstractmethod
    def check(self, where: str, fleet: PurchaseContext) -> None:
        """Refuse what this cannot be combined with.

        Raises:
            ArgumentError: there is such a thing.
        """

    def check_zones(self, where: str, subnets: ec2.SelectedSubnets) -> None:
        """Refuse a choice of subnets in which nothing could start.

        Raises:
            ArgumentError: it is one.
        """
        # While a lookup is pending the CDK stands in for the VPC with one that it invents.
        if self.is_in_one_subnet and len(subnets.subnet_ids) != 1 and not subnets.is_pending_lookup:
            cure = "choose that of the block's zone, as ec2.SubnetSelection(availability_zones=['us-east-1a'])"
            rule = "select one subnet for a Capacity Block, which is in one zone"
            raise ArgumentError(complaint(where, "vpc_subnets", rule, list(subnets.subnet_ids), cure))

    def needs_mixed_policy(self, types: Sequence[AcceleratedType]) -> bool:
        """Whether the group needs a mixed instances policy."""
        return len(types) > 1

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        """How a mixed instances policy distributes instances; all shares are explicit."""
        return all_on_demand(None, by_attributes)

    def reservations(self) -> autoscaling.CfnAutoScalingGroup.CapacityReservationSpecificationProperty | None:
        """Which reservations the group uses. None: it is not told."""
        return None

    def launch_data(self) -> Mapping[str, object]:
        """What the launch template says besides, in CloudFormation's words."""
        return {}

    def size_changes(
        self, types: Sequence[AcceleratedType], *, max_capacity: int, drain_seconds: int
    ) -> tuple[SizeChange, ...]:
        """When the group changes its sizes by its own clock."""
        return ()

    def warnings(self, types: Sequence[AcceleratedType], zones: Collection[str]) -> Mapping[str, str]:
        """What costs money or patience, by the warning's id."""
        return {}
