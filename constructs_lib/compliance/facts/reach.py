"""What a role may end, stop or shrink without anything that limits it to what is its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.policies import Statement, settled
from constructs_lib.compliance.facts.roles import statements_of
from constructs_lib.compliance.values import NotKnown, any_of


def _all(service: str, *kinds: str) -> re.Pattern[str]:
    """ARNs of whatever there is of some kinds of resources."""
    return re.compile(rf"arn:[^:]*:{service}:[^:]*:[^:]*:(?:{'|'.join(kinds)})/\*")


@dataclass(frozen=True)
class Power:
    """Actions that have one reason to be limited, each of which can be: to resources, or by a condition.

    Source: "Service Authorization Reference", https://docs.aws.amazon.com/service-authorization/latest/reference/, read
    2026-11.

    Attributes:
        actions: as policies have them.
        everything: ARNs that stand for all that there is, beside ``*``, by the service of the actions.
    """

    actions: tuple[str, ...]
    everything: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


ENDING = Power(
    actions=(
        "ec2:TerminateInstances",
        "ec2:StopInstances",
        "ec2:DeleteVolume",
        "ec2:DeleteFleets",
        "ec2:CancelSpotFleetRequests",
        "autoscaling:UpdateAutoScalingGroup",
        "autoscaling:SetDesiredCapacity",
        "autoscaling:DeleteAutoScalingGroup",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        "batch:TerminateJob",
        "batch:UpdateComputeEnvironment",
        "batch:DeleteComputeEnvironment",
        "cloudformation:DeleteStack",
        "ecs:StopTask",
        "ecs:UpdateService",
        "ecs:DeleteService",
        "eks:UpdateNodegroupConfig",
        "eks:DeleteNodegroup",
        "sagemaker:DeleteEndpoint",
        "sagemaker:DeleteCluster",
        "sagemaker:StopNotebookInstance",
        "sagemaker:StopTrainingJob",
    ),
    everything={
        "ec2": _all("ec2", "instance", "volume", "fleet"),
        "autoscaling": re.compile(r"arn:[^:]*:autoscaling:[^:]*:[^:]*:autoScalingGroup:\*:autoScalingGroupName/\*"),
        "batch": _all("batch", "compute-environment", "job"),
        "cloudformation": _all("cloudformation", "stack"),
        "ecs": _all("ecs", "service", "task"),
        "sagemaker": _all("sagemaker", "cluster", "endpoint", "notebook-instance", "training-job"),
    },
)
"""Takes capacity or work away."""

LAUNCHING = Power(
    actions=(
        "ec2:RunInstances",
        "ec2:CreateFleet",
        "ec2:RequestSpotFleet",
        "ec2:RequestSpotInstances",
        "autoscaling:CreateAutoScalingGroup",
        "autoscaling:CreateLaunchConfiguration",
        "batch:CreateComputeEnvironment",
        "batch:SubmitJob",
        "ecs:CreateService",
        "ecs:RunTask",
        "eks:CreateNodegroup",
        "sagemaker:CreateApp",
        "sagemaker:CreateCluster",
        "sagemaker:CreateEndpoint",
        "sagemaker:CreateHyperParameterTuningJob",
        "sagemaker:CreateNotebookInstance",
        "sagemaker:CreateProcessingJob",
        "sagemaker:CreateTrainingJob",
        "sagemaker:CreateTransformJob",
    )
)
"""Brings capacity of whatever type about."""

TAKING_ROLES = Power(
    actions=(
        "iam:PassRole",
        "iam:AttachRolePolicy",
        "iam:AttachUserPolicy",
        "iam:CreateAccessKey",
        "iam:CreatePolicyVersion",
        "iam:CreateRole",
        "iam:PutRolePolicy",
        "iam:PutUserPolicy",
        "iam:UpdateAssumeRolePolicy",
        "sts:AssumeRole",
    ),
    everything={"iam": _all("iam", "role", "user", "policy"), "sts": _all("iam", "role")},
)
"""Gets at rights that the role itself does not have."""

COMMANDING = Power(
    actions=(
        "ssm:SendCommand",
        "ssm:StartSession",
        "ssm:CreateAssociation",
        "ec2-instance-connect:SendSSHPublicKey",
        "ecs:ExecuteCommand",
    ),
    everything={"ssm": _all("ec2", "instance"), "ec2-instance-connect": _all("ec2", "instance")},
)
"""Runs whatever it likes on machines."""

CHANGING_DATA = Power(
    actions=(
        "s3:PutObject",
        "s3:DeleteObject",
        "s3:DeleteBucket",
        "s3:PutBucketPolicy",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        "dynamodb:DeleteItem",
        "dynamodb:BatchWriteItem",
        "dynamodb:DeleteTable",
        "sqs:DeleteMessage",
        "sqs:DeleteQueue",
        "sqs:PurgeQueue",
        "ecr:BatchDeleteImage",
        "ecr:PutImage",
        "ec2:DeleteSnapshot",
        "elasticfilesystem:DeleteFileSystem",
        "fsx:DeleteFileSystem",
    ),
    everything={
        "s3": re.compile(r"arn:[^:]*:s3:::\*(?:/\*)?"),
        "dynamodb": _all("dynamodb", "table"),
        "sqs": re.compile(r"arn:[^:]*:sqs:[^:]*:[^:]*:\*"),
        "ecr": _all("ecr", "repository"),
    },
)
"""Overwrites or deletes what is stored."""

_ON_CAPACITY = (
    *ENDING.actions,
    *LAUNCHING.actions,
    *COMMANDING.actions,
    "autoscaling:CompleteLifecycleAction",
    "autoscaling:SetInstanceHealth",
    "autoscaling:SetInstanceProtection",
)
_SAYS_NOTHING_OF_RESOURCES = frozenset({"aws:requestedregion", "aws:securetransport", "ec2:region"})


@dataclass(frozen=True)
class Unlimited:
    """A statement that allows actions on whatever there is in the account.

    Attributes:
        statement: that does.
        actions: that it allows, of those asked for.
    """

    statement: Statement
    actions: tuple[str, ...]


def acts_on_capacity(role: Resource) -> bool:
    """Whether a role, or a function of SAM without one of its own, may do something to capacity, be it its own.

    Raises:
        NotKnown: nothing in the templates gives it, and something that is not in them may.
    """
    return any_of(
        lambda each: settled(each).allows() and any_of(settled(each).covers, _ON_CAPACITY), statements_of(role)
    )


def unlimited(role: Resource, power: Power) -> Iterator[Unlimited | NotKnown]:
    """Statements that give some of a power over everything, and in place of one of which nobody can tell, why.

    Args:
        role: or a function of SAM without a role of its own.
        power: to look for.
    """
    boundary = role.properties.at("PermissionsBoundary")
    if not boundary.is_absent:
        yield boundary.not_known("a boundary limits it")
        return
    statements = statements_of(role)
    try:
        denying = [each for each in statements if isinstance(each, Statement) and _may_deny(each)]
        asked = [each for each in power.actions if not _is_denied_in_part(each, denying)]
    except NotKnown as not_known:
        yield not_known
        return
    for statement in statements:
        if isinstance(statement, NotKnown):
            yield statement
            continue
        try:
            found = _allowed_on_everything(statement, asked, power)
        except NotKnown as not_known:
            yield not_known
            continue
        if found:
            yield Unlimited(statement, found)


def _may_deny(statement: Statement) -> bool:
    try:
        return not statement.allows()
    except NotKnown:
        return True


def _is_denied_in_part(action: str, denying: Sequence[Statement]) -> bool:
    """Whether a statement takes the action away, be it on some resources only: that is a limit, too."""
    return any_of(lambda each: not each.allows() and each.covers(action), denying)


def _allowed_on_everything(statement: Statement, actions: Sequence[str], power: Power) -> tuple[str, ...]:
    if not statement.allows():
        return ()
    covered, doubt = _covered(statement, actions)
    if not covered and doubt is None:
        return ()
    # The resources come last: most statements are about other actions, whatever they are about.
    services = {each.partition(":")[0] for each in covered or actions}
    everything = {each for each in services if statement.is_about_everything(power.everything.get(each))}
    if not everything or _limits(statement):
        return ()
    if not covered and doubt is not None:
        raise doubt
    return tuple(each for each in covered if each.partition(":")[0] in everything)


def _covered(statement: Statement, actions: Sequence[str]) -> tuple[tuple[str, ...], NotKnown | None]:
    """The actions that a statement is about, and why nobody can tell of one of the others."""
    covered = []
    doubt: NotKnown | None = None
    for action in actions:
        try:
            covered += [action] if statement.covers(action) else []
        except NotKnown as not_known:
            doubt = not_known
    return tuple(covered), doubt


def _limits(statement: Statement) -> bool:
    return any(key not in _SAYS_NOTHING_OF_RESOURCES for _, key, _ in statement.conditions())
