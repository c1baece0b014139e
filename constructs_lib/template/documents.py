"""Parses a template in JSON or YAML, and tells on which line something in it stands.

JSON is parsed by the standard library. YAML needs PyYAML, which the extra ``compliance`` brings.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from constructs_lib.collecting import without_collecting
from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.validation import complaint

Path = Sequence[str | int]

_BLANK = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r]*[:,]?[ \t\n\r]*")
"""What stands between a key and its value, or an entry and the next one or the end."""
_CURE = "correct it there"


@dataclass(frozen=True)
class Repeated:
    """A key that an object has once more; CloudFormation, as this reader, takes the last of them.

    Attributes:
        key: itself.
        line: of the later one, from 1 on. None: the reader does not know it.
    """

    key: str
    line: int | None = None


@dataclass(frozen=True)
class Document:
    """A parsed document.

    Attributes:
        name: of the file, for messages.
        content: as plain data.
        line_of: the line, from 1 on, on which the entry at a path stands, else the entry nearest above it.
        repeated: the keys that objects of it have more than once.
    """

    name: str
    content: dict[str, Any]
    line_of: Callable[[Path], int]
    repeated: tuple[Repeated, ...] = ()


@without_collecting()
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
    begin = _past(_BLANK, text, 0)
    return _json(text, name) if text.startswith("{", begin) else _yaml(text, name)


def _json(text: str, name: str) -> Document:
    repeated: list[Repeated] = []

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.extend(Repeated(key) for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return found

    try:
        content = json.loads(text, object_pairs_hook=made)
    except json.JSONDecodeError as error:
        rule = f"be JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise ArgumentError(complaint(name, "template", rule, _near(text, error.pos), _CURE)) from error
    except ValueError as error:  # a number of thousands of digits
        raise ArgumentError(
            complaint(name, "template", "be JSON: a number has too many digits", text[:40], _CURE)
        ) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    return _document(name, content, _JsonLines(text), repeated)


def _document(name: str, content: object, line_of: Callable[[Path], int], repeated: Sequence[Repeated]) -> Document:
    if not isinstance(content, dict):
        rule = "be an object with Resources"
        raise ArgumentError(complaint(name, "template", rule, content, "give a CloudFormation template"))
    return Document(name, content, line_of, tuple(repeated))


def _near(text: str, position: int) -> str:
    return text[max(position - 20, 0) : position + 20]


def _too_deep(name: str) -> ArgumentError:
    return ArgumentError(complaint(name, "template", "be nested less deeply", "too many levels", _CURE))


class _JsonLines:
    """Finds the line of an entry; the parser of the standard library passes over each value beside it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()
        self._kept: dict[int, Mapping[str | int, tuple[int, int]]] = {}

    def __call__(self, path: Path) -> int:
        position = found = _past(_BLANK, self._text, 0)
        kept = self._kept
        for step in path:
            entries = kept.get(position)
            if entries is None:
                entries = kept[position] = dict(self._entries(position))
            entry = entries.get(step)
            if entry is None:
                break
            found, position = entry
        return bisect_right(self._begins_of_lines, found)

    @cached_property
    def _begins_of_lines(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._text.split("\n")), initial=0))

    def _entries(self, position: int) -> Iterator[tuple[str | int, tuple[int, int]]]:
        """Keys of an object or indices of a list, each with where the entry begins and where its value does."""
        text, decode = self._text, self._decoder.raw_decode
        if text[position] not in "{[":
            return
        closing, number = ("}" if text[position] == "{" else "]"), 0
        here = _past(_BLANK, text, position + 1)
        while text[here] != closing:
            begin: int = here
            key: str | int = number
            if closing == "}":
                key, here = decode(text, here)
                here = _past(_BETWEEN, text, here)
            yield key, (begin, here)
            _, here = decode(text, here)
            here = _past(_BETWEEN, text, here)
            number += 1


def _past(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _yaml(text: str, name: str) -> Document:
    try:
        import yaml
    except ModuleNotFoundError as error:
        rule = "be JSON, since PyYAML is not installed"
        cure = "pip install 'cdk-accelerated-fleet[compliance]'"
        raise MissingExtraError(complaint(name, "template", rule, text[:20], cure)) from error
    from constructs_lib.template.yaml_documents import read

    try:
        content, line_of, repeated = read(text)
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
    return _document(name, content, line_of, [Repeated(key, line) for key, line in repeated])
