"""No template brings preflight down: what it cannot read, it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib.errors import ArgumentError
from constructs_lib.preflight import SEVERITIES, Finding
from tests.preflight.fake_account import FakeAccount
from tests.preflight.templates import ask, found, mixed, only, template


@pytest.mark.parametrize(
    "document", [{}, {"Resources": []}, {"Resources": {"A": None}}, {"Resources": {"A": {"Type": 3}}}]
)
def test_no_group_means_nothing_was_asked(document: Any) -> None:
    report = ask(document=document)
    assert report.worst == "unknown"
    assert report.findings == ()
    assert report.not_judged[0] == "the template makes no Auto Scaling group: nothing was asked"


@pytest.mark.parametrize("document", [None, "template", 3, []])
def test_what_is_no_template_is_refused(document: Any) -> None:
    if document is None:
        return
    with pytest.raises(ArgumentError, match="be a CloudFormation template"):
        ask(document=document)


@pytest.mark.parametrize(
    "group",
    [
        {"LaunchTemplate": None},
        {"LaunchTemplate": None, "LaunchConfigurationName": "x"},
        {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}},
        {"LaunchTemplate": {"LaunchTemplateName": "named"}},
        {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Nobody"}}},
        {"LaunchTemplate": 3},
        {"MixedInstancesPolicy": {}},
        {"MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": [3, {}]}}},
    ],
)
def test_groups_whose_instances_are_not_told(group: dict[str, Any]) -> None:
    report = ask(document=template(group=group))
    findings = found(report, "instance types")
    assert findings
    assert {finding.severity for finding in findings} == {"unknown"}


@pytest.mark.parametrize("named", [{"LaunchTemplateId": "lt-1"}, {"LaunchTemplateName": "gpus", "Version": "$Default"}])
def test_a_launch_template_that_exists_already(named: dict[str, str]) -> None:
    data = {"InstanceType": "g6.xlarge", "ImageId": "ami-1"}
    account = FakeAccount(launch_templates={"lt-1": data, "gpus": data})
    assert ask(account, template(group={"LaunchTemplate": named})).worst == "ok"
    older = {**named, "Version": "3"}
    finding = only(ask(account, template(group={"LaunchTemplate": older})), "instance types")
    assert (finding.severity, "(version 3) does not exist in us-east-1" in finding.message) == ("unknown", True)


def test_a_launch_template_of_the_template_may_be_named() -> None:
    document = template(group={"LaunchTemplate": {"LaunchTemplateName": "gpus"}})
    document["Resources"]["Launch"]["Properties"]["LaunchTemplateName"] = "gpus"
    assert ask(document=document).worst == "ok"


def test_a_type_that_the_deploy_settles() -> None:
    document = template(launch={"InstanceType": {"Ref": "Type"}}, Parameters={"Type": {"Type": "String"}})
    assert only(ask(document=document), "instance types").cure == "pass --parameter Type=VALUE"
    assert not found(ask(document=document, parameters={"Type": "g6.xlarge"}), "instance types")


def test_a_parameter_that_no_template_has_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^preflight: parameters must be declared by a template, got 'Tpye'"):
        ask(document=template(Parameters={"Type": {"Type": "String"}}), parameters={"Tpye": "g6.xlarge"})


def test_a_group_without_any_type() -> None:
    finding = only(ask(document=template(launch={"InstanceType": None})), "instance types")
    assert "names an instance type" in finding.message


@pytest.mark.parametrize(
    ("attributes", "lacking"),
    [
        ({}, "VCpuCount and MemoryMiB"),
        ({"VCpuCount": {"Min": 4}}, "MemoryMiB"),
        ({"VCpuCount": {}, "MemoryMiB": {"Min": 1}}, "VCpuCount"),
    ],
)
def test_attributes_that_ec2_would_not_take_are_not_asked_about(attributes: dict[str, Any], lacking: str) -> None:
    launch = {"InstanceType": None, "InstanceRequirements": attributes}
    finding = only(ask(FakeAccount(), template(launch=launch)), "instance types")
    assert (finding.severity, finding.message.endswith(f"lack {lacking}")) == ("unknown", True)


def test_other_resources_that_start_instances_are_named() -> None:
    report = ask(document=template(resources={"Nodes": {"Type": "AWS::EKS::Nodegroup"}}))
    assert "Nodes (AWS::EKS::Nodegroup) starts instances too" in report.not_judged


def _looping(values: object) -> dict[str, Any]:
    document = template(Transform="AWS::LanguageExtensions", Parameters={"Names": {"Type": "CommaDelimitedList"}})
    group = document["Resources"].pop("Group")
    document["Resources"]["Fn::ForEach::Groups"] = ["Name", values, {"Group${Name}": group}]
    return document


def test_groups_that_a_loop_makes_are_asked_about() -> None:
    report = ask(document=_looping(["A", "B"]))
    assert report.worst == "ok"
    assert {each.resource for each in report.findings if each.asked == "image"} == {"GroupA", "GroupB"}


def test_a_loop_that_only_a_deploy_unrolls_is_named() -> None:
    told = "Fn::ForEach::Groups makes resources that only a deploy tells"
    assert told in ask(document=_looping({"Ref": "Names"})).not_judged
    assert told not in ask(document=_looping({"Ref": "Names"}), parameters={"Names": "A"}).not_judged


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(
        ["", "g6.xlarge", "subnet-a", "cr-1", "Ref", "Launch", "Group", "${", "{{resolve:ssm:x}}", "AWS::NoValue"]
    )
)
_KEYS = st.sampled_from(
    [
        "Ref",
        "Fn::GetAtt",
        "Fn::Sub",
        "Fn::Join",
        "Fn::Select",
        "Fn::If",
        "Fn::Split",
        "Fn::FindInMap",
        "Fn::GetAZs",
        "A",
    ]
)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=2), max_leaves=6
)
_PROPERTIES = [
    "MaxSize",
    "LaunchTemplate",
    "MixedInstancesPolicy",
    "VPCZoneIdentifier",
    "AvailabilityZones",
    "CapacityReservationSpecification",
    "DesiredCapacityType",
]
_DATA = [
    "InstanceType",
    "ImageId",
    "BlockDeviceMappings",
    "NetworkInterfaces",
    "InstanceMarketOptions",
    "InstanceRequirements",
    "IamInstanceProfile",
    "CapacityReservationSpecification",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    group=st.dictionaries(st.sampled_from(_PROPERTIES), _VALUES, max_size=4),
    launch=st.dictionaries(st.sampled_from(_DATA), _VALUES, max_size=4),
    is_mixed=st.booleans(),
    conditions=_VALUES,
)
def test_any_value_anywhere_has_a_report(group: Any, launch: Any, is_mixed: bool, conditions: Any) -> None:
    properties = {**(mixed("g6.xlarge", "g5.xlarge") if is_mixed else {}), **group}
    report = ask(FakeAccount(), template(group=properties, launch=launch, Conditions=conditions))
    assert report.findings
    assert report.worst in SEVERITIES


@pytest.mark.parametrize(
    "facts",
    [
        {"severity": "fine"},
        {"message": " "},
        {"resource": ""},
        {"severity": "error", "cure": ""},
    ],
)
def test_a_finding_checks_itself(facts: dict[str, Any]) -> None:
    whole: dict[str, Any] = {"severity": "ok", "resource": "Group", "asked": "image", "message": "it exists"}
    Finding(**whole)
    with pytest.raises(ArgumentError):
        Finding(**{**whole, **facts})
