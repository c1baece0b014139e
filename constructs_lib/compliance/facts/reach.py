"""What a role may end, stop or shrink without anything that limits it to what is its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.policies import Statement
from constructs_lib.compliance.facts.roles import statements_of
from constructs_lib.compliance.values import NotKnown, any_of

ENDING_ACTIONS = (
    "ec2:TerminateInstances",
    "ec2:StopInstances",
    "ec2:DeleteVolume",
    "autoscaling:UpdateAutoScalingGroup",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:DeleteAutoScalingGroup",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "batch:TerminateJob",
    "batch:UpdateComputeEnvironment",
    "batch:DeleteComputeEnvironment",
    "ecs:StopTask",
    "ecs:UpdateService",
    "ecs:DeleteService",
    "eks:UpdateNodegroupConfig",
    "eks:DeleteNodegroup",
    "sagemaker:DeleteEndpoint",
    "sagemaker:StopNotebookInstance",
    "sagemaker:StopTrainingJob",
)
"""Actions that take capacity or work away, each of which can be limited to resources.

"Service Authorization Reference", https://docs.aws.amazon.com/service-authorization/latest/reference/, read 2026-11.
"""

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


def unlimited(role: Resource, actions: Sequence[str]) -> Iterator[Unlimited | NotKnown]:
    """Statements that allow some of the actions on everything, and in place of one of which nobody can tell, why.

    Args:
        role: or a function of SAM without a role of its own.
        actions: to look for.
    """
    boundary = role.properties.at("PermissionsBoundary")
    if not boundary.is_absent:
        yield boundary.not_known("a boundary limits it")
        return
    statements = list(statements_of(role))
    try:
        asked = [each for each in actions if not _is_denied_in_part(each, statements)]
    except NotKnown as not_known:
        yield not_known
        return
    for statement in statements:
        if isinstance(statement, NotKnown):
            yield statement
            continue
        try:
            found = _allowed_on_everything(statement, asked)
        except NotKnown as not_known:
            yield not_known
            continue
        if found:
            yield Unlimited(statement, found)


def _is_denied_in_part(action: str, statements: Sequence[Statement | NotKnown]) -> bool:
    """Whether a statement takes the action away, be it on some resources only: that is a limit, too."""
    known = (each for each in statements if isinstance(each, Statement))
    return any_of(lambda each: not each.allows() and each.covers(action), known)


def _allowed_on_everything(statement: Statement, actions: Sequence[str]) -> tuple[str, ...]:
    if not statement.allows():
        return ()
    covered, doubt = _covered(statement, actions)
    # The resources come last: most statements are about other actions, whatever they are about.
    if (not covered and doubt is None) or not statement.is_about_everything() or _limits(statement):
        return ()
    if not covered and doubt is not None:
        raise doubt
    return covered


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
