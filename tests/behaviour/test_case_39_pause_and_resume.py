"""Field case 39, with 2 and 74: a fleet is paused and opened by the clock, beside the release and through deploys."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from constructs_lib.scaling import FleetSchedule, Hours, WakeUp
from tests.behaviour.edits import with_group
from tests.behaviour.fleets import BUSY, IDLE, MINUTE, UTILIZATION_ALONE
from tests.support.stacks import fleet_template

# The simulated time begins at midnight UTC.
OPENS, CLOSES, OPENS_AGAIN = 60, 180, 300
OFFICE = [Hours(start="01:00", end="03:00", time_zone="UTC"), Hours(start="05:00", end="06:00", time_zone="UTC")]
WAKE = WakeUp(at="01:30", instances=2, time_zone="UTC", ahead=Duration.minutes(10))


@cache
def _template(*, woken: bool = False, minimum: int = 0) -> dict[str, Any]:
    return fleet_template(
        instance_types=["g5.12xlarge"],
        schedule=FleetSchedule(office_hours=OFFICE, wake_ups=[WAKE] if woken else None),
        min_capacity=minimum,
        telemetry=UTILIZATION_ALONE,
        idle=IdlePolicy(window=Duration.minutes(15)),
    )


def _sizes(world: World) -> tuple[int, int, int]:
    return world.group.minimum, world.group.maximum, world.group.desired


def test_case_39_a_pause_ends_nobody_at_work_and_gives_the_sizes_back() -> None:
    def load(instance: Instance, now: int) -> Load:
        return BUSY if instance.id == first and now < (CLOSES + 60) * MINUTE else IDLE

    first = ""
    world = World(_template(), load=load)
    world.run(OPENS + 1)
    assert _sizes(world) == (0, 8, 0)
    first = world.start(2)[0].id
    world.run(CLOSES - world.now // MINUTE + 1)
    assert _sizes(world) == (0, 0, 0)

    world.run(55)
    assert [each.id for each in world.group.in_service] == [first], "the idle one went, the one at work did not"
    world.run(40)
    assert world.group.members == []
    assert world.killed_at_work == []

    world.run(OPENS_AGAIN + 1 - world.now // MINUTE)
    assert _sizes(world) == (0, 8, 0)
    assert world.failures == []


def test_case_02_a_deploy_leaves_a_paused_fleet_paused() -> None:
    world = World(_template(minimum=1), load=lambda _instance, _now: IDLE)
    world.run(2)
    assert _sizes(world) == (0, 0, 0)

    world.redeploy(with_group(_template(minimum=1), MaxSize="5"))
    world.run(2)
    assert _sizes(world) == (0, 0, 0)

    world.run(OPENS)
    assert _sizes(world) == (1, 5, 1)
    assert world.failures == []


def test_case_74_a_wake_up_and_the_release_do_not_fight() -> None:
    world = World(_template(woken=True), load=lambda _instance, _now: IDLE)
    before = len(world.group.desired_history)
    world.run(CLOSES + 30)

    changes = [desired for _, desired in world.group.desired_history[before:]]
    assert max(changes) == 2, "woken"
    peak = changes.index(2)
    assert all(later <= earlier for earlier, later in pairwise(changes[peak:])), "raised once"
    assert len(world.released) == 2
    assert world.failures == []
