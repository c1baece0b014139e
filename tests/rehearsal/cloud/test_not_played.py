"""What a template asks for that is not played as AWS would, and is therefore told of."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.rehearsal.template import Template
from tests.rehearsal.cloud.plain import Body, plain_template, policy, resource

_BASIC = "Quiet: EC2 measures every five minutes without detailed monitoring; here it does each minute"


def _alarm(period: int, namespace: str = "AWS/EC2", metric: str = "CPUUtilization") -> dict[str, Body]:
    quiet = resource(
        "CloudWatch::Alarm",
        Namespace=namespace,
        MetricName=metric,
        Dimensions=[{"Name": "AutoScalingGroupName", "Value": {"Ref": "Workers"}}],
        Statistic="Average",
        Period=period,
        EvaluationPeriods=30,
        Threshold=5,
        ComparisonOperator="LessThanThreshold",
    )
    return {"Quiet": quiet}


def _notes(body: Body, **launch: Any) -> list[str]:
    body["Resources"]["Launch"]["Properties"]["LaunchTemplateData"].update(launch)
    template = Template(body)
    template.alarms()
    return template.notes


def test_alarm_of_shorter_periods_than_basic_monitoring_has_is_told_of() -> None:
    """Basic monitoring is what a launch template has that says nothing ("Manage detailed monitoring", EC2 guide)."""
    assert _notes(plain_template(_alarm(60))) == [_BASIC]
    assert _notes(plain_template(_alarm(60)), Monitoring={"Enabled": "false"}) == [_BASIC]


def test_alarm_that_target_tracking_makes_is_told_of_too() -> None:
    tracked = {"PredefinedMetricSpecification": {"PredefinedMetricType": "ASGAverageCPUUtilization"}, "TargetValue": 50}
    more = {"Track": policy("TargetTrackingScaling", TargetTrackingConfiguration=tracked)}
    assert [note.partition(":")[0] for note in _notes(plain_template(more))] == [
        "TargetTracking-Track-AlarmHigh",
        "TargetTracking-Track-AlarmLow",
    ]


@pytest.mark.parametrize(
    ("more", "launch"),
    [
        (_alarm(60), {"Monitoring": {"Enabled": True}}),
        (_alarm(300), {}),
        (_alarm(60, "Other"), {}),
    ],
)
def test_alarm_that_comes_to_the_same_is_not_told_of(more: dict[str, Body], launch: dict[str, Any]) -> None:
    assert _notes(plain_template(more), **launch) == []


def test_launch_configuration_has_detailed_monitoring_unless_it_says_otherwise() -> None:
    def notes(**configuration: Any) -> list[str]:
        body = plain_template(_alarm(60))
        launch = {"InstanceType": "g6.xlarge", "ImageId": "ami-1", **configuration}
        body["Resources"]["Launch"] = resource("AutoScaling::LaunchConfiguration", **launch)
        workers = body["Resources"]["Workers"]["Properties"]
        del workers["LaunchTemplate"]
        workers["LaunchConfigurationName"] = {"Ref": "Launch"}
        template = Template(body)
        template.alarms()
        return template.notes

    assert notes() == []
    assert notes(InstanceMonitoring=False) == [_BASIC]


@pytest.mark.parametrize(
    ("namespace", "metric"),
    [
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
        ("AWS/SQS", "NumberOfMessagesSent"),
        ("AWS/EC2", "NetworkIn"),
        ("AWS/EC2", "StatusCheckFailed"),
    ],
)
def test_metric_that_aws_publishes_and_the_rehearsal_does_not_is_told_of(namespace: str, metric: str) -> None:
    """Nobody is to look for a fault in its dimensions because the alarm saw no data."""
    assert _notes(plain_template(_alarm(300, namespace, metric))) == [
        f"Quiet: {namespace} {metric} is not played: the alarm sees no data of it"
    ]


@pytest.mark.parametrize("which", ["Visible", "NotVisible", "Delayed"])
def test_metric_of_a_queue_that_is_played_is_not_told_of(which: str) -> None:
    assert _notes(plain_template(_alarm(300, "AWS/SQS", f"ApproximateNumberOfMessages{which}"))) == []
