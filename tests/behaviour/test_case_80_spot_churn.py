"""Field case 80: an interruption costs one replacement, and a recommendation none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import Drain, Purchase
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR
from tests.support.stacks import fleet_template

_EVERY = 5
_NOTICES = 10


_PASS = 5
"""How often the release function looks, minutes."""


def _spot(**arguments: Any) -> dict[str, Any]:
    return fleet_template(instance_types=["g6.xlarge", "g5.xlarge"], purchase=Purchase.spot(), **arguments)


def _without_events(template: dict[str, Any]) -> dict[str, Any]:
    """Return the template with nobody told of terminations: only the steady pass is left."""
    body = copy.deepcopy(template)
    rules = [each["Properties"] for each in body["Resources"].values() if each["Type"] == "AWS::Events::Rule"]
    told = [each for each in rules if "Instance-terminate" in str(each.get("EventPattern"))]
    assert told
    for each in told:
        each["EventPattern"]["source"] = ["nobody"]
    return body


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


@pytest.mark.parametrize("minutes", [1, 5, 115])
def test_case_80_whatever_the_deadline_its_place_is_free_after_a_pass_at_most(minutes: int) -> None:
    """The hook lengthens nobody's notice, and keeps no place: even where the termination's own event is lost."""
    world = World(_without_events(_spot(drain=Drain(deadline=Duration.minutes(minutes)))), load=lambda *_: BUSY)
    world.start(2)
    lost = world.group.in_service[0]
    at = world.now // 60 + 5
    world.at(at, lambda: world.group.lose(lost.id, "Spot interruption"))
    world.run(12)
    assert lost.ended is not None
    assert lost.ended // 60 <= at + _PASS + 1
    assert len(world.group.in_service) == 2
