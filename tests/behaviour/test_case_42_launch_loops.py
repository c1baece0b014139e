"""Field case 42: instances that never become ready are not launched for ever."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import without_setting
from tests.behaviour.fleets import BUSY, HOUR, MINUTE
from tests.support.stacks import fleet_template

_MOST = 3
_DAY = 24 * HOUR


def _template() -> dict[str, Any]:
    return fleet_template(
        instance_types=["g5.12xlarge"],
        idle=IdlePolicy(window=Duration.minutes(15), max_failed_launches=_MOST),
    )


def _fail_each(world: World, after: int, *, until: int | None = None) -> None:
    """Let each instance become unhealthy so many minutes after its launch."""
    for minute in range(1, _DAY):
        world.at(minute, lambda: _strike(world, after, until))


def _strike(world: World, after: int, until: int | None) -> None:
    if until is not None and world.now >= until * MINUTE:
        return
    for instance in world.group.in_service:
        if world.now - instance.launched >= after * MINUTE:
            instance.healthy = False


def _no_driver(_instance: Instance, _now: int) -> Load:
    return Load(accelerators=None, driver=False, working=False)


def test_case_42_launches_stop_after_the_policys_number_and_somebody_is_told() -> None:
    world = World(_template(), load=_no_driver)
    _fail_each(world, 10)
    world.group.set_desired(1)

    world.run(_DAY)

    assert _MOST <= len(world.group.everyone) <= _MOST + 2, "about one more may start before a pass sees it"
    assert world.group.suspended >= {"Launch"}
    (told,) = world.account.told
    assert "health check" in told[1]
    assert "resume-processes" in told[1]


def test_case_42_without_the_limit_it_never_ends() -> None:
    world = World(without_setting(_template(), "release_idle", "MAX_FAILED_LAUNCHES", "TOPIC_ARN"), load=_no_driver)
    _fail_each(world, 10)
    world.group.set_desired(1)
    world.run(8 * HOUR)
    assert len(world.group.everyone) > 30


def test_case_42_one_good_boot_resets_the_count() -> None:
    """Two fail, one works, two fail, one works: never three in a row."""
    world = World(
        _template(), load=lambda instance, _now: BUSY if _number(instance) in (3, 6) else _no_driver(instance, 0)
    )

    def strike() -> None:
        for instance in world.group.in_service:
            life = 60 if _number(instance) == 3 else 10
            if _number(instance) <= 5 and world.now - instance.launched >= life * MINUTE:
                instance.healthy = False

    for minute in range(1, 4 * HOUR):
        world.at(minute, strike)
    world.group.set_desired(1)
    world.run(2 * HOUR + 40)  # the third drains for half an hour: it is at work
    assert len(world.group.everyone) == 6
    assert "Launch" not in world.group.suspended


def test_case_42_no_capacity_for_a_day_stops_with_the_cause() -> None:
    world = World(_template(), load=_no_driver)
    world.group.capacity = 0
    world.group.set_desired(2)
    world.run(_DAY)
    assert "Launch" in world.group.suspended
    assert [("capacity" in text) for _, text in world.account.told] == [True]


def test_case_42_who_works_stays_when_launches_stop() -> None:
    world = World(_template(), load=lambda instance, _now: BUSY if _number(instance) == 1 else _no_driver(instance, 0))
    world.start(1)
    world.group.capacity = 1
    world.group.set_desired(4)
    world.run(3 * HOUR)
    assert "Launch" in world.group.suspended
    assert [_number(instance) for instance in world.group.in_service] == [1]
    assert world.killed_at_work == []


def _number(instance: Instance) -> int:
    return int(instance.id.removeprefix("i-"), 16)
