"""Field case 46: an instance that is not up yet is not unhealthy."""

from __future__ import annotations

from functools import partial
from typing import Any

from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_group
from tests.behaviour.fleets import BUSY, HOUR, MINUTE
from tests.support.stacks import fleet_template

_READY_AFTER = 12


def _template() -> dict[str, Any]:
    warm_up = Duration.minutes(_READY_AFTER)
    return fleet_template(instance_types=["g5.12xlarge"], idle=IdlePolicy(window=Duration.minutes(15), warm_up=warm_up))


def _check(world: World, grace: int) -> None:
    """Do what a health check does that instances pass only once they are up; the grace begins in service."""
    for instance in world.group.in_service:
        assert instance.in_service_since is not None
        up = world.now - instance.launched >= _READY_AFTER * MINUTE
        instance.healthy = up or world.now - instance.in_service_since < grace


def _checked(template: dict[str, Any]) -> World:
    world = World(template, load=lambda _instance, _now: BUSY)
    grace = int(Template(template).group()[1]["HealthCheckGracePeriod"])
    for minute in range(1, 2 * HOUR):
        world.at(minute, partial(_check, world, grace))
    world.start(2)
    return world.run(2 * HOUR)


def test_case_46_who_takes_twelve_minutes_is_not_replaced() -> None:
    assert _checked(_template()).group.endings == []


def test_case_46_without_a_grace_period_they_would_be_in_a_loop() -> None:
    world = _checked(with_group(_template(), HealthCheckGracePeriod=0))
    assert len(world.group.endings) > 4
