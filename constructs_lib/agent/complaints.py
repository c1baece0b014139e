"""How a fault of an agent configuration is told, by all of its rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of, one_of

WHERE = "agent configuration"


def fault(path: str, rule: str, value: object, cure: str) -> ArgumentError:
    """The error for a value at a path of the configuration."""
    return ArgumentError(complaint(WHERE, path, rule, value, cure))


def mapping(path: str, value: object) -> Mapping[str, Any]:
    """Return the value if it is an object."""
    return instance_of(WHERE, path, value, Mapping, cure="write a JSON object")


def filled_list(path: str, value: object, cure: str) -> list[Any]:
    """Return the value if it is a list that is not empty."""
    if isinstance(value, list) and value:
        return value
    raise fault(path, "be a list that is not empty", value, cure)


def known_keys(path: str, fields: Mapping[str, Any], known: Collection[str], cure: str) -> None:
    """Refuse a key that the agent has no rule for."""
    for key in fields:
        one_of(WHERE, path, key, known, cure=cure)
