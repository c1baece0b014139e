"""Field case 14: evening out zones must not terminate nodes in use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviour.edits import unprotected
from tests.behaviour.fleets import BUSY, HOUR, fleet
from tests.behaviour.simulator.stack import create
from tests.behaviour.simulator.world import World


def _four_and_two(template: dict[str, Any], *, created: bool) -> World:
    """Four busy nodes in one zone, two in the other."""
    world = World(template, load=lambda _instance, _now: BUSY)
    if created:
        create(world)
    world.group.suspended.add("AZRebalance")
    members = world.start(6)
    for index, member in enumerate(members):
        member.zone = "us-east-1a" if index < 4 else "us-east-1b"
    if not created:
        world.group.suspended.clear()
    return world


def _lose_one_in_the_thin_zone(world: World) -> None:
    member = next(m for m in world.group.in_service if m.zone == "us-east-1b")
    world.group.lose(member.id, "spot")
    world.run(2 * HOUR)


@pytest.mark.parametrize("protected", [True, False])
def test_case_14_nobody_in_the_thick_zone_is_terminated(protected: bool) -> None:
    world = _four_and_two(fleet() if protected else unprotected(fleet()), created=True)
    assert "AZRebalance" in world.group.suspended

    _lose_one_in_the_thin_zone(world)

    assert [ending.cause for ending in world.group.endings] == ["spot"]
    assert len(world.group.in_service) == 6


def test_case_14_stack_creation_suspends_rebalancing() -> None:
    world = World(fleet())

    create(world)

    assert "AZRebalance" in world.group.suspended


def test_case_14_without_either_guard_a_busy_node_would_be_taken() -> None:
    world = _four_and_two(unprotected(fleet()), created=False)

    _lose_one_in_the_thin_zone(world)

    assert ("rebalancing", True) in {(ending.cause, ending.busy) for ending in world.group.endings}
