"""Which Region a stack goes to, by what it is told, or by the zones that its template names.

Source: "AWS Regions and Availability Zones" and "AWS Local Zones", read 2026-12: the name of a zone begins with that of
its Region, as in us-east-1a, us-west-2-lax-1a and us-east-1-wl1-bos-wlz-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from constructs_lib.compliance.deployment import Deployment, Resource, Stack
from constructs_lib.compliance.values import NotKnown, Step, Value
from constructs_lib.template.markers import Unknown, markers_in

_ZONE = re.compile(r"([a-z]{2,4}(?:-[a-z]+){1,2}-\d+)(?:[a-z]|-[a-z].*)")
_PLACES = ("AvailabilityZone", "AvailabilityZones")


def region_of(resource: Resource) -> str:
    """The Region that a resource is in.

    Raises:
        NotKnown: nobody says it, or the zones of its stack are of several.
    """
    stack = resource.stack
    if stack.region is not None:
        return stack.region
    named = {region: zone for zone in zones_of(stack) if (region := region_of_zone(zone)) is not None}
    if not named:
        raise NotKnown(resource, "the Region that the stack goes to is not known: pass --region")
    first = next(iter(named))
    if len(named) > 1:
        raise named[first].not_known(f"the zones of the stack are of several Regions: {', '.join(named)}")
    return first


def region_of_zone(zone: Value) -> str | None:
    """The Region that the name of a zone begins with. None: it is known at the deploy only, or no name of a zone."""
    match = _ZONE.fullmatch(zone.raw) if isinstance(zone.raw, str) else None
    return None if match is None else match[1]


def zones_of(stack: Stack) -> Sequence[Value]:
    """The zones that resources of a stack name, those too that are not known."""
    return stack.deployment.once(_zones).get(stack, ())


def may_be_elsewhere(zone: Value) -> bool:
    """Whether a zone that is not known may be of another Region; those that a Region gives are its own."""
    return any(isinstance(each, Unknown) for each in markers_in(zone.raw))


def _zones(deployment: Deployment) -> Mapping[Stack, Sequence[Value]]:
    found: dict[Stack, list[Value]] = {}
    for resource in deployment.resources():
        if resource.type.startswith("AWS::") and "Condition" not in resource.written:
            found.setdefault(resource.stack, []).extend(_in_resource(resource))
    return found


def _in_resource(resource: Resource) -> Iterator[Value]:
    """Looks where the template is written out; what functions come to is settled for the zones alone."""
    pending: list[tuple[tuple[Step, ...], Any]] = [((), resource.written.get("Properties"))]
    while pending:
        path, written = pending.pop()
        if isinstance(written, list):
            pending += [((*path, number), each) for number, each in enumerate(written)]
        elif isinstance(written, Mapping):
            for name, each in written.items():
                if name in _PLACES:
                    yield from _entries(Value(resource, (*path, name), resource.stack.template.settle(each)))
                elif not isinstance(each, str) and not str(name).startswith("Fn::"):
                    pending.append(((*path, name), each))


def _entries(value: Value) -> list[Value]:
    try:
        return value.each()
    except NotKnown:
        return [value]
