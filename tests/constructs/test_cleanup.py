"""The stack can be deleted in any state, and leaves nothing behind."""

from __future__ import annotations

import pytest
from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from constructs_lib.release import FleetCleanup
from tests.constructs.reading import as_list, needs, only, plain, properties, resources, statements
from tests.constructs.scenarios import CONTEXTS, SCENARIOS, template
from tests.support.stacks import fleet, stack

FLEETS = [name for name in SCENARIOS if name != "idle_release"]
CLEAN_UP = "Custom::AcceleratedFleetCleanup"
GROUP = "AWS::AutoScaling::AutoScalingGroup"
HOUR = int(Duration.hours(1).to_seconds())
# Properties by which CloudFormation would give a resource a fixed physical name.
NAMES = {
    "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::EC2::PlacementGroup": "GroupName",
    "AWS::EC2::LaunchTemplate": "LaunchTemplateName",
    "AWS::EC2::SecurityGroup": "GroupName",
    "AWS::Events::Rule": "Name",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SSM::Parameter": "Name",
}
NAMELESS = {
    "AWS::AutoScaling::ScheduledAction",
    "AWS::AutoScaling::WarmPool",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::FSx::FileSystem",
    "AWS::IAM::Policy",  # its name is a part of the role or user that holds it
    "AWS::KMS::Key",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
    CLEAN_UP,
}


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_04_clean_up_runs_before_the_group_goes(scenario: str) -> None:
    made = template(scenario)
    ((clean_up, _),) = resources(made, CLEAN_UP).items()
    (group,) = resources(made, "AWS::AutoScaling::AutoScalingGroup")
    # CloudFormation deletes in the reverse order of dependencies.
    assert group in made["Resources"][clean_up]["DependsOn"]
    assert clean_up not in needs(made, group)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", FLEETS)
def test_case_41_whatever_clean_up_needs_outlives_it(scenario: str, context: str) -> None:
    made = template(scenario, context)
    ((clean_up, resource),) = resources(made, CLEAN_UP).items()
    outlives = needs(made, clean_up)
    (function,) = [id for id in resources(made, "AWS::Lambda::Function") if id.startswith("FleetCleanup")]
    (role,) = [id for id in resources(made, "AWS::IAM::Role") if id.startswith("FleetCleanup")]
    (logs,) = [id for id in resources(made, "AWS::Logs::LogGroup") if id.startswith("FleetCleanup")]
    assert {function, role, logs} < outlives
    # The permissions are part of the role, so no separate policy can go first.
    assert not [id for id in resources(made, "AWS::IAM::Policy") if id.startswith("FleetCleanup")]
    assert plain(resource["Properties"]["ServiceToken"]) == plain({"Fn::GetAtt": [function, "Arn"]})
    assert "VpcConfig" not in made["Resources"][function]["Properties"]


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_41_three_runs_fit_into_the_time_to_answer(scenario: str) -> None:
    made = template(scenario)
    longest_run = properties(made, "FleetCleanupHandler", "AWS::Lambda::Function")["Timeout"]
    answer = int(only(made, CLEAN_UP)["Properties"]["ServiceTimeout"])
    # Lambda retries a failed asynchronous run twice, after one and two minutes.
    assert 3 * longest_run + 3 * 60 < answer < HOUR
    assert longest_run <= 900
    assert not [id for id in resources(made, "AWS::Lambda::EventInvokeConfig") if id.startswith("FleetCleanup")]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_52_every_function_has_a_log_group_that_ends_with_the_stack(scenario: str) -> None:
    made = template(scenario)
    functions = resources(made, "AWS::Lambda::Function")
    assert functions
    written_to = []
    for function in functions.values():
        logging = function["Properties"]["LoggingConfig"]
        assert logging["LogFormat"] == "JSON"
        group = logging["LogGroup"]["Ref"]
        written_to.append(group)
        assert made["Resources"][group]["Properties"] == {"RetentionInDays": 30}
        assert made["Resources"][group]["DeletionPolicy"] == "Delete"
    assert len(set(written_to)) == len(functions)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_52_no_role_can_bring_a_log_group_back(scenario: str, context: str) -> None:
    made = template(scenario, context)
    actions = [action for _, each in statements(made) for action in as_list(each["Action"])]
    assert "logs:PutLogEvents" in actions
    assert "logs:CreateLogGroup" not in actions
    for role in resources(made, "AWS::IAM::Role").values():
        # AWSLambdaBasicExecutionRole would allow it.
        assert "ManagedPolicyArns" not in role["Properties"]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_52_nothing_of_ours_is_retained(scenario: str, context: str) -> None:
    made = template(scenario, context)
    kept = {
        id
        for id, each in made["Resources"].items()
        if "Retain" in (each.get("DeletionPolicy", ""), each.get("UpdateReplacePolicy", ""))
    }
    # The scenario's own keys are made as the CDK makes them, and are not the fleet's.
    assert {made["Resources"][id]["Type"] for id in kept} <= {"AWS::KMS::Key"}
    assert not [id for id in kept if id.startswith(("Fleet", "Release"))]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_case_52_two_copies_fit_into_one_account(scenario: str) -> None:
    for id, each in template(scenario)["Resources"].items():
        if each["Type"] not in NAMELESS:
            assert NAMES[each["Type"]] not in each.get("Properties", {}), id


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_handlers_run_on_a_pinned_runtime_and_are_not_retried_when_stale(scenario: str) -> None:
    made = template(scenario)
    for function in resources(made, "AWS::Lambda::Function").values():
        assert (function["Properties"]["Runtime"], function["Properties"]["Architectures"]) == ("python3.13", ["arm64"])
    retries = [plain(each["Properties"]) for each in resources(made, "AWS::Lambda::EventInvokeConfig").values()]
    assert retries
    for each in retries:
        assert each["MaximumRetryAttempts"] == 0
        assert each["MaximumEventAgeInSeconds"] <= 300


def test_a_group_that_would_outlive_its_stack_is_refused() -> None:
    made = stack()
    fleet(made).auto_scaling_group.apply_removal_policy(RemovalPolicy.RETAIN)
    with pytest.raises(RuntimeError, match="removal policy must not outlive the stack, got 'RETAIN'; remove"):
        Template.from_stack(made)


def test_a_group_that_is_protected_from_deletion_is_refused() -> None:
    made = stack()
    group = fleet(made).auto_scaling_group.node.default_child
    assert isinstance(group, autoscaling.CfnAutoScalingGroup)
    group.deletion_protection = "prevent-all-deletion"
    with pytest.raises(RuntimeError, match="deletion_protection must let the group be deleted with its stack, got"):
        Template.from_stack(made)


@pytest.mark.parametrize("protection", ["none", "prevent-force-deletion"])
def test_a_group_that_is_protected_from_a_forced_deletion_is_not(protection: str) -> None:
    made = stack()
    group = fleet(made).auto_scaling_group.node.default_child
    assert isinstance(group, autoscaling.CfnAutoScalingGroup)
    group.deletion_protection = protection
    assert only(Template.from_stack(made).to_json(), GROUP)["Properties"]["DeletionProtection"] == protection


@pytest.mark.parametrize("given", [True, False])
def test_case_59_the_way_out_of_the_vpc_is_there_until_the_drains_are_over(given: bool) -> None:
    """Nothing but the clean-up needs the routes, so they would be the first to go."""
    made_stack = stack()
    network = ec2.Vpc(made_stack, "Vpc")
    group = autoscaling.AutoScalingGroup(
        made_stack,
        "Group",
        vpc=network,
        launch_template=ec2.LaunchTemplate(
            made_stack,
            "Template",
            instance_type=ec2.InstanceType("g6.xlarge"),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
        ),
    )
    way_out = network.select_subnets().internet_connectivity_established
    FleetCleanup(
        made_stack, "Cleanup", auto_scaling_group=group, fleet_tag_value="x", network=way_out if given else None
    )
    made = Template.from_stack(made_stack).to_json()
    ((clean_up, _),) = resources(made, CLEAN_UP).items()
    kinds = {made["Resources"][id]["Type"] for id in needs(made, clean_up)}
    assert ({"AWS::EC2::NatGateway", "AWS::EC2::Route"} <= kinds) is given
    assert [id for id in made["Resources"] if id in needs(made, id)] == []
