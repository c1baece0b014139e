"""Field case 80: an interruption costs one replacement, and a recommendation none."""

from __future__ import annotations

from typing import Any

from constructs_lib import Purchase
from tests.behaviour.fleets import BUSY, HOUR
from tests.behaviour.simulator.world import World
from tests.support.stacks import fleet_template

_EVERY = 5
_NOTICES = 10


def _spot() -> dict[str, Any]:
    return fleet_template(instance_types=["g6.xlarge", "g5.xlarge"], purchase=Purchase.spot())


def test_case_80_a_notice_every_five_minutes_starts_one_instance_each() -> None:
    world = World(_spot(), load=lambda _instance, _now: BUSY)
    world.start(3)
    begun = len(world.group.everyone)

    def interrupt() -> None:
        world.group.lose(world.group.in_service[0].id, "Spot interruption")

    for notice in range(_NOTICES):
        world.at(60 + notice * _EVERY, interrupt)
    world.run(2 * HOUR)

    assert len(world.group.everyone) - begun == _NOTICES
    assert len(world.group.in_service) == 3
    assert world.group.desired == 3


def test_case_80_the_interrupted_is_let_go_without_waiting_for_its_hook() -> None:
    """The hook is longer than Spot's notice, for all other endings; its machine is gone, so nobody waits for it."""
    world = World(_spot(), load=lambda _instance, _now: BUSY)
    world.start(2)
    lost = world.group.in_service[0]
    at = world.now // 60 + 5
    world.at(at, lambda: world.group.lose(lost.id, "Spot interruption"))
    world.run(10)
    assert lost.ended is not None
    assert lost.ended // 60 <= at + 2
