"""What may have accelerators and is not looked at is told in one line, with how to ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from constructs_lib.compliance.baseline import gone
from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.findings import Finding, Location, Report
from constructs_lib.compliance.formats.text import as_text
from constructs_lib.compliance.outcome import Outcome
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.run import check_template

RULE = "accelerators-out-of-sight"


def report_on(template: Mapping[str, Any], **parameters: str) -> Report:
    return check([Deployment([Source(name="t", content=template)], parameters=parameters)], tuple(RULES.values()))


def told(template: Mapping[str, Any], **parameters: str) -> dict[str, str]:
    found = [each for each in report_on(template, **parameters).not_judged if each.rule == RULE]
    assert len({each.resource for each in found}) == len(found)
    return {each.resource: each.reason for each in found}


def machine(kind: Any, **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::EC2::Instance", "Properties": {"ImageId": "ami-1", "InstanceType": kind}, **more}


def with_parameter(default: str, *allowed: str, **resources: Any) -> dict[str, Any]:
    declared = {"Type": "String", "Default": default, **({"AllowedValues": list(allowed)} if allowed else {})}
    return {"Parameters": {"Given": declared}, "Resources": resources}


GIVEN = {"Ref": "Given"}
IF_PROD = {"Conditions": {"Prod": {"Fn::Equals": [GIVEN, "prod"]}}}
EITHER = {"Fn::If": ["Prod", "g5.xlarge", "t3.micro"]}
OR_DEV = {"Conditions": {"Dev": {"Fn::Equals": ["dev", GIVEN]}}}
BY_STAGE = {"Mappings": {"M": {"dev": {"Type": "t3.micro"}, "prod": {"Type": "p5.48xlarge"}}}}
FOUND = {"Fn::FindInMap": ["M", GIVEN, "Type"]}


@pytest.mark.parametrize(
    ("template", "option"),
    [
        (with_parameter("c5.large", "c5.large", "g5.xlarge", "g5.2xlarge", Box=machine(GIVEN)), "Given=g5.xlarge"),
        (with_parameter("dev", Box=machine(EITHER)) | IF_PROD, "Given=prod"),
        (with_parameter("dev", "dev", "prod", Box=machine("g5.xlarge", Condition="Prod")) | IF_PROD, "Given=prod"),
        (
            with_parameter("dev", "dev", "prod", Box=machine({"Fn::If": ["Dev", "t3.micro", "g5.xlarge"]})) | OR_DEV,
            "Given=prod",
        ),
        (
            with_parameter("dev", Box=machine({"Fn::If": ["Dev", "t3.micro", "g5.xlarge"]})) | OR_DEV,
            "Given=VALUE",
        ),
        (with_parameter("dev", Box=machine(FOUND)) | BY_STAGE, "Given=prod"),
        (
            with_parameter(
                "ml.m5.xlarge",
                "ml.m5.xlarge",
                "ml.g5.xlarge",
                Box={"Type": "AWS::SageMaker::NotebookInstance", "Properties": {"InstanceType": GIVEN}},
            ),
            "Given=ml.g5.xlarge",
        ),
    ],
)
def test_accelerators_behind_another_value_are_told_once_with_how_to_ask(
    template: Mapping[str, Any], option: str
) -> None:
    (reason,) = told(template).values()
    assert reason.endswith(f"pass --parameter {option}")


def test_two_parameters_that_bring_them_together_are_both_named() -> None:
    template = with_parameter("c5.large", "c5.large", "g5.xlarge", Box=machine(GIVEN, Condition="Use"))
    template["Parameters"]["Use"] = {"Type": "String", "Default": "no", "AllowedValues": ["yes", "no"]}
    template["Conditions"] = {"Use": {"Fn::Equals": [{"Ref": "Use"}, "yes"]}}
    (reason,) = told(template).values()
    assert reason.endswith("pass --parameter Given=g5.xlarge --parameter Use=yes")


@pytest.mark.parametrize(
    "template",
    [
        with_parameter("c5.large", "c5.large", "m5.large", Box=machine(GIVEN)),
        with_parameter("g5.xlarge", "g5.xlarge", "g6.xlarge", Box=machine(GIVEN)),
        # Nothing uses the parameter.
        with_parameter("c5.large", "c5.large", "g5.xlarge", Box=machine("c5.large")),
        with_parameter("dev", Box=machine({"Fn::If": ["Prod", "m7i.4xlarge", "t3.micro"]})) | IF_PROD,
        # A parameter that can be anything names no accelerator.
        with_parameter("c5.large", Box=machine(GIVEN)),
    ],
)
def test_where_no_value_brings_accelerators_nothing_is_told(template: Mapping[str, Any]) -> None:
    assert told(template) == {}


def test_who_has_given_the_value_has_had_the_answer() -> None:
    template = with_parameter("c5.large", "c5.large", "g5.xlarge", Box=machine(GIVEN))
    assert told(template, Given="c5.large") == {}
    assert told(template, Given="g5.xlarge") == {}


def test_of_what_nobody_can_tell_anything_there_is_one_line() -> None:
    template = {"Parameters": {"Type": {"Type": "String"}}, "Resources": {"Box": machine({"Ref": "Type"})}}
    (open_,) = report_on(template).not_judged
    assert (open_.rule, open_.resource, open_.location.property) == (RULE, "Box", "InstanceType")
    assert open_.reason == "parameter Type has no default"
    assert {"no-idle-release", "accelerators-not-measured"} < {*open_.rules}
    text = as_text(Outcome(report=report_on(template), rules=tuple(RULES.values())))
    assert "1 x parameter Type has no default" in text
    assert "1 not judged" in text


def test_a_finding_that_a_baseline_has_of_it_is_not_gone() -> None:
    template = {"Parameters": {"Type": {"Type": "String"}}, "Resources": {"Box": machine({"Ref": "Type"})}}
    report = report_on(template)
    place = Location(stack="t", file=None, line=None, property="")
    told = {"message": "", "fix": "", "practice": "", "type": ""}
    known = Finding(rule="no-idle-release", severity="error", resource="Box", location=place, **told)
    assert gone({known.fingerprint: known}, report, RULES) == ()


BODY = (
    "Parameters:\n  Type: {Type: String, Default: m5.large}\nResources:\n  Box: {Type: AWS::EC2::Instance, Properties: "
)
BODY += "{ImageId: ami-1, InstanceType: !Ref Type, MetadataOptions: {HttpTokens: optional}}}\n"


def stack_set(**properties: Any) -> dict[str, Any]:
    return {"Resources": {"Set": {"Type": "AWS::CloudFormation::StackSet", "Properties": properties}}}


def test_the_template_in_a_stack_set_is_judged_with_what_it_passes() -> None:
    passed = [{"ParameterKey": "Type", "ParameterValue": "g5.xlarge"}]
    report = report_on(stack_set(TemplateBody=BODY, Parameters=passed))
    assert "instance-metadata-v1" in {each.rule for each in report.findings if each.location.stack == "t/Set"}
    assert report.stacks == ("t", "t/Set")
    assert report_on(stack_set(TemplateBody=BODY)).findings == ()


def test_the_region_of_a_stack_set_is_the_only_one_that_it_names() -> None:
    body = BODY.replace("m5.large", "trn2.48xlarge")
    groups = [{"DeploymentTargets": {"Accounts": ["1"]}, "Regions": ["eu-west-1"]}]
    report = report_on(stack_set(TemplateBody=body, StackInstancesGroup=groups))
    assert "type-not-offered-in-region" in {each.rule for each in report.findings}


def test_a_value_that_some_stacks_of_a_set_get_another_of_is_not_known() -> None:
    other = [{"ParameterKey": "Type", "ParameterValue": "g5.xlarge"}]
    group = {"DeploymentTargets": {"Accounts": ["1"]}, "Regions": ["eu-west-1"], "ParameterOverrides": other}
    assert told(stack_set(TemplateBody=BODY, StackInstancesGroup=[group])) == {
        "Box": "some stacks of the set get another value for Type"
    }


def test_templates_that_are_not_at_hand_are_one_line() -> None:
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://s3.amazonaws.com/b/t.yaml"}}
    product = {"Type": "AWS::ServiceCatalog::CloudFormationProvisionedProduct", "Properties": {"ProductName": "gpu"}}
    resources: dict[str, Any] = {
        "Include": {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/t.yaml"}}},
        "Nested": nested,
        "Product": product,
        "Module": {"Type": "My::Gpu::Cluster::MODULE", "Properties": {}},
        "Set": stack_set(TemplateURL="https://s3.amazonaws.com/b/t.yaml")["Resources"]["Set"],
        "Broken": stack_set(TemplateBody="Resources: [")["Resources"]["Set"],
    }
    reason = "not read, since their templates are not at hand: Include, Nested, Product, Module, Set, Broken"
    assert told({"Resources": resources}) == {"Include": reason}


TWICE_IN_YAML = """Resources:
  Box: {Type: AWS::EC2::Instance, Properties: {InstanceType: g5.xlarge}}
  Other: {Type: AWS::SNS::Topic}
  Box: {Type: AWS::EC2::Instance, Properties: {InstanceType: m5.large}}
"""
TWICE_IN_JSON = '{"Resources": {"Box": {"Type": "AWS::SNS::Topic"}, "Box": {"Type": "AWS::SQS::Queue"}}}'
PROPERTY_TWICE = """Resources:
  One: {Type: AWS::SNS::Topic}
  Two:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: a
      TopicName: b
  Three: {Type: AWS::SNS::Topic}
"""


@pytest.mark.parametrize(
    ("text", "resource", "where"),
    [
        (TWICE_IN_YAML, "Box", "the key Box is there more than once, the last time on line 4:"),
        (TWICE_IN_JSON, "Box", "the key Box is there more than once:"),
        (PROPERTY_TWICE, "Two", "the key TopicName is there more than once, the last time on line 7:"),
    ],
)
def test_a_key_that_is_there_twice_is_told(text: str, resource: str, where: str) -> None:
    (open_,) = check_template(text).not_judged
    assert (open_.rule, open_.resource) == (RULE, resource)
    assert open_.reason.startswith(where)


def test_a_condition_that_the_template_does_not_have_is_told_and_the_resource_is_judged() -> None:
    """CloudFormation refuses it: what the resource would be is of use to whoever mends the name."""
    box = {"Type": "AWS::EC2::Instance", "Condition": "IsProduction", "Properties": {"InstanceType": "g6.xlarge"}}
    plain = {"Type": "AWS::SQS::Queue", "Condition": "IsProduct"}
    has = {"Conditions": {"IsProduct": {"Fn::Equals": [{"Ref": "AWS::Region"}, "eu-west-1"]}}}
    report = check_template({**has, "Resources": {"Box": box, "Jobs": plain}})

    told = [(each.resource, each.reason) for each in report.not_judged if each.rule == RULE]
    assert told == [("Box", "the template has no condition IsProduction, and CloudFormation refuses it")]
    assert "instance-metadata-v1" in {each.rule for each in report.findings}


def test_conditions_that_a_macro_or_a_file_may_bring_are_not_missed() -> None:
    box = {"Type": "AWS::EC2::Instance", "Condition": "IsProduction", "Properties": {"InstanceType": "g6.xlarge"}}
    report = check_template({"Transform": "House", "Resources": {"Box": box}})
    assert [each for each in report.not_judged if "no condition" in each.reason] == []


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (None, "it is no object with a Type"),
        ([], "it is no object with a Type"),
        ({"Properties": {"InstanceType": "g6.xlarge"}}, "it is no object with a Type"),
        ({"Type": ["AWS::EC2::Instance"]}, "it is no object with a Type"),
        ({"Type": "AWS::EC2::Instance", "Properties": ["g6.xlarge"]}, "its Properties are no object"),
        ({"Type": "AWS::EC2::Instance", "Properties": "g6.xlarge"}, "its Properties are no object"),
    ],
)
def test_what_is_no_resource_is_told_and_not_passed_over(written: object, reason: str) -> None:
    """ "Resources" of the CloudFormation user guide: a type is required, and properties are an object."""
    assert told({"Resources": {"Box": written}}) == {"Box": f"{reason}, and CloudFormation refuses it"}


def test_what_a_macro_makes_a_resource_of_is_none_yet() -> None:
    assert told({"Transform": "House", "Resources": {"Box": ["g6.xlarge"]}}) == {}
    assert told({"Resources": {"Box": {"Type": "AWS::EC2::Instance"}, "Empty": {"Type": "AWS::SQS::Queue"}}}) == {}


def test_services_that_another_value_gives_accelerators_are_told_of() -> None:
    """A cluster of EMR by its type, and streamed applications by a condition."""
    given = {"Type": "String", "Default": "m5.xlarge", "AllowedValues": ["m5.xlarge", "g5.xlarge"]}
    core = {"InstanceCount": 2, "InstanceType": {"Ref": "Kind"}}
    streamed = {"Fn::If": ["Fast", "stream.graphics.g5.xlarge", "stream.standard.large"]}
    template = {
        "Parameters": {"Kind": given},
        "Conditions": {"Fast": {"Fn::Equals": [{"Ref": "Kind"}, "g5.xlarge"]}},
        "Resources": {
            "Cluster": {"Type": "AWS::EMR::Cluster", "Properties": {"Instances": {"CoreInstanceGroup": core}}},
            "Fleet": {"Type": "AWS::AppStream::Fleet", "Properties": {"Name": "d", "InstanceType": streamed}},
        },
    }
    reason = "it has accelerators with Kind=g5.xlarge, and not as it was judged: pass --parameter Kind=g5.xlarge"
    assert told(template) == {"Cluster": reason, "Fleet": reason}


def test_of_a_resource_whose_properties_come_from_a_file_nobody_can_tell() -> None:
    included = {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/t.yaml"}}}
    box = {"Type": "AWS::EC2::Instance", "Properties": {**included, "ImageId": "ami-1"}}
    report = check_template({"Resources": {"Box": box}})
    assert report.findings == ()
    assert {(each.resource, each.reason) for each in report.not_judged} == {
        ("Box", "what Fn::Transform puts there is known at the deploy only")
    }
    (line,) = [each for each in report.not_judged if each.rule == RULE]
    assert "no-idle-release" in line.rules
