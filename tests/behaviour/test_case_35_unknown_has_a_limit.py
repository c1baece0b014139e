"""Field cases 35 and 66: unknown is told soon, and ends an instance only at a limit that somebody set."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration

from constructs_lib import AtMinimum, Drain, IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR, MINUTE, alarm
from tests.support.stacks import fleet_template

_WARM_UP = 10
_LIMIT = 2


def _template(max_unknown: int | None, **fleet: Any) -> dict[str, Any]:
    window = Duration.minutes(15)
    idle = IdlePolicy(window=window)
    if max_unknown is not None:
        idle = IdlePolicy(window=window, max_unknown=Duration.hours(max_unknown), at_minimum=AtMinimum.REPLACE)
    return fleet_template(instance_types=["g5.12xlarge"], idle=idle, **fleet)


def _never_told(_instance: Instance, _now: int) -> Load:
    return Load(accelerators=None, driver=False, working=False)


def test_case_35_without_a_limit_it_is_kept_and_told_within_15_minutes() -> None:
    world = World(_template(None), load=_never_told)
    (instance,) = world.start(1)
    world.run(24 * HOUR)
    assert world.group.in_service == [instance]
    alarms = [alarm(world, "UnknownAlarm"), alarm(world, "TelemetryGapAlarm")]
    told = min(minute for each in alarms for minute in world.went_to(each, "ALARM"))
    assert told <= instance.launched // MINUTE + _WARM_UP + 20


def test_case_66_a_limit_ends_it_and_the_reason_is_logged() -> None:
    world = World(_template(_LIMIT, drain=Drain(deadline=Duration.minutes(5))), load=_never_told)
    (instance,) = world.start(1)
    world.run((_LIMIT + 1) * HOUR)
    assert instance.ended is not None
    assert instance.ended // MINUTE <= _WARM_UP + _LIMIT * HOUR + 30
    verdicts = [
        line
        for outcome in world.outcomes
        for line in outcome.lines
        if line.get("message") == "verdict" and line.get("instance_id") == instance.id and line.get("released")
    ]
    assert len(verdicts) == 1
    assert "unknown" in str(verdicts[0])


def test_case_66_a_limit_counts_time_in_a_row_only() -> None:
    """Unknown for an hour and a half, known for a while, unknown again: it stays."""

    def load(_instance: Instance, now: int) -> Load:
        known = 100 * MINUTE <= now < 130 * MINUTE
        return BUSY if known else Load(accelerators=None, working=True)

    world = World(_template(_LIMIT), load=load)
    (instance,) = world.start(1)
    world.run(3 * HOUR + 30)
    assert world.group.in_service == [instance]


def test_case_66_at_the_minimum_it_is_replaced() -> None:
    world = World(_template(_LIMIT, min_capacity=1), load=_never_told)
    world.run((_LIMIT + 1) * HOUR)
    assert len(world.group.everyone) >= 2
    assert world.group.desired == 1
    assert len(world.group.alive) == 1
