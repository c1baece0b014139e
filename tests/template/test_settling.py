"""What is known of a value in part is told in part: of texts, lengths, and branches that come to the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from constructs_lib.template.markers import Made, PartText, SsmParameter, StackOutput, Unknown
from constructs_lib.template.plain_values import mapping
from constructs_lib.template.settling import Surroundings, Template

DOCUMENT: dict[str, Any] = {
    "Parameters": {"Open": {"Type": "String"}, "Known": {"Type": "String", "Default": "gpu"}},
    "Conditions": {"IsOpen": {"Fn::Equals": [{"Ref": "Open"}, "yes"]}},
    "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
}


def settled(value: object, region: str | None = "us-east-1") -> Any:
    return Template(DOCUMENT, Surroundings(region)).settle(value)


def test_a_text_with_a_resource_in_it_is_known_in_part() -> None:
    found = settled({"Fn::Sub": "echo ${Known} ${Queue} ${Queue.Arn} ${Open}"})
    assert isinstance(found, PartText)
    assert found.known == "echo gpu ${Queue} ${Queue.Arn} ${unknown}"
    made, arn, parameter = found.markers()
    assert (made.logical_id, made.attribute) == ("Queue", None)  # type: ignore[union-attr]
    assert (arn.logical_id, arn.attribute) == ("Queue", "Arn")  # type: ignore[union-attr]
    assert isinstance(parameter, Unknown)
    assert "Open" in found.reason


def test_parts_of_parts_are_one_text() -> None:
    found = settled({"Fn::Join": ["-", ["a", {"Fn::Sub": "b${Queue}c"}, True, 3]]})
    assert isinstance(found, PartText)
    assert found.known == "a-b${Queue}c-true-3"


def test_a_resource_alone_in_a_text_is_the_resource() -> None:
    assert isinstance(settled({"Fn::Sub": "${Queue}"}), Made)


@pytest.mark.parametrize(
    "value",
    [
        "{{resolve:ssm:/images/gpu}}",
        {"Fn::Sub": "{{resolve:ssm:/images/gpu}}"},
        {"Fn::Sub": "{{resolve:ssm:/images/${Known}}}"},
        {"Fn::Sub": ["{{resolve:ssm:/${Folder}/gpu:2}}", {"Folder": "images"}]},
        {"Fn::Join": ["", ["{{resolve:ssm:/images/", {"Ref": "Known"}, "}}"]]},
        {"Fn::Join": ["/", ["{{resolve:ssm:", "images", "gpu}}"]]},
    ],
)
def test_a_dynamic_reference_may_be_put_together(value: object) -> None:
    assert settled(value) == SsmParameter("/images/gpu")


def test_a_text_with_dynamic_references_in_it_is_known_in_part() -> None:
    for value in (
        "run {{resolve:ssm:/a}} {{resolve:secretsmanager:b}}.",
        {"Fn::Sub": "run {{resolve:ssm:/a}} ${Open}."},
    ):
        found = settled(value)
        assert isinstance(found, PartText)
        assert found.known.startswith("run ")
        assert found.known.endswith(".")
    assert found.reason
    assert not isinstance(settled({"Fn::Sub": "{{resolve:secretsmanager:${Known}}}"}), (PartText, SsmParameter))


def test_base64_is_what_it_encodes() -> None:
    assert settled({"Fn::Base64": {"Fn::Sub": "run ${Known}"}}) == "run gpu"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Fn::Length": [1, 2, {"Ref": "Queue"}]}, 3),
        ({"Fn::Length": {"Fn::Split": [",", "a,b"]}}, 2),
        ({"Fn::ToJsonString": {"a": [{"Ref": "Known"}]}}, json.dumps({"a": ["gpu"]})),
        ({"Fn::If": ["IsOpen", {"Ref": "Known"}, "gpu"]}, "gpu"),
        ({"Fn::If": ["IsOpen", [1, 2], [1, 2]]}, [1, 2]),
        ({"a": {"Fn::If": ["IsOpen", {"Ref": "AWS::NoValue"}, {"Ref": "AWS::NoValue"}]}}, {}),
        ([1, {"Ref": "AWS::NoValue"}, 2], [1, 2]),
    ],
)
def test_what_is_settled(value: object, expected: object) -> None:
    assert settled(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"Fn::Length": {"Ref": "Open"}},
        {"Fn::Length": {"Ref": "Queue"}},
        {"Fn::ToJsonString": {"a": {"Ref": "Queue"}}},
        {"Fn::If": ["IsOpen", 1, 2]},
        # Two resources are never the same, even if both are only known as such.
        {"Fn::If": ["IsOpen", {"Ref": "Open"}, {"Ref": "Open"}]},
        {"Fn::If": ["NoSuchCondition", 1, 2]},
        {"Fn::If": [{"Ref": "Open"}, 1, 2]},
        {"Fn::Transform": {"Name": "AWS::Include"}},
        {"Fn::Cidr": ["10.0.0.0/16", 4, 8]},
    ],
)
def test_what_is_not_known(value: object) -> None:
    assert isinstance(settled(value), Unknown)


@pytest.mark.parametrize("name", ["AWS::Region", "AWS::Partition", "AWS::URLSuffix"])
def test_without_a_region_nothing_of_it_is_known(name: str) -> None:
    assert isinstance(settled({"Ref": name}, region=None), Unknown)
    assert settled({"Ref": name}, region="cn-north-1") in ("cn-north-1", "aws-cn", "amazonaws.com.cn")


def test_a_mapping_by_the_region_is_not_known_without_one() -> None:
    document = {**DOCUMENT, "Mappings": {"Images": {"us-east-1": {"gpu": "ami-1"}}}}
    asked = {"Fn::FindInMap": ["Images", {"Ref": "AWS::Region"}, "gpu"]}
    assert Template(document, Surroundings("us-east-1")).settle(asked) == "ami-1"
    assert isinstance(Template(document, Surroundings(None)).settle(asked), Unknown)


@pytest.mark.parametrize(
    ("value", "choices"),
    [
        ({"Ref": "Stage"}, ("dev", "prod")),
        ({"Ref": "Open"}, ()),
        ({"Fn::If": ["IsOpen", "a", "b"]}, ("a", "b")),
        ({"Fn::If": ["IsOpen", "a", {"Ref": "Stage"}]}, ("a", "dev", "prod")),
        # One side can be anything, and so can the whole.
        ({"Fn::If": ["IsOpen", "a", {"Ref": "Open"}]}, ()),
        ({"Fn::If": ["IsOpen", "a", {"Ref": "Queue"}]}, ()),
        ({"Fn::If": ["IsOpen", "a", {"Ref": "AWS::NoValue"}]}, ()),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "type"]}, ("t3.micro", "g6.xlarge")),
        ({"Fn::FindInMap": ["Sizes", "prod", {"Ref": "Open"}]}, ("g6.xlarge", "4")),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "count"]}, ()),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "count", {"DefaultValue": "1"}]}, ("1", "4")),
    ],
)
def test_what_a_value_that_is_not_known_can_be(value: object, choices: tuple[str, ...]) -> None:
    document = {
        **DOCUMENT,
        "Parameters": {**DOCUMENT["Parameters"], "Stage": {"Type": "String", "AllowedValues": ["dev", "prod"]}},
        "Mappings": {"Sizes": {"dev": {"type": "t3.micro"}, "prod": {"type": "g6.xlarge", "count": "4"}}},
    }
    found = Template(document, Surroundings("us-east-1")).settle(value)
    assert isinstance(found, Unknown)
    assert found.choices == choices


def test_a_parent_passes_what_it_has_settled() -> None:
    parent = Template(DOCUMENT, Surroundings("us-east-1"))
    passed = mapping(parent.settle({"Open": {"Ref": "Queue"}}))
    child = Template(DOCUMENT, Surroundings("us-east-1", None, passed))
    found = child.settle({"Ref": "Open"})
    assert isinstance(found, Made)
    assert found.home is parent


def test_conditions_that_stand_for_billions_are_worked_out_once() -> None:
    conditions: dict[str, Any] = {f"C{n}": {"Fn::And": [{"Condition": f"C{n + 1}"}] * 8} for n in range(20)}
    document = {"Conditions": {**conditions, "C20": {"Fn::Equals": ["a", "a"]}}, "Resources": {}}
    assert Template(document, Surroundings(None)).settle({"Fn::If": ["C0", "yes", "no"]}) == "yes"


def test_exports_that_hang_on_themselves_are_not_known() -> None:
    outputs = {f"O{n}": {"Value": n, "Export": {"Name": {"Fn::ImportValue": "x"}}} for n in range(8)}
    beside = {name: {"Outputs": outputs, "Resources": {}} for name in ("a", "b")}
    settled = Template({"Resources": {}}, Surroundings(None, beside=beside)).settle({"Fn::ImportValue": "x"})
    assert settled == StackOutput("x")


def test_texts_that_stand_for_billions_are_not_put_together() -> None:
    outputs = {
        f"O{n}": {"Value": {"Fn::Join": ["", [{"Fn::ImportValue": f"x{n + 1}"}] * 8]}, "Export": {"Name": f"x{n}"}}
        for n in range(20)
    }
    surroundings = Surroundings(None, beside={"a": {"Outputs": outputs, "Resources": {}}})
    assert isinstance(Template({"Resources": {}}, surroundings).settle({"Fn::ImportValue": "x19"}), PartText)
    found = Template({"Resources": {}}, surroundings).settle({"Fn::ImportValue": "x0"})
    assert isinstance(found, Unknown)
    assert found.reason == "it is put together to a text that is too long to deploy"


def test_braces_that_open_alone_take_no_time_of_their_own() -> None:
    text = "${" * 20_000
    assert Template({"Resources": {}}, Surroundings(None)).settle({"Fn::Sub": text}) == text
