"""Who may do what: whole statements, and nothing that could reach another fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from constructs_lib import AcceleratedFleet, IdlePolicy, IdleRelease, IdleSignal
from tests.constructs.reading import as_list, plain, properties, resources, role_statements, statements
from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet, fleet_template, stack

THIS_GROUP = (
    "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>"
    ":autoScalingGroup:*:autoScalingGroupName/<FleetAutoScalingGroupASG>"
)
FLEET_VALUE = "Test/TestFleet72ECBEB0"
THIS_FLEET = {"StringEquals": {"aws:ResourceTag/accelerated-fleet:id": FLEET_VALUE}}
THIS_FLEETS_GROUP = {"StringEquals": {"autoscaling:ResourceTag/accelerated-fleet:id": FLEET_VALUE}}
READS = ("Describe", "Get", "List")
# Messages and log lines of the holder itself; they change nothing of anybody else's.
HARMLESS = (
    "cloudwatch:PutMetricData",
    "kms:Decrypt",
    "kms:GenerateDataKey",
    "sns:Publish",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:",
)


def is_mutating(action: str) -> bool:
    return not action.startswith(HARMLESS) and not action.split(":")[1].startswith(READS)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_37_what_changes_something_is_limited_to_this_group_or_this_fleets_tag(
    scenario: str, context: str
) -> None:
    group = THIS_GROUP.replace("<FleetAutoScalingGroupASG>", "training-workers")
    allowed = group if scenario == "idle_release" else THIS_GROUP
    states = {STATE.replace("FleetRelease", construct) for construct in ("FleetRelease", "Release", "FleetSchedule")}
    mutating = [
        statement
        for _, statement in statements(template(scenario, context))
        if any(is_mutating(action) for action in as_list(statement["Action"]))
    ]
    assert mutating
    for statement in mutating:
        partition_free = str(statement["Resource"]).replace("arn:aws:", "arn:<AWS::Partition>:")
        named = {"StringEquals": statement.get("Condition", {}).get("StringEquals")}
        by_tag = named in (THIS_FLEET, THIS_FLEETS_GROUP)
        assert partition_free in {allowed, *states} or by_tag, statement


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_statement_allows_every_action(scenario: str) -> None:
    for _, statement in statements(template(scenario)):
        assert statement["Effect"] == "Allow"
        assert not [action for action in as_list(statement["Action"]) if "*" in action]


def test_case_37_same_fleet_in_two_stacks_or_scopes_has_different_tag_values() -> None:
    values = {fleet(stack(name)).fleet_tag_value for name in ("Train", "Train2")}
    one = stack("Train")
    values |= {fleet(one, id).fleet_tag_value for id in ("fleet", "Fleet2", "fleet-2")}
    assert len(values) == 5


def log_of(handler: str) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": f"<Fleet{handler}HandlerLogs.Arn>",
    }


STATE = "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/<FleetReleaseState>"
ASK_QUEUE = {"Effect": "Allow", "Action": "sqs:GetQueueAttributes", "Resource": "<Jobs.Arn>"}


def test_release_function_may_read_and_end_members_of_this_group() -> None:
    assert role_statements(template("with_queue"), "FleetReleaseHandlerRole") == [
        log_of("Release"),
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:DescribeAutoScalingGroups",
                "cloudwatch:GetMetricData",
                "ec2:DescribeInstances",
                "autoscaling:DescribeScalingActivities",
                "ssm:DescribeSessions",
            ],
            "Resource": "*",
        },
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:SetDesiredCapacity",
                "autoscaling:CompleteLifecycleAction",
                "autoscaling:SuspendProcesses",
            ],
            "Resource": THIS_GROUP,
        },
        {"Effect": "Allow", "Action": ["ssm:GetParameter", "ssm:PutParameter"], "Resource": STATE},
        {"Effect": "Allow", "Action": "sns:Publish", "Resource": "<FleetNotifications>"},
        ASK_QUEUE,
    ]


def may(made: Mapping[str, Any], role: str = "FleetReleaseHandlerRole") -> set[str]:
    return {action for each in role_statements(made, role) for action in as_list(each["Action"])}


def test_release_function_may_only_what_its_policy_asks_for() -> None:
    least = may(fleet_template(idle=IdlePolicy(signals=[IdleSignal.ACCELERATOR], max_failed_launches=0)))
    assert least == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "autoscaling:DescribeAutoScalingGroups",
        "cloudwatch:GetMetricData",
        "ec2:DescribeInstances",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        "autoscaling:CompleteLifecycleAction",
        "ssm:GetParameter",
        "ssm:PutParameter",
    }
    for policy, more in [
        (IdlePolicy(max_failed_launches=0), {"ssm:DescribeSessions"}),
        (
            IdlePolicy(signals=[IdleSignal.ACCELERATOR]),
            {"autoscaling:DescribeScalingActivities", "autoscaling:SuspendProcesses", "sns:Publish"},
        ),
        (
            IdlePolicy(signals=[IdleSignal.ACCELERATOR], max_failed_launches=0, end_retained_after=Duration.hours(12)),
            {"autoscaling:DescribeScalingActivities", "autoscaling:DescribeWarmPool"},
        ),
        (
            IdlePolicy(signals=[IdleSignal.ACCELERATOR], max_failed_launches=0, max_unknown=Duration.hours(4)),
            {"ec2:CreateTags", "ec2:DeleteTags"},
        ),
    ]:
        assert may(fleet_template(idle=policy)) - least == more


def note_of(made: Mapping[str, Any], role: str) -> dict[str, Any]:
    (found,) = [each for each in role_statements(made, role) if "ec2:CreateTags" in each["Action"]]
    return found


def test_case_37_the_note_on_unknown_instances_goes_on_members_alone() -> None:
    policy = IdlePolicy(max_unknown=Duration.hours(4))
    one_tag = {
        "ForAllValues:StringEquals": {"aws:TagKeys": ["accelerated-fleet:unknown"]},
        # Without it, DeleteTags with no key at all would remove every tag.
        "Null": {"aws:TagKeys": "false"},
    }
    assert note_of(fleet_template(idle=policy), "FleetReleaseHandlerRole") == {
        "Effect": "Allow",
        "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
        "Resource": "arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:instance/*",
        "Condition": {**THIS_FLEET, **one_tag},
    }
    test_stack = stack()
    group = autoscaling.AutoScalingGroup.from_auto_scaling_group_name(test_stack, "Group", "workers")
    IdleRelease(test_stack, "Release", auto_scaling_group=group, idle=policy)
    assert note_of(Template.from_stack(test_stack).to_json(), "ReleaseHandlerRole")["Condition"] == {
        "StringEquals": {"aws:ResourceTag/aws:autoscaling:groupName": "workers"},
        **one_tag,
    }


def test_release_function_may_use_the_key_of_an_encrypted_topic() -> None:
    (use,) = [
        each
        for each in role_statements(template("fullest"), "FleetReleaseHandlerRole")
        if "kms:Decrypt" in each["Action"]
    ]
    assert use == {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": "<TopicKey.Arn>",
    }


def test_release_function_reads_no_sessions_that_the_policy_does_not_ask_for() -> None:
    (reads,) = [
        each["Action"]
        for each in role_statements(template("fullest"), "FleetReleaseHandlerRole")
        if each["Resource"] == "*"
    ]
    assert "ssm:DescribeSessions" not in reads


def test_wake_function_may_ask_the_queue_and_set_the_capacity_of_this_group() -> None:
    assert role_statements(template("with_queue"), "FleetWakeHandlerRole") == [
        log_of("Wake"),
        ASK_QUEUE,
        {"Effect": "Allow", "Action": "autoscaling:DescribeAutoScalingGroups", "Resource": "*"},
        {"Effect": "Allow", "Action": "autoscaling:SetDesiredCapacity", "Resource": THIS_GROUP},
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_handler_role_trusts_lambda_alone(scenario: str) -> None:
    made = template(scenario)
    for id, role in resources(made, "AWS::IAM::Role").items():
        if "Handler" in id:
            (trust,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}
            assert "ManagedPolicyArns" not in role["Properties"]


# --- grants ---------------------------------------------------------------------------------------


def granted(grant: Callable[[AcceleratedFleet, iam.IGrantable], iam.Grant]) -> list[dict[str, Any]]:
    test_stack = stack()
    made = fleet(test_stack)
    scheduler = iam.Role(test_stack, "Scheduler", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    assert grant(made, scheduler).success
    written = Template.from_stack(test_stack).to_json()
    document = properties(written, "SchedulerDefaultPolicy", "AWS::IAM::Policy")["PolicyDocument"]
    return [dict(plain(each)) for each in document["Statement"]]


def test_grant_gives_actions_on_this_group_and_no_other() -> None:
    actions = ["autoscaling:SuspendProcesses", "autoscaling:ResumeProcesses"]
    assert granted(lambda made, who: made.grant(who, *actions)) == [
        {"Effect": "Allow", "Action": actions, "Resource": THIS_GROUP}
    ]


def test_grant_wake_gives_the_desired_capacity_only() -> None:
    assert granted(lambda made, who: made.grant_wake(who)) == [
        {"Effect": "Allow", "Action": "autoscaling:SetDesiredCapacity", "Resource": THIS_GROUP}
    ]


def test_grant_hold_gives_one_tag_on_instances_of_this_fleet() -> None:
    assert granted(lambda made, who: made.grant_hold(who)) == [
        {
            "Effect": "Allow",
            "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
            "Resource": "arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:instance/*",
            "Condition": {
                **THIS_FLEET,
                "ForAllValues:StringEquals": {"aws:TagKeys": ["accelerated-fleet:hold"]},
                # Without it, DeleteTags with no key at all would remove the fleet's own tag too.
                "Null": {"aws:TagKeys": "false"},
            },
        }
    ]


def test_a_grant_to_the_fleet_is_a_grant_to_its_instances() -> None:
    test_stack = stack()
    made = fleet(test_stack)
    made.grant_hold(made)
    written = Template.from_stack(test_stack).to_json()
    policy = properties(written, "FleetRoleDefaultPolicy", "AWS::IAM::Policy")
    assert plain(policy["Roles"]) == ["<FleetRole>"]


def test_connections_are_those_of_the_instances() -> None:
    test_stack = stack()
    made = fleet(test_stack)
    made.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/16"), ec2.Port.tcp(8000), "clients")
    written = Template.from_stack(test_stack).to_json()
    (rule,) = properties(written, "FleetSecurityGroup", "AWS::EC2::SecurityGroup")["SecurityGroupIngress"]
    assert (rule["CidrIp"], rule["FromPort"], rule["ToPort"]) == ("10.0.0.0/16", 8000, 8000)


# --- a role of the user's -------------------------------------------------------------------------


def test_case_21_an_imported_role_that_may_be_changed_gets_a_policy_of_its_own() -> None:
    test_stack = stack()
    role = iam.Role.from_role_arn(test_stack, "Role", "arn:aws:iam::111122223333:role/gpu")
    fleet(test_stack, role=role)
    written = Template.from_stack(test_stack).to_json()
    policies = [each["Properties"] for each in resources(written, "AWS::IAM::Policy").values()]
    actions = [
        action
        for policy in policies
        if policy["Roles"] == ["gpu"]
        for each in policy["PolicyDocument"]["Statement"]
        for action in as_list(each["Action"])
    ]
    assert {"cloudwatch:PutMetricData", "ec2:DescribeTags", "ssm:GetParameter"} < set(actions)


def test_a_role_of_another_stack_closes_no_circle() -> None:
    app = App()
    platform = Stack(app, "Platform")
    role = iam.Role(platform, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    product = Stack(app, "Product")
    fleet(product, role=role)
    app.synth()
    policy = properties(Template.from_stack(product).to_json(), "FleetRolePolicy", "AWS::IAM::Policy")
    actions = [statement["Action"] for statement in policy["PolicyDocument"]["Statement"]]
    assert actions == ["s3:GetObject", "ssm:GetParameter", "autoscaling:CompleteLifecycleAction"]


def test_two_fleets_share_a_role() -> None:
    test_stack = stack()
    role = iam.Role(test_stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    for id in ("Train", "Serve"):
        fleet(test_stack, id, role=role)
    written = Template.from_stack(test_stack).to_json()
    policies = [
        properties(written, f"{id}RolePolicy", "AWS::IAM::Policy")["PolicyDocument"] for id in ("Train", "Serve")
    ]
    statements = [each for document in policies for each in plain(document["Statement"])]
    parameters = [each["Resource"] for each in statements if each["Action"] == "ssm:GetParameter"]
    assert [name.rpartition("/")[2] for name in parameters] == [
        "<TrainAgentConfiguration>",
        "<ServeAgentConfiguration>",
    ]
