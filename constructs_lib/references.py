"""Checks of arguments that are constructs of somebody else.

The CDK's interfaces cannot be asked for with ``isinstance``, and jsii complains of a wrong one only where it is used,
deep inside a struct: each is known here by a method that it alone has.
"""

from __future__ import annotations

from aws_cdk import IResource, Stack
from constructs import Construct

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, is_token

_KNOWN_BY = {
    "auto_scaling_group": (
        "scale_on_metric",
        "be an Auto Scaling group",
        "pass an AutoScalingGroup or an imported one (AutoScalingGroup.from_auto_scaling_group_name)",
    ),
    "encryption_key": ("grant_encrypt_decrypt", "be a kms.IKey", "pass a kms.Key or an imported one"),
    "notifications": ("add_subscription", "be an sns.ITopic", "pass an sns.Topic or an imported one"),
    "role": ("add_to_principal_policy", "be an iam.IRole", "pass an iam.Role or an imported one"),
    "security_group": ("add_ingress_rule", "be an ec2.ISecurityGroup", "pass an ec2.SecurityGroup or an imported one"),
    "user_data": ("add_commands", "be an ec2.UserData", "write ec2.UserData.custom('#!/bin/bash\\n...')"),
    "vpc": ("select_subnets", "be an ec2.IVpc", "pass an ec2.Vpc or an imported one"),
}
_REQUIRED = ("auto_scaling_group", "vpc")


def check_references(where: str, **given: object) -> None:
    """Refuse an argument that is not what its parameter stands for; None is an optional one left out.

    Raises:
        ArgumentError: the message names the construct path ``where`` and the parameter.
    """
    for parameter, value in given.items():
        method, rule, cure = _KNOWN_BY[parameter]
        left_out = value is None and parameter not in _REQUIRED
        if not left_out and not hasattr(value, method):
            raise ArgumentError(complaint(where, parameter, rule, value, cure))


def check_regions(scope: Construct, **given: IResource | None) -> None:
    """Refuse what stands in another Region than ``scope``: the CDK refers to it there, and AWS finds none of its id.

    Regions that only a deploy settles are not compared. A dot in a parameter's name is written as two underscores.

    Raises:
        ArgumentError: the message names the parameter and both Regions.
    """
    here = Stack.of(scope).region
    for parameter, value in given.items():
        there = here if value is None else value.env.region
        if here != there and not is_token(here) and not is_token(there):
            rule = f"be of the fleet's own Region, {here}"
            cure = "make one in each Region: instances use what is in their own"
            raise ArgumentError(complaint(scope.node.path, parameter.replace("__", "."), rule, there, cure))
