"""A stack with a time to live: what is defined, and in which order it goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import App, CfnResource, Duration, NestedStack, Stack, Token, Validations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks
from cfnlint import api  # type: ignore[import-untyped]
from constructs import Construct

from constructs_lib import AcceleratedFleet, FleetSchedule, OrphanSweep
from constructs_lib.errors import ArgumentError
from constructs_lib.release.expiry import ExpiryStart, StackExpiry
from stack_expiry.decision import Start
from stack_expiry.settings import read_settings
from tests.constructs.reading import needs, only, plain, properties, resources, role_statements
from tests.constructs.scenarios import CONTEXTS
from tests.support.stacks import fleet, full_fleet, stack

GROUP = "AWS::AutoScaling::AutoScalingGroup"
PARTS = {
    "AWS::CloudWatch::Alarm",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SSM::Parameter",
}


def expiry(scope: Construct, id: str = "Expiry", **arguments: Any) -> StackExpiry:
    return StackExpiry(scope, id, **{"after": Duration.days(3), **arguments})


def synthesized(test_stack: Stack) -> dict[str, Any]:
    return dict(Template.from_stack(test_stack).to_json())


def alone(**arguments: Any) -> dict[str, Any]:
    test_stack = stack()
    expiry(test_stack, **arguments)
    return synthesized(test_stack)


def parts(made: Mapping[str, Any]) -> dict[str, str]:
    return {id: each["Type"] for id, each in made["Resources"].items() if id.startswith("Expiry")}


def environment(made: Mapping[str, Any]) -> dict[str, str]:
    function = properties(made, "Expiry", "AWS::Lambda::Function")
    return dict(plain(function["Environment"]["Variables"]))


# ---- what is defined


def test_what_an_expiry_consists_of() -> None:
    assert sorted(parts(alone()).values()) == sorted(PARTS)


def test_a_topic_of_ones_own_is_used() -> None:
    test_stack = stack()
    topic = sns.Topic(test_stack, "Alerts")
    assert expiry(test_stack, notifications=topic).notifications is topic
    made = synthesized(test_stack)
    assert environment(made)["TOPIC_ARN"] == "<Alerts>"
    assert sorted(parts(made).values()) == sorted(PARTS - {"AWS::SNS::Topic", "AWS::SNS::TopicPolicy"})


def test_the_handler_understands_its_settings() -> None:
    read = read_settings({**environment(alone()), "STACK_ID": "arn:aws:cloudformation:eu-west-1:1:stack/dev/1"})
    assert (read.policy.after.days, read.policy.warn_before.days, read.policy.start) == (3, 1, Start.CREATION)
    assert read.policy.tag_key == "accelerated-fleet:expires"
    assert [each.value for each in ExpiryStart] == [each.value for each in Start]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"after": Duration.hours(2)}, (2, 1)),
        ({"after": Duration.hours(3)}, (3, 1)),
        ({"after": Duration.hours(47)}, (47, 23)),
        ({"after": Duration.days(366)}, (366 * 24, 24)),
        ({"warn_before": Duration.hours(71)}, (72, 71)),
        ({"warn_before": Duration.minutes(60)}, (72, 1)),
    ],
)
def test_times(arguments: dict[str, Duration], expected: tuple[int, int]) -> None:
    variables = environment(alone(**arguments))
    hours = (int(variables["EXPIRES_AFTER_SECONDS"]) // 3600, int(variables["WARN_BEFORE_SECONDS"]) // 3600)
    assert hours == expected


def test_the_time_may_be_counted_from_the_last_update() -> None:
    assert environment(alone(counted_from=ExpiryStart.LAST_UPDATE))["COUNTED_FROM"] == "last_update"


def test_it_looks_once_an_hour_and_is_not_retried() -> None:
    made = alone()
    assert properties(made, "Expiry", "AWS::Events::Rule")["ScheduleExpression"] == "rate(60 minutes)"
    retries = properties(made, "Expiry", "AWS::Lambda::EventInvokeConfig")
    assert (retries["MaximumRetryAttempts"], retries["MaximumEventAgeInSeconds"]) == (0, 3600)


def test_case_37_the_function_may_delete_its_own_stack_and_nothing_else() -> None:
    assert role_statements(alone(), "ExpiryHandlerRole") == [
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": "<ExpiryHandlerLogs.Arn>",
        },
        {
            "Effect": "Allow",
            "Action": ["cloudformation:DeleteStack", "cloudformation:DescribeStacks"],
            "Resource": "<AWS::StackId>",
        },
        {
            "Effect": "Allow",
            "Action": ["ssm:GetParameter", "ssm:PutParameter"],
            "Resource": "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/<ExpiryMemory>",
        },
        {"Effect": "Allow", "Action": "sns:Publish", "Resource": "<ExpiryNotifications>"},
    ]


def test_case_52_it_leaves_nothing_behind() -> None:
    made = alone()
    logs = only(made, "AWS::Logs::LogGroup")
    assert (logs["Properties"], logs["DeletionPolicy"]) == ({"RetentionInDays": 30}, "Delete")
    assert "Name" not in only(made, "AWS::SSM::Parameter")["Properties"]
    assert "logs:CreateLogGroup" not in json.dumps(made)
    assert "Retain" not in json.dumps(made)


def test_an_encrypted_topic_can_be_written_to() -> None:
    test_stack = stack()
    key = kms.Key(test_stack, "Key")
    expiry(test_stack, notifications=sns.Topic(test_stack, "Alerts", master_key=key))
    made = synthesized(test_stack)
    assert {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": "<Key.Arn>",
    } in role_statements(made, "ExpiryHandlerRole")


# ---- the order of deletion


def assert_groups_go_first(made: Mapping[str, Any], number: int) -> None:
    groups = resources(made, GROUP)
    assert len(groups) == number
    expiring = set(parts(made))
    for id in groups:
        assert expiring <= needs(made, id)
    for id in expiring:
        assert not needs(made, id) & set(groups)
    assert [id for id in made["Resources"] if id in needs(made, id)] == []


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("first", ["expiry", "fleet"])
def test_case_04_a_fleet_is_deleted_before_the_function_that_would_try_again(first: str, context: str) -> None:
    test_stack = stack(context=CONTEXTS[context]())
    makers: list[Callable[[Stack], Construct]] = [expiry, fleet]
    for make in makers if first == "expiry" else reversed(makers):
        make(test_stack)
    made = synthesized(test_stack)
    assert_groups_go_first(made, 1)
    ((clean_up, _),) = resources(made, "Custom::AcceleratedFleetCleanup").items()
    assert set(parts(made)) <= needs(made, clean_up)


def test_the_fleets_own_topic_closes_no_circle() -> None:
    test_stack = stack()
    expiry(test_stack, notifications=fleet(test_stack).notifications)
    assert_groups_go_first(synthesized(test_stack), 1)


def test_case_04_two_fleets_with_everything_close_no_circle() -> None:
    test_stack = stack()
    topic = sns.Topic(test_stack, "Alerts", master_key=kms.Key(test_stack, "Key"))
    one = full_fleet(test_stack, "Train", schedule=FleetSchedule(), notifications=topic)
    OrphanSweep(test_stack, "Sweep", fleet=one, act=True, notifications=topic)
    two = fleet(test_stack, "Serve", schedule=FleetSchedule(), notifications=one.notifications)
    OrphanSweep(two, "Sweep", fleet=two)
    expiry(test_stack, notifications=two.notifications)
    made = synthesized(test_stack)
    assert_groups_go_first(made, 2)
    clean_ups = resources(made, "Custom::AcceleratedFleetCleanup")
    assert len(clean_ups) == 2
    for fleet_id in ("Train", "Serve"):
        (clean_up,) = [id for id in clean_ups if id.startswith(fleet_id)]
        (schedule,) = [id for id in resources(made, "AWS::Lambda::Function") if id.startswith(f"{fleet_id}Schedule")]
        assert clean_up in needs(made, schedule)


def test_a_topic_of_a_nested_stack_would_close_a_circle_and_is_refused() -> None:
    test_stack = stack()
    nested = NestedStack(NestedStack(test_stack, "Outer"), "Inner")
    topic = fleet(nested).notifications
    words = (
        "notifications must not be of a stack that is nested in this one, got 'Test/Outer/Inner/Fleet/Notif.*; create"
    )
    with pytest.raises(ArgumentError, match=f"^Test/Expiry: {words}"):
        expiry(test_stack, notifications=topic)


def test_a_topic_that_is_imported_in_a_nested_stack_is_no_part_of_it() -> None:
    test_stack = stack()
    nested = NestedStack(test_stack, "Nested")
    topic = sns.Topic.from_topic_arn(nested, "Alerts", "arn:aws:sns:us-east-1:111122223333:alerts")
    fleet(nested, notifications=topic)
    expiry(test_stack, notifications=topic)
    made = synthesized(test_stack)
    assert [id for id in made["Resources"] if id in needs(made, id)] == []


def test_groups_of_somebody_else_go_first_too() -> None:
    test_stack = stack()
    expiry(test_stack)
    fleet(test_stack)
    CfnResource(test_stack, "Raw", type=GROUP, properties={"MinSize": "0", "MaxSize": "1"})
    assert_groups_go_first(synthesized(test_stack), 2)


def test_without_the_dependency_the_rule_could_go_before_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constructs_lib.release.expiry._group_type", lambda: "AWS::Nothing::Nothing")
    test_stack = stack()
    expiry(test_stack)
    fleet(test_stack)
    with pytest.raises(AssertionError):
        assert_groups_go_first(synthesized(test_stack), 1)


def test_a_nested_stack_with_a_group_goes_first() -> None:
    test_stack = stack()
    expiry(test_stack)
    fleet(NestedStack(test_stack, "Nested"))
    made = synthesized(test_stack)
    ((nested, _),) = resources(made, "AWS::CloudFormation::Stack").items()
    assert set(parts(made)) <= needs(made, nested)


def test_a_stack_of_its_own_below_this_one_does_not_wait_for_it() -> None:
    test_stack = stack()
    expiry(test_stack)
    other = Stack(test_stack, "Other")
    fleet(other)
    (group,) = resources(synthesized(other), GROUP).values()
    assert not [each for each in group["DependsOn"] if each.startswith("Expiry")]
    assert other.dependencies == []


def test_two_stacks_each_have_their_own() -> None:
    app = App()
    for id in ("One", "Two"):
        test_stack = Stack(app, id)
        expiry(test_stack)
        fleet(test_stack)
    for id in ("One", "Two"):
        made_stack = app.node.find_child(id)
        assert isinstance(made_stack, Stack)
        assert_groups_go_first(synthesized(made_stack), 1)


# ---- what is refused

BAD: list[tuple[dict[str, Any], str]] = [
    ({"after": 3}, "after must be of type Duration, got 3; write for example Duration.days"),
    (
        {"after": Duration.hours(1)},
        "after must be whole hours, from 2 hours to 366 days, got '1 hour'; write for example Duration.days(7)",
    ),
    ({"after": Duration.minutes(150)}, "after must be whole hours"),
    (
        {"after": Duration.days(0)},
        "after must be whole hours, from 2 hours to 366 days, got '0 days'; write for example",
    ),
    ({"after": Duration.days(367)}, "after must be whole hours, from 2 hours to 366 days, got '367 days'"),
    ({"after": Duration.hours(Token.as_number({"Ref": "X"}))}, "after must be known at synth"),
    ({"warn_before": Duration.hours(72)}, "warn_before must be whole hours, from 1 hour to 71 hours, got '3 days'"),
    ({"warn_before": Duration.minutes(30)}, "warn_before must be whole hours, from 1 hour to 71 hours"),
    (
        {"after": Duration.days(8), "warn_before": Duration.days(8)},
        "whole hours, from 1 hour to 191 hours, got '8 days'",
    ),
    ({"warn_before": "1 day"}, "warn_before must be of type Duration"),
    ({"counted_from": "creation"}, "counted_from must be of type ExpiryStart"),
    ({"notifications": "arn:aws:sns:eu-west-1:1:x"}, "notifications must be an sns.ITopic"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_a_bad_argument_is_named_with_the_cure(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        expiry(stack(), **arguments)
    assert words in str(caught.value)
    assert str(caught.value).startswith("Test/Expiry: ")


def test_a_nested_stack_is_refused() -> None:
    with pytest.raises(ArgumentError, match="scope must not be in a nested stack, got 'Test/Nested'; put it into"):
        expiry(NestedStack(stack(), "Nested"))


def test_a_second_expiry_of_a_stack_is_refused() -> None:
    test_stack = stack()
    expiry(test_stack)
    expiry(Stack(test_stack, "Other"))
    words = r"^Test/Again: scope must be in a stack without another expiry \(Test/Expiry\), got 'Test'; remove one"
    with pytest.raises(ArgumentError, match=words):
        expiry(test_stack, "Again", after=Duration.days(9))


def test_a_stack_that_is_never_deleted_is_refused() -> None:
    protected = Stack(App(), "Test", termination_protection=True)
    words = "^Test/Expiry: scope must not be in a stack with termination protection, which is never deleted, got"
    with pytest.raises(ArgumentError, match=f"{words} 'termination_protection=True'; remove the expiry"):
        expiry(protected)


def test_help_shows_what_can_be_read() -> None:
    for name in ("notifications", "function"):
        assert isinstance(vars(StackExpiry)[name], property)
        assert vars(StackExpiry)[name].__doc__
    made = expiry(stack())
    assert (made.notifications.node.path, made.function.node.path) == (
        "Test/Expiry/Notifications",
        "Test/Expiry/Handler/Function",
    )


# ---- linters


def careful(scope: Construct) -> AcceleratedFleet:
    expiry(scope)
    return fleet(scope)


def test_cfn_lint_finds_nothing() -> None:
    test_stack = stack()
    careful(test_stack)
    config = {"regions": ["us-east-1", "eu-central-1"], "ignore_checks": ["W3005"]}
    assert [str(each) for each in api.lint(json.dumps(synthesized(test_stack)), config=config)] == []


def test_cdk_nag_finds_nothing() -> None:
    app = App()
    expiry(Stack(app, "Test"))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
