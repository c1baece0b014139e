"""Field case 33: several triggers, each delivered twice, lower the capacity once for each idle node."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.fleets import BUSY, HOUR, IDLE, MINUTE, fleet


def _first_is_idle(instance: Instance, _now: int) -> Load:
    return IDLE if int(instance.id.removeprefix("i-"), 16) == 1 else BUSY


@pytest.mark.parametrize("deliveries", [1, 2, 3])
@pytest.mark.parametrize("late", [0, 4])
def test_case_33_three_busy_ones_stay_and_desired_is_three(deliveries: int, late: int) -> None:
    conditions = Conditions(deliveries=deliveries, alarm_delivery_seconds=late * MINUTE)
    world = World(fleet(), load=_first_is_idle, conditions=conditions)
    members = world.start(4)

    world.run(2 * HOUR)

    assert [ending.id for ending in world.group.endings] == [members[0].id]
    assert world.group.desired == 3
    assert len(world.group.in_service) == 3


@pytest.mark.parametrize("stops_at", range(28, 42, 2))
def test_case_33_node_that_stops_itself_at_any_moment_costs_no_neighbour(stops_at: int) -> None:
    """The platform replaces a node that shut itself down; the replacement is idle and goes in its turn."""

    def load(instance: Instance, _now: int) -> Load:
        return BUSY if int(instance.id.removeprefix("i-"), 16) in (2, 3, 4) else IDLE

    world = World(fleet(), load=load, conditions=Conditions(deliveries=2))
    world.start(4)
    first = world.group.everyone[0]

    def stop_itself() -> None:
        if first in world.group.alive:
            world.group.lose(first.id, "self-stop")

    world.at(stops_at, stop_itself)
    world.run(3 * HOUR)

    assert world.group.desired == 3
    assert len(world.group.in_service) == 3
    assert world.killed_at_work == []


def test_case_33_nothing_but_the_handler_may_lower_capacity() -> None:
    template = Template(fleet())

    assert template.resources("AWS::AutoScaling::ScalingPolicy") == {}
    assert template.resources("AWS::AutoScaling::ScheduledAction") == {}
