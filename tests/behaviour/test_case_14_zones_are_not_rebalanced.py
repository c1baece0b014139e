"""Field case 14: evening out zones must not terminate nodes in use."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ssm as ssm
from aws_cdk.assertions import Template

from constructs_lib import IdlePolicy, IdleRelease
from constructs_lib.rehearsal.cloud.stack import create
from constructs_lib.rehearsal.world import World
from release_idle.acting import Acting
from tests.behaviour.edits import unprotected
from tests.behaviour.fleets import BUSY, HOUR, IDLE, fleet
from tests.support.stacks import stack, vpc


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


@cache
def _group_that_is_not_ours() -> dict[str, Any]:
    """Return the template of somebody's group over two zones, whose idle members are released."""
    scope = stack()
    launch_template = ec2.LaunchTemplate(
        scope,
        "Template",
        instance_type=ec2.InstanceType("g5.12xlarge"),
        machine_image=ec2.MachineImage.latest_amazon_linux2023(),
    )
    group = autoscaling.AutoScalingGroup(
        scope,
        "Group",
        vpc=vpc(scope),
        launch_template=launch_template,
        max_capacity=8,
        min_capacity=0,
        group_metrics=[autoscaling.GroupMetrics.all()],
    )
    release = IdleRelease(scope, "Release", auto_scaling_group=group, idle=IdlePolicy(window=Duration.minutes(30)))
    ssm.StringParameter(scope, "Configuration", string_value=release.agent_configuration)
    return dict(Template.from_stack(scope).to_json())


def _busy_in_one_zone_and_idle_in_the_other() -> World:
    world = World(_group_that_is_not_ours(), load=lambda each, _now: BUSY if each.zone == "us-east-1a" else IDLE)
    world.start(6)
    world.run(3 * HOUR)
    return world


def test_case_14_releases_in_one_zone_cost_nobody_at_work_in_the_other() -> None:
    world = _busy_in_one_zone_and_idle_in_the_other()

    assert [(ending.cause, ending.busy) for ending in world.group.endings] == [("released", False)] * 3
    assert world.group.suspended == {"AZRebalance"}
    assert world.failures == []


def test_case_14_without_the_guard_those_at_work_would_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Acting, "_keeps_zones_uneven", lambda *_: True)

    world = _busy_in_one_zone_and_idle_in_the_other()

    assert ("rebalancing", True) in {(ending.cause, ending.busy) for ending in world.group.endings}
