"""The plain groups that a fleet is compared with: what they take from its template, and what they leave."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.rehearsal.plain_templates import at_once, group_idle_alarm, plain_group, queue_of, target_tracking

GROUP = "Group"


def template(maximum: int = 4, **settings: Any) -> dict[str, Any]:
    """A fleet with a function of its own, a hook, protection and two queues; ``settings`` are the function's."""
    return {
        "Parameters": {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/x"}},
        "Resources": {
            "DeadLetters": {"Type": "AWS::SQS::Queue"},
            "Jobs": {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": {"deadLetterTargetArn": "x"}}},
            "Launch": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}},
            },
            "Configuration": {"Type": "AWS::SSM::Parameter", "Properties": {"Value": "{}"}},
            GROUP: {
                "Type": "AWS::AutoScaling::AutoScalingGroup",
                "DependsOn": ["Wake"],
                "Properties": {
                    "MinSize": "2",
                    "MaxSize": str(maximum),
                    "DesiredCapacity": "2",
                    "DefaultInstanceWarmup": 600,
                    "NewInstancesProtectedFromScaleIn": True,
                    "LifecycleHookSpecificationList": [{"LifecycleHookName": "Drain"}],
                    "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"},
                },
            },
            "Hook": {"Type": "AWS::AutoScaling::LifecycleHook", "Properties": {"AutoScalingGroupName": {"Ref": GROUP}}},
            "Role": {"Type": "AWS::IAM::Role", "Properties": {}},
            "Wake": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "Handler": "wake_on_demand.index.handler",
                    "Environment": {"Variables": {"AUTO_SCALING_GROUP_NAME": {"Ref": GROUP}, **settings}},
                },
            },
        },
        "Outputs": {"Name": {"Value": {"Ref": "Wake"}}},
    }


def test_plain_group_is_the_fleets_instances_its_largest_size_and_its_queue() -> None:
    body = plain_group(template(QUEUE_URL={"Ref": "Jobs"}), GROUP)

    assert sorted(body["Resources"]) == ["Configuration", GROUP, "Jobs", "Launch"]
    assert body["Resources"][GROUP]["Properties"] == {
        "MinSize": "0",
        "MaxSize": "4",
        "DefaultInstanceWarmup": 600,
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"},
        "MetricsCollection": [{"Granularity": "1Minute"}],
    }
    assert sorted(body) == ["Parameters", "Resources"]


def test_fleets_template_is_left_as_it_is() -> None:
    before, after = template(), template()
    group_idle_alarm(after, GROUP, at_once=1)
    target_tracking(after, GROUP, backlog=1)

    assert after == before


def test_owner_of_the_nodes_protects_them_from_scale_in() -> None:
    properties = plain_group(template(), GROUP, minimum=3, protected=True)["Resources"][GROUP]["Properties"]

    assert (properties["MinSize"], properties["NewInstancesProtectedFromScaleIn"]) == ("3", True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"QUEUE_URL": {"Ref": "Jobs"}}, "Jobs"), ({"QUEUE_URL": {"Ref": "DeadLetters"}}, "DeadLetters")],
)
def test_queue_is_the_one_that_the_fleets_functions_ask(settings: dict[str, Any], expected: str) -> None:
    assert queue_of(template(**settings), GROUP) == expected


def test_fleet_without_a_queue_is_given_one() -> None:
    body = template()
    del body["Resources"]["Jobs"], body["Resources"]["DeadLetters"]

    assert plain_group(body, GROUP)["Resources"]["Jobs"] == {"Type": "AWS::SQS::Queue"}


def test_instance_works_on_what_the_fleet_says() -> None:
    assert at_once(template(MESSAGES_PER_INSTANCE="4"), GROUP) == 4
    assert at_once(template(), GROUP) is None
    assert at_once(template(MESSAGES_PER_INSTANCE="4"), "AnotherGroup") is None


def test_target_tracking_is_the_one_of_the_user_guide_and_keeps_one_instance() -> None:
    resources = target_tracking(template(QUEUE_URL={"Ref": "Jobs"}), GROUP, backlog=4)["Resources"]

    assert resources[GROUP]["Properties"]["MinSize"] == "1"
    properties = resources["BacklogPolicy"]["Properties"]
    assert properties["PolicyType"] == "TargetTrackingScaling"
    configuration = properties["TargetTrackingConfiguration"]
    assert configuration["TargetValue"] == 4
    waiting, in_service, backlog = configuration["CustomizedMetricSpecification"]["Metrics"]
    assert waiting["MetricStat"]["Metric"]["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert waiting["MetricStat"]["Metric"]["Dimensions"][0]["Value"] == {"Fn::GetAtt": ["Jobs", "QueueName"]}
    assert in_service["MetricStat"]["Metric"]["MetricName"] == "GroupInServiceInstances"
    assert (backlog["Expression"], backlog["ReturnData"]) == ("m1 / m2", True)


def steps_of(maximum: int, at_once: int) -> list[tuple[float, float, int]]:
    resources = group_idle_alarm(template(maximum), GROUP, at_once=at_once)["Resources"]
    steps = resources["StepOut"]["Properties"]["StepAdjustments"]
    infinite = float("inf")
    return [
        (each["MetricIntervalLowerBound"], each.get("MetricIntervalUpperBound", infinite), each["ScalingAdjustment"])
        for each in steps
    ]


def test_queue_alarm_asks_for_an_instance_for_every_four_messages() -> None:
    # Offsets from the threshold of one message: 1 to 4 messages ask for one instance, 5 to 8 for two, 9 and more for 3.
    assert steps_of(3, 4) == [(0, 4, 1), (4, 8, 2), (8, float("inf"), 3)]


def test_policy_has_no_more_steps_than_aws_takes() -> None:
    lower, upper, sizes = (list(each) for each in zip(*steps_of(64, 1), strict=True))

    assert len(sizes) == 20
    assert (sizes[:3], sizes[-1]) == ([4, 7, 10], 64)
    assert lower[0] == 0
    assert lower[1:] == upper[:-1], "no gaps, no overlaps"
    assert upper[-1] == float("inf")


def test_idle_alarm_of_the_group_goes_to_zero_whoever_is_at_work() -> None:
    resources = group_idle_alarm(template(), GROUP, at_once=1)["Resources"]
    alarm = resources["IdleAlarm"]["Properties"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/EC2", "CPUUtilization", "Average")
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 15 * 60
    assert alarm["AlarmActions"] == [{"Ref": "ToZero"}]
    policy = resources["ToZero"]["Properties"]
    assert policy["AdjustmentType"] == "ExactCapacity"
    assert policy["StepAdjustments"] == [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": 0}]
