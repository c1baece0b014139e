"""What an instance of the fleet may do."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge, wildcard
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import names, telemetry_statements
from constructs_lib.validation import complaint

# "Step 1: Create an IAM role with Session Manager permissions" in the Systems Manager User Guide, without log delivery.
_SESSION_MANAGER = [
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
]
_REASON = (
    "PutMetricData (limited to one namespace by a condition), DescribeTags and the Session Manager channels cannot be "
    "limited to a resource."
)
_DRAIN_REASON = (
    "The group cannot be named, since it needs the role: the condition limits this to the fleet's own group."
)


def instance_role(
    scope: Construct, id: str, given: iam.IRole | None, *, own: Sequence[iam.PolicyStatement]
) -> iam.IRole:
    """The given role or a new one, allowed to publish metrics, take sessions and use what is the fleet's own.

    Args:
        scope: of the role.
        id: of the role.
        given: the user's own role. None: a new one is made.
        own: allow to use what is the fleet's own: the agent's configuration, the node program, the log group, the hook.

    Raises:
        ArgumentError: the given role is imported and may not be changed, so the agent would stay silent.
    """
    if given is None:
        role = iam.Role(
            scope,
            id,
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            inline_policies={"Telemetry": iam.PolicyDocument(statements=[*_statements(), *own])},
        )
        acknowledge(role, {wildcard(role, "*"): f"{_REASON} {_DRAIN_REASON}"})
        return role
    for statement in _statements():
        if not _was_added(given, given.add_to_principal_policy(statement)):
            rule = "be one that the fleet may add permissions to"
            cure = "import it with mutable=True, or leave it out for a role of the fleet's own"
            raise ArgumentError(complaint(scope.node.path, "role", rule, given, cure))
    acknowledge(given, {wildcard(given, "*"): _REASON})
    # In the fleet's own stack: a role of another stack that named the parameter would depend on the fleet, which
    # depends on it.
    policy = iam.Policy(scope, f"{id}Policy", statements=list(own), roles=[given])
    acknowledge(policy, {wildcard(policy, "*"): _DRAIN_REASON})
    return given


def drain_statement(fleet_tag_value: str) -> iam.PolicyStatement:
    """Allow to complete the hooks of the group that carries the fleet's tag, and of no other."""
    return iam.PolicyStatement(
        actions=["autoscaling:CompleteLifecycleAction"],
        resources=["*"],
        conditions={"StringEquals": {f"autoscaling:ResourceTag/{names.FLEET_TAG}": fleet_tag_value}},
    )


def _was_added(role: iam.IRole, result: iam.AddToPrincipalPolicyResult) -> bool:
    """Whether the statement is in a policy now.

    An imported role that may not be changed also says ``statement_added``, so that callers need not care; here an agent
    would stay silent for ever. Only the policy in which the statement landed tells the truth.
    """
    if isinstance(role, (iam.Role, iam.LazyRole)):
        return result.statement_added
    return result.statement_added and isinstance(result.policy_dependable, iam.Policy)


def _statements() -> list[iam.PolicyStatement]:
    return [
        *telemetry_statements(),
        iam.PolicyStatement(actions=_SESSION_MANAGER, resources=["*"]),
    ]
