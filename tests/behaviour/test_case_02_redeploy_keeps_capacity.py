"""Field case 2: a deploy must not set the group back to its first size."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import unprotected, with_group
from tests.behaviour.fleets import BUSY, HOUR, fleet

_ONE_MORE_TAG = [{"Key": "team", "Value": "vision", "PropagateAtLaunch": True}]


@pytest.fixture
def five_at_work() -> World:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.start(5)
    return world


def test_case_02_deploy_with_another_tag_leaves_five_at_five(five_at_work: World) -> None:
    five_at_work.redeploy(with_group(fleet(), Tags=_ONE_MORE_TAG))
    five_at_work.run(30)

    assert five_at_work.group.desired == 5
    assert five_at_work.group.endings == []


def test_case_02_desired_capacity_in_the_template_would_reset_the_fleet() -> None:
    pinned = with_group(unprotected(fleet()), DesiredCapacity="0", Tags=_ONE_MORE_TAG)
    world = World(unprotected(fleet()), load=lambda _instance, _now: BUSY)
    world.start(5)

    world.redeploy(pinned)
    world.run(40)

    assert len(world.killed_at_work) == 5, "a drain delays it by half an hour, the default, and no more"


def test_case_02_lowered_maximum_ends_nobody_at_work(five_at_work: World) -> None:
    five_at_work.redeploy(with_group(fleet(), MaxSize="3"))
    five_at_work.run(2 * HOUR)

    assert five_at_work.group.desired == 3
    assert five_at_work.group.endings == []


def test_case_02_lowered_maximum_without_protection_would_end_two_at_work() -> None:
    world = World(unprotected(fleet()), load=lambda _instance, _now: BUSY)
    world.start(5)

    world.redeploy(with_group(unprotected(fleet()), MaxSize="3"))
    world.run(1)

    assert [(ending.cause, ending.busy) for ending in world.group.endings] == [("scale-in", True)] * 2


def test_case_02_surplus_above_a_lowered_maximum_still_reaches_zero_when_idle() -> None:
    world = World(fleet())
    world.start(5)

    world.redeploy(with_group(fleet(), MaxSize="3"))
    world.run(90)

    assert world.group.members == []
    assert world.group.desired == 0
    assert world.failures == []


def test_case_02_template_states_no_desired_capacity() -> None:
    _, properties = Template(fleet()).group()

    assert "DesiredCapacity" not in properties
