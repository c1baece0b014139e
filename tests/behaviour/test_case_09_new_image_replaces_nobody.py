"""Field case 9: an image that moved between two deploys must not roll running nodes."""

from __future__ import annotations

import copy
from typing import Any

from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.world import World
from tests.behaviour.edits import with_group, with_rolling_update
from tests.behaviour.fleets import BUSY, HOUR, fleet


def _with_new_image(template: dict[str, Any]) -> dict[str, Any]:
    """Another image makes another launch template version, and an added tag updates the group."""
    body = copy.deepcopy(with_group(template, Tags=[{"Key": "a", "Value": "b", "PropagateAtLaunch": True}]))
    _, properties = Template(body).group()
    (name,) = Template(body).resources("AWS::EC2::LaunchTemplate")
    group = next(r for r in body["Resources"].values() if r["Type"] == "AWS::AutoScaling::AutoScalingGroup")
    key = "MixedInstancesPolicy" if "MixedInstancesPolicy" in properties else "LaunchTemplate"
    group["Properties"][key] = {"LaunchTemplateId": {"Ref": name}, "Version": "2"}
    return body


def test_case_09_nobody_at_work_is_replaced() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.start(3)

    world.redeploy(_with_new_image(fleet()))
    world.run(2 * HOUR)

    assert world.group.endings == []


def test_case_09_rolling_update_would_replace_all() -> None:
    world = World(fleet(), load=lambda _instance, _now: BUSY)
    world.start(3)

    world.redeploy(with_rolling_update(_with_new_image(fleet())))
    world.run(1)

    assert [(e.cause, e.busy) for e in world.group.endings] == [("rolling update", True)] * 3
