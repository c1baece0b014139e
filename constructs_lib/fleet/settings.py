"""A fleet's arguments, checked together and with their defaults in place, before any resource exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from aws_cdk import aws_ec2 as ec2

from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.flexible_types import FlexibleTypes
from constructs_lib.fleet.image import FleetImage
from constructs_lib.fleet.instance_types import InstanceTypes, accelerated_types
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.network import FleetNetwork, Interface
from constructs_lib.fleet.placement import Placement
from constructs_lib.fleet.purchase import Purchase, PurchaseContext
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.fleet.warm_pool import WarmPool
from constructs_lib.release import IdlePolicy
from constructs_lib.scaling import Demand, FleetSchedule
from constructs_lib.telemetry import AcceleratorKind, Telemetry
from constructs_lib.validation import complaint, instance_of, integer, is_token

T = TypeVar("T")

_MOST_TYPES = 40  # "MixedInstancesPolicy", Auto Scaling API


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FleetSettings:
    """What the user asked for, complete and consistent."""

    types: tuple[AcceleratedType, ...]
    selection: FlexibleTypes | None
    kind: AcceleratorKind
    min_capacity: int
    max_capacity: int
    image: FleetImage
    purchase: Purchase
    demand: Demand | None
    idle: IdlePolicy
    drain: Drain
    schedule: FleetSchedule | None
    telemetry: Telemetry
    storage: FleetStorage
    machine: MachineSetup
    network: FleetNetwork
    interfaces: tuple[Interface, ...]
    placement: Placement
    warm_pool: WarmPool | None

    @property
    def is_mixed(self) -> bool:
        """Whether the group needs a mixed instances policy: several types, Spot, or types chosen by attributes."""
        return self.selection is not None or self.purchase.needs_mixed_policy(self.types)

    @property
    def previous_generation(self) -> tuple[AcceleratedType, ...]:
        """Those of its types that AWS lists as previous generation."""
        return tuple(each for each in self.types if each.status == "previous")

    @property
    def one_zone_reason(self) -> str | None:
        """Why all instances have to be in one zone; None if they need not."""
        if self.network.uses_efa:
            return "EFA traffic does not leave its zone"
        return "a cluster placement group is in one zone" if self.placement.needs_one_zone else None

    @property
    def machine_settings(self) -> Mapping[str, object]:
        """What the node program sets on the machine; empty if nothing was asked for."""
        return {**self.machine.settings(self.types), **self.storage.settings()}

    @staticmethod
    def check(
        where: str,
        *,
        instance_types: InstanceTypes | FlexibleTypes,
        max_capacity: int,
        min_capacity: int | None,
        vpc_subnets: ec2.SubnetSelection | None,
        image: FleetImage | None,
        purchase: Purchase | None,
        demand: Demand | None,
        idle: IdlePolicy | None,
        drain: Drain | None,
        schedule: FleetSchedule | None,
        telemetry: Telemetry | None,
        storage: FleetStorage | None,
        machine: MachineSetup | None,
        network: FleetNetwork | None,
        warm_pool: WarmPool | None,
    ) -> FleetSettings:
        """Check the arguments of the fleet at construct path ``where`` and fill in what was left out."""
        if vpc_subnets is not None:
            instance_of(
                where,
                "vpc_subnets",
                vpc_subnets,
                ec2.SubnetSelection,
                cure="write ec2.SubnetSelection(subnet_type=...)",
            )
        bought = _purchase(where, purchase)
        selection = instance_types if isinstance(instance_types, FlexibleTypes) else None
        named = instance_types.types_sold(bought) if isinstance(instance_types, FlexibleTypes) else instance_types
        types, kind = accelerated_types(where, named)
        if selection is None and len(types) > _MOST_TYPES:
            rule = f"name at most {_MOST_TYPES} types"
            cure = "name fewer, or write FlexibleTypes(kind=...)"
            raise ArgumentError(complaint(where, "instance_types", rule, len(types), cure))
        smallest, largest = _capacity(where, min_capacity, max_capacity)
        if demand is not None:
            instance_of(where, "demand", demand, Demand, cure="write QueueDemand(queue, messages_per_instance=1)")
        draining = _settled(where, "drain", drain, Drain, bought.usual_drain, "write Drain(deadline=...)")
        bought.check(
            where,
            PurchaseContext(
                types=types,
                by_attributes=selection is not None,
                min_capacity=smallest,
                max_capacity=largest,
                has_schedule=schedule is not None,
                drain_seconds=draining.hook_heartbeat_seconds,
            ),
        )
        measured = _settled(where, "telemetry", telemetry, Telemetry, Telemetry(), "write Telemetry(...)")
        cure = "write IdlePolicy(window=...), or leave it out; min_capacity=... keeps idle instances"
        policy = _settled(where, "idle", idle, IdlePolicy, IdlePolicy(), cure)
        policy.threshold(kind, where=where)
        policy.check_figures(kind, types, measured.measurements_of(kind, types, where=where), where=where)
        policy.check_memory(types, where=where)
        policy.check_capacity(largest, where=where)
        if schedule is not None:
            _check_schedule(where, schedule, policy)
        disks = _settled(where, "storage", storage, FleetStorage, FleetStorage(), "write FleetStorage(...)")
        disks.check_types(where, types)
        setup = _settled(where, "machine", machine, MachineSetup, MachineSetup(), "write MachineSetup(...)")
        setup.check_types(where, types)
        if warm_pool is not None:
            instance_of(where, "warm_pool", warm_pool, WarmPool, cure="write WarmPool(min_size=1)")
            warm_pool.check(
                where,
                purchase=bought,
                types=types,
                by_attributes=selection is not None,
                max_capacity=largest,
                storage=disks,
                has_demand=demand is not None and demand.keeps_instances,
                woken_ahead=schedule is not None and bool(schedule.wake_ups) and not policy.keep_warm,
            )
        wiring = _network(where, network)
        return FleetSettings(
            types=types,
            selection=selection,
            kind=kind,
            min_capacity=smallest,
            max_capacity=largest,
            image=_image(where, image),
            purchase=bought,
            demand=demand,
            idle=policy,
            drain=draining,
            schedule=schedule,
            telemetry=measured,
            storage=disks,
            machine=setup,
            network=wiring,
            interfaces=wiring.interfaces(where, types),
            placement=wiring.placement_of(where, types, reserved=bought.is_reserved),
            warm_pool=warm_pool,
        )


def _settled(where: str, parameter: str, given: T | None, type_: type[T], default: T, cure: str) -> T:
    if given is None:
        return default
    return instance_of(where, parameter, given, type_, cure=cure)


def _purchase(where: str, given: object) -> Purchase:
    if given is None:
        return Purchase.on_demand()
    if isinstance(given, Purchase):
        return given
    cure = "write Purchase.spot() or Purchase.on_demand()"
    raise ArgumentError(complaint(where, "purchase", "be of type Purchase", given, cure))


def _check_schedule(where: str, schedule: FleetSchedule, policy: IdlePolicy) -> None:
    cure = "write FleetSchedule(office_hours=[Hours(start='08:00', end='18:00', time_zone='Europe/Berlin')])"
    instance_of(where, "schedule", schedule, FleetSchedule, cure=cure)
    if schedule.maintenance is not None and policy.max_instance_life is None:
        rule = "be left out without idle.max_instance_life"
        cure = "give IdlePolicy(max_instance_life=...): nothing else waits for a maintenance window"
        raise ArgumentError(complaint(where, "schedule.maintenance", rule, list(schedule.maintenance), cure))


def _image(where: str, given: object) -> FleetImage:
    if given is None:
        return FleetImage.deep_learning_base()
    if isinstance(given, FleetImage):
        return given
    cure = "make it with FleetImage.from_ssm_parameter(...) or FleetImage.from_machine_image(...)"
    raise ArgumentError(complaint(where, "image", "be a FleetImage", given, cure))


def _network(where: str, given: object) -> FleetNetwork:
    if given is None:
        return FleetNetwork.standard()
    if isinstance(given, FleetNetwork):
        return given
    cure = "make it with FleetNetwork.efa() or FleetNetwork.standard(placement=...)"
    raise ArgumentError(complaint(where, "network", "be a FleetNetwork", given, cure))


def _capacity(where: str, min_capacity: int | None, max_capacity: int) -> tuple[int, int]:
    smallest = 0 if min_capacity is None else min_capacity
    for parameter, value, least in (("min_capacity", smallest, 0), ("max_capacity", max_capacity, 1)):
        if is_token(value):
            rule = "be known at synth, since checks are made on it"
            raise ArgumentError(complaint(where, parameter, rule, "a token", "give a literal number"))
        integer(where, parameter, value, minimum=least, cure="give a whole number of instances")
    if smallest > max_capacity:
        rule = f"not exceed max_capacity ({max_capacity})"
        raise ArgumentError(
            complaint(where, "min_capacity", rule, smallest, "raise max_capacity or lower min_capacity")
        )
    return smallest, max_capacity
