"""Templates that somebody has spoiled: in random places stands what does not belong there."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

Path = tuple[str | int, ...]


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value] if levels % 2 else {"a": value}
    return value


JUNK: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    0,
    -1,
    1e308,
    float("nan"),
    float("inf"),
    10**40,
    True,
    False,
    "x" * 3_000,
    "\ud800\x00\x1b[2J",
    "${",
    "${A.${B}}",
    "{{resolve:ssm:/a}}",
    "{{resolve:secretsmanager:a}}",
    [[]],
    [None],
    [{}],
    {"": ""},
    {"Ref": "Nobody"},
    {"Ref": []},
    {"Ref": "AWS::NoValue"},
    {"Ref": "AWS::Region"},
    {"Fn::GetAtt": "Group"},
    {"Fn::GetAtt": []},
    {"Fn::GetAtt": [None, {}]},
    {"Fn::Sub": None},
    {"Fn::Sub": []},
    {"Fn::Sub": ["${A}", {"A": {"Ref": "Group"}}]},
    {"Fn::Join": ["", [{"Ref": "Group"}, 1, None]]},
    {"Fn::If": ["Nobody", 1, 2]},
    {"Fn::If": []},
    {"Fn::Select": ["x", None]},
    {"Fn::FindInMap": ["A", "B", "C"]},
    {"Fn::ImportValue": {"Fn::Sub": "${AWS::StackName}-x"}},
    {"Fn::Transform": {"Name": "AWS::Include"}},
    {"Fn::ToJsonString": {"Ref": "AWS::NoValue"}},
    {"Fn::Length": {"Ref": "AWS::NoValue"}},
    {"Fn::ForEach::Loop": ["A", ["b"], {}]},
    _deep(40),
    _deep(121),
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of everything in a value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in entries:
        yield from places(below, (*path, step))


def spoiled(template: Any, random: Random, changes: int) -> Any:
    """A copy of the template with junk in so many places; keys are renamed or left out, too."""
    copy = deepcopy(template)
    for _ in range(changes):
        path = random.choice([each for each in places(copy) if each] or [()])
        if not path:
            break
        holder = copy
        for step in path[:-1]:
            holder = holder[step]
        step = path[-1]
        way = random.random()
        if way < 0.1 and isinstance(holder, dict):
            del holder[step]
        elif way < 0.2 and isinstance(holder, dict):
            holder[random.choice(["Type", "Properties", "Ref", "Fn::Sub", "Metadata", "x"])] = holder.pop(step)
        else:
            holder[step] = deepcopy(random.choice(JUNK))
    return copy
