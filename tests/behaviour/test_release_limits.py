"""What bounds the release of idle instances: the minimum, a person's mark, the share of one pass, lost samples."""

from __future__ import annotations

import random

from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet
from tests.support.stacks import fleet_template


def test_minimum_is_kept_and_no_call_is_refused() -> None:
    world = World(fleet_template(max_capacity=4, min_capacity=1))
    world.run(5)
    world.start(3)

    world.run(3 * HOUR)

    assert len(world.group.in_service) == 1
    assert world.group.desired == 1
    assert len(world.group.everyone) == 3
    assert world.failures == []


def test_deploy_with_a_lowered_minimum_lets_the_last_one_go() -> None:
    world = World(fleet_template(max_capacity=4, min_capacity=1))
    world.run(1 * HOUR)
    assert len(world.group.in_service) == 1

    world.redeploy(fleet_template(max_capacity=4))
    world.run(10)

    assert world.group.members == []


def test_marked_instance_stays_while_its_neighbour_goes() -> None:
    world = World(fleet())
    marked, _ = world.start(2)
    marked.tags["accelerated-fleet:hold"] = "alice"

    world.run(6 * HOUR)

    assert world.group.in_service == [marked]


def test_share_of_a_pass_spreads_the_release() -> None:
    policy = IdlePolicy(window=Duration.minutes(15), max_release_share=0.25)
    world = World(fleet_template(max_capacity=8, idle=policy))
    world.start(8)

    world.run(2 * HOUR)

    passes = [ending.at for ending in world.released]
    assert [passes.count(at) for at in sorted(set(passes))] == [2, 2, 1, 1, 1, 1]


def test_a_lost_sample_now_and_then_delays_the_release_by_less_than_a_window() -> None:
    for seed in range(3):
        dice = random.Random(seed)
        lost = {minute for minute in range(HOUR, 4 * HOUR) if dice.random() < 0.05}

        def load(_instance: Instance, now: int, lost: set[int] = lost) -> Load:
            if now < HOUR * MINUTE:
                return BUSY
            return Load(agent=False) if now // MINUTE in lost else IDLE

        world = World(fleet(), load=load)
        world.start(2)
        world.run(3 * HOUR)

        assert [HOUR + 30 <= ending.at // MINUTE <= HOUR + 60 for ending in world.released] == [True, True]
