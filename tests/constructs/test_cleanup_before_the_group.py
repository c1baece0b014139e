"""The clean-up function hears of a failed creation, because all that it needs is there before the group."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import NestedStack, Tags
from aws_cdk.assertions import Template

from tests.constructs.reading import needs, only, plain, properties, resources, role_statements, statements
from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet, stack

FLEETS = [name for name in SCENARIOS if name != "idle_release"]
GROUP = "AWS::AutoScaling::AutoScalingGroup"
CLEAN_UP = "Custom::AcceleratedFleetCleanup"
PARTS = {
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
}
FLEET_VALUE = "Test/TestFleet72ECBEB0"
THIS_ACCOUNTS_GROUPS = (
    "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>:autoScalingGroup:*:autoScalingGroupName/*"
)


def clean_up_parts(made: Any) -> dict[str, str]:
    """The types of the clean-up's resources by logical id, without the custom resource."""
    types = {id: each["Type"] for id, each in made["Resources"].items() if id.startswith("FleetCleanup")}
    return {id: type_ for id, type_ in types.items() if type_ != CLEAN_UP}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_04_the_function_and_its_trigger_are_there_before_the_group_and_after_it(
    scenario: str, context: str
) -> None:
    made = template(scenario, context)
    (group,) = resources(made, GROUP)
    parts = clean_up_parts(made)
    assert sorted(parts.values()) == sorted(PARTS)
    # CloudFormation creates in the order of dependencies, and deletes in the reverse one.
    assert set(parts) <= set(made["Resources"][group]["DependsOn"])


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_04_neither_the_function_nor_its_trigger_waits_for_the_group(scenario: str, context: str) -> None:
    made = template(scenario, context)
    (group,) = resources(made, GROUP)
    parts = clean_up_parts(made)
    for part in parts:
        assert needs(made, part) <= set(parts), "anything else could fail before it, or go before it"
        assert group not in needs(made, part)


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_04_the_custom_resource_comes_after_the_group_and_goes_before_it(scenario: str) -> None:
    made = template(scenario)
    (group,) = resources(made, GROUP)
    ((clean_up, resource),) = resources(made, CLEAN_UP).items()
    # What belongs to the group, such as its warm pool, is there before it as well, and goes after it.
    assert group in resource["DependsOn"]
    assert all(id.startswith("FleetAutoScalingGroup") for id in resource["DependsOn"])
    assert clean_up not in needs(made, group)
    assert plain(resource["Properties"]["AutoScalingGroupName"]) == "<FleetAutoScalingGroupASG>"


@pytest.mark.parametrize("scenario", FLEETS)
def test_nothing_depends_on_itself(scenario: str) -> None:
    made = template(scenario)
    assert [id for id in made["Resources"] if id in needs(made, id)] == []


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_37_only_the_end_of_the_own_stacks_groups_is_heard_of(scenario: str, context: str) -> None:
    """Of all its groups, whatever their logical ids: an update may replace a group by one with another id."""
    rule = properties(template(scenario, context), "FleetCleanupGroupGoes", "AWS::Events::Rule")
    assert plain(rule) == {
        "EventPattern": {
            "source": ["aws.cloudformation"],
            "detail-type": ["CloudFormation Resource Status Change"],
            "detail": {
                "stack-id": ["<AWS::StackId>"],
                "resource-type": ["AWS::AutoScaling::AutoScalingGroup"],
                "status-details": {"status": ["DELETE_IN_PROGRESS"]},
            },
        },
        "State": "ENABLED",
        "Targets": [{"Id": "Handler", "Arn": "<FleetCleanupHandlerFunction.Arn>"}],
    }


def test_the_rule_alone_may_invoke_the_function() -> None:
    assert plain(properties(template("smallest"), "FleetCleanup", "AWS::Lambda::Permission")) == {
        "Action": "lambda:InvokeFunction",
        "FunctionName": "<FleetCleanupHandlerFunction.Arn>",
        "Principal": "events.amazonaws.com",
        "SourceArn": "<FleetCleanupGroupGoesRule.Arn>",
    }


@pytest.mark.parametrize("scenario", FLEETS)
def test_the_function_knows_the_fleet_by_the_tag_that_the_group_carries(scenario: str) -> None:
    made = template(scenario)
    function = properties(made, "FleetCleanupHandler", "AWS::Lambda::Function")
    assert plain(function["Environment"]["Variables"]) == {
        "FLEET_TAG_KEY": "accelerated-fleet:id",
        "FLEET_TAG_VALUE": FLEET_VALUE,
        "STACK_ID": "<AWS::StackId>",
        "GROUP_LOGICAL_ID": next(iter(resources(made, GROUP))),
    }
    tags = {each["Key"]: each["Value"] for each in only(made, GROUP)["Properties"]["Tags"]}
    assert tags["accelerated-fleet:id"] == FLEET_VALUE


def test_case_37_the_function_may_change_only_what_carries_the_fleets_tag() -> None:
    assert role_statements(template("smallest"), "FleetCleanupHandlerRole") == [
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": "<FleetCleanupHandlerLogs.Arn>",
        },
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeLifecycleHooks",
                "ec2:DescribeInstances",
            ],
            "Resource": "*",
        },
        {"Effect": "Allow", "Action": "cloudformation:DescribeStacks", "Resource": "<AWS::StackId>"},
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:CancelInstanceRefresh",
                "autoscaling:DeleteLifecycleHook",
                "autoscaling:DeleteWarmPool",
                "autoscaling:SetInstanceProtection",
                "autoscaling:SuspendProcesses",
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:UpdateAutoScalingGroup",
            ],
            "Resource": THIS_ACCOUNTS_GROUPS,
            "Condition": {"StringEquals": {"autoscaling:ResourceTag/accelerated-fleet:id": FLEET_VALUE}},
        },
        {
            "Effect": "Allow",
            "Action": ["ec2:ModifyInstanceAttribute", "ec2:TerminateInstances"],
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:ResourceTag/accelerated-fleet:id": FLEET_VALUE}},
        },
    ]


def test_two_fleets_of_a_stack_each_wait_for_their_own_function() -> None:
    test_stack = stack()
    for id in ("Train", "Serve"):
        fleet(test_stack, id)
    made = Template.from_stack(test_stack).to_json()
    for id, other in (("Train", "Serve"), ("Serve", "Train")):
        (group,) = [each for each in resources(made, GROUP) if each.startswith(id)]
        waits_for = made["Resources"][group]["DependsOn"]
        assert len([each for each in waits_for if each.startswith(f"{id}Cleanup")]) == len(PARTS)
        assert not [each for each in needs(made, group) if each.startswith(other)]


def test_what_a_user_adds_to_the_group_closes_no_circle() -> None:
    test_stack = stack()
    made_fleet = fleet(test_stack, min_capacity=1)
    made_fleet.auto_scaling_group.scale_on_cpu_utilization("Cpu", target_utilization_percent=50)
    Tags.of(test_stack).add("team", "research")
    made = Template.from_stack(test_stack).to_json()
    assert [id for id in made["Resources"] if id in needs(made, id)] == []


def test_a_fleet_in_a_nested_stack_listens_to_that_stack_and_asks_for_its_status() -> None:
    nested = NestedStack(stack(), "Nested")
    fleet(nested)
    made = Template.from_stack(nested).to_json()
    rule = properties(made, "FleetCleanupGroupGoes", "AWS::Events::Rule")
    (asks,) = [each for _, each in statements(made) if each["Action"] == "cloudformation:DescribeStacks"]
    assert asks["Resource"] == "<AWS::StackId>"
    assert rule["EventPattern"]["detail"]["stack-id"] == [{"Ref": "AWS::StackId"}]
