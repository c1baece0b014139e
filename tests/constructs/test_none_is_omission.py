"""Case 72: None is as if left out, for every optional argument there is, and for those that come later."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx

from constructs_lib import (
    AcceleratedFleet,
    AtMinimum,
    Drain,
    FleetNetwork,
    FleetStorage,
    FlexibleTypes,
    IdlePolicy,
    LustreMount,
    ModelShape,
    OnDemandAllocation,
    Placement,
    Purchase,
    SpotAllocation,
    WarmPool,
    Workload,
    recommend,
)
from tests.constructs.scenarios import template
from tests.support.stacks import fleet_template

RESERVATION = "cr-0123456789abcdef0"
SHAPE: dict[str, Any] = {"layers": 2, "hidden": 64, "heads": 4}


def optional(make: Callable[..., object]) -> list[str]:
    """Names of the arguments that may be left out."""
    found = inspect.signature(make).parameters.values()
    return [each.name for each in found if each.default is not inspect.Parameter.empty]


def parameters_of_the_fleet() -> list[inspect.Parameter]:
    _, *found = inspect.signature(AcceleratedFleet.__init__).parameters.values()
    return found


# The fleet cannot be without both of these, nor without a maximum where nothing says what for.
NEEDED_BY_THIS_FLEET = {"instance_types", "max_capacity"}
OF_THE_FLEET = [
    each.name for each in parameters_of_the_fleet() if each.default is None and each.name not in NEEDED_BY_THIS_FLEET
]


def test_every_argument_of_the_fleet_but_three_may_be_left_out_by_none() -> None:
    given = {each.name for each in parameters_of_the_fleet() if each.default is not None}
    assert given == {"scope", "id", "vpc"}
    assert {"workload", "warm_pool", "network", "schedule", "purchase", "storage"} <= set(OF_THE_FLEET)


def test_none_for_all_of_them_is_the_smallest_fleet() -> None:
    nothing: dict[str, Any] = dict.fromkeys(OF_THE_FLEET)
    assert fleet_template(**nothing) == template("smallest")


MAKERS: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (Purchase.on_demand, {}),
    (Purchase.spot, {}),
    (Purchase.mixed, {"on_demand_base": 1}),
    (Purchase.mixed, {"on_demand_percent": 20}),
    (Purchase.reservation, {}),
    (Purchase.reservation, {"reservation_id": RESERVATION}),
    (Purchase.capacity_block, {"reservation_id": RESERVATION, "end": "2027-03-08T11:30:00Z"}),
    (WarmPool, {"min_size": 1}),
    (WarmPool, {"max_prepared": 2}),
    (FlexibleTypes, {"kind": "nvidia"}),
    (FleetNetwork.standard, {}),
    (FleetNetwork.efa, {}),
    (FleetStorage, {}),
    (IdlePolicy, {}),
    (IdlePolicy, {"cold_start": Duration.minutes(3)}),
    (IdlePolicy.adaptive, {}),
    (ModelShape, SHAPE),
    (Workload.inference, {"model": "llama-3.1-8b"}),
    (Workload.inference, {"parameters": 8e9, "shape": ModelShape(**SHAPE)}),
    (Workload.batch_inference, {"model": "llama-3.1-8b"}),
    (Workload.training, {"model": "llama-3.1-8b"}),
    (Workload.graphics, {}),
    (Workload.transcoding, {}),
    (Workload.hpc, {"memory_mib": 1000}),
    (Workload.fpga, {}),
]


@pytest.mark.parametrize(
    ("make", "needed"), MAKERS, ids=[f"{make.__qualname__}({', '.join(needed)})" for make, needed in MAKERS]
)
def test_none_for_all_that_may_be_left_out_is_the_same_value(
    make: Callable[..., object], needed: dict[str, Any]
) -> None:
    left_out = [name for name in optional(make) if name not in needed]
    nothing: dict[str, Any] = dict.fromkeys(left_out)
    assert make(**needed, **nothing) == make(**needed)


def test_every_optional_argument_of_the_makers_has_none_for_its_default() -> None:
    """One that had another default would take None for a value."""
    for make, _ in MAKERS:
        for each in inspect.signature(make).parameters.values():
            assert each.default in (None, inspect.Parameter.empty), f"{make.__qualname__}: {each.name}"


def test_a_mount_that_says_nothing_besides_is_as_with_none() -> None:
    scope = Stack()
    system = fsx.LustreFileSystem(
        scope,
        "Files",
        vpc=ec2.Vpc(scope, "Vpc"),
        vpc_subnet=ec2.Subnet.from_subnet_attributes(
            scope, "Subnet", subnet_id="subnet-0123456789abcdef0", availability_zone="us-east-1a"
        ),
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )
    one = LustreMount(file_system=system, path="/fsx")
    assert LustreMount(file_system=system, path="/fsx", mount_name=None, read_only=None) == one


def test_none_is_as_if_left_out_of_a_question() -> None:
    chat = Workload.inference(model="llama-3.1-8b")
    assert recommend(chat, region=None, instance_types=None) == recommend(chat)


# --- values that say the same -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Purchase.spot(), Purchase.spot(capacity_rebalance=False, allocation=SpotAllocation.PRICE_CAPACITY)),
        (Purchase.reservation(), Purchase.reservation(fall_back=True)),
        (FleetNetwork.efa(placement=Placement.spread()), FleetNetwork.efa(placement=Placement.spread())),
        (Placement.partition(3), Placement.partition(3)),
        (IdlePolicy.adaptive(), IdlePolicy.adaptive(warm_up=Duration.minutes(5), at_minimum=AtMinimum.LEAVE)),
        (FleetNetwork.standard(), FleetNetwork.standard(placement=Placement.none())),
        (
            FleetStorage(root_volume_size=Size.tebibytes(2)),
            FleetStorage(root_volume_size=Size.gibibytes(2048), root_volume_iops=None),
        ),
        (Drain(), Drain(deadline=Duration.minutes(30), signal="SIGTERM", drain_on_rebalance=False)),
        (
            FlexibleTypes(kind="nvidia", models=["L4", "L40S"], exclude=["g6*", "g5*"]),
            FlexibleTypes(kind="nvidia", models=["L40S", "L4"], exclude=["g5*", "g6*"]),
        ),
        (Placement.in_group("ours"), Placement.in_group("ours")),
        (FlexibleTypes(kind="nvidia", models=["L4"]), FlexibleTypes(kind="nvidia", models=("L4",))),
        (Workload.fpga(), Workload.fpga(accelerators=None)),
    ],
)
def test_values_that_say_the_same_are_equal_and_have_one_hash(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Purchase.on_demand(), Purchase.on_demand(allocation=OnDemandAllocation.LOWEST_PRICE)),
        (Purchase.reservation(), Purchase.reservation(reservation_id=RESERVATION)),
        (Purchase.reservation(), Purchase.on_demand()),
        (FleetNetwork.efa(), FleetNetwork.efa(interfaces=1)),
        (FleetNetwork.efa(), FleetNetwork.standard()),
        (Placement.partition(3), Placement.partition(4)),
        (Placement.cluster(), Placement.none()),
        (FleetStorage(root_volume_size=Size.tebibytes(2)), FleetStorage(root_volume_size=Size.tebibytes(1))),
        (Drain(), Drain(deadline=Duration.seconds(1_801))),
        (Workload.graphics(), Workload.fpga()),
    ],
)
def test_values_that_say_something_else_are_not_equal(one: object, other: object) -> None:
    assert one != other


@pytest.mark.parametrize(
    "value", [Purchase.spot(), WarmPool(min_size=1), FlexibleTypes(kind="nvidia"), FleetNetwork.efa(), Workload.fpga()]
)
def test_they_cannot_be_changed_afterwards(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)
