"""A customer's key for the volumes: without its grants every instance dies at launch, and nobody says why."""

from __future__ import annotations

from aws_cdk import Annotations, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

_AUTO_SCALING = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_SPOT = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


def open_volume_key(scope: Construct, key: kms.IKey, *, spot: bool) -> None:
    """Let the roles that launch instances use the key of their volumes.

    These are the two statements of "Required AWS KMS key policy for use with encrypted volumes" in the EC2 Auto Scaling
    User Guide, for the Auto Scaling service-linked role and, with Spot capacity, for that of EC2 Spot. The roles stand
    in a condition, since KMS refuses a policy whose principal does not exist: AWS makes these roles with an account's
    first group and first Spot request, and the key comes before both. Each role has a pair of its own, so that fleets
    which share a key, but not the way they buy, never add two different statements under one id. A key whose policy is
    not ours to change gets a warning that names them.
    """
    roles = {"AutoScaling": _AUTO_SCALING, **({"Spot": _SPOT} if spot else {})}
    statements = [each for name, role in roles.items() for each in _statements(name, _role_arn(scope, role))]
    added = [key.add_to_resource_policy(statement).statement_added for statement in statements]
    if not all(added):
        Annotations.of(scope).add_warning_v2(
            "@cdk-accelerated-fleet/fleet:ImportedVolumeKey",
            f"the policy of the imported encryption_key is not ours to change; it must allow {', '.join(_USE)}, and "
            f"kms:CreateGrant with kms:GrantIsForAWSResource, to {' and '.join(roles.values())}, else every instance "
            "ends at launch",
        )


def _statements(name: str, role_arn: str) -> list[iam.PolicyStatement]:
    only = {"ArnEquals": {"aws:PrincipalArn": role_arn}}
    return [
        iam.PolicyStatement(
            sid=f"FleetVolumes{name}",
            actions=_USE,
            principals=[iam.AnyPrincipal()],
            resources=["*"],
            conditions=only,
        ),
        iam.PolicyStatement(
            sid=f"FleetVolumesGrant{name}",
            actions=["kms:CreateGrant"],
            principals=[iam.AnyPrincipal()],
            resources=["*"],
            conditions={**only, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        ),
    ]


def _role_arn(scope: Construct, role: str) -> str:
    return Stack.of(scope).format_arn(service="iam", region="", resource="role", resource_name=role)
