"""Field case 16: an instance that never reports is replaced when the policy says so, and counted."""

from __future__ import annotations

from aws_cdk import Duration

from constructs_lib import AtMinimum, IdlePolicy
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.behaviour.fleets import BUSY, HOUR
from tests.support.stacks import fleet_template

_POLICY = IdlePolicy(
    window=Duration.minutes(15),
    max_unknown=Duration.minutes(30),
    at_minimum=AtMinimum.REPLACE,
    max_failed_launches=3,
)


def _hung_at_boot(_instance: Instance, _now: int) -> Load:
    return Load(accelerators=None, driver=False, agent=False, working=False)


def test_case_16_never_joined_is_replaced_after_its_grace_and_not_before() -> None:
    world = World(
        fleet_template(instance_types=["g5.12xlarge"], min_capacity=1, idle=_POLICY),
        load=lambda instance, now: _hung_at_boot(instance, now) if instance.id.endswith("1") else BUSY,
    )
    world.run(2 * HOUR)
    (ending,) = world.group.endings
    assert 10 + 30 <= ending.at // 60 <= 10 + 30 + 15
    assert len(world.group.in_service) == 1


def test_case_16_if_nobody_ever_joins_it_stops_and_is_told() -> None:
    world = World(fleet_template(instance_types=["g5.12xlarge"], min_capacity=1, idle=_POLICY), load=_hung_at_boot)
    world.run(24 * HOUR)
    assert len(world.group.everyone) <= 4
    assert "Launch" in world.group.suspended
    assert [("never" in text) for _, text in world.account.told] == [True]
