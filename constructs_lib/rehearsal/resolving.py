"""The values of a template as a rehearsal needs them: all are known, or it cannot be played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.property_shapes import NESTED
from constructs_lib.rehearsal.value_shapes import Shape, an_object, anything, missing
from constructs_lib.template import settling
from constructs_lib.template.markers import (
    Made,
    Marker,
    PartText,
    SsmParameter,
    StackOutput,
    Unknown,
    ZoneAt,
    Zones,
    is_marker,
    markers_in,
)
from constructs_lib.template.settling import Surroundings
from constructs_lib.validation import complaint

REGION = "us-east-1"
_ACCOUNT = "111122223333"
_STACK = "Fleet"
_PSEUDO = {
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{_ACCOUNT}:stack/{_STACK}/1",
    "AWS::NotificationARNs": [],
}
SURROUNDINGS = Surroundings(region=REGION, account=_ACCOUNT, pseudo=_PSEUDO)
_ZONES = [f"{REGION}{letter}" for letter in "abc"]
_NO_VALUE = {"Ref": "AWS::NoValue"}


class Resolver:
    """Settles values of one template; what the deploy makes has a stable placeholder, a resource its logical id."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._template = settling.Template(body, SURROUNDINGS, stack=_STACK)

    def exists(self, logical_id: str) -> bool:
        """Return whether a resource is there: it is, or its condition holds."""
        condition = self._body["Resources"][logical_id].get("Condition")
        return condition is None or self._holds(condition, f"{logical_id}.Condition")

    def value(self, raw: Any, where: str) -> Any:
        """Return a value with every intrinsic function resolved; ``where`` names resource and property.

        Raises:
            ArgumentError: it cannot be known, or needs a function that is not simulated.
        """
        return _placed(self._template.settle(raw), where, raw)

    def made_for(self, raw: Any) -> set[str]:
        """Return the logical ids of the resources that a value refers to."""
        return {each.logical_id for each in markers_in(self._template.settle(raw)) if isinstance(each, Made)}

    def ssm_parameter(self, raw: Any) -> str | None:
        """Return the name of the SSM parameter that a value is from, None if it is from none."""
        settled = self._template.settle(raw)
        return settled.name if isinstance(settled, SsmParameter) else None

    def is_absent(self, raw: Any, where: str) -> bool:
        """Return whether a value is left out of the template, by AWS::NoValue."""
        return bool(self.chosen(raw, where) == _NO_VALUE)

    def chosen(self, raw: Any, where: str) -> Any:
        """Return what the conditions around a value leave of it, else as it is written."""
        while isinstance(raw, Mapping) and len(raw) == 1 and "Fn::If" in raw:
            argument = raw["Fn::If"]
            if not isinstance(argument, list) or len(argument) != 3 or not isinstance(argument[0], str):
                # What is wrong with it is told by whoever settles it.
                return raw
            raw = argument[1] if self._holds(argument[0], where) else argument[2]
        return raw

    def _holds(self, condition: str, where: str) -> bool:
        truth = self._template.condition(condition)
        if isinstance(truth, Unknown):
            raise _not_known(where, condition, truth)
        return truth


class Properties(Mapping[str, Any]):
    """The properties of one resource, each resolved when it is asked for."""

    def __init__(
        self, resolver: Resolver, logical_id: str, raw: Mapping[str, Any], shapes: Mapping[str, Shape]
    ) -> None:
        self._resolver = resolver
        self._logical_id = logical_id
        self._raw = raw
        self._shapes = shapes
        self._resolved: dict[str, Any] = {}

    def nested(self, name: str) -> Properties:
        """Return the entries of one property, each resolved when it is asked for."""
        where = f"{self._logical_id}.{name}"
        raw = self._resolver.chosen(self._raw.get(name, {}), where)
        return Properties(self._resolver, where, {} if raw == _NO_VALUE else an_object(raw, where), NESTED[name])

    def ssm_parameter(self, name: str) -> str | None:
        """Return the name of the SSM parameter that holds a property at the deploy, None if none does."""
        return self._resolver.ssm_parameter(self._raw.get(name))

    def __getitem__(self, name: str) -> Any:
        if name not in self._resolved:
            where = f"{self._logical_id}.{name}"
            if name not in self:
                raise missing(where)
            shape = self._shapes.get(name, anything)
            self._resolved[name] = shape(self._resolver.value(self._raw[name], where), where)
        return self._resolved[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._raw if name in self)

    def __contains__(self, name: object) -> bool:
        raw = self._raw.get(str(name), _NO_VALUE)
        return not self._resolver.is_absent(raw, f"{self._logical_id}.{name}")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_true(value: object) -> bool:
    """Return whether a property is true: a template may have it as text."""
    return str(value).lower() == "true"


def _placed(settled: Any, where: str, raw: Any) -> Any:
    """Return plain data, with placeholders for what a deploy makes."""
    if isinstance(settled, Mapping):
        return {name: _placed(each, where, raw) for name, each in settled.items()}
    if isinstance(settled, list):
        return [_placed(each, where, raw) for each in settled]
    return _placeholder(settled, where, raw) if is_marker(settled) else settled


def _placeholder(marker: Marker, where: str, raw: Any) -> Any:
    match marker:
        case Made():
            return _name(marker)
        case SsmParameter():
            return marker.name
        case StackOutput():
            return f"import:{marker.name}" if marker.stack is None else f"output:{marker.stack}:{marker.name}"
        case Zones():
            return list(_ZONES)
        case ZoneAt() if 0 <= marker.index < len(_ZONES):
            return _ZONES[marker.index]
        case ZoneAt():
            beyond = Unknown(f"it is not among the zones {', '.join(_ZONES)}", "correct the template")
            raise _not_known(where, raw, beyond)
        case PartText():
            return "".join(str(_placed(each, where, raw)) for each in marker.parts)
        case Unknown():
            raise _not_known(where, raw, marker)


def _name(made: Made) -> str:
    if made.attribute is None:
        return made.logical_id
    # The name of a file system goes into a mount, where no dot may be.
    return f"{made.logical_id}{'-' if made.attribute == 'LustreMountName' else '.'}{made.attribute}"


def _not_known(where: str, raw: object, unknown: Unknown) -> ArgumentError:
    resource, _, name = where.partition(".")
    return ArgumentError(complaint(resource, name or "value", f"be known, and {unknown.reason}", raw, unknown.cure))
