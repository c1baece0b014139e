"""Parses a template in JSON or YAML, and tells on which line something in it stands.

JSON is parsed by the standard library. YAML needs PyYAML, which the extra ``compliance`` brings.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.validation import complaint

Path = Sequence[str | int]

_BLANK = re.compile(r"[ \t\n\r]*")
_CURE = "correct it there"
_KEPT_LEVELS = 2


@dataclass(frozen=True)
class Document:
    """A parsed document.

    Attributes:
        name: of the file, for messages.
        content: as plain data.
        line_of: the line, from 1 on, on which the entry at a path stands, else the entry nearest above it.
    """

    name: str
    content: dict[str, Any]
    line_of: Callable[[Path], int]


def parse(text: str, name: str) -> Document:
    """Parse a template.

    Args:
        text: JSON if it begins with a brace, else YAML.
        name: of the file, for messages.

    Raises:
        ArgumentError: it is neither, or no object; the message names line and column.
        MissingExtraError: it is YAML, and PyYAML is not installed.
    """
    text = text.removeprefix("\ufeff")
    begin = _BLANK.match(text)
    first = text[begin.end() : begin.end() + 1] if begin else ""
    return _json(text, name) if first == "{" else _yaml(text, name)


def _json(text: str, name: str) -> Document:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        rule = f"be JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise ArgumentError(complaint(name, "template", rule, _near(text, error.pos), _CURE)) from error
    except ValueError as error:  # a number of thousands of digits
        raise ArgumentError(
            complaint(name, "template", "be JSON: a number has too many digits", text[:40], _CURE)
        ) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    return _document(name, content, _JsonLines(text))


def _document(name: str, content: object, line_of: Callable[[Path], int]) -> Document:
    if not isinstance(content, dict):
        rule = "be an object with Resources"
        raise ArgumentError(complaint(name, "template", rule, content, "give a CloudFormation template"))
    return Document(name, content, line_of)


def _near(text: str, position: int) -> str:
    return text[max(position - 20, 0) : position + 20]


def _too_deep(name: str) -> ArgumentError:
    return ArgumentError(complaint(name, "template", "be nested less deeply", "too many levels", _CURE))


class _JsonLines:
    """Finds the line of an entry; the parser of the standard library passes over each value beside it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()

    def __call__(self, path: Path) -> int:
        position = found = _skip(self._text, 0)
        for depth, step in enumerate(path):
            # Each resource is asked for, by its findings; what is in one of them, by few.
            entries = self._kept_entries(position) if depth < _KEPT_LEVELS else dict(self._entries(position))
            if step not in entries:
                break
            found, position = entries[step]
        return bisect_left(self._ends_of_lines, found) + 1

    @cached_property
    def _ends_of_lines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    @cached_property
    def _kept(self) -> dict[int, dict[str | int, tuple[int, int]]]:
        return {}

    def _kept_entries(self, position: int) -> dict[str | int, tuple[int, int]]:
        if position not in self._kept:
            self._kept[position] = dict(self._entries(position))
        return self._kept[position]

    def _entries(self, position: int) -> Iterator[tuple[str | int, tuple[int, int]]]:
        """Keys of an object or indices of a list, each with where the entry begins and where its value does."""
        text, decoder = self._text, self._decoder
        if text[position] not in "{[":
            return
        closing, number = ("}" if text[position] == "{" else "]"), 0
        here = _skip(text, position + 1)
        while text[here] != closing:
            begin: int = here
            key: str | int = number
            if closing == "}":
                key, here = decoder.raw_decode(text, here)
                here = _skip(text, _skip(text, here) + 1)
            yield key, (begin, here)
            _, here = decoder.raw_decode(text, here)
            here = _skip(text, here)
            if text[here] == ",":
                here = _skip(text, here + 1)
            number += 1


def _skip(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return blank.end() if blank else position


def _yaml(text: str, name: str) -> Document:
    try:
        import yaml
    except ModuleNotFoundError as error:
        rule = "be JSON, since PyYAML is not installed"
        cure = "pip install 'cdk-accelerated-fleet[compliance]'"
        raise MissingExtraError(complaint(name, "template", rule, text[:20], cure)) from error
    from constructs_lib.template.yaml_documents import read

    try:
        content, line_of = read(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}:"
        rule = f"be JSON or YAML:{where} {error.problem or error.context}"
        lines = text.splitlines()
        shown = lines[mark.line].strip() if mark is not None and mark.line < len(lines) else text[:40]
        raise ArgumentError(complaint(name, "template", rule, shown, _CURE)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ArgumentError(complaint(name, "template", f"be JSON or YAML: {error}", text[:40], _CURE)) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    return _document(name, content, line_of)
