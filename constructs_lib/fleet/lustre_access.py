"""Fleet and FSx for Lustre reach each other: security group rules, and warnings of where a file system stands."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Annotations, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from constructs import Construct, IConstruct

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.lustre import LustreMount
from constructs_lib.fleet.subnets import zones_of
from constructs_lib.validation import complaint, is_token

LUSTRE_IN_ANOTHER_VPC = "@cdk-accelerated-fleet/fleet:LustreInAnotherVpc"
LUSTRE_IN_ANOTHER_ZONE = "@cdk-accelerated-fleet/fleet:LustreInAnotherZone"

# "File system access control with Amazon VPC", FSx for Lustre User Guide: clients and file servers reach each other on
# these, whoever of them begins.
_PORTS = ((988, 988), (1018, 1023))
_RULE = "Lustre of an accelerated fleet"


def reach_lustre(
    scope: Construct,
    mounts: Sequence[LustreMount],
    *,
    security_group: ec2.ISecurityGroup,
    group: IConstruct,
    vpc: ec2.IVpc,
    subnets: ec2.SelectedSubnets,
) -> None:
    """Let the fleet ``scope`` and its file systems reach each other, and warn where that is costly or in doubt.

    The rules are there before the first instance of ``group`` and until after its last, which may save a checkpoint.

    Raises:
        ArgumentError: a file system is not of the fleet's account and Region.
    """
    for mount in mounts:
        _check_environment(scope, mount.resource)
        _warn(scope, mount, vpc, subnets)
        servers = mount.resource.connections.security_groups
        before = {rule.node.path for rule in _rules([security_group, *servers])}
        for server in servers:
            _open(security_group, server, with_server=_stands_before(security_group, server, vpc, scope))
        made = [rule for rule in _rules([security_group, *servers]) if rule.node.path not in before]
        group.node.add_dependency(*made)


def _stands_before(group: ec2.ISecurityGroup, server: ec2.ISecurityGroup, vpc: ec2.IVpc, scope: Construct) -> bool:
    """Whether the instances' group is in the VPC's stack, of which the file system's has need, and not the fleet."""
    home = Stack.of(group)
    return home is Stack.of(vpc) and home not in (Stack.of(scope), Stack.of(server))


def _open(fleet: ec2.ISecurityGroup, server: ec2.ISecurityGroup, *, with_server: bool) -> None:
    """Open Lustre's ports both ways.

    All rules are made with the fleet's group, so that the stack of the file system needs nothing of the fleet's; or
    ``with_server``, where it is the file system's stack that needs the other.
    """
    for first, last in _PORTS:
        port = ec2.Port.tcp_range(first, last)
        fleet.add_ingress_rule(server, port, _RULE, with_server)
        server.add_ingress_rule(fleet, port, _RULE, not with_server)
        if not fleet.allow_all_outbound:
            fleet.add_egress_rule(server, port, _RULE, with_server)
        if not server.allow_all_outbound:
            server.add_egress_rule(fleet, port, _RULE, not with_server)


def _rules(owners: Sequence[ec2.ISecurityGroup]) -> list[IConstruct]:
    """The rules of security groups that are resources of their own; the CDK keeps them below the groups."""
    return [
        child
        for owner in owners
        for child in owner.node.children
        if isinstance(child, (ec2.CfnSecurityGroupIngress, ec2.CfnSecurityGroupEgress))
    ]


def _check_environment(scope: Construct, file_system: fsx.FileSystemBase) -> None:
    """A security group is named by another of its own account and Region alone."""
    stack, environment = Stack.of(scope), file_system.env
    for what, own, other in (
        ("account", stack.account, environment.account),
        ("Region", stack.region, environment.region),
    ):
        if own != other:
            rule = f"hold file systems of the fleet's own {what}"
            cure = "make the fleet's stack and the file system's with the same env=Environment(...), or import it"
            raise ArgumentError(complaint(scope.node.path, "storage.lustre", rule, other, cure))


def _warn(scope: Construct, mount: LustreMount, vpc: ec2.IVpc, subnets: ec2.SelectedSubnets) -> None:
    home = _vpc_id(mount.resource)
    if home is not None and home != vpc.vpc_id and is_token(home) == is_token(vpc.vpc_id):
        Annotations.of(scope).add_warning_v2(
            LUSTRE_IN_ANOTHER_VPC,
            f"the file system for {mount.path} is in another VPC than the fleet, whose instances reach it only if the "
            "two are peered: make it in the fleet's VPC, or acknowledge this warning once they are",
        )
        return
    zone = _zone(mount.resource, vpc)
    if zone is not None and zone not in subnets.availability_zones:
        Annotations.of(scope).add_warning_v2(
            LUSTRE_IN_ANOTHER_ZONE,
            f"the file system for {mount.path} is in a zone in which the fleet has no subnet: each read crosses zones, "
            "which is slower and billed. Choose its subnet for the fleet with vpc_subnets, or make it in one of the "
            "fleet's",
        )
    elif len(zones_of(subnets)) > 1 and not subnets.is_pending_lookup:
        Annotations.of(scope).add_warning_v2(
            LUSTRE_IN_ANOTHER_ZONE,
            f"the file system for {mount.path} stands in one zone, and the fleet in {len(zones_of(subnets))}: "
            "instances in the others read across zones, which is slower and billed. Keep the fleet in the file "
            "system's zone with vpc_subnets, or acknowledge this warning where the capacity of more zones is worth it",
        )


def _vpc_id(file_system: fsx.FileSystemBase) -> str | None:
    """The VPC of the file system's security group, None if nobody knows it here."""
    for security_group in file_system.connections.security_groups:
        resource = security_group.node.default_child
        if isinstance(resource, ec2.CfnSecurityGroup):
            return resource.vpc_id
    return None


def _zone(file_system: fsx.FileSystemBase, vpc: ec2.IVpc) -> str | None:
    """The zone of the file system's subnet, None if nobody knows it here."""
    resource = file_system.node.default_child
    if not isinstance(resource, fsx.CfnFileSystem):
        return None
    for subnet in (*vpc.public_subnets, *vpc.private_subnets, *vpc.isolated_subnets):
        if subnet.subnet_id in resource.subnet_ids:
            zone = subnet.availability_zone
            # Only a VPC of this app writes the same zone as the same token.
            return zone if isinstance(vpc, ec2.Vpc) or not is_token(zone) else None
    return None
