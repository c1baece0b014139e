"""Which findings make a check fail."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from constructs_lib.compliance.rule import ERROR, WARNING, Severity
from constructs_lib.validation import one_of

FailOn = Literal["error", "warning", "none"]

COUNTING: Mapping[str, frozenset[Severity]] = MappingProxyType(
    {"error": frozenset({ERROR}), "warning": frozenset({ERROR, WARNING}), "none": frozenset()}
)
"""The severities of findings that count, by what somebody says."""


def counting(where: str, parameter: str, fail_on: FailOn | None) -> frozenset[Severity]:
    """The severities of findings that count. Default: all.

    Raises:
        ArgumentError: it is none of the choices.
    """
    chosen = WARNING if fail_on is None else fail_on
    return COUNTING[one_of(where, parameter, chosen, COUNTING, cure="say which findings count")]
