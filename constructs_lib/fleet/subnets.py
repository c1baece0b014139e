"""Where in the VPC the instances run."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.validation import complaint

_PARAMETER = "vpc_subnets"
_NAME_ONE = (
    "ec2.SubnetSelection(availability_zones=[...]), or subnets=[vpc.private_subnets[0]] where zones have no name"
)


def fleet_subnets(
    where: str, vpc: ec2.IVpc, selection: ec2.SubnetSelection | None, settings: FleetSettings
) -> tuple[ec2.SubnetSelection | None, ec2.SelectedSubnets]:
    """A fleet's subnets, and the selection that stands for them: that of the user, or one of the first zone.

    Raises:
        ArgumentError: there is none, there are too many zones for what the fleet is to be, or too few for its size.
    """
    selected = selected_subnets(where, vpc, selection)
    reason = settings.one_zone_reason
    if reason is not None:
        chosen = subnets_in_one_zone(
            where, selection, selected, reason=reason, may_choose=not settings.purchase.is_reserved
        )
        if chosen is not selection:
            selection, selected = chosen, selected_subnets(where, vpc, chosen)
    if not selected.is_pending_lookup:
        waiting = 0 if settings.warm_pool is None else settings.warm_pool.min_size or 0
        settings.placement.check_size(where, settings.max_capacity, len(zones_of(selected)), waiting=waiting)
    return selection, selected


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
        if not all(_has_zone(each) for each in chosen.subnets or ()):
            rule, cure = "hold subnets with their zones", "import each with Subnet.from_subnet_attributes(...)"
            raise ArgumentError(complaint(where, _PARAMETER, rule, "a subnet without", cure)) from error
        cure = f"the VPC knows {_known(vpc)}: name one of these in vpc_subnets, or give an imported VPC its subnet ids"
        raise ArgumentError(complaint(where, _PARAMETER, "select subnets that the VPC has", chosen, cure)) from error
    if not selected.subnet_ids and not selected.is_pending_lookup:
        rule = "select at least one subnet"
        cure = f"the VPC knows {_known(vpc)}: name zones and kinds that it has, or leave vpc_subnets out"
        raise ArgumentError(complaint(where, _PARAMETER, rule, chosen, cure))
    return selected


def subnets_in_one_zone(
    where: str, selection: ec2.SubnetSelection | None, selected: ec2.SelectedSubnets, *, reason: str, may_choose: bool
) -> ec2.SubnetSelection | None:
    """The same selection if all its subnets are in one zone; if none was given, those of the first zone.

    Args:
        where: construct path, for messages.
        selection: what the user gave.
        selected: the subnets that it stands for.
        reason: why the fleet cannot be in several zones, for messages.
        may_choose: whether any zone will do. Capacity that is reserved is in one of them.

    Raises:
        ArgumentError: the given subnets are in several zones; or none were given, and the zone matters.
    """
    zones = zones_of(selected)
    # Of a VPC that is yet to be looked up these are stand-ins.
    if len(zones) == 1 or selected.is_pending_lookup:
        return selection
    if selection is not None or not may_choose:
        rule = f"select subnets of one zone, since {reason}"
        leave_out = ", or leave it out for the VPC's first zone" if may_choose else ""
        got = f"subnets in {len(zones)} zones"
        raise ArgumentError(complaint(where, _PARAMETER, rule, got, f"name one: {_NAME_ONE}{leave_out}"))
    pairs = zip(selected.subnets, selected.availability_zones, strict=True)
    first = [subnet for subnet, zone in pairs if zone == zones[0]]
    return ec2.SubnetSelection(subnets=first)


def zones_of(selected: ec2.SelectedSubnets) -> list[str]:
    """The zones of the subnets, each once, in the order of the subnets; tokens where the stack does not know them."""
    return list(dict.fromkeys(selected.availability_zones))


def _has_zone(subnet: ec2.ISubnet) -> bool:
    try:
        return bool(subnet.availability_zone)
    except RuntimeError:  # "You cannot reference a Subnet's availability zone if it was not supplied"
        return False


def _known(vpc: ec2.IVpc) -> str:
    kinds = {"public": vpc.public_subnets, "private": vpc.private_subnets, "isolated": vpc.isolated_subnets}
    return ", ".join(f"{len(subnets)} {kind}" for kind, subnets in kinds.items()) + " subnets"
