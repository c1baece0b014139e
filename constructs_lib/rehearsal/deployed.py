"""A template as a deploy takes it: with values for its parameters, and what its loops make in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.rehearsal.resolving import SURROUNDINGS
from constructs_lib.rehearsal.value_shapes import an_object
from constructs_lib.template.loops import without_loops
from constructs_lib.template.parameters import check_parameters
from constructs_lib.template.plain_values import mapping


def as_deployed(template: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a template whose parameters have these values as their defaults, and whose loops are unrolled.

    Raises:
        ArgumentError: it has no such parameter, or that does not allow the value.
    """
    whole = an_object(template, "template")
    return without_loops(_with_defaults(whole, values) if values else whole, SURROUNDINGS)


def _with_defaults(template: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, Any]:
    check_parameters("rehearse", "parameters", values, [template])
    declared = mapping(template.get("Parameters"))
    given = {name: {**mapping(declared[name]), "Default": value} for name, value in values.items()}
    return {**template, "Parameters": {**declared, **given}}
