"""Field case 18: a Capacity Block ends: EC2 takes its machines half an hour before, and no launch is tried after it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2

from constructs_lib import Drain, Purchase
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import without_setting
from tests.behaviour.fleets import MINUTE, UTILIZATION_ALONE
from tests.support.stacks import fleet_template

# The simulated time begins at midnight UTC.
BEGINS, TAKEN = 2 * 60, 11 * 60
DEADLINE = 20
SELECTED = ec2.SubnetSelection(availability_zones=["us-east-1a"])


@cache
def _template() -> dict[str, Any]:
    return fleet_template(
        instance_types=["p5.48xlarge"],
        max_capacity=4,
        vpc_subnets=SELECTED,
        telemetry=UTILIZATION_ALONE,
        drain=Drain(deadline=Duration.minutes(DEADLINE)),
        purchase=Purchase.capacity_block(
            reservation_id="cr-0123456789abcdef0",
            start="2026-01-01T02:00:00Z",
            end="2026-01-01T11:30:00Z",
            instances_at_start=2,
        ),
    )


def _works_until(minute: int) -> Any:
    eight = Load(accelerators=(95.0,) * 8, cpu=30.0)
    nothing = Load(accelerators=(0.0,) * 8)

    def load(_instance: Instance, now: int) -> Load:
        return eight if now < minute * MINUTE else nothing

    return load


def _up_to_the_end(world: World) -> World:
    world.run(TAKEN - world.now // MINUTE)
    for instance in world.group.members:
        world.group.lose(instance.id, "the block is over")
    return world


def test_case_18_nothing_is_launched_before_the_block_begins() -> None:
    world = World(_template(), load=_works_until(10_000))
    world.run(BEGINS - 1)
    assert (world.group.maximum, world.group.members) == (0, [])
    world.run(10)
    assert (world.group.maximum, len(world.group.in_service)) == (4, 2)


@pytest.mark.parametrize("minutes_of_drain", [1, DEADLINE - 2])
def test_case_18_everybody_has_drained_before_ec2_takes_the_machines(minutes_of_drain: int) -> None:
    """At 11:00 less a drain of 21 minutes less a quarter of an hour all begin to leave, at work or not."""
    leaves = TAKEN - (DEADLINE + 1) - 15
    world = World(_template(), load=_works_until(leaves + minutes_of_drain))
    world.run(leaves - 1)
    assert len(world.group.in_service) == 2
    world.run(1)
    assert (world.group.minimum, world.group.maximum, world.group.desired) == (0, 0, 0)
    _up_to_the_end(world)
    assert world.group.cut_off == []
    assert world.failures == []


def test_case_18_the_group_tries_no_replacement_after_the_end() -> None:
    world = _up_to_the_end(World(_template(), load=_works_until(10_000)))
    world.run(120)
    assert world.group.members == []
    assert world.group.desired == 0


def test_case_18_without_the_guard_work_is_cut_off() -> None:
    template = without_setting(_template(), "release_idle", "LEAVE_FROM")
    world = _up_to_the_end(World(template, load=_works_until(TAKEN - 5)))
    assert len(world.group.cut_off) == 0
    world = _up_to_the_end(World(template, load=_works_until(10_000)))
    assert len(world.group.cut_off) == 2
