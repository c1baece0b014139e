"""The fleet of the README: a queue's jobs on Spot instances of two types."""

from __future__ import annotations

from aws_cdk import Duration, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from benchmarks.surroundings import existing_vpc
from constructs_lib import AcceleratedFleet, IdlePolicy, Purchase, QueueDemand


def build(app: Construct, id: str) -> None:
    """Add a stack with one fleet to the app."""
    stack = Stack(app, id)
    AcceleratedFleet(
        stack,
        "Inference",
        vpc=existing_vpc(stack),
        instance_types=["g6.xlarge", "g5.xlarge"],
        max_capacity=8,
        demand=QueueDemand(sqs.Queue(stack, "Jobs"), messages_per_instance=4),
        idle=IdlePolicy(window=Duration.minutes(15)),
        purchase=Purchase.spot(on_demand_base=0),
    )
