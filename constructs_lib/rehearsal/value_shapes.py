"""What the parts of a template look like that are read: another shape is refused, named by where it stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

Shape = Callable[[Any, str], Any]
"""Takes a value and where it stands, ``Resource.Property.part[0]``; returns it as it is read, or raises."""

_CURE = "correct it in the template"


class MissingEntryError(ArgumentError, KeyError):
    """Something is not there that has to be; a KeyError too, as mappings have it."""

    def __str__(self) -> str:
        return str(self.args[0])


class Entries(dict[str, Any]):
    """The entries of an object in a template; one that is asked for and is not there is named by where it would be."""

    def __init__(self, where: str, entries: Mapping[str, Any]) -> None:
        super().__init__(entries)
        self._where = where

    def __missing__(self, name: str) -> Any:
        raise missing(f"{self._where}.{name}")


def missing(where: str) -> MissingEntryError:
    """Return the error that something is not there."""
    return MissingEntryError(_said(where, "be given", None, "add it to the template"))


def refused(where: str, rule: str, value: object) -> ArgumentError:
    """Return the error that something is not as it has to be."""
    return ArgumentError(_said(where, rule, value, _CURE))


def text(value: Any, where: str) -> str:
    """A text; numbers and truth values are written so, as CloudFormation does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise refused(where, "be a text", value)


def name(value: Any, where: str) -> str:
    """A text that is not empty."""
    given = text(value, where)
    if not given.strip():
        raise refused(where, "be a text that is not empty", value)
    return given


def truth(value: Any, where: str) -> Any:
    """True or false, maybe as text."""
    if str(value).lower() not in ("true", "false"):
        raise refused(where, "be true or false", value)
    return value


def number(value: Any, where: str) -> Any:
    """A finite number, maybe as text."""
    try:
        finite = not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise refused(where, "be a number", value)
    return value


def above_zero(value: Any, where: str) -> Any:
    """A finite number above 0, maybe as text."""
    if float(number(value, where)) <= 0:
        raise refused(where, "be above 0", value)
    return value


def one_of(*choices: str) -> Shape:
    """One of some words."""

    def check(value: Any, where: str) -> str:
        if value not in choices:
            raise refused(where, f"be one of {', '.join(choices)}", value)
        return str(value)

    return check


def whole(least: int | None = 0) -> Shape:
    """A whole number, maybe as text, of at least so much."""
    rule = "be a whole number" if least is None else f"be a whole number from {least}"

    def check(value: Any, where: str) -> Any:
        try:
            given = None if isinstance(value, (bool, float)) and value != int(value) else int(value)
        except (TypeError, ValueError, OverflowError):
            given = None
        if given is None or isinstance(value, bool) or (least is not None and given < least) or abs(given) > _LARGEST:
            raise refused(where, rule, value)
        return given if isinstance(value, float) else value

    return check


_LARGEST = 2**31 - 1
"""What CloudFormation takes for an Integer."""


def list_of(shape: Shape) -> Shape:
    """A list of things of a shape."""

    def check(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise refused(where, "be a list", value)
        return [shape(each, f"{where}[{index}]") for index, each in enumerate(value)]

    return check


def one_or_list_of(shape: Shape) -> Shape:
    """A thing of a shape, or a list of them."""
    several = list_of(shape)
    return lambda value, where: (several if isinstance(value, list) else shape)(value, where)


def entries(**shapes: Shape) -> Shape:
    """An object; those of its entries that are named are of these shapes."""

    def check(value: Any, where: str) -> Entries:
        if not isinstance(value, Mapping):
            raise refused(where, "be an object", value)
        read = {name: shapes.get(name, anything)(each, f"{where}.{name}") for name, each in value.items()}
        return Entries(where, read)

    return check


def having(shape: Shape, *names: str) -> Shape:
    """An object of a shape in which these entries are."""

    def check(value: Any, where: str) -> Entries:
        read: Entries = shape(value, where)
        for name in names:
            read[name]
        return read

    return check


def entries_of(shape: Shape) -> Shape:
    """An object whose entries are all of a shape."""

    def check(value: Any, where: str) -> Entries:
        if not isinstance(value, Mapping):
            raise refused(where, "be an object", value)
        return Entries(where, {name: shape(each, f"{where}.{name}") for name, each in value.items()})

    return check


def an_object(value: Any, where: str) -> Mapping[str, Any]:
    """An object, whatever is in it."""
    if not isinstance(value, Mapping):
        raise refused(where, "be an object", value)
    return value


def anything(value: Any, _where: str) -> Any:
    """What it is does not matter."""
    return value


def _said(where: str, rule: str, value: object, cure: str) -> str:
    resource, _, name = where.partition(".")
    return complaint(resource, name or "value", rule, value, cure)
