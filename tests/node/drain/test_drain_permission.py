"""An instance may complete the hooks of its own fleet's group, and is told of the drain that the fleet asks for."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from constructs_lib import AcceleratedFleet
from constructs_lib.fleet.drain import Drain
from constructs_lib.node.settings import parse_settings
from tests.constructs.reading import as_list, plain, statements, user_data
from tests.support.stacks import fleet, fleet_template, stack

COMPLETE = "autoscaling:CompleteLifecycleAction"


def allowed(template: dict[str, Any], holder: str) -> dict[str, Any]:
    (found,) = [
        statement
        for owner, statement in statements(template)
        if COMPLETE in as_list(statement["Action"]) and owner.startswith(holder)
    ]
    read: dict[str, Any] = plain(found)
    return read


def test_case_36_only_hooks_of_the_fleets_own_group() -> None:
    made = stack()
    tag = fleet(made).fleet_tag_value
    assert allowed(dict(Template.from_stack(made).to_json()), "FleetRole") == {
        "Action": COMPLETE,
        "Effect": "Allow",
        "Resource": "*",
        "Condition": {"StringEquals": {"autoscaling:ResourceTag/accelerated-fleet:id": tag}},
    }


def test_case_36_a_role_of_the_teams_own_may_too() -> None:
    made = stack()
    role = iam.Role(made, "Mine", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    tag = fleet(made, role=role).fleet_tag_value
    statement = allowed(dict(Template.from_stack(made).to_json()), "FleetRolePolicy")
    assert statement["Condition"] == {"StringEquals": {"autoscaling:ResourceTag/accelerated-fleet:id": tag}}


def test_the_instance_is_told_of_the_drain() -> None:
    def build(scope: Stack, **options: Any) -> AcceleratedFleet:
        return fleet(scope, drain=Drain(deadline=Duration.minutes(20), command="finish"), **options)

    lines = user_data(fleet_template(build=build)).splitlines()
    written = next(at for at, line in enumerate(lines) if line.startswith("cat >/etc/accelerated-fleet/node.json "))
    read = parse_settings(lines[written + 1], "node.json").drain
    assert read is not None
    assert (read.deadline_seconds, read.command, read.namespace) == (1_200, "finish", "AcceleratedFleet")
