"""Fleets that are bought in one way or another, for the tests of all of them."""

from __future__ import annotations

import json
from typing import Any

from aws_cdk import aws_ec2 as ec2
from cfnlint import api  # type: ignore[import-untyped]

from constructs_lib import Purchase
from tests.constructs.reading import only, text
from tests.support.stacks import fleet as make
from tests.support.stacks import fleet_template, stack

GROUP = "AWS::AutoScaling::AutoScalingGroup"
TEMPLATE = "AWS::EC2::LaunchTemplate"
RESERVATION = "cr-0123456789abcdef0"
RESERVATIONS = "arn:aws:resource-groups:us-east-1:111122223333:group/reservations"
ONE_ZONE = ec2.SubnetSelection(availability_zones=["us-east-1b"])
END = "2027-03-08T11:30:00Z"
START = "2027-03-01T11:30:00Z"
_LINT = {"regions": ["us-east-1"], "ignore_checks": ["W3005"]}


def block(**arguments: Any) -> Purchase:
    """A Capacity Block, with the given arguments in place of or beside the required ones."""
    return Purchase.capacity_block(**{"reservation_id": RESERVATION, "end": END, **arguments})


def block_fleet(**arguments: Any) -> dict[str, Any]:
    """The template of the smallest fleet on a Capacity Block."""
    defaults = {"instance_types": "p5.48xlarge", "purchase": block(), "vpc_subnets": ONE_ZONE, "max_capacity": 4}
    return fleet_template(**{**defaults, **arguments})


def group_of(made: dict[str, Any]) -> dict[str, Any]:
    """The properties of the one group."""
    return dict(only(made, GROUP)["Properties"])


def launch_data(made: dict[str, Any]) -> dict[str, Any]:
    """What the one launch template says."""
    return dict(only(made, TEMPLATE)["Properties"]["LaunchTemplateData"])


def findings(made: dict[str, Any]) -> list[str]:
    """What cfn-lint says."""
    return [str(each) for each in api.lint(json.dumps(made), config=_LINT)]


def told(**arguments: Any) -> list[str]:
    """The ids of our warnings about a fleet, in order, besides the one that nothing starts it."""
    from aws_cdk.assertions import Annotations, Match

    test_stack = stack()
    make(test_stack, **arguments)
    found = Annotations.from_stack(test_stack).find_warning("*", Match.any_value())
    ids = [str(each.entry.data).rpartition("[ack: ")[2].rstrip("]") for each in found]
    mine = [id.rpartition(":")[2] for id in ids if id.startswith("@cdk-accelerated-fleet/fleet:")]
    return sorted(set(mine) - {"NoWayUp"})


def text_of_version(group: dict[str, Any]) -> str:
    """Which version of the launch template a group without a mix uses."""
    return text(group["LaunchTemplate"]["Version"])
