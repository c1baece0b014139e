"""Loops of templates come to what CloudFormation makes of them: "Fn::ForEach", Template Reference Guide."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.template.loops import Unrolled, unrolled
from constructs_lib.template.markers import Unknown
from constructs_lib.template.settling import Surroundings, Template

TRANSFORM = "AWS::LanguageExtensions"
LOOP = "Fn::ForEach::L"


def made(resources: Any, **more: Any) -> Unrolled:
    document = {"Transform": TRANSFORM, "Resources": resources, **more}
    found = unrolled(document, Surroundings("us-east-1", parameters={"Passed": "x,y"}))
    assert found is not None
    return found


def resources(resources: Any, **more: Any) -> Any:
    return made(resources, **more).document["Resources"]


def machine(type_: Any) -> dict[str, Any]:
    return {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": type_}}


def test_each_value_makes_one_resource_in_the_place_of_the_loop() -> None:
    loop = ["Size", ["xlarge", "2xlarge"], {"Machine${Size}": machine({"Fn::Sub": "g6.${Size}"})}]
    assert list(resources({"A": {}, LOOP: loop, "B": {}})) == ["A", "Machinexlarge", "Machine2xlarge", "B"]
    assert resources({LOOP: loop})["Machine2xlarge"] == machine("g6.2xlarge")


def test_the_identifier_is_referred_to_and_stands_in_texts() -> None:
    body = {"M${X}": {"Type": "T", "Properties": {"One": {"Ref": "X"}, "Two": ["a${X}"], "Three": {"Ref": "Other"}}}}
    found = resources({LOOP: ["X", ["v"], body]})
    assert found["Mv"]["Properties"] == {"One": "v", "Two": ["av"], "Three": {"Ref": "Other"}}


def test_what_is_not_of_the_loop_is_left_in_a_text() -> None:
    found = resources({LOOP: ["X", ["v"], {"M${X}": machine({"Fn::Sub": "${X}-${AWS::Region}"})}]})
    assert found["Mv"] == machine({"Fn::Sub": "v-${AWS::Region}"})


def test_with_an_ampersand_only_letters_and_digits_are_left() -> None:
    found = resources({LOOP: ["X", ["g6.xlarge"], {"M&{X}": machine({"Ref": "X"})}]})
    assert found == {"Mg6xlarge": machine("g6.xlarge")}


def test_a_reference_to_what_the_same_loop_makes() -> None:
    body = {"L${X}": {"Type": "T"}, "M${X}": machine({"Ref": {"Fn::Sub": "L${X}"}})}
    found = resources({LOOP: ["X", ["v"], body]})
    assert found["Mv"] == machine({"Ref": "Lv"})


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"Type": "CommaDelimitedList", "Default": "a, b"}, ["Ma", "Mb"]),
        ({"Type": "List<Number>", "Default": "1,2"}, ["M1", "M2"]),
    ],
)
def test_the_collection_is_a_parameter(parameter: Any, expected: list[str]) -> None:
    loop = ["X", {"Ref": "P"}, {"M${X}": machine("g6.xlarge")}]
    assert list(resources({LOOP: loop}, Parameters={"P": parameter})) == expected


def test_what_the_deploy_passes_goes_before_the_default() -> None:
    loop = ["X", {"Ref": "Passed"}, {"M${X}": machine("g6.xlarge")}]
    parameters = {"Passed": {"Type": "CommaDelimitedList", "Default": "a"}}
    assert list(resources({LOOP: loop}, Parameters=parameters)) == ["Mx", "My"]


def test_loops_within_loops_and_within_properties() -> None:
    inner = {"Fn::ForEach::I": ["Y", ["1", "2"], {"M${X}${Y}": machine("t")}]}
    assert list(resources({LOOP: ["X", ["a", "b"], inner]})) == ["Ma1", "Ma2", "Mb1", "Mb2"]
    tags = {"Kept": 1, "Fn::ForEach::I": ["Y", ["A", "B"], {"P${Y}": {"Ref": "Y"}}]}
    assert resources({"M": {"Type": "T", "Properties": tags}})["M"]["Properties"] == {"Kept": 1, "PA": "A", "PB": "B"}


def test_conditions_and_outputs_have_loops_too() -> None:
    conditions = {LOOP: ["X", ["a"], {"Is${X}": {"Fn::Equals": [{"Ref": "X"}, "a"]}}]}
    outputs = {"Fn::ForEach::O": ["X", ["a"], {"O${X}": {"Value": {"Fn::GetAtt": [{"Fn::Sub": "M${X}"}, "Arn"]}}}]}
    found = made({}, Conditions=conditions, Outputs=outputs).document
    assert found["Conditions"] == {"Isa": {"Fn::Equals": ["a", "a"]}}
    assert found["Outputs"] == {"Oa": {"Value": {"Fn::GetAtt": ["Ma", "Arn"]}}}


@pytest.mark.parametrize(
    "loop",
    [
        ["X", {"Ref": "Open"}, {"M${X}": {"Type": "T"}}],
        ["X", [{"Ref": "AWS::StackName"}], {"M${X}": {"Type": "T"}}],
        ["X", [["a"]], {"M${X}": {"Type": "T"}}],
        # Two resources of one name.
        ["X", ["a", "b"], {"M": {"Type": "T"}}],
        ["X", ["a"], {"Beside": {"Type": "T"}}],
        # It is not written as CloudFormation wants it.
        ["X", ["a"]],
        [{"Ref": "X"}, ["a"], {"M${X}": {"Type": "T"}}],
        "X",
        # The inner one is not known.
        ["X", ["a"], {"M${X}": {"Type": "T"}, "Fn::ForEach::I": ["Y", {"Ref": "Open"}, {"N${Y}": {"Type": "T"}}]}],
    ],
)
def test_a_loop_that_cannot_be_unrolled_stays_whole(loop: Any) -> None:
    before = {LOOP: loop, "Beside": {"Type": "U"}}
    parameters = {"Open": {"Type": "CommaDelimitedList"}}
    found = made(before, Parameters=parameters)
    assert found.document["Resources"] == before
    assert found.origins == {}


def test_a_value_with_a_loop_that_cannot_be_unrolled_is_not_known() -> None:
    loop = ["X", {"Ref": "Open"}, {"V${X}": {"Ref": "X"}}]
    properties = {"Image": "ami-1", "Environment": {"Known": "1", LOOP: loop}}
    parameters = {"Open": {"Type": "CommaDelimitedList"}}
    found = made({"M": {"Type": "T", "Properties": properties}}, Parameters=parameters).document
    settled = Template(found, Surroundings("us-east-1")).properties("M")
    assert settled["Image"] == "ami-1"
    assert isinstance(settled["Environment"], Unknown)
    outer = {"Fn::ForEach::O": ["Y", ["a"], {"M${Y}": {"Type": "T", "Properties": properties}}]}
    assert resources(outer, Parameters=parameters)["Ma"]["Properties"] == {
        "Image": "ami-1",
        "Environment": {LOOP: loop},
    }


def test_loops_that_would_make_more_than_there_is_memory_stay() -> None:
    many = [str(each) for each in range(1000)]
    inner = {"Fn::ForEach::I": ["Y", many, {"M${X}x${Y}": machine("t")}]}
    before = {LOOP: ["X", many, inner]}
    assert resources(before) == before


def test_what_is_nested_too_deeply_to_be_read_stays() -> None:
    deep: Any = "end"
    for _ in range(400):
        deep = [deep]
    before = {"M": {"Type": "T", "Properties": {"Deep": deep}}}
    assert resources(before) == before


def test_keys_that_are_no_texts_are_left() -> None:
    before: Any = {"M": {"Type": "T", "Properties": {1: "one", None: {2: 3}}}, 4: {}}
    assert resources(before) == before


def test_where_a_resource_of_a_loop_is_written() -> None:
    loop = ["X", ["a"], {"M${X}": machine("t")}]
    assert made({LOOP: loop, "B": {}}).origins == {"Ma": ("Resources", LOOP, 2, "M${X}")}


@pytest.mark.parametrize("transform", [None, "AWS::Serverless-2016-10-31", ["House"]])
def test_without_the_transform_there_are_no_loops(transform: Any) -> None:
    assert unrolled({"Transform": transform, "Resources": {LOOP: ["X", ["a"], {}]}}, Surroundings(None)) is None


def test_the_transform_may_be_one_of_several() -> None:
    document = {
        "Transform": ["AWS::Serverless-2016-10-31", TRANSFORM],
        "Resources": {LOOP: ["X", ["a"], {"M${X}": {}}]},
    }
    found = unrolled(document, Surroundings(None))
    assert found is not None
    assert found.document["Resources"] == {"Ma": {}}
