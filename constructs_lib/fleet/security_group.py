"""The instances' security group, and the rules without which EFA hangs."""

from __future__ import annotations

from aws_cdk import Annotations
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

EFA_RULES = "@cdk-accelerated-fleet/fleet:EfaRules"

_EGRESS = "EfaToItself"
_ALL_TRAFFIC = "-1"


def instances_security_group(
    scope: Construct, id: str, given: ec2.ISecurityGroup | None, *, vpc: ec2.IVpc, efa: bool
) -> ec2.ISecurityGroup:
    """The given security group or a new one without inbound rules, with outbound open.

    EFA adds a rule in each direction that names the group itself ("Prepare an EFA-enabled security group", EC2 User
    Guide): its traffic is not IP, so that no rule with an address range lets it pass.
    """
    group = given
    if group is None:
        group = ec2.SecurityGroup(scope, id, vpc=vpc, description="Instances of an accelerated fleet")
    if efa:
        _open_to_itself(scope, group)
    return group


def _open_to_itself(scope: Construct, group: ec2.ISecurityGroup) -> None:
    group.add_ingress_rule(group, ec2.Port.all_traffic(), "EFA from the group itself")
    if not _is_open_to_itself(group):
        Annotations.of(scope).add_warning_v2(
            EFA_RULES,
            "the imported security_group is not ours to change; it must allow all traffic (protocol -1) in from itself "
            "and out to itself, each by a rule that names the group, else EFA hangs",
        )
    elif group.allow_all_outbound:
        _let_out_to_itself(scope, group)
    else:
        group.add_egress_rule(group, ec2.Port.all_traffic(), "EFA to the group itself")


def _let_out_to_itself(scope: Construct, group: ec2.ISecurityGroup) -> None:
    """The CDK drops an egress rule of a group that is open to all addresses, which EFA's traffic has none of."""
    # Beside the group, where a second fleet with the same group finds it: EC2 refuses to make a rule twice.
    owner, id = group.node.scope, f"{group.node.id}{_EGRESS}"
    beside = owner if isinstance(owner, Construct) else scope
    if beside.node.try_find_child(id) is None:
        ec2.CfnSecurityGroupEgress(
            beside,
            id,
            group_id=group.security_group_id,
            ip_protocol=_ALL_TRAFFIC,
            destination_security_group_id=group.security_group_id,
            description="EFA to the group itself",
        )


def _is_open_to_itself(group: ec2.ISecurityGroup) -> bool:
    """Whether the rule was taken: the CDK says nothing when a group is imported as one that may not be changed."""
    return any(
        isinstance(each, ec2.CfnSecurityGroupIngress)
        and each.ip_protocol == _ALL_TRAFFIC
        and each.source_security_group_id == group.security_group_id
        for each in group.node.children
    )
