"""Templates in JSON and YAML come to the same data, and tell on which line something stands."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import yaml

from constructs_lib.errors import ArgumentError, MissingExtraError
from constructs_lib.template.documents import Document, Path, parse

JSON = """\
{
  "Resources": {
    "Group": {
      "Type": "AWS::AutoScaling::AutoScalingGroup",
      "Properties": {
        "MinSize": "0",
        "Tags": [
          {"Key": "a"},
          {
            "Key": "b"
          }
        ]
      }
    }, "Beside": {}
  }
}
"""
YAML = """\
# a comment
Resources:
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: '0'
      Tags:
        - Key: a
        - Key: b
  Beside: {}
"""
GROUP = ("Resources", "Group", "Properties")


@pytest.mark.parametrize(
    ("path", "in_json", "in_yaml"),
    [
        ((), 1, 1),
        (("Resources",), 2, 2),
        (GROUP, 5, 5),
        ((*GROUP, "MinSize"), 6, 6),
        ((*GROUP, "Tags", 1, "Key"), 10, 9),
        (("Resources", "Beside"), 14, 10),
        # What is not there is where the nearest thing above it stands.
        ((*GROUP, "MaxSize"), 5, 5),
        ((*GROUP, "Tags", 7, "Key"), 7, 7),
        ((*GROUP, "MinSize", "x", 3), 6, 6),
        (("Resources", "Nobody", "Properties"), 2, 2),
    ],
)
def test_the_line_of_an_entry(path: Path, in_json: int, in_yaml: int) -> None:
    assert parse(JSON, "t").line_of(path) == in_json
    assert parse(YAML, "t").line_of(path) == in_yaml


def test_both_forms_come_to_the_same() -> None:
    assert parse(JSON, "t").content == parse(YAML, "t").content


def test_lines_of_windows_and_a_byte_order_mark_do_not_matter() -> None:
    document = parse("\ufeff" + JSON.replace("\n", "\r\n"), "t")
    assert document.line_of((*GROUP, "MinSize")) == 6


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("!Ref A", {"Ref": "A"}),
        ("!GetAtt A.B.C", {"Fn::GetAtt": ["A", "B.C"]}),
        ("!GetAtt [A, B]", {"Fn::GetAtt": ["A", "B"]}),
        ("!Sub 'x-${A}'", {"Fn::Sub": "x-${A}"}),
        ("!Join ['', [a, !Ref B]]", {"Fn::Join": ["", ["a", {"Ref": "B"}]]}),
        ("!If [Is, !Ref A, !Ref AWS::NoValue]", {"Fn::If": ["Is", {"Ref": "A"}, {"Ref": "AWS::NoValue"}]}),
        ("!Base64 {'Fn::Sub': a}", {"Fn::Base64": {"Fn::Sub": "a"}}),
        ("!Condition Is", {"Condition": "Is"}),
        ("!FindInMap [A, !Ref B, C]", {"Fn::FindInMap": ["A", {"Ref": "B"}, "C"]}),
        ("!Transform {Name: AWS::Include}", {"Fn::Transform": {"Name": "AWS::Include"}}),
    ],
)
def test_short_forms_become_long_ones(short: str, long: object) -> None:
    assert parse(f"Value: {short}\n", "t").content == {"Value": long}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # CloudFormation takes the date of a policy's version as it is written.
        ("2012-10-17", "2012-10-17"),
        ("yes", True),
        ("012", 10),
        ("1.5", 1.5),
        ("~", None),
        ("'0'", "0"),
    ],
)
def test_plain_values(written: str, value: object) -> None:
    assert parse(f"Value: {written}\n", "t").content == {"Value": value}


def test_an_alias_and_a_merge_are_filled_in() -> None:
    text = "A: &a {x: 1, y: 2}\nB: *a\nC: {<<: *a, y: 3}\n"
    assert parse(text, "t").content == {"A": {"x": 1, "y": 2}, "B": {"x": 1, "y": 2}, "C": {"x": 1, "y": 3}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"Resources": {"A": }}', "line 1, column 21"),
        ('{\n  "Resources": {} "Outputs": {}\n}', "line 2, column 19"),
        ("Resources:\n  A: [\n", "line 3"),
        ("Resources:\n\tA: 1\n", "line 2, column 1"),
        ("a: 1\n---\nb: 2\n", "line 2"),
        ("a: !Ref\n  - &x [*x]\n", "nested less deeply"),
        ("? [1, 2]\n: x\n", "a key is no text"),
        ("- 1\n", "be an object"),
        ("", "be an object"),
        ("[]", "be an object"),
        ("just a text", "be an object"),
        ("\x00", "JSON or YAML"),
        ("[" * 5_000, "nest"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested less deeply"),
    ],
)
def test_what_is_neither_is_told_in_one_line(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=r"^file.yaml: template must") as caught:
        parse(text, "file.yaml")
    assert told in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_few_lines_that_stand_for_billions_are_refused() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(ArgumentError, match="aliases counted each time"):
        parse("\n".join(lines), "t")


def test_json_needs_no_package_and_yaml_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert parse(JSON, "t").content
    with pytest.raises(MissingExtraError, match=r"pip install .*\[compliance\]"):
        parse(YAML, "t")


def _every_path(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for step, each in entries for below in _every_path(each, (*path, step)))]


@pytest.mark.parametrize("indent", [None, 1])
def test_each_entry_is_found_however_the_file_is_set(indent: int | None) -> None:
    content = {"a": [{"b": [[], {}, ["c"]]}, "d"], "e": {'f"\\ü\n': {"g": None}}, "": 1.5}
    document = parse(json.dumps(content, indent=indent), "t")
    lines = json.dumps(content, indent=indent).splitlines()
    for path in _every_path(content)[1:]:
        line = lines[document.line_of(path) - 1]
        assert not isinstance(path[-1], str) or json.dumps(path[-1]) in line


def test_lines_of_yaml_agree_with_those_of_its_parser() -> None:
    content = {"Resources": {f"R{n}": {"Type": "T", "Properties": {"P": [n, {"Q": n}]}} for n in range(20)}}
    text = yaml.safe_dump(content)
    document: Document = parse(text, "t")
    for number in range(20):
        line = document.line_of(("Resources", f"R{number}"))
        assert text.splitlines()[line - 1].strip() == f"R{number}:"


ALIASED = """\
A: &a
  x: [1, &b {y: 2}]
B: *a
C:
  - *b
  - !If [Is, {z: 1},
         {z: 2}]
D: {<<: *a,
    w: 3}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("B",), 3),
        # What an alias stands for is where it is written.
        (("B", "x"), 2),
        (("C", 0), 2),
        (("C", 0, "y"), 2),
        # Nobody has written the name of a function, or what is merged, on a line of its own.
        (("C", 1, "Fn::If"), 6),
        (("C", 1, 2, "z"), 7),
        (("D", "x"), 8),
        (("D", "w"), 9),
    ],
)
def test_the_line_of_what_stands_for_something_else(path: Path, line: int) -> None:
    assert parse(ALIASED, "t").line_of(path) == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &x 1\nb: &x 2\n", "line 2, column 4: second occurrence"),
        ("a: *x\n", "line 1, column 4: found undefined alias"),
        ("a: &x {y: 1}\n*x : 2\n", "line 1, column 4: a key is no text"),
        ("a: =\n", "line 1, column 4: could not determine a constructor"),
    ],
)
def test_what_yaml_has_and_a_template_cannot_have(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        parse(text, "t")


def test_an_alias_of_a_key_or_of_one_value_is_what_is_written_there() -> None:
    text = "&k 30: &v !Ref X\n*v : *k\nb: *v\nc: [&d 012, *d]\n"
    assert parse(text, "t").content == {"30": {"Ref": "X"}, "X": 30, "b": {"Ref": "X"}, "c": [10, 10]}


def test_pyyaml_may_have_been_built_without_its_parser_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parse(YAML + ALIASED, "t")
    monkeypatch.delattr(yaml, "CSafeLoader")
    document = parse(YAML + ALIASED, "t")
    assert document.content == expected.content
    for path in _every_path(expected.content):
        assert document.line_of(path) == expected.line_of(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"Resources": ' + "1" * 5_000 + "}", "a number has too many digits"),
        ("Resources: !!bool maybe", "line 1, column 12: 'maybe' is no bool"),
        ("Resources: !!int many", "line 1, column 12: 'many' is no int"),
    ],
)
def test_a_value_that_its_type_does_not_have(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        parse(text, "t")


def test_merges_that_stand_for_billions_are_refused() -> None:
    lines = [f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}], k{n}: 1}}" for n in range(40)]
    with pytest.raises(ArgumentError, match="aliases counted each time"):
        parse("\n".join(["a0: &a0 {x: 1}", *lines]), "t")
