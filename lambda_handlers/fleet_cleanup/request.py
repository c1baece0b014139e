"""A CloudFormation custom resource event as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from runtime.triggers import MalformedEvent

RequestType: TypeAlias = Literal["Create", "Update", "Delete"]

_ADDRESS_FIELDS = ("ResponseURL", "StackId", "RequestId", "LogicalResourceId")


class MalformedProperties(ValueError):
    """A resource property is missing or makes no sense; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What CloudFormation asks. `physical_id` is None on Create only."""

    type: RequestType
    response_url: str
    stack_id: str
    request_id: str
    logical_id: str
    physical_id: str | None
    properties: Mapping[str, object]

    def __repr__(self) -> str:
        # Whoever holds the response URL can answer in our place until it expires, so it must not reach a log.
        return f"<{self.type} of {self.logical_id} in {self.stack_id}>"


@dataclass(frozen=True, kw_only=True)
class FleetIdentity:
    """The group to clean up, and the tag that marks every instance of the fleet."""

    group_name: str
    tag_key: str
    tag_value: str


def read_request(event: object) -> Request:
    """Return the request. Raises `MalformedEvent` when the event could not even be answered."""
    if not isinstance(event, Mapping):
        raise MalformedEvent(f"the event must be a JSON object, got {type(event).__name__}")
    request_type = event.get("RequestType")
    if request_type not in get_args(RequestType):
        raise MalformedEvent(f"RequestType must be Create, Update or Delete, got {request_type!r}")
    address = {}
    for field in _ADDRESS_FIELDS:
        value = event.get(field)
        if not isinstance(value, str) or not value:
            raise MalformedEvent(f"{field} must be set")
        address[field] = value
    if not address["ResponseURL"].startswith(("https://", "http://")):
        raise MalformedEvent("ResponseURL must be a web address")
    physical_id = event.get("PhysicalResourceId")
    if request_type != "Create" and (not isinstance(physical_id, str) or not physical_id):
        raise MalformedEvent(f"PhysicalResourceId must be set on {request_type}")
    properties = event.get("ResourceProperties")
    return Request(
        type=cast(RequestType, request_type),
        response_url=address["ResponseURL"],
        stack_id=address["StackId"],
        request_id=address["RequestId"],
        logical_id=address["LogicalResourceId"],
        physical_id=None if request_type == "Create" else cast(str, physical_id),
        properties=properties if isinstance(properties, Mapping) else {},
    )


def read_identity(properties: Mapping[str, object]) -> FleetIdentity:
    """Return the fleet's identity. Raises `MalformedProperties`, naming the property."""
    return FleetIdentity(
        group_name=_text(properties, "AutoScalingGroupName"),
        tag_key=_text(properties, "FleetTagKey"),
        tag_value=_text(properties, "FleetTagValue"),
    )


def _text(properties: Mapping[str, object], name: str) -> str:
    value = properties.get(name)
    if not isinstance(value, str) or not value.strip():
        raise MalformedProperties(f"resource property {name} must be a text that is not blank, got {value!r}")
    return value
