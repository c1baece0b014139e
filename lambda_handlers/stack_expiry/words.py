"""What people are told, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from stack_expiry.decision import Decision, Notice, Policy
from stack_expiry.stack import Stack

_LONGEST_SUBJECT = 100


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message for the topic. The subject is plain ASCII and at most 100 characters, as SNS wants it."""

    subject: str
    text: str


def message(notice: Notice, stack: Stack, decision: Decision, policy: Policy) -> Message:
    """Return the message for a notice: what is, and what can be done about it."""
    subject, cure = _SUBJECTS[notice], _CURES[notice](stack, policy)
    lines = [
        f"Stack: {stack.name} ({stack.id})",
        f"Status: {stack.status}{f' ({stack.status_reason})' if stack.status_reason else ''}",
        f"Expires: {_moment(decision.expires_at)}",
        *([f"Deleted not before: {_moment(decision.delete_after)}"] if decision.delete_after else []),
        f"Why this message: {decision.reason}.",
        "",
        cure,
    ]
    # A stack's name is ASCII and at most 128 characters long.
    return Message(subject=f"{subject}: {stack.name}"[:_LONGEST_SUBJECT], text="\n".join(lines))


_SUBJECTS: Mapping[Notice, str] = {
    Notice.WARNING: "Stack expires soon",
    Notice.DELETING: "Stack expired and is being deleted",
    Notice.DELETE_FAILED: "Expired stack could not be deleted",
    Notice.PROTECTED: "Expiring stack is protected",
    Notice.NO_SERVICE_ROLE: "Stack cannot expire: no service role",
    Notice.NESTED: "Stack cannot expire: it is nested",
    Notice.MALFORMED_TAG: "Stack does not expire: malformed tag",
}


def _extend(stack: Stack, policy: Policy) -> str:
    return (
        f"To keep it longer, give the stack the tag {policy.tag_key} with a date (2026-12-24, until its end in UTC) or "
        "a time (2026-12-24T18:00Z) and deploy. To keep it for good, deploy it without its StackExpiry."
    )


_CURES: Mapping[Notice, Callable[[Stack, Policy], str]] = {
    Notice.WARNING: _extend,
    Notice.DELETING: lambda stack, policy: "Its instances have ten minutes to drain.",
    Notice.DELETE_FAILED: lambda stack, policy: (
        "It is tried again every hour. See the stack's events for the resource that could not be deleted."
    ),
    Notice.PROTECTED: lambda stack, policy: (
        f"It is not deleted as long as it is protected (aws cloudformation update-termination-protection "
        f"--no-enable-termination-protection --stack-name {stack.name}). {_extend(stack, policy)}"
    ),
    Notice.NO_SERVICE_ROLE: lambda stack, policy: (
        "Deploy it with a service role (the roles of `cdk bootstrap` give each stack one; else cdk deploy --role-arn), "
        f"or delete it yourself: aws cloudformation delete-stack --stack-name {stack.name}"
    ),
    Notice.NESTED: lambda stack, policy: "Put the StackExpiry into the stack that contains it.",
    Notice.MALFORMED_TAG: lambda stack, policy: (
        "Nothing is deleted as long as the tag cannot be understood. Write a date (2026-12-24, until its end in UTC) "
        "or a time (2026-12-24T18:00Z)."
    ),
}


def _moment(moment: datetime | None) -> str:
    return "unknown" if moment is None else moment.strftime("%Y-%m-%d %H:%M UTC")
