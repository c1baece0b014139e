"""What stands for a value of a template that is no plain data: who would know it, a deploy or a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from constructs_lib.template.settling import Template


@dataclass(frozen=True)
class Unknown:
    """Only a deploy, or a person, knows the value.

    Attributes:
        reason: why it is not known.
        cure: how a person makes it known.
        choices: all that it can be: what a parameter allows, both sides of ``Fn::If``. Empty: it can be anything.
        name: that a text refers to it by: of a parameter. Empty: it has none.
    """

    reason: str
    cure: str
    choices: tuple[object, ...] = field(default=(), compare=False, kw_only=True)
    name: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True)
class PartText(Unknown):
    """A text of which only some parts are known: a boot script with the name of a queue in it, an ARN.

    Attributes:
        parts: texts and markers, in their order.
    """

    parts: tuple[object, ...] = ()

    @property
    def known(self) -> str:
        """The text with ``${...}`` in place of each part that is not known."""
        return "".join(part if isinstance(part, str) else _placeholder(part) for part in self.parts)

    @property
    def written(self) -> str:
        """The text for people: each part that is not known as the template has it, ``${AWS::StackName}``."""
        return "".join(part if isinstance(part, str) else _placeholder(part, named=True) for part in self.parts)

    def markers(self) -> Iterator[Marker]:
        """The parts that are not known."""
        return (part for part in self.parts if is_marker(part))


@dataclass(frozen=True)
class Made:
    """A resource that a deploy of the template makes, or an attribute of it."""

    home: Template
    logical_id: str
    attribute: str | None = None


@dataclass(frozen=True)
class SsmParameter:
    """What an SSM parameter holds at the deploy, or at the launch."""

    name: str


@dataclass(frozen=True)
class Zones:
    """The zones that ``Fn::GetAZs`` gives."""


@dataclass(frozen=True)
class ZoneAt:
    """One of the zones that ``Fn::GetAZs`` gives, by its place in the list."""

    index: int


@dataclass(frozen=True)
class StackOutput:
    """An output of a stack that is deployed already; no ``stack``: whatever stack exports the name."""

    name: str
    stack: str | None = None


Marker = Unknown | Made | SsmParameter | Zones | ZoneAt | StackOutput
_MARKERS = (Unknown, Made, SsmParameter, Zones, ZoneAt, StackOutput)


def is_marker(value: object) -> TypeGuard[Marker]:
    """Whether the value is not plain data."""
    return isinstance(value, _MARKERS)


def markers_in(raw: Any) -> Iterator[Any]:
    """Every marker in a settled value, at whatever depth, those in texts too."""
    if isinstance(raw, PartText):
        yield from raw.markers()
    if is_marker(raw):
        yield raw
    elif isinstance(raw, Mapping):
        for each in raw.values():
            yield from markers_in(each)
    elif isinstance(raw, (list, tuple)):
        for each in raw:
            yield from markers_in(each)


def holds_marker(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(holds_marker, value.values()))
    return any(map(holds_marker, value)) if isinstance(value, list) else is_marker(value)


def _placeholder(part: object, *, named: bool = False) -> str:
    if named and isinstance(part, Unknown) and part.name:
        return f"${{{part.name}}}"
    if isinstance(part, Made):
        return f"${{{part.logical_id}}}" if part.attribute is None else f"${{{part.logical_id}.{part.attribute}}}"
    return "${unknown}"
