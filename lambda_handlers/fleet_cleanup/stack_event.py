"""EventBridge's event of a CloudFormation stack whose status changed, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.triggers import MalformedEvent

_SOURCE = "aws.cloudformation"
_DETAIL_TYPE = "CloudFormation Stack Status Change"
# A creation that is rolled back, and a deletion. The rollback of an update is neither: the stack and its fleet live on.
_GOING = ("DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS")


@dataclass(frozen=True, kw_only=True)
class StackEvent:
    """A stack and the status that it has just taken."""

    stack_id: str
    status: str

    def ends(self, stack_id: str) -> bool:
        """Return whether it is this stack, and on its way out."""
        return self.stack_id == stack_id and self.status in _GOING


def is_from_cloudformation(event: object) -> bool:
    """Return whether EventBridge brought it from CloudFormation. A custom resource's request has no source."""
    return isinstance(event, Mapping) and event.get("source") == _SOURCE


def read_stack_event(event: object) -> StackEvent:
    """Return the event as plain data. Raises `MalformedEvent`, naming the field."""
    document = event if isinstance(event, Mapping) else {}
    if document.get("detail-type") != _DETAIL_TYPE:
        raise MalformedEvent(f"detail-type must be {_DETAIL_TYPE!r}, got {document.get('detail-type')!r}")
    detail = _part(document, "detail")
    return StackEvent(stack_id=_text(detail, "stack-id"), status=_text(_part(detail, "status-details"), "status"))


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
