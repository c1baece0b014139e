"""Templates that are deployed together: who refers to whom, across stacks, nested stacks and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.values import NotKnown

QUEUE = "AWS::SQS::Queue"
ALARM = "AWS::CloudWatch::Alarm"
NESTED = "AWS::CloudFormation::Stack"


def _template(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


def _alarm(reference: Any) -> dict[str, Any]:
    return {"Type": ALARM, "Properties": {"Dimensions": [{"Name": "QueueName", "Value": reference}]}}


@pytest.mark.parametrize(
    "reference",
    [
        {"Ref": "Q"},
        {"Fn::GetAtt": ["Q", "Arn"]},
        {"Fn::GetAtt": "Q.Arn"},
        {"Fn::Sub": "x-${Q.QueueName}"},
        {"Fn::Sub": ["${name}", {"name": {"Ref": "Q"}}]},
        {"Fn::Join": ["", ["a", {"Fn::Select": [0, [{"Ref": "Q"}]]}]]},
        {"Fn::If": ["C", {"Ref": "Q"}, "none"]},
    ],
)
def test_whoever_refers_to_a_resource_is_its_user(reference: Any) -> None:
    deployment = Deployment([Source(name="s", content=_template(Q={"Type": QUEUE}, A=_alarm(reference)))])
    queue, alarm = deployment.resources(QUEUE)[0], deployment.resources(ALARM)[0]
    assert queue.users() == [alarm]
    assert queue.users(ALARM) == [alarm]
    assert queue.users(QUEUE) == []
    assert alarm.uses() == [queue]


@pytest.mark.parametrize("reference", ["Q", {"Ref": "AWS::Region"}, {"Fn::Sub": "${!Q}"}, {"Ref": 3}, {"Fn::Sub": 3}])
def test_what_is_no_reference_makes_no_user(reference: Any) -> None:
    deployment = Deployment([Source(name="s", content=_template(Q={"Type": QUEUE}, A=_alarm(reference)))])
    assert deployment.resources(QUEUE)[0].users() == []


def test_users_are_found_in_other_stacks() -> None:
    exported = {
        **_template(Q={"Type": QUEUE}),
        "Outputs": {"Name": {"Value": {"Fn::GetAtt": ["Q", "QueueName"]}, "Export": {"Name": "queue"}}},
    }
    importing = _template(A=_alarm({"Fn::ImportValue": "queue"}))
    reading = _template(B=_alarm({"Fn::GetStackOutput": {"StackName": "one", "OutputName": "Name"}}))
    deployment = Deployment(
        [
            Source(name="one", stack="one", content=exported),
            Source(name="two", stack="two", content=importing),
            Source(name="three", stack="three", content=reading),
        ]
    )
    queue = deployment.resources(QUEUE)[0]
    assert [each.id for each in queue.users()] == ["A", "B"]
    assert deployment.exported(queue)
    value = deployment.resources(ALARM)[0].properties.each("Dimensions")[0].at("Value")
    assert value.made() is queue


def test_a_nested_stack_is_read_with_what_its_parent_passes() -> None:
    child = {
        "Parameters": {"Name": {"Type": "String"}, "Size": {"Type": "Number", "Default": 1}},
        **_template(A=_alarm({"Ref": "Name"}), B={"Type": QUEUE, "Properties": {"DelaySeconds": {"Ref": "Size"}}}),
    }
    parent = _template(
        Q={"Type": QUEUE},
        Child={"Type": NESTED, "Properties": {"Parameters": {"Name": {"Fn::GetAtt": ["Q", "QueueName"]}, "Size": "7"}}},
    )
    source = Source(name="s", content=parent, nested={"Child": Source(name="s/Child", content=child)})
    deployment = Deployment([source])
    queue = deployment.resources(QUEUE)[0]
    assert {each.id for each in queue.users()} == {"A", "Child"}
    assert deployment.resources(ALARM)[0].properties.each("Dimensions")[0].at("Value").made() is queue
    assert deployment.resources(QUEUE)[1].properties.whole("DelaySeconds") == 7
    assert deployment.unread == ()


def test_what_a_nested_stack_tells_is_what_it_made() -> None:
    child = {**_template(Q={"Type": QUEUE}), "Outputs": {"Name": {"Value": {"Fn::GetAtt": ["Q", "QueueName"]}}}}
    parent = _template(
        Child={"Type": NESTED},
        A=_alarm({"Fn::GetAtt": ["Child", "Outputs.Name"]}),
        B=_alarm({"Fn::GetAtt": "Child.Outputs.Other"}),
    )
    deployment = Deployment([Source(name="s", content=parent, nested={"Child": Source(name="c", content=child)})])
    queue, (first, second) = deployment.resources(QUEUE)[0], deployment.resources(ALARM)
    assert first.properties.each("Dimensions")[0].at("Value").made() is queue
    with pytest.raises(NotKnown, match="no output Other"):
        second.properties.each("Dimensions")[0].at("Value").made()
    assert queue.users() == [first]
    assert deployment.is_output(queue)
    assert not deployment.exported(queue)


def test_what_may_hold_more_than_is_seen_is_told() -> None:
    content = {
        "Transform": ["AWS::Serverless-2016-10-31", "House", {"Name": "AWS::Include", "Parameters": {}}],
        **_template(
            **{"Fn::ForEach::Q": ["X", ["a"], {"Q${X}": {"Type": QUEUE}}]},
            Child={"Type": NESTED},
            M={"Type": "My::Own::Thing::MODULE"},
        ),
    }
    assert Deployment([Source(name="s", content=content)]).unread == (
        "the macro House",
        "the macro AWS::Include",
        "the loop Fn::ForEach::Q",
        "the module M",
        "the nested stack Child",
    )


def test_loops_are_unrolled_and_told_where_they_are_written() -> None:
    asked = []

    def line_of(path: tuple[str | int, ...]) -> int:
        asked.append(path)
        return 7

    loop = ["X", {"Ref": "Names"}, {"Q${X}": {"Type": QUEUE, "Properties": {"QueueName": {"Ref": "X"}}}}]
    content = {
        "Transform": "AWS::LanguageExtensions",
        "Parameters": {"Names": {"Type": "CommaDelimitedList", "Default": "a,b"}},
        **_template(**{"Fn::ForEach::Q": loop}),
        "Outputs": {"Fn::ForEach::O": ["X", ["b"], {"O${X}": {"Value": {"Ref": {"Fn::Sub": "Q${X}"}}}}]},
    }
    deployment = Deployment([Source(name="s", content=content, line_of=line_of)])
    first, second = deployment.resources(QUEUE)
    assert (first.id, second.id) == ("Qa", "Qb")
    assert second.properties.text("QueueName") == "b"
    assert second.line(("QueueName",)) == 7
    assert asked == [("Resources", "Fn::ForEach::Q", 2, "Q${X}", "Properties", "QueueName")]
    assert deployment.unread == ()
    assert [deployment.is_output(each) for each in (first, second)] == [False, True]


def test_a_loop_over_properties_that_only_a_deploy_unrolls_may_add_some() -> None:
    loop = ["X", {"Ref": "Names"}, {"${X}": 1}]
    content = {
        "Transform": "AWS::LanguageExtensions",
        "Parameters": {"Names": {"Type": "CommaDelimitedList"}},
        **_template(Q={"Type": QUEUE, "Properties": {"QueueName": "q", "Fn::ForEach::P": loop}}),
    }
    deployment = Deployment([Source(name="s", content=content)])
    assert deployment.unread == ("the loop Fn::ForEach::P of Q",)
    assert deployment.resources(QUEUE)[0].properties.text("QueueName") == "q"


def test_loops_of_nested_stacks_go_over_what_the_parent_passes() -> None:
    child = {
        "Transform": "AWS::LanguageExtensions",
        "Parameters": {"Names": {"Type": "CommaDelimitedList"}},
        **_template(**{"Fn::ForEach::Q": ["X", {"Ref": "Names"}, {"Q${X}": {"Type": QUEUE}}]}),
    }
    parent = _template(Child={"Type": NESTED, "Properties": {"Parameters": {"Names": "a,b"}}})
    deployment = Deployment([Source(name="s", content=parent, nested={"Child": Source(name="c", content=child)})])
    assert [each.id for each in deployment.resources(QUEUE)] == ["Qa", "Qb"]


def test_what_another_stack_exports_of_its_loops() -> None:
    loop = {"Fn::ForEach::Q": ["X", ["a"], {"Q${X}": {"Type": QUEUE}}]}
    exported = {"O": {"Value": {"Ref": "Qa"}, "Export": {"Name": "queue"}}}
    one = {"Transform": "AWS::LanguageExtensions", **_template(**loop), "Outputs": exported}
    alarm = {"Type": ALARM, "Properties": {"Dimensions": [{"Value": {"Fn::ImportValue": "queue"}}]}}
    sources = [
        Source(name="One", content=one, stack="One"),
        Source(name="Two", content=_template(A=alarm), stack="Two"),
    ]
    deployment = Deployment(sources)
    (watching,) = deployment.resources(ALARM)
    assert watching.properties.each("Dimensions")[0].at("Value").made() is deployment.resources(QUEUE)[0]


def test_a_resource_whose_condition_does_not_hold_is_not_there() -> None:
    content = {
        "Parameters": {"Stage": {"Type": "String", "Default": "dev"}, "Open": {"Type": "String"}},
        "Conditions": {
            "Prod": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "Dev": {"Fn::Not": [{"Condition": "Prod"}]},
            "Maybe": {"Fn::Equals": [{"Ref": "Open"}, "yes"]},
        },
        **_template(**{name: {"Type": QUEUE, "Condition": name} for name in ("Prod", "Dev", "Maybe")}),
    }
    deployment = Deployment([Source(name="s", content=content)])
    assert [each.id for each in deployment.resources(QUEUE)] == ["Dev", "Maybe"]
    deployed = Deployment([Source(name="s", content=content)], parameters={"Stage": "prod", "Open": "no"})
    assert [each.id for each in deployed.resources(QUEUE)] == ["Prod"]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"Resources": None},
        {"Resources": []},
        {"Resources": {"A": None, "B": {"Type": 3}, "C": {"Type": QUEUE, "Properties": []}}},
        {"Resources": {"A": {"Type": QUEUE, "Properties": {"Ref": "A"}}}, "Outputs": [], "Parameters": 3},
        {"Resources": {"A": {"Type": QUEUE, "Properties": {"X": {"Fn::GetAtt": []}}}}, "Outputs": {"O": {"Export": 1}}},
        {"Conditions": {"C": {"Condition": "C"}}, "Resources": {"A": {"Type": QUEUE, "Condition": "C"}}},
        {"Transform": 3, "Resources": {"A": {"Type": QUEUE, "Properties": {"X": {"Fn::Sub": []}}}}},
    ],
)
def test_malformed_templates_have_no_tracebacks(content: dict[str, Any]) -> None:
    deployment = Deployment([Source(name="s", content=content)])
    for resource in deployment.resources():
        assert resource.users() == []
        assert resource.line() is None
        assert not deployment.exported(resource)
    assert deployment.unread is not None
