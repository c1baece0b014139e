"""Loops that only a deploy unrolls: what they make may be accelerated, and nobody sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from constructs_lib.compliance.deployment import Deployment, Resource, once
from constructs_lib.compliance.facts.machines import is_accelerated
from constructs_lib.compliance.values import NotKnown
from constructs_lib.template.plain_values import items, mapping

_REASON = "it is a loop over what only a deploy knows"
_NAMES_A_TYPE = "InstanceType"


def loops_of(deployment: Deployment, *types: str) -> Iterator[NotKnown]:
    """Why nobody can tell of the loops that make resources of these types, and may give them accelerators."""
    for loop, made in deployment.once(_left).items():
        if not made.isdisjoint(types):
            yield NotKnown(loop, _REASON)


@once
def _left(deployment: Deployment) -> Mapping[Resource, frozenset[str]]:
    """The types of what each loop makes that may be accelerated."""
    found = {}
    for stack in deployment.stacks:
        for loop in stack.loops:
            body = stack.source.content["Resources"][loop.id]
            if _may_be_accelerated(body):
                found[loop] = frozenset(_types_in(body))
    return found


def _types_in(loop: Any) -> Iterator[str]:
    fragment = mapping((items(loop) or [None])[-1])
    for entry in fragment.values():
        kind = mapping(entry).get("Type")
        if isinstance(kind, str):
            yield kind
        yield from _types_in(entry)


def _may_be_accelerated(body: Any) -> bool:
    """Whether one of the instance types that it names is accelerated, or not known; or it names none."""
    named = list(_named_types(body))
    return not named or any(not isinstance(each, str) or is_accelerated(each) is not False for each in named)


def _named_types(body: Any) -> Iterator[Any]:
    pending = [body]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            for name, entry in value.items():
                if str(name).startswith(_NAMES_A_TYPE):
                    yield from entry if isinstance(entry, list) else [entry]
                else:
                    pending.append(entry)
        elif isinstance(value, list):
            pending += value
