"""Where in the VPC the instances run."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

_PARAMETER = "vpc_subnets"


def selected_subnets(where: str, vpc: ec2.IVpc, selection: ec2.SubnetSelection | None) -> ec2.SelectedSubnets:
    """The subnets that a selection stands for.

    Raises:
        ArgumentError: there is none, so that the group could not be deployed.
    """
    chosen = ec2.SubnetSelection() if selection is None else selection
    try:
        selected = vpc.select_subnets(
            availability_zones=chosen.availability_zones,
            one_per_az=chosen.one_per_az,
            subnet_filters=chosen.subnet_filters,
            subnet_group_name=chosen.subnet_group_name,
            subnets=chosen.subnets,
            subnet_type=chosen.subnet_type,
        )
    except RuntimeError as error:
        cure = f"the VPC knows {_known(vpc)}: name one of these in vpc_subnets, or give an imported VPC its subnet ids"
        raise ArgumentError(complaint(where, _PARAMETER, "select subnets that the VPC has", chosen, cure)) from error
    if not selected.subnet_ids and not selected.is_pending_lookup:
        rule = "select at least one subnet"
        cure = f"the VPC knows {_known(vpc)}: name zones and kinds that it has, or leave vpc_subnets out"
        raise ArgumentError(complaint(where, _PARAMETER, rule, chosen, cure))
    return selected


def _known(vpc: ec2.IVpc) -> str:
    kinds = {"public": vpc.public_subnets, "private": vpc.private_subnets, "isolated": vpc.isolated_subnets}
    return ", ".join(f"{len(subnets)} {kind}" for kind, subnets in kinds.items()) + " subnets"
