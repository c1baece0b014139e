"""Checks of single values, shared by the value objects and the constructs.

Each check takes where it is asked (a construct path, or the name of a value object), the parameter, the value
and the cure, and raises :class:`~constructs_lib.errors.ArgumentError` in the library's one message shape.
Values that are unresolved CDK tokens are the caller's business: nothing can be said about them at synth.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Collection, Sequence
from typing import TypeVar

from constructs_lib.errors import ArgumentError

T = TypeVar("T")

_LONGEST_VALUE = 120
# How the CDK writes a token into a text and into a number ("Tokens", CDK developer guide). Asking the CDK itself would
# tie the catalog to it, and a NaN among the values would end its JavaScript process.
_TEXT_TOKEN = re.compile(r"[$#]\{Token\[[\w:.-]*\]\}")
_NUMBER_TOKEN = b"\xfb\xff"


def complaint(where: str, parameter: str, rule: str, value: object, cure: str) -> str:
    """Write an error message: ``<where>: <parameter> must <rule>, got <value>; <cure>``.

    What only a deploy settles is shown as "a token", wherever it stands: its value at synth would mislead.
    """
    shown = "a token" if is_token(value) else without_tokens(repr(value))
    if len(shown) > _LONGEST_VALUE:
        shown = f"{shown[:_LONGEST_VALUE]}..."
    return f"{where}: {parameter} must {without_tokens(rule)}, got {shown}; {without_tokens(cure)}"


def without_tokens(message: str) -> str:
    """Return the text with "a token" in place of each stand-in for what only a deploy settles."""
    return _TEXT_TOKEN.sub("a token", message)


def is_token(value: object) -> bool:
    """Whether the value is a stand-in for one that only a deploy settles."""
    if isinstance(value, str):
        return _TEXT_TOKEN.search(value) is not None
    return isinstance(value, float) and struct.pack(">d", value).startswith(_NUMBER_TOKEN)


def closest(name: str, choices: Collection[str]) -> str:
    """Name the choice that was probably meant, as the beginning of a cure, or return an empty string."""
    from difflib import get_close_matches  # only an error message needs it

    matches = get_close_matches(name, choices, n=1)
    return f"did you mean {matches[0]!r}? " if matches else ""


def instance_of(
    where: str, parameter: str, value: object, type_or_types: type[T] | tuple[type[T], ...], *, cure: str
) -> T:
    """Return ``value`` if it is an instance of the type, or of one of the types."""
    if isinstance(value, type_or_types):
        return value
    types = type_or_types if isinstance(type_or_types, tuple) else (type_or_types,)
    expected = " or ".join(t.__name__ for t in types)
    raise ArgumentError(complaint(where, parameter, f"be of type {expected}", value, cure))


def list_of(where: str, parameter: str, value: object, item_type: type[T], *, cure: str) -> tuple[T, ...]:
    """Return ``value`` as a tuple if it is a list or a tuple, not empty, whose items are all of the type."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        items = [item for item in value if isinstance(item, item_type)]
        if len(items) == len(value):
            return tuple(items)
    rule = f"be a list of {item_type.__name__} that is not empty"
    raise ArgumentError(complaint(where, parameter, rule, value, cure))


def integer(
    where: str, parameter: str, value: object, *, minimum: int | None = None, maximum: int | None = None, cure: str
) -> int:
    """Return ``value`` if it is a whole number in the range, both ends included. True and False are not numbers."""
    whole = value if isinstance(value, int) and not isinstance(value, bool) else None
    if whole is not None and (minimum is None or whole >= minimum) and (maximum is None or whole <= maximum):
        return whole
    rule = f"be a whole number{_range(at_least=minimum, at_most=maximum)}"
    raise ArgumentError(complaint(where, parameter, rule, value, cure))


def number(
    where: str,
    parameter: str,
    value: object,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    cure: str,
) -> float:
    """Return ``value`` as a float if it is a finite number in the range.

    ``minimum`` and ``maximum`` belong to the range, ``above`` and ``below`` do not. True and False are not numbers.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        inside = (minimum is None or value >= minimum) and (maximum is None or value <= maximum)
        if inside and (above is None or value > above) and (below is None or value < below):
            return float(value)
    rule = f"be a number{_range(at_least=minimum, at_most=maximum, above=above, below=below)}"
    raise ArgumentError(complaint(where, parameter, rule, value, cure))


def text(where: str, parameter: str, value: object, *, cure: str) -> str:
    """Return ``value`` if it is a string with at least one visible character."""
    if isinstance(value, str) and value.strip():
        return value
    raise ArgumentError(complaint(where, parameter, "be a text that is not empty", value, cure))


def one_of(where: str, parameter: str, value: object, choices: Collection[str], *, cure: str) -> str:
    """Return ``value`` if it is one of the choices; the message names the closest one."""
    if isinstance(value, str) and value in choices:
        return value
    meant = closest(value, choices) if isinstance(value, str) else ""
    raise ArgumentError(complaint(where, parameter, f"be one of {', '.join(sorted(choices))}", value, meant + cure))


def _range(**bounds: float | None) -> str:
    stated = [f"{name.replace('_', ' ')} {bound}" for name, bound in bounds.items() if bound is not None]
    return f" {' and '.join(stated)}" if stated else ""
