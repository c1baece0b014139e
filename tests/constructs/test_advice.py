"""Warnings at synth: what deploys and then disappoints. Their ids are part of the public contract."""

from __future__ import annotations

from typing import Any

import jsii
import pytest
from aws_cdk import Aspects, IAspect, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match
from constructs import IConstruct

from constructs_lib import (
    AcceleratedFleet,
    FleetImage,
    FleetLogs,
    FleetSchedule,
    Purchase,
    QueueDemand,
    Telemetry,
    WakeUp,
)
from tests.constructs.scenarios import queue
from tests.support.stacks import fleet, stack, vpc

NO_WAY_UP = (
    "nothing starts this fleet from zero: give demand=QueueDemand(...) or FleetSchedule(wake_ups=...), or let "
    "something of yours set the desired capacity (grant_wake) [ack: @cdk-accelerated-fleet/fleet:NoWayUp]"
)
SINGLE_SPOT_POOL = (
    "all Spot capacity comes from one pool (g6.xlarge in one zone), which AWS can take back at once: add instance "
    "types, zones, or on_demand_base [ack: @cdk-accelerated-fleet/fleet:SingleSpotPool]"
)
ISOLATED = (
    "subnets without a route to the internet need VPC endpoints, else the agent is silent and no instance is ever "
    "released: monitoring, ec2, ssm, ssmmessages, autoscaling, s3 (gateway), and those of the other services that the "
    "workload calls. FleetEndpoints(...) makes them; or choose other subnets with vpc_subnets. "
    "Acknowledge this warning if they are there "
    "[ack: @cdk-accelerated-fleet/fleet:IsolatedSubnets]"
)


TERMINATION_PROTECTION = (
    "the launch template sets {}: when the group is deleted by force, an instance may run on and bill outside every "
    "group. Remove it: the tag accelerated-fleet:hold keeps an instance that shall stay "
    "[ack: @cdk-accelerated-fleet/fleet:TerminationProtection]"
)


def ours(made: Stack) -> list[Any]:
    """Warnings of the library on the fleet."""
    found = Annotations.from_stack(made).find_warning("/Test/Fleet", Match.any_value())
    return [each.entry.data for each in found]


def test_a_fleet_that_nothing_wakes() -> None:
    test_stack = stack()
    fleet(test_stack)
    assert ours(test_stack) == [NO_WAY_UP]


@pytest.mark.parametrize("how", ["queue", "minimum", "wake-up"])
def test_no_warning_where_something_starts_it(how: str) -> None:
    test_stack = stack()
    if how == "queue":
        fleet(test_stack, demand=QueueDemand(queue(test_stack)))
    elif how == "wake-up":
        early = WakeUp(at="07:00", instances=1, time_zone="UTC")
        fleet(test_stack, schedule=FleetSchedule(wake_ups=[early]))
    else:
        fleet(test_stack, min_capacity=1)
    assert ours(test_stack) == []


@pytest.mark.parametrize(
    ("zones", "instance_types", "purchase", "expected"),
    [
        (1, ["g6.xlarge"], Purchase.spot(), [SINGLE_SPOT_POOL]),
        (2, ["g6.xlarge"], Purchase.spot(), []),
        (1, ["g6.xlarge", "g5.xlarge"], Purchase.spot(), []),
        (1, ["g6.xlarge"], Purchase.on_demand(), []),
    ],
    ids=["one pool", "two zones", "two types", "on-demand"],
)
def test_case_80_all_spot_in_one_pool(
    zones: int, instance_types: list[str], purchase: Purchase, expected: list[str]
) -> None:
    test_stack = stack()
    fleet(
        test_stack,
        vpc=vpc(test_stack, zones=zones),
        instance_types=instance_types,
        purchase=purchase,
        min_capacity=1,
    )
    assert ours(test_stack) == expected


def isolated(scope: Stack) -> ec2.IVpc:
    """A VPC without a way to the internet."""
    return ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        isolated_subnet_ids=["subnet-0123456789abcde00", "subnet-0123456789abcde01"],
    )


def test_case_21_isolated_subnets_need_endpoints() -> None:
    test_stack = stack()
    fleet(test_stack, vpc=isolated(test_stack), min_capacity=1)
    assert ours(test_stack) == [ISOLATED]


def test_case_21_log_files_need_an_endpoint_more() -> None:
    test_stack = stack()
    fleet(test_stack, vpc=isolated(test_stack), min_capacity=1, telemetry=Telemetry(logs=FleetLogs()))
    (warning,) = ours(test_stack)
    assert "s3 (gateway), logs, and those" in warning


def test_work_of_an_fpga_that_moves_no_data_cannot_be_seen() -> None:
    test_stack = stack()
    image = FleetImage.from_ssm_parameter("/golden/fpga")
    fleet(test_stack, instance_types="f2.6xlarge", image=image, min_capacity=1)
    (warning,) = ours(test_stack)
    assert "work looks idle; let it hold a busy mark" in warning
    assert warning.endswith("[ack: @cdk-accelerated-fleet/fleet:TransfersOnly]")


def test_case_21_isolated_subnets_that_are_not_used_do_not_matter() -> None:
    test_stack = stack()
    network = ec2.Vpc.from_vpc_attributes(
        test_stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a"],
        private_subnet_ids=["subnet-0123456789abcde00"],
        isolated_subnet_ids=["subnet-0123456789abcde01"],
    )
    fleet(test_stack, vpc=network, min_capacity=1)
    assert ours(test_stack) == []


def override(made: AcceleratedFleet, **properties: Any) -> None:
    """Set properties of the launch template's data anew, as a user does through the escape hatch."""
    resource = made.launch_template.node.default_child
    assert isinstance(resource, ec2.CfnLaunchTemplate)
    resource.launch_template_data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(**properties)


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"disable_api_termination": True}, "DisableApiTermination"),
        ({"disable_api_stop": True}, "DisableApiStop"),
        ({"disable_api_stop": True, "disable_api_termination": True}, "DisableApiTermination and DisableApiStop"),
        ({"disable_api_termination": Token.as_any({"Ref": "Protect"})}, "DisableApiTermination"),
    ],
)
def test_case_51_termination_protection_would_outlive_the_group(properties: dict[str, Any], named: str) -> None:
    test_stack = stack()
    # After the fleet is made, which is when a user can.
    override(fleet(test_stack, min_capacity=1), **properties)
    assert ours(test_stack) == [TERMINATION_PROTECTION.format(named)]


def test_case_51_an_aspect_of_the_users_is_seen_too() -> None:
    @jsii.implements(IAspect)
    class ProtectEverything:
        def visit(self, node: IConstruct) -> None:
            if isinstance(node, AcceleratedFleet):
                override(node, disable_api_termination=True)

    test_stack = stack()
    fleet(test_stack, min_capacity=1)
    Aspects.of(test_stack).add(ProtectEverything())
    assert ours(test_stack) == [TERMINATION_PROTECTION.format("DisableApiTermination")]


@pytest.mark.parametrize("properties", [{}, {"disable_api_termination": False, "disable_api_stop": False}])
def test_case_51_no_warning_without_it(properties: dict[str, Any]) -> None:
    test_stack = stack()
    override(fleet(test_stack, min_capacity=1), **properties)
    assert ours(test_stack) == []


def test_case_51_the_warning_can_be_acknowledged_before_synth() -> None:
    from aws_cdk import Annotations as Notes

    test_stack = stack()
    made = fleet(test_stack, min_capacity=1)
    override(made, disable_api_stop=True)
    Notes.of(made).acknowledge_warning("@cdk-accelerated-fleet/fleet:TerminationProtection", "stopped by nobody")
    assert ours(test_stack) == []


def test_a_warning_can_be_acknowledged_by_its_id() -> None:
    from aws_cdk import Annotations as Notes

    test_stack = stack()
    made = fleet(test_stack)
    Notes.of(made).acknowledge_warning("@cdk-accelerated-fleet/fleet:NoWayUp", "a scheduler of ours starts it")
    assert ours(test_stack) == []
