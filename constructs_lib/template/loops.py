"""Unrolls the loops of a template, ``Fn::ForEach``, as CloudFormation does before it looks at anything else.

Source: "Fn::ForEach", AWS CloudFormation Template Reference Guide, read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib.template.documents import Path
from constructs_lib.template.markers import is_marker
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.template.settling import Surroundings, Template

LOOP = "Fn::ForEach::"
"""How the key of a loop begins; its name follows."""

_TRANSFORM = "AWS::LanguageExtensions"
_SECTIONS = ("Conditions", "Resources", "Outputs")
_MOST_ENTRIES = 200_000
"""That loops may make of a template; one of loops within loops may ask for more than there is memory."""
_DEEPEST = 100
"""That anything is nested; nobody reads values that lie deeper."""
_OF_PROPERTIES = 3
"""Levels of a section down to the value of a property: the resource, its properties, the value."""
_NO_LETTER_OR_DIGIT = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True)
class Unrolled:
    """A template without those of its loops whose collection is known; any other is there as it was.

    Attributes:
        document: the template as plain data.
        origins: where each resource that a loop has made is written, by its logical id.
    """

    document: Mapping[str, Any]
    origins: Mapping[str, Path]


class _NotUnrolled(Exception):
    """What the loop goes over is not known, or it makes what no template may have."""


def unrolled(document: Mapping[str, Any], surroundings: Surroundings) -> Unrolled | None:
    """The template without its loops. None: it has none that CloudFormation would unroll.

    Args:
        document: the template as plain data.
        surroundings: of the deploy, for collections that are parameters.
    """
    transform = mapping(document).get("Transform")
    if _TRANSFORM not in (transform if isinstance(transform, list) else [transform]):
        return None
    unroller = _Unroller(Template(document, surroundings))
    sections = {name: unroller.section(name, document[name]) for name in _SECTIONS if name in document}
    return Unrolled({**document, **sections}, unroller.origins)


def without_loops(document: Mapping[str, Any], surroundings: Surroundings) -> Mapping[str, Any]:
    """The template with what its loops make in their place, for those who ask for no lines."""
    found = unrolled(document, surroundings)
    return document if found is None else found.document


class _Unroller:
    def __init__(self, template: Template) -> None:
        self._template = template
        self._left = _MOST_ENTRIES
        self.origins: dict[str, Path] = {}

    def section(self, name: str, entries: Any) -> Any:
        """A section of the template; a loop that cannot be unrolled is in it as it was."""
        if not isinstance(entries, Mapping):
            return entries
        made: dict[str, Any] = {}
        for key, value in entries.items():
            try:
                found = list(self._entry(key, value, {}, (name, key), 0))
                ids = [id for id, _, _ in found]
                if str(key).startswith(LOOP) and (len({*ids}) < len(ids) or not {*ids}.isdisjoint((*made, *entries))):
                    raise _NotUnrolled  # CloudFormation refuses two of one name.
            except _NotUnrolled:
                made[key] = value
                continue
            for id, entry, path in found:
                made[id] = entry
                if name == "Resources" and str(key).startswith(LOOP):
                    self.origins[id] = path
        return made

    def _entry(
        self, key: Any, value: Any, given: Mapping[str, str], path: Path, depth: int
    ) -> Iterator[tuple[Any, Any, Path]]:
        """What comes of an entry of an object: itself, or all that a loop makes; with the place where it is written."""
        if not str(key).startswith(LOOP):
            # What is no text is nothing that CloudFormation would take, and is told of elsewhere.
            yield (_filled(key, given) if isinstance(key, str) else key), self._copy(value, given, depth + 1), path
            return
        identifier, collection, fragment = self._parts(value, given)
        for each in collection:
            for inner, content in fragment.items():
                yield from self._entry(inner, content, {**given, identifier: each}, (*path, 2, inner), depth)

    def _parts(self, loop: Any, given: Mapping[str, str]) -> tuple[str, list[str], Mapping[str, Any]]:
        identifier, collection, fragment = [*items(loop), None, None, None][:3]
        if not isinstance(identifier, str) or not isinstance(fragment, Mapping):
            raise _NotUnrolled
        values = self._template.settle(self._copy(collection, given, 0))
        if not isinstance(values, list) or any(is_marker(each) or isinstance(each, (list, dict)) for each in values):
            raise _NotUnrolled
        return identifier, [str(each).lower() if isinstance(each, bool) else str(each) for each in values], fragment

    def _copy(self, value: Any, given: Mapping[str, str], depth: int) -> Any:
        self._left -= 1 if given else 0
        if self._left < 0 or depth > _DEEPEST:
            raise _NotUnrolled
        if isinstance(value, str):
            return _filled(value, given)
        if isinstance(value, list):
            return [self._copy(each, given, depth + 1) for each in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1 and (known := _known(*next(iter(value.items())), given)) is not None:
            return known
        made: dict[str, Any] = {}
        for key, entry in value.items():
            try:
                for name, content, _ in self._entry(key, entry, given, (), depth):
                    made[name] = content
            except _NotUnrolled:
                if depth < _OF_PROPERTIES or not str(key).startswith(LOOP):
                    raise
                return {key: entry}  # What the object has is not known: a function that is worked out by the deploy.
        return made


def _known(function: Any, argument: Any, given: Mapping[str, str]) -> str | None:
    """The text that a function comes to by the identifiers of loops alone. None: it takes more than them."""
    if not isinstance(argument, str):
        return None
    if function == "Ref":
        return given.get(argument)
    if function == "Fn::Sub" and given:
        filled = _filled(argument, given)
        return None if "${" in filled else filled
    return None


def _filled(text: str, given: Mapping[str, str]) -> str:
    for identifier, value in given.items():
        text = text.replace(f"${{{identifier}}}", value)
        if f"&{{{identifier}}}" in text:
            text = text.replace(f"&{{{identifier}}}", _NO_LETTER_OR_DIGIT.sub("", value))
    return text
