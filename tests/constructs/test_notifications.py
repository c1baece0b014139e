"""From an alarm or a failed launch to a person: the whole way, with keys and policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Annotations, Match, Template

from constructs_lib import IdleRelease
from constructs_lib.errors import ArgumentError
from tests.constructs.reading import plain, properties, resources, text
from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet, stack

FLEETS = [name for name in SCENARIOS if name != "idle_release"]
OF_THIS_ACCOUNT = {"StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"}}


def allowed(policy: Mapping[str, Any], principal: str) -> dict[str, Any]:
    """The one statement that lets a service in."""
    (statement,) = [
        plain(each)
        for each in policy["Statement"]
        if each["Effect"] == "Allow" and each["Principal"] == {"Service": principal}
    ]
    return dict(statement)


def key_policy(made: Mapping[str, Any], topic: str) -> Any:
    """The policy of the topic's key; None for a topic without one."""
    key = made["Resources"][topic].get("Properties", {}).get("KmsMasterKeyId")
    return None if key is None else made["Resources"][key["Fn::GetAtt"][0]]["Properties"]["KeyPolicy"]


def topic_policies(made: Mapping[str, Any], topic: str) -> list[Mapping[str, Any]]:
    return [
        each["Properties"]["PolicyDocument"]
        for each in resources(made, "AWS::SNS::TopicPolicy").values()
        if {"Ref": topic} in each["Properties"]["Topics"]
    ]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_23_every_alarm_reaches_its_topic_and_may_use_its_key(scenario: str, context: str) -> None:
    made = template(scenario, context)
    topics = [
        action["Ref"]
        for alarm in resources(made, "AWS::CloudWatch::Alarm").values()
        for action in alarm["Properties"]["AlarmActions"]
        if "Ref" in action
    ]
    assert len(topics) >= 2
    for topic in set(topics):
        (policy,) = topic_policies(made, topic)
        published = allowed(policy, "cloudwatch.amazonaws.com")
        assert published["Action"] == "sns:Publish"
        assert published["Condition"] == OF_THIS_ACCOUNT
        assert (key_policy(made, topic) is not None) == (scenario == "fullest")
        if scenario == "fullest":
            used = allowed(key_policy(made, topic), "cloudwatch.amazonaws.com")
            assert used["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
            assert used["Condition"] == OF_THIS_ACCOUNT


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_23_event_bridge_is_let_in_without_a_condition_that_it_never_meets(scenario: str, context: str) -> None:
    made = template(scenario, context)
    (topic,) = resources(made, "AWS::SNS::Topic")
    (policy,) = topic_policies(made, topic)
    # "You can't use Condition blocks in Amazon SNS topic policies for EventBridge", EventBridge User Guide.
    published = allowed(policy, "events.amazonaws.com")
    assert (published["Action"], published["Resource"]) == ("sns:Publish", text({"Ref": topic}))
    assert "Condition" not in published
    if scenario == "fullest":
        # SNS Developer Guide: aws:SourceAccount in the key's policy "is not supported for EventBridge-to-encrypted
        # topics".
        used = allowed(key_policy(made, topic), "events.amazonaws.com")
        assert used["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
        assert "Condition" not in used


def test_own_topic_takes_messages_only_over_tls() -> None:
    made = template("smallest")
    ((topic, _),) = resources(made, "AWS::SNS::Topic").items()
    (policy,) = topic_policies(made, topic)
    (denied,) = [each for each in policy["Statement"] if each["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize("shape", ["own alias", "own key"])
def test_case_23_an_alias_of_a_customers_key_is_opened_too(shape: str) -> None:
    test_stack = stack()
    key = kms.Key(test_stack, "Key")
    topic = sns.Topic(test_stack, "Topic", master_key=key.add_alias("alerts") if shape == "own alias" else key)
    fleet(test_stack, notifications=topic)
    made = Template.from_stack(test_stack).to_json()
    ((_, resource),) = resources(made, "AWS::KMS::Key").items()
    assert allowed(resource["Properties"]["KeyPolicy"], "cloudwatch.amazonaws.com")


def release(scope: Stack, id: str, *, notifications: sns.ITopic) -> IdleRelease:
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(scope, "Group", "workers")
    return IdleRelease(scope, id, auto_scaling_group=group, notifications=notifications)


@pytest.mark.parametrize("build", [fleet, release])
def test_case_23_the_key_that_cloudwatch_may_not_use_is_refused(build: Callable[..., object]) -> None:
    test_stack = stack()
    managed = kms.Alias.from_alias_name(test_stack, "Managed", "alias/aws/sns")
    topic = sns.Topic(test_stack, "Topic", master_key=managed)
    with pytest.raises(ArgumentError, match=r"^Test/Watch: notifications must not be encrypted with .*alias/aws/sns"):
        build(test_stack, "Watch", notifications=topic)


def test_case_23_an_imported_key_gets_a_warning_with_the_actions_it_must_allow() -> None:
    test_stack = stack()
    key = kms.Key.from_key_arn(test_stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab")
    fleet(test_stack, notifications=sns.Topic(test_stack, "Topic", master_key=key))
    expected = (
        "the policy of the topic's imported key is not ours to change; it must allow kms:Decrypt and "
        "kms:GenerateDataKey* to cloudwatch.amazonaws.com and events.amazonaws.com, else no alarm reaches the topic "
        "[ack: @cdk-accelerated-fleet/notifications:ImportedKey]"
    )
    Annotations.from_stack(test_stack).has_warning("/Test/Fleet", expected)


def test_case_23_an_imported_topic_gets_a_warning_with_what_its_policy_must_allow() -> None:
    test_stack = stack()
    topic = sns.Topic.from_topic_arn(test_stack, "Topic", "arn:aws:sns:us-east-1:111122223333:alerts")
    fleet(test_stack, notifications=topic)
    expected = (
        "the policy of the imported topic is not ours to change; make sure that it lets cloudwatch.amazonaws.com and "
        "events.amazonaws.com publish, and that its key, if it has one, lets them use it (kms:Decrypt, "
        "kms:GenerateDataKey*) [ack: @cdk-accelerated-fleet/notifications:ImportedTopic]"
    )
    Annotations.from_stack(test_stack).has_warning("/Test/Fleet", expected)
    assert resources(Template.from_stack(test_stack).to_json(), "AWS::SNS::TopicPolicy") == {}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_23_a_topic_of_the_stack_needs_no_warning(scenario: str) -> None:
    made = stack()
    SCENARIOS[scenario](made)
    found = Annotations.from_stack(made).find_warning(
        "*", Match.string_like_regexp("@cdk-accelerated-fleet/notifications")
    )
    assert found == []


def test_two_fleets_share_a_topic_and_a_key() -> None:
    test_stack = stack()
    topic = sns.Topic(test_stack, "Topic", master_key=kms.Key(test_stack, "Key"))
    for id in ("Train", "Serve"):
        fleet(test_stack, id, notifications=topic)
    made = Template.from_stack(test_stack).to_json()
    (policy,) = topic_policies(made, next(iter(resources(made, "AWS::SNS::Topic"))))
    (key,) = resources(made, "AWS::KMS::Key").values()
    for document in (policy, key["Properties"]["KeyPolicy"]):
        sids = [statement["Sid"] for statement in document["Statement"] if "Sid" in statement]
        assert sids == ["FleetAlarms", "FleetEvents"]


# --- case 43: no capacity, no quota ---------------------------------------------------------------


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_43_a_failed_launch_reaches_the_topic_with_its_cause(scenario: str) -> None:
    made = template(scenario)
    (topic,) = resources(made, "AWS::SNS::Topic")
    rule = plain(properties(made, "FleetLaunchFailures", "AWS::Events::Rule"))
    assert rule["EventPattern"]["detail-type"] == ["EC2 Instance Launch Unsuccessful"]
    (target,) = rule["Targets"]
    assert target["Arn"] == text({"Ref": topic})
    transformer = target["InputTransformer"]
    assert set(transformer["InputPathsMap"].values()) == {
        "$.detail.AutoScalingGroupName",
        "$.detail.StatusMessage",
        "$.detail.Cause",
        "$.detail.Details",
    }
    for name in transformer["InputPathsMap"]:
        assert f"<{name}>" in transformer["InputTemplate"]
    for cause in ("VcpuLimitExceeded", "InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded"):
        assert cause in transformer["InputTemplate"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_36_every_event_rule_is_about_this_group_or_this_stack_only(scenario: str) -> None:
    rules = [plain(each["Properties"]) for each in resources(template(scenario), "AWS::Events::Rule").values()]
    patterns = {rule["EventPattern"]["source"][0]: rule["EventPattern"] for rule in rules if "EventPattern" in rule}
    if scenario == "idle_release":
        assert patterns == {}
    else:
        assert patterns.keys() == {"aws.autoscaling", "aws.cloudformation"}
        assert patterns["aws.autoscaling"]["detail"]["AutoScalingGroupName"] == ["<FleetAutoScalingGroupASG>"]
        assert patterns["aws.cloudformation"]["detail"]["stack-id"] == ["<AWS::StackId>"]


def test_case_23_a_topic_that_neither_publisher_can_reach_is_refused() -> None:
    made = stack(env=Environment(account="111122223333", region="us-east-1"))
    fifo = sns.Topic(made, "Fifo", fifo=True)
    with pytest.raises(ArgumentError, match="notifications must not be a FIFO topic, got 'Test/Fifo'; give a standard"):
        fleet(made, "First", notifications=fifo)
    elsewhere = sns.Topic.from_topic_arn(made, "Elsewhere", "arn:aws:sns:eu-west-1:111122223333:alerts")
    with pytest.raises(ArgumentError, match="be a topic of the fleet's own Region, us-east-1, got 'eu-west-1'"):
        fleet(made, "Second", notifications=elsewhere)


def test_case_23_a_topic_of_another_account_lets_in_the_alarms_of_the_fleets_account() -> None:
    app = App()
    central = Stack(app, "Central", env=Environment(account="999988887777", region="us-east-1"))
    topic = sns.Topic(central, "Alerts", topic_name="alerts")
    product = Stack(app, "Product", env=Environment(account="111122223333", region="us-east-1"))
    fleet(product, notifications=topic)
    (policy,) = resources(Template.from_stack(central).to_json(), "AWS::SNS::TopicPolicy").values()
    statement = allowed(policy["Properties"]["PolicyDocument"], "cloudwatch.amazonaws.com")
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": "111122223333"}}
