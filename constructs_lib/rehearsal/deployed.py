"""A template as a deploy takes it: with values for its parameters, and what its loops make in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.resolving import SURROUNDINGS
from constructs_lib.rehearsal.value_shapes import an_object
from constructs_lib.template.loops import without_loops
from constructs_lib.template.settling import items, mapping
from constructs_lib.validation import closest, complaint

_WHERE = "rehearse"


def as_deployed(template: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a template whose parameters have these values as their defaults, and whose loops are unrolled.

    Raises:
        ArgumentError: it has no such parameter, or that does not allow the value.
    """
    whole = an_object(template, "template")
    return without_loops(_with_defaults(whole, values) if values else whole, SURROUNDINGS)


def _with_defaults(template: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, Any]:
    declared = mapping(template.get("Parameters"))
    for name, value in values.items():
        if name not in declared:
            rule = f"name parameters of the template: {', '.join(declared) or 'it has none'}"
            raise ArgumentError(
                complaint(_WHERE, "parameters", rule, name, f"{closest(name, declared)}name one of them")
            )
        parameter = mapping(declared[name])
        allowed = [str(each) for each in items(parameter.get("AllowedValues"))]
        if allowed and value not in allowed:
            rule = f"be one of {', '.join(allowed)}"
            raise ArgumentError(complaint(_WHERE, f"parameters[{name!r}]", rule, value, "give a value that is allowed"))
        declared[name] = {**parameter, "Default": value}
    return {**template, "Parameters": declared}
