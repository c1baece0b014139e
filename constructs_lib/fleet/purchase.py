"""How the fleet's capacity is bought."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.allocation import OnDemandAllocation, SpotAllocation
from constructs_lib.fleet.capacity_block import BlockHours, SizeChange, moment, stamp
from constructs_lib.validation import complaint, instance_of, integer, is_token, text

SINGLE_SPOT_POOL = "@cdk-accelerated-fleet/fleet:SingleSpotPool"
RESERVED_CAPACITY_BILLS = "@cdk-accelerated-fleet/fleet:ReservedCapacityBills"
RESERVATION_IN_ONE_ZONE = "@cdk-accelerated-fleet/fleet:ReservationInOneZone"

_RESERVATION_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_GROUP_ARN = re.compile(r"arn:[a-z-]+:resource-groups:[a-z0-9-]+:\d{12}:group/\S+")
_ALL = 100
_ONLY, _FIRST = "capacity-reservations-only", "capacity-reservations-first"


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

    @staticmethod
    def on_demand(*, allocation: OnDemandAllocation | None = None) -> Purchase:
        """On-Demand only: nothing takes an instance away from running work.

        Args:
            allocation: which type of several. Default: the first in the list that AWS has; of types chosen by their
                attributes the cheapest.

        Raises:
            ArgumentError: it is no ``OnDemandAllocation``.
        """
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
        without Spot. There is no maximum price: one interrupts more and saves nothing, since the current price is paid.

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
        are fixed: what Spot lacks AWS does not start On-Demand, so size them for what has to go on. Work that waits
        keeps Spot wanted, and it comes as soon as AWS has some; until then the shortfall alarm tells. When every launch
        has failed for an hour, launching is stopped as in any fleet: see ``IdlePolicy(max_failed_launches=...)``.

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
        return _all_on_demand(None, by_attributes)

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


@dataclass(frozen=True, kw_only=True)
class OnDemandPurchase(Purchase):
    """Made by :meth:`Purchase.on_demand`."""

    allocation: OnDemandAllocation | None = None

    def __post_init__(self) -> None:
        _check_allocation("Purchase.on_demand", "allocation", self.allocation, OnDemandAllocation)

    @property
    def keeps_warm_pools(self) -> bool:
        return True

    def check(self, where: str, fleet: PurchaseContext) -> None:
        _check_sold(where, "On-Demand", [each.name for each in fleet.types if not self.sells(each)])
        _check_ranked(where, "purchase.allocation", self.allocation, fleet)

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        return _all_on_demand(self.allocation, by_attributes)


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
        _check_allocation(where, "allocation", self.allocation, SpotAllocation)
        _check_allocation(where, "on_demand_allocation", self.on_demand_allocation, OnDemandAllocation)
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
        _check_sold(where, "Spot", [each.name for each in fleet.types if not self.sells(each)])
        if self.allocation is SpotAllocation.RANKED and fleet.by_attributes:
            rule = "not be RANKED for types that are chosen by their attributes"
            cure = "name the types in their order, or leave it out"
            raise ArgumentError(complaint(where, "purchase.allocation", rule, self.allocation.name, cure))
        _check_ranked(where, "purchase.on_demand_allocation", self.on_demand_allocation, fleet)

    def needs_mixed_policy(self, types: Sequence[AcceleratedType]) -> bool:
        return True

    def distribution(self, *, by_attributes: bool) -> autoscaling.InstancesDistribution:
        assert self.allocation is not None
        return autoscaling.InstancesDistribution(
            on_demand_allocation_strategy=_on_demand(self.on_demand_allocation, by_attributes).strategy,
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
            _check_reservation_id(where, self.reservation_id)
        if self.resource_group_arn is not None:
            _check_group_arn(where, self.resource_group_arn)
            if self.reservation_id is not None:
                rule = "be left out beside reservation_id"
                cure = "name one of them: a group of instances has one target"
                raise ArgumentError(complaint(where, "resource_group_arn", rule, self.resource_group_arn, cure))
        instance_of(where, "fall_back", self.fall_back, bool, cure="write False, or leave it out")
        _check_allocation(where, "allocation", self.allocation, OnDemandAllocation)
        # Its types have names, and so an order.
        settled = OnDemandAllocation.RANKED if self.allocation is None else self.allocation
        object.__setattr__(self, "allocation", settled)

    def check(self, where: str, fleet: PurchaseContext) -> None:
        _check_sold(where, "On-Demand", [each.name for each in fleet.types if not self.sells(each)])
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
        return _all_on_demand(self.allocation, by_attributes)

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


@dataclass(frozen=True, kw_only=True)
class CapacityBlockPurchase(Purchase):
    """Made by :meth:`Purchase.capacity_block`."""

    reservation_id: str
    end: str | datetime
    start: str | datetime | None = None
    instances_at_start: int | None = None

    def __post_init__(self) -> None:
        where = "Purchase.capacity_block"
        _check_reservation_id(where, self.reservation_id)
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


def _named(zones: Collection[str]) -> str:
    """Zones for a message: their names, or their number where only a deploy names them."""
    each = sorted(set(zones))
    return f"{len(each)} zones" if any(is_token(zone) for zone in each) else ", ".join(each)


def _all_on_demand(allocation: OnDemandAllocation | None, by_attributes: bool) -> autoscaling.InstancesDistribution:
    return autoscaling.InstancesDistribution(
        on_demand_allocation_strategy=_on_demand(allocation, by_attributes).strategy,
        on_demand_base_capacity=0,
        on_demand_percentage_above_base_capacity=100,
        spot_allocation_strategy=SpotAllocation.PRICE_CAPACITY.strategy,
    )


def _on_demand(given: OnDemandAllocation | None, by_attributes: bool) -> OnDemandAllocation:
    if given is not None:
        return given
    return OnDemandAllocation.LOWEST_PRICE if by_attributes else OnDemandAllocation.RANKED


def _check_ranked(where: str, parameter: str, given: OnDemandAllocation | None, fleet: PurchaseContext) -> None:
    if given is OnDemandAllocation.RANKED and fleet.by_attributes:
        rule = "not be RANKED for types that are chosen by their attributes"
        cure = "name the types in their order, or leave it out for the cheapest"
        raise ArgumentError(complaint(where, parameter, rule, given.name, cure))


def _check_sold(where: str, way: str, never: Sequence[str]) -> None:
    if never:
        cure = "leave these types out, or buy them another way, with Purchase.capacity_block(...) if AWS sells them so"
        rule = f"be of types that AWS sells as {way}"
        raise ArgumentError(complaint(where, "instance_types", rule, list(never), cure))


def _check_allocation(
    where: str, parameter: str, given: object, type_: type[SpotAllocation] | type[OnDemandAllocation]
) -> None:
    if given is not None:
        instance_of(where, parameter, given, type_, cure=f"write {type_.__name__}.RANKED, or leave it out")


def _check_reservation_id(where: str, value: str) -> None:
    cure = "write the id that EC2 shows, for example 'cr-0123456789abcdef0'"
    text(where, "reservation_id", value, cure=cure)
    if not is_token(value) and not _RESERVATION_ID.fullmatch(value):
        raise ArgumentError(complaint(where, "reservation_id", "be the id of a reservation", value, cure))


def _check_group_arn(where: str, value: str) -> None:
    cure = "write the ARN of a group of reservations in Resource Groups"
    text(where, "resource_group_arn", value, cure=cure)
    if not is_token(value) and not _GROUP_ARN.fullmatch(value):
        raise ArgumentError(complaint(where, "resource_group_arn", "be the ARN of a resource group", value, cure))
