"""What both sides of the comparison are given."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2


def existing_vpc(stack: Stack) -> ec2.IVpc:
    """A VPC that exists already: it defines nothing, so that the fleet alone is measured."""
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    )
