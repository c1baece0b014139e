"""Field case 3: scale-in must not take the instance that is working, whichever one that is."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import Conditions, World
from tests.behaviour.edits import scaled_in_by_capacity
from tests.behaviour.fleets import BUSY, HOUR, IDLE, fleet


class _OneBusy:
    """Four instances, of which one works."""

    def __init__(self) -> None:
        self.busy_id = ""

    def __call__(self, instance: Instance, _now: int) -> Load:
        return BUSY if instance.id == self.busy_id else IDLE


@pytest.mark.parametrize("which", [0, 3], ids=["oldest", "newest"])
@pytest.mark.parametrize("window", [5, 30])
def test_case_03_only_the_three_idle_ones_go(which: int, window: int) -> None:
    load = _OneBusy()
    world = World(fleet(window=window), load=load)
    members = world.start(4)
    load.busy_id = members[which].id

    world.run(2 * HOUR)

    assert {ending.id for ending in world.group.endings} == {m.id for m in members} - {load.busy_id}
    assert [instance.id for instance in world.group.in_service] == [load.busy_id]
    assert world.group.desired == 1


def test_case_03_busy_one_alone_in_its_zone_survives() -> None:
    load = _OneBusy()
    world = World(fleet(), load=load, conditions=Conditions(zones=3))
    members = world.start(4)
    zones = [member.zone for member in members]
    load.busy_id = next(member.id for member in members if zones.count(member.zone) == 1)

    world.run(2 * HOUR)

    assert [instance.id for instance in world.group.in_service] == [load.busy_id]
    assert world.killed_at_work == []


def test_case_03_capacity_based_scale_in_would_take_the_busy_one() -> None:
    """The same alarm on the least busy accelerator, acting on capacity: the group picks the busy one."""
    load = _OneBusy()
    template = scaled_in_by_capacity(fleet(), statistic="Minimum", adjustment="ChangeInCapacity", change=-1)
    world = World(template, load=load)
    members = world.start(4)
    load.busy_id = members[0].id

    world.run(2 * HOUR)

    assert load.busy_id in {ending.id for ending in world.killed_at_work}
