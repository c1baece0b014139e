"""Intrinsic functions are settled as far as the template tells, and no further."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.template.markers import Made, SsmParameter, StackOutput, Unknown, ZoneAt, Zones
from constructs_lib.template.settling import Surroundings, Template
from tests.preflight.fake_account import REGION
from tests.preflight.templates import settle

_DOCUMENT = {
    "Parameters": {
        "Type": {"Type": "String", "Default": "g6.xlarge"},
        "None": {"Type": "String"},
        "Subnets": {"Type": "List<AWS::EC2::Subnet::Id>", "Default": "subnet-a, subnet-b"},
        "Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/images/gpu"},
        "Stage": {"Type": "String", "Default": "prod"},
    },
    "Mappings": {"Sizes": {"prod": {"most": 8}, "dev": {"most": 1}}},
    "Conditions": {
        "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        "IsOpen": {"Fn::Equals": [{"Ref": "None"}, "yes"]},
        "NotProd": {"Fn::Not": [{"Condition": "IsProd"}]},
        "Both": {"Fn::And": [{"Condition": "IsOpen"}, {"Condition": "NotProd"}]},
        "Either": {"Fn::Or": [{"Condition": "IsOpen"}, {"Condition": "IsProd"}]},
        "Loop": {"Condition": "Loop"},
    },
    "Resources": {"Thing": {"Type": "AWS::EC2::Subnet"}},
}


@pytest.mark.parametrize(
    ("value", "settled"),
    [
        ("plain", "plain"),
        (4, 4),
        (None, None),
        ({"a": [{"Ref": "Type"}]}, {"a": ["g6.xlarge"]}),
        ({"Ref": "Type"}, "g6.xlarge"),
        ({"Ref": "Subnets"}, ["subnet-a", "subnet-b"]),
        ({"Ref": "Image"}, SsmParameter("/images/gpu")),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "AWS::Partition"}, "aws"),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::Region"}, 1]]}, "a-us-east-1-1"),
        ({"Fn::Sub": "com.amazonaws.${AWS::Region}.s3"}, "com.amazonaws.us-east-1.s3"),
        ({"Fn::Sub": ["${Type}/${x}/${!kept}", {"x": "y"}]}, "g6.xlarge/y/${kept}"),
        ({"Fn::Sub": "${Image}"}, SsmParameter("/images/gpu")),
        ({"Fn::Select": [1, {"Ref": "Subnets"}]}, "subnet-b"),
        ({"Fn::Select": ["0", {"Fn::Split": [",", "x,y"]}]}, "x"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "most"]}, 8),
        ({"Fn::FindInMap": ["Sizes", "no", "most", {"DefaultValue": 3}]}, 3),
        ({"Fn::If": ["IsProd", 1, 2]}, 1),
        ({"Fn::If": ["NotProd", 1, 2]}, 2),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ([1, {"Ref": "AWS::NoValue"}], [1]),
        ({"a": {"Fn::If": ["NotProd", 1, {"Ref": "AWS::NoValue"}]}}, {}),
        ({"Fn::GetAZs": ""}, Zones()),
        ({"Fn::GetAZs": {"Ref": "AWS::Region"}}, Zones()),
        ({"Fn::Select": [2, {"Fn::GetAZs": ""}]}, ZoneAt(2)),
        ({"Fn::ImportValue": "net:subnet"}, StackOutput("net:subnet")),
        ({"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Out"}}, StackOutput("Out", "Net")),
        ("{{resolve:ssm:/images/gpu}}", SsmParameter("/images/gpu")),
        ("{{resolve:ssm:/images/gpu:3}}", SsmParameter("/images/gpu")),
    ],
)
def test_what_the_template_tells(value: Any, settled: object) -> None:
    assert settle(value, _DOCUMENT) == settled


@pytest.mark.parametrize(
    "value",
    [
        {"Ref": "None"},
        {"Ref": "Nobody"},
        {"Ref": ["x"]},
        {"Ref": "AWS::StackId"},
        {"Fn::GetAtt": ["Nobody", "Arn"]},
        {"Fn::GetAtt": 3},
        {"Fn::Join": ["-", ["a", {"Ref": "None"}]]},
        {"Fn::Join": ["-", ["a", {"Ref": "Thing"}]]},
        {"Fn::Join": "a"},
        {"Fn::Sub": {"a": "b"}},
        {"Fn::Select": [9, {"Ref": "Subnets"}]},
        {"Fn::Select": ["x", ["a"]]},
        {"Fn::Select": [0, {"Fn::Split": [",", {"Fn::ImportValue": "all"}]}]},
        {"Fn::Select": []},
        {"Fn::Split": ["", "abc"]},
        {"Fn::FindInMap": ["Nobody", "a", "b"]},
        {"Fn::FindInMap": ["Sizes"]},
        {"Fn::If": ["IsOpen", 1, 2]},
        {"Fn::If": ["Loop", 1, 2]},
        {"Fn::If": ["Nobody", 1, 2]},
        {"Fn::If": "x"},
        {"Fn::GetAZs": "eu-west-1"},
        {"Fn::ImportValue": 3},
        {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Out", "Region": "eu-west-1"}},
        {"Fn::Transform": {"Name": "x"}},
        {"Fn::Cidr": ["10.0.0.0/16", 2, 8]},
        "{{resolve:secretsmanager:x}}",
    ],
)
def test_what_only_a_deploy_tells(value: Any) -> None:
    settled = settle(value, _DOCUMENT)
    assert isinstance(settled, Unknown)
    assert settled.reason
    assert settled.cure


def test_a_parameter_takes_the_value_that_the_deploy_passes() -> None:
    assert settle({"Ref": "None"}, _DOCUMENT, parameters={"None": "yes"}) == "yes"
    assert settle({"Fn::If": ["IsOpen", 1, 2]}, _DOCUMENT, parameters={"None": "yes"}) == 1
    assert settle({"Ref": "None"}, _DOCUMENT).cure == "pass --parameter None=VALUE"


def test_a_resource_of_the_template_is_made_by_the_deploy() -> None:
    template = Template(_DOCUMENT, Surroundings(region=REGION))
    assert template.settle({"Ref": "Thing"}) == Made(template, "Thing")
    assert template.settle({"Fn::GetAtt": "Thing.Arn"}) == Made(template, "Thing", "Arn")
    assert template.settle({"Fn::Sub": "${Thing.Arn}"}) == Made(template, "Thing", "Arn")


def test_what_comes_from_a_template_beside_is_followed() -> None:
    beside = {
        "Net": {
            "Resources": {"Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZone": "us-east-1b"}}},
            "Outputs": {
                "Out": {"Value": {"Ref": "Subnet"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}:subnet"}}},
                "Text": {"Value": "subnet-9"},
            },
        }
    }
    for value in (
        {"Fn::ImportValue": "Net:subnet"},
        {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Out", "Region": {"Ref": "AWS::Region"}}},
    ):
        made = settle(value, _DOCUMENT, beside=beside)
        assert isinstance(made, Made)
        assert made.home.properties(made.logical_id) == {"AvailabilityZone": "us-east-1b"}
    text = {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Text"}}
    assert settle(text, _DOCUMENT, beside=beside) == "subnet-9"


def test_a_value_nested_without_end_is_not_followed() -> None:
    value: Any = {"Ref": "Type"}
    for _ in range(200):
        value = {"Fn::Join": ["", [value]]}
    assert isinstance(settle(value, _DOCUMENT), Unknown)


def test_resources_that_a_condition_leaves_out_are_not_read() -> None:
    document = {
        **_DOCUMENT,
        "Resources": {
            "Out": {"Type": "T", "Condition": "NotProd"},
            "In": {"Type": "T", "Condition": "IsProd"},
            "Perhaps": {"Type": "T", "Condition": "IsOpen"},
        },
    }
    assert list(Template(document, Surroundings(region=REGION)).resources("T")) == ["In", "Perhaps"]


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_the_partition_is_that_of_the_region(region: str) -> None:
    partition = Template({}, Surroundings(region=region)).settle({"Ref": "AWS::Partition"})
    assert partition == {"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"}[region]


@pytest.mark.parametrize("document", [None, [], "template", 3])
def test_what_is_no_template_is_refused(document: object) -> None:
    with pytest.raises(ArgumentError, match="be a CloudFormation template"):
        Template(document, Surroundings(region=REGION))
