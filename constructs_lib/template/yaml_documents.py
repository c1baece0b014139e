"""Reads YAML as CloudFormation has it: plain data out of what PyYAML's parser reports, and where each entry stands.

The short forms of intrinsic functions (``!Ref``) become the long ones (``{"Ref": ...}``), as in "Intrinsic function
reference", AWS CloudFormation Template Reference Guide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.nodes import ScalarNode

_Places = dict[str | int, tuple[int, "_Places | None"]]
"""Of the entries of a mapping or a list: the line, from 0 on, and the places of what is in the entry."""

_MOST_NODES = 1_000_000
"""Aliases counted as often as they are used: a document of a few lines can stand for billions."""
_NO_PREFIX = ("Ref", "Condition")
_PLAIN_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
# CloudFormation takes a date, such as that of a policy's version, as the text that it is written as.
_TEXTS = (_PLAIN_TEXT, "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:binary")


def read(text: str) -> tuple[object, Callable[[Sequence[str | int]], int], list[tuple[str, int]]]:
    """The data of a document, what tells the line of the entry at a path, else of the nearest above it, and the keys
    that a mapping has once more, with the line of the later one.

    Raises:
        yaml.YAMLError: it is no YAML, or holds what a template cannot.
        ValueError: it stands for more than anybody would write.
        RecursionError: it is nested too deeply, or in itself.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        reading = _Reading(loader)
        content, places = reading.document()
    finally:
        loader.dispose()
    return content, partial(_line, places), reading.repeated


def _line(places: _Places, path: Sequence[str | int]) -> int:
    line = 0
    below: _Places | None = places
    for step in path:
        if below is None or step not in below:
            break
        line, below = below[step]
    return line + 1


@dataclass(frozen=True)
class _Anchored:
    """A mapping or a list that aliases stand for: where it begins, what came of it, and how much it counts."""

    start_mark: Any
    value: Any
    places: _Places
    nodes: int


class _Reading:
    """Takes one event after the other: nothing is kept of what is data already."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._next = loader.get_event
        self._left = _MOST_NODES
        self._anchors: dict[str, Any] = {}
        self._plain: dict[str, Any] = {}
        self.repeated: list[tuple[str, int]] = []

    def document(self) -> tuple[object, _Places]:
        self._next()  # the beginning of the stream
        begin = self._next()
        if type(begin) is not DocumentStartEvent:
            return None, {}
        value, _, places = self._node(self._next())
        self._next()  # the end of the document
        another = self._next()
        if type(another) is not StreamEndEvent:
            told = "expected a single document in the stream", begin.start_mark, "but found another document"
            raise ComposerError(*told, another.start_mark)
        return value, places or {}

    def _node(self, event: Any) -> tuple[Any, int, _Places | None]:
        """What an event begins: the data, the line, and where its entries stand."""
        self._count(1)
        begin = self._meant(event)
        if type(begin) is ScalarEvent:
            return self._scalar(begin), begin.start_mark.line, None
        if type(begin) is _Anchored:
            self._count(begin.nodes)
            return begin.value, begin.start_mark.line, begin.places
        if begin is not event:
            raise RecursionError("an alias in what it stands for")
        left = self._left
        value, places = self._mapping() if type(begin) is MappingStartEvent else self._sequence()
        if _is_function(begin.tag):
            value = _called(begin.tag, value)
        if begin.anchor is not None:
            self._anchors[begin.anchor] = _Anchored(begin.start_mark, value, places, left - self._left)
        return value, begin.start_mark.line, places

    def _count(self, nodes: int) -> None:
        self._left -= nodes
        if self._left < 0:
            raise ValueError(f"it has more than {_MOST_NODES:,} entries, aliases counted each time")

    def _meant(self, event: Any) -> Any:
        """The event; of an alias, what it stands for."""
        if type(event) is AliasEvent:
            if event.anchor not in self._anchors:
                raise ComposerError(None, None, "found undefined alias", event.start_mark)
            return self._anchors[event.anchor]
        if event.anchor is not None:
            if event.anchor in self._anchors:
                first = self._anchors[event.anchor].start_mark
                raise ComposerError("found duplicate anchor", first, "second occurrence", event.start_mark)
            self._anchors[event.anchor] = event
        return event

    def _sequence(self) -> tuple[list[Any], _Places]:
        made: list[Any] = []
        places: _Places = {}
        while type(event := self._next()) is not SequenceEndEvent:
            value, line, below = self._node(event)
            places[len(made)] = line, below
            made.append(value)
        return made, places

    def _mapping(self) -> tuple[dict[str, Any], _Places]:
        made: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        places: _Places = {}
        while type(event := self._next()) is not MappingEndEvent:
            key = self._meant(event)
            if type(key) is not ScalarEvent:
                raise ConstructorError(None, None, "a key is no text", key.start_mark)
            value, _, below = self._node(self._next())
            if key.value in places and not _is_merge(key):
                self.repeated.append((key.value, key.start_mark.line + 1))
            places[key.value] = key.start_mark.line, below
            if _is_merge(key):
                merged = self._merged(merged, value)
            else:
                made[key.value] = value
        return {**merged, **made} if merged else made, places

    def _merged(self, merged: dict[str, Any], value: object) -> dict[str, Any]:
        for each in value if isinstance(value, list) else [value]:
            self._count(len(merged))
            merged = {**(each if isinstance(each, dict) else {}), **merged}
        return merged

    def _scalar(self, event: Any) -> Any:
        tag, text = event.tag, event.value
        if _is_function(tag):
            return _called(tag, text)
        if tag is not None and tag != "!":
            return self._constructed(tag, event)
        if not event.implicit[0]:  # in quotes, or a block of text
            return text
        if text not in self._plain:
            self._plain[text] = self._constructed(self._loader.resolve(ScalarNode, text, event.implicit), event)
        return self._plain[text]

    def _constructed(self, tag: str, event: Any) -> Any:
        if tag in _TEXTS:
            return event.value
        try:
            return self._loader.construct_object(ScalarNode(tag, event.value, event.start_mark, event.end_mark))
        except (ArithmeticError, LookupError, ValueError) as error:  # such as !!bool maybe
            rule = f"{event.value[:40]!r} is no {tag.rpartition(':')[2]}"
            raise ConstructorError(None, None, rule, event.start_mark) from error


def _is_function(tag: str | None) -> bool:
    return tag is not None and tag.startswith("!") and tag != "!"


def _is_merge(key: Any) -> bool:
    return key.tag == _MERGE or (key.value == "<<" and key.implicit[0] and key.tag in (None, "!"))


def _called(tag: str, value: Any) -> dict[str, Any]:
    function = tag[1:]
    if function == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {function if function in _NO_PREFIX else f"Fn::{function}": value}
