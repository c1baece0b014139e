"""The stack as plain data, and how it is read and deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypedDict

from botocore.exceptions import ClientError

from runtime.aws_errors import error_code
from runtime.patience import Patience


class StackUnreadable(Exception):
    """The answer does not tell of exactly the one stack."""


class Tag(TypedDict):
    Key: str
    Value: str


class StackDocument(TypedDict, total=False):
    StackId: str
    StackName: str
    CreationTime: datetime
    LastUpdatedTime: datetime
    StackStatus: str
    StackStatusReason: str
    RoleARN: str
    EnableTerminationProtection: bool
    ParentId: str
    Tags: list[Tag]


class StacksAnswer(TypedDict):
    Stacks: Sequence[StackDocument]


class CloudFormationClient(Protocol):
    """The CloudFormation calls of the expiry function."""

    def describe_stacks(self, *, StackName: str) -> StacksAnswer: ...

    def delete_stack(self, *, StackName: str) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack at one moment."""

    id: str
    name: str
    status: str
    status_reason: str
    created_at: datetime
    updated_at: datetime | None
    has_service_role: bool
    is_protected: bool
    is_nested: bool
    tags: Mapping[str, str]


def read_stack(client: CloudFormationClient, stack_id: str, patience: Patience) -> Stack | None:
    """Return the stack, or None when it is gone. Raises `StackUnreadable`, `OutOfTime` and AWS's refusals."""
    try:
        answer = patience.call("reading the stack", partial(client.describe_stacks, StackName=stack_id))
    except ClientError as error:
        if error_code(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    stacks = answer["Stacks"]
    if len(stacks) != 1 or stacks[0]["StackId"] != stack_id:
        raise StackUnreadable(f"asked for {stack_id}, got {[each.get('StackId') for each in stacks]}")
    return _stack(stacks[0])


def delete_stack(client: CloudFormationClient, stack_id: str, patience: Patience) -> None:
    """Ask CloudFormation to delete the stack with the role that the stack has. May be asked twice."""
    patience.call("deleting the stack", partial(client.delete_stack, StackName=stack_id))


def _stack(document: StackDocument) -> Stack:
    return Stack(
        id=document["StackId"],
        name=document["StackName"],
        status=document["StackStatus"],
        status_reason=document.get("StackStatusReason", ""),
        created_at=document["CreationTime"],
        updated_at=document.get("LastUpdatedTime"),
        has_service_role=bool(document.get("RoleARN")),
        is_protected=document.get("EnableTerminationProtection", False),
        is_nested=bool(document.get("ParentId")),
        tags={tag["Key"]: tag["Value"] for tag in document.get("Tags", [])},
    )
