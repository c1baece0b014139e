"""EventBridge's event of a CloudFormation resource whose status changed, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.triggers import MalformedEvent

_SOURCE = "aws.cloudformation"
_DETAIL_TYPE = "CloudFormation Resource Status Change"
# Of the group itself. A stack takes this status even for a deletion that is then refused, because another stack imports
# from it, and would live on with an emptied fleet.
_GOING = "DELETE_IN_PROGRESS"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"


@dataclass(frozen=True, kw_only=True)
class StackEvent:
    """A resource of a stack and the status that it has just taken.

    `physical_id` is its name in AWS, None as long as it has none.
    """

    stack_id: str
    resource_type: str
    logical_id: str
    physical_id: str | None
    status: str

    def ends(self, stack_id: str, logical_id: str) -> bool:
        """Return whether CloudFormation is deleting a group of this stack that may be the fleet's.

        With its name in AWS it may be any group of the stack: one that an update replaces can have had another logical
        id, and its tag will tell whose it is. Without a name, nothing but the logical id tells.
        """
        if (self.stack_id, self.resource_type, self.status) != (stack_id, _GROUP, _GOING):
            return False
        return self.physical_id is not None or self.logical_id == logical_id


def is_from_cloudformation(event: object) -> bool:
    """Return whether EventBridge brought it from CloudFormation. A custom resource's request has no source."""
    return isinstance(event, Mapping) and event.get("source") == _SOURCE


def read_stack_event(event: object) -> StackEvent:
    """Return the event as plain data. Raises `MalformedEvent`, naming the field."""
    document = event if isinstance(event, Mapping) else {}
    if document.get("detail-type") != _DETAIL_TYPE:
        raise MalformedEvent(f"detail-type must be {_DETAIL_TYPE!r}, got {document.get('detail-type')!r}")
    detail = _part(document, "detail")
    return StackEvent(
        stack_id=_text(detail, "stack-id"),
        resource_type=_text(detail, "resource-type"),
        logical_id=_text(detail, "logical-resource-id"),
        physical_id=_text(detail, "physical-resource-id") if detail.get("physical-resource-id") else None,
        status=_text(_part(detail, "status-details"), "status"),
    )


def _part(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = document.get(name)
    if not isinstance(value, Mapping):
        raise MalformedEvent(f"{name} must be a JSON object, got {value!r}")
    return value


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedEvent(f"{name} must be a text that is not empty, got {value!r}")
    return value
