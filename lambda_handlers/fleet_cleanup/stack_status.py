"""Whether a stack goes and takes its fleet along: the Delete of a custom resource alone does not say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypedDict

from runtime.aws_errors import AWS_ERRORS
from runtime.patience import Patience

# The stack is being deleted, or its creation is rolled back, after which it can only be deleted. A stack that lives on
# deletes under other statuses: what an update removes or replaces under UPDATE_COMPLETE_CLEANUP_IN_PROGRESS, and what a
# failed update had made under UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS.
# CREATE_FAILED, ROLLBACK_FAILED and DELETE_FAILED are states of rest. Only a run that comes late sees them, and
# somebody may keep the group by then; the next deletion asks again, under DELETE_IN_PROGRESS.
_GOING = frozenset({"DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"})
# About a minute, when each answer is an error. Not the whole run: nobody would hear of it for three of them.
_ATTEMPTS = 8


class StackUnreadable(Exception):
    """The stack's status could not be read, so that nobody knows whether its fleet lives on."""


class StackDocument(TypedDict):
    StackStatus: str


class StacksAnswer(TypedDict):
    Stacks: Sequence[StackDocument]


class StackReader(Protocol):
    """The call that `read_stack_status` makes."""

    def describe_stacks(self, *, StackName: str) -> StacksAnswer: ...


def read_stack_status(client: StackReader, stack_id: str, patience: Patience) -> str:
    """Return the stack's status. Raises `StackUnreadable` after a refusal or 8 attempts, and `OutOfTime`."""
    ask = partial(client.describe_stacks, StackName=stack_id)
    try:
        stacks = replace(patience, attempts=_ATTEMPTS).call("reading the stack's status", ask)["Stacks"]
    except AWS_ERRORS as error:
        raise StackUnreadable(_unreadable(stack_id, str(error))) from error
    if len(stacks) != 1:
        raise StackUnreadable(_unreadable(stack_id, f"the answer holds {len(stacks)} stacks"))
    return stacks[0]["StackStatus"]


def takes_its_fleet_along(status: str) -> bool:
    """Return whether a stack of this status is on its way out, with all that it made."""
    return status in _GOING


def _unreadable(stack_id: str, why: str) -> str:
    return (
        f"the status of {stack_id} could not be read, so the group was left as it is: {why}; "
        "allow cloudformation:DescribeStacks on it and delete again, or delete and retain this resource: the group's "
        "own deletion frees its instances"
    )
