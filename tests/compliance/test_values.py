"""What a rule reads: absent, known, and not known are three different things."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.values import NotKnown, Value, all_of, any_of


def _value(raw: Any, *, parameters: dict[str, Any] | None = None, **resources: Any) -> Value:
    """The property ``P`` of a resource, settled."""
    content = {
        "Parameters": {"Open": {"Type": "String"}, **(parameters or {})},
        "Resources": {"R": {"Type": "AWS::SNS::Topic", "Properties": {"P": raw}}, **resources},
    }
    return Deployment([Source(name="s", content=content)]).resources("AWS::SNS::Topic")[0].properties.at("P")


OPEN = {"Ref": "Open"}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a", "a"),
        (4, "4"),
        (0.5, "0.5"),
        (1e6, "1000000"),
        (123456789.25, "123456789.25"),
        (True, "true"),
        ({"Fn::Sub": "a-${!b}"}, "a-${b}"),
        (None, None),
    ],
)
def test_a_text(raw: Any, text: str | None) -> None:
    assert _value(raw).text() == text


@pytest.mark.parametrize("raw", [OPEN, {"Fn::Sub": "a-${Open}"}, {"a": 1}, ["a"], {"Ref": "R"}])
def test_what_is_no_text_or_not_known_is_no_absence(raw: Any) -> None:
    with pytest.raises(NotKnown):
        _value(raw).text()


def test_a_text_of_which_parts_are_known_can_be_searched() -> None:
    value = _value({"Fn::Join": ["\n", ["#!/bin/bash", {"Fn::Sub": "echo ${Open} ${R.TopicName} ${R}"}]]})
    assert value.searchable() == "#!/bin/bash\necho ${unknown} ${R.TopicName} ${R}"
    with pytest.raises(NotKnown, match="parameter Open has no default"):
        value.text()


@pytest.mark.parametrize(("raw", "number"), [(0, 0), ("0", 0), ("12.5", 12.5), (None, None)])
def test_a_number(raw: Any, number: float | None) -> None:
    assert _value(raw).number() == number


@pytest.mark.parametrize("raw", ["", "many", True, [], {}, OPEN])
def test_what_is_no_number_is_not_known(raw: Any) -> None:
    with pytest.raises(NotKnown):
        _value(raw).number()
    with pytest.raises(NotKnown):
        _value(raw).whole()


@pytest.mark.parametrize(
    ("raw", "default", "flag"),
    [(True, False, True), ("true", False, True), ("False", True, False), (None, True, True), (None, False, False)],
)
def test_a_flag(raw: Any, default: bool, flag: bool) -> None:
    assert _value(raw).flag(default=default) is flag


@pytest.mark.parametrize("raw", ["yes", 1, [], OPEN])
def test_what_is_neither_true_nor_false_is_not_known(raw: Any) -> None:
    with pytest.raises(NotKnown):
        _value(raw).flag(default=False)


def test_below_what_is_absent_there_is_nothing_and_below_what_is_not_known_nobody_knows() -> None:
    assert _value(None).at("A.B").is_absent
    assert _value({"A": {}}).at("A.B").is_absent
    assert _value({"A": {"B": 0}}).at("A.B").number() == 0
    unknown: list[Any] = [OPEN, {"A": OPEN}, {"A": "text"}, {"A": []}]
    for raw in unknown:
        with pytest.raises(NotKnown):
            _value(raw).at("A.B")


def test_a_property_without_a_value_is_absent() -> None:
    assert _value({"Ref": "AWS::NoValue"}).is_absent
    assert _value({"A": {"Ref": "AWS::NoValue"}}).at("A").is_absent


def test_entries_of_a_list_have_their_places() -> None:
    entries = _value([{"A": 1}, OPEN]).each()
    assert [each.path for each in entries] == [("P", 0), ("P", 1)]
    assert entries[0].at("A").broken(must="be 2", cure="write 2").property == "P[0].A"
    assert not entries[1].is_known
    assert _value(None).each() == []
    assert [each.raw for each in _value("one").each()] == ["one"]
    with pytest.raises(NotKnown):
        _value(OPEN).each()


def test_names_of_an_object() -> None:
    assert [(name, each.path) for name, each in _value({"a": 1}).named()] == [("a", ("P", "a"))]
    assert _value(None).named() == []


def test_a_reference_leads_to_the_resource() -> None:
    made = _value({"Fn::GetAtt": ["Q", "Arn"]}, Q={"Type": "AWS::SQS::Queue"}).made()
    assert made is not None
    assert (made.id, made.type) == ("Q", "AWS::SQS::Queue")
    assert _value("arn:aws:sqs:us-east-1:111122223333:q").made() is None
    assert _value(None).made() is None
    with pytest.raises(NotKnown):
        _value(OPEN).made()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (None, "nothing"),
        (False, "false"),
        ("", "''"),
        (OPEN, "what only a deploy tells"),
        ({"Ref": "R"}, "R"),
        ({"Fn::GetAtt": "R.TopicName"}, "R.TopicName"),
        ({"Fn::Sub": "x-${R}"}, "'x-${R}'"),
        ({"Fn::Sub": "${AWS::StackName}-${Open}-x"}, "'${AWS::StackName}-${Open}-x'"),
        ([{"Key": "Name", "Value": {"Fn::Sub": "x-${R}"}}], "[{'Key': 'Name', 'Value': 'x-${R}'}]"),
        ({"a": OPEN}, "{'a': 'what only a deploy tells'}"),
        ("a" * 500, f"'{'a' * 116}..."),
    ],
)
def test_what_a_message_shows(raw: Any, shown: str) -> None:
    assert _value(raw).broken(must="be other", cure="write it").shown == shown


def _judge(item: bool | None) -> bool:
    if item is None:
        raise NotKnown(_value(OPEN), "nobody knows")
    return item


@pytest.mark.parametrize(
    ("items", "any_true", "all_true"),
    [
        ([], False, True),
        ([True, None], True, None),
        ([False, None], None, False),
        ([None, True], True, None),
        ([None, False], None, False),
        ([True, True], True, True),
        ([False, False], False, False),
        ([True, False], True, False),
    ],
)
def test_logic_of_three_values(items: list[bool | None], any_true: bool | None, all_true: bool | None) -> None:
    for combine, expected in ((any_of, any_true), (all_of, all_true)):
        if expected is None:
            with pytest.raises(NotKnown, match="nobody knows"):
                combine(_judge, items)
        else:
            assert combine(_judge, items) is expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"Fn::GetAtt": "Look.Subnet"}, "only a deploy tells what Look.Subnet is"),
        ({"Fn::GetAZs": ""}, "only a deploy tells the zones of the Region"),
        ({"Fn::ImportValue": "x"}, "it is the output x of a stack that is deployed already"),
        ({"Ref": "Held"}, "it is what the SSM parameter /gpu/size holds at the deploy"),
        ({"a": 1}, "it is not written as CloudFormation wants it"),
    ],
)
def test_why_a_value_tells_nothing(raw: Any, reason: str) -> None:
    held = {"Held": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/gpu/size"}}
    value = _value(raw, parameters=held, Look={"Type": "Custom::Look"})
    with pytest.raises(NotKnown) as raised:
        value.whole()
    assert raised.value.reason == reason


@pytest.mark.parametrize("raw", ["a", {"Ref": "R"}, {"Fn::GetAtt": "R.TopicArn"}, {"Fn::Sub": "${R}-x"}])
def test_one_value_is_a_list_of_one_where_a_list_is_asked_for(raw: Any) -> None:
    assert len(_value(raw).each()) == 1


@pytest.mark.parametrize("raw", [OPEN, {"Fn::GetAtt": "R.Subnets"}, {"Fn::GetAZs": ""}])
def test_what_may_be_a_list_is_no_list_of_one(raw: Any) -> None:
    with pytest.raises(NotKnown):
        _value(raw).each()


def test_below_both_sides_of_a_condition_is_what_they_agree_on() -> None:
    content = {
        "Parameters": {"Open": {"Type": "String"}},
        "Conditions": {"Open": {"Fn::Equals": [OPEN, "yes"]}},
        "Resources": {
            "R": {
                "Type": "AWS::SNS::Topic",
                "Properties": {"P": {"Fn::If": ["Open", {"A": 1, "B": 1}, {"A": 1, "B": 2}]}},
            }
        },
    }
    value = Deployment([Source(name="s", content=content)]).resources("AWS::SNS::Topic")[0].properties
    assert value.whole("P.A") == 1
    assert value.at("P.C").is_absent
    assert [each.raw for each in value.at("P.B").choices()] == [1, 2]
    with pytest.raises(NotKnown, match="condition Open depends on what the deploy is given"):
        value.whole("P.B")


INCLUDED = {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/t.yaml"}}, "Here": {"a": 1}}


def test_what_a_file_beside_may_bring_is_not_known_and_what_is_there_is() -> None:
    value = _value(INCLUDED)
    assert value.at("Here.a").number() == 1
    assert not value.at("There").is_known
    with pytest.raises(NotKnown):
        value.at("There.below")
    with pytest.raises(NotKnown, match="what Fn::Transform puts there is known at the deploy only"):
        value.text("There")
    with pytest.raises(NotKnown):
        value.named()
