"""Reasons that the metadata of resources give, under the names of :mod:`constructs_lib.statements`."""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.compliance.deployment import Deployment, Resource
from constructs_lib.compliance.values import NotKnown, Value
from constructs_lib.statements import KEY, REASONS


def has_stated(resource: Resource, what: str) -> bool:
    """Whether a resource has the reason why something is as it is.

    Raises:
        NotKnown: its metadata are not known.
    """
    return bool(_reason(resource.attribute("Metadata"), what))


def stated_in(deployment: Deployment) -> Iterator[tuple[Value, str]]:
    """Every reason of a deployment, with its place; one that only a deploy tells is none."""
    for stack in deployment.stacks:
        for resource in stack.resources.values():
            if "Metadata" in resource.written:
                yield from _stated_by(resource.attribute("Metadata"))


def _stated_by(metadata: Value) -> Iterator[tuple[Value, str]]:
    for what in REASONS:
        try:
            reason = _reason(metadata, what)
        except NotKnown:
            continue
        if reason:
            yield metadata.at(f"{KEY}.{what}"), reason


def _reason(metadata: Value, what: str) -> str:
    return (metadata.at(KEY).text(what) or "").strip()
