"""Stacks and templates that tests share: a VPC that exists, a queue, a fleet in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template
from constructs import Construct

from constructs_lib import AcceleratedFleet, IdlePolicy, Purchase, QueueDemand

ROOT = Path(__file__).resolve().parents[2]


def project_context() -> dict[str, Any]:
    """The feature flags with which the examples are deployed."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context


def stack(id: str = "Test", context: Mapping[str, Any] | None = None, **options: Any) -> Stack:
    """An empty stack in an app of its own, without context unless some is given."""
    return Stack(App(context=dict(context or {})), id, **options)


def vpc(scope: Construct, id: str = "Vpc", zones: int = 2) -> ec2.IVpc:
    """A VPC that exists already, with one public and one private subnet in each zone."""
    names = [f"us-east-1{letter}" for letter in "abcdef"[:zones]]
    return ec2.Vpc.from_vpc_attributes(
        scope,
        id,
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=names,
        public_subnet_ids=[f"subnet-0123456789abcde{index:02x}" for index in range(zones)],
        private_subnet_ids=[f"subnet-0123456789abcdf{index:02x}"[:24] for index in range(zones)],
    )


def queue_demand(scope: Construct, messages_per_instance: int = 4) -> QueueDemand:
    """A queue and the demand that it makes."""
    return QueueDemand(sqs.Queue(scope, "Jobs"), messages_per_instance=messages_per_instance)


def fleet(scope: Construct, id: str = "Fleet", **arguments: Any) -> AcceleratedFleet:
    """The smallest fleet, with the given arguments in place of or beside the required ones."""
    defaults: dict[str, Any] = {"instance_types": "g5.12xlarge", "max_capacity": 8}
    if "vpc" not in arguments:
        defaults["vpc"] = vpc(scope, f"{id}Vpc")
    return AcceleratedFleet(scope, id, **{**defaults, **arguments})


def full_fleet(scope: Construct, id: str = "Fleet", **arguments: Any) -> AcceleratedFleet:
    """A fleet with a queue, Spot, two types and a policy of its own."""
    return fleet(
        scope,
        id,
        **{
            "instance_types": ["g6.xlarge", "g5.xlarge"],
            "demand": queue_demand(scope),
            "idle": IdlePolicy(window=Duration.minutes(30)),
            "purchase": Purchase.spot(on_demand_base=1),
            **arguments,
        },
    )


def fleet_template(
    context: Mapping[str, Any] | None = None,
    *,
    queue: Mapping[str, Any] | None = None,
    build: Callable[..., AcceleratedFleet] = fleet,
    **arguments: Any,
) -> dict[str, Any]:
    """The template of a stack with one fleet.

    Args:
        context: of the app. Default: none, no feature flag at all.
        queue: ``{"messages_per_instance": n}`` gives the fleet a queue of its own. Default: no demand.
        build: which fleet.
        arguments: of the fleet.
    """
    test_stack = stack(context=context)
    if queue is not None:
        arguments["demand"] = queue_demand(test_stack, **queue)
    build(test_stack, **arguments)
    return dict(Template.from_stack(test_stack).to_json())
