"""The fleet of the README: a queue's jobs on Spot instances of two types."""

from __future__ import annotations

from aws_cdk import Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sqs as sqs
from constructs import Construct

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


def existing_vpc(stack: Stack) -> ec2.IVpc:
    """A VPC that exists already: it defines nothing, so that the fleet alone is measured."""
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    )
