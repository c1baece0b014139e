"""Which queue the work of a trace goes to, where no function of the template reads one."""

from __future__ import annotations

from typing import Any

from constructs_lib.rehearsal.simulate import simulate
from tests.rehearsal.fleets import SCENARIO, trace


def _group(name: str, queue: str) -> dict[str, Any]:
    """Return a group that an alarm on a queue wakes by a step policy, with nothing of ours."""
    launch = {"LaunchTemplateId": {"Ref": f"{name}Template"}, "Version": {"Fn::GetAtt": [f"{name}Template", "Version"]}}
    step = {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
    queue_name = {"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}
    metric = {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [queue_name]}
    judged = {"Statistic": "Maximum", "Period": 60, "EvaluationPeriods": 1, "Threshold": 1}
    compared = {"ComparisonOperator": "GreaterThanOrEqualToThreshold", "AlarmActions": [{"Ref": f"{name}Up"}]}
    of_group = {"AutoScalingGroupName": {"Ref": name}}
    steps = {"PolicyType": "StepScaling", "AdjustmentType": "ExactCapacity", "StepAdjustments": [step]}
    sizes = {"MinSize": "0", "MaxSize": "1", "AvailabilityZones": ["us-east-1a"], "LaunchTemplate": launch}
    data = {"LaunchTemplateData": {"InstanceType": "g6.xlarge", "ImageId": "ami-0123456789abcdef0"}}
    return {
        f"{name}Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": data},
        name: {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": sizes},
        f"{name}Up": {"Type": "AWS::AutoScaling::ScalingPolicy", "Properties": {**of_group, **steps}},
        f"{name}Waits": {"Type": "AWS::CloudWatch::Alarm", "Properties": {**metric, **judged, **compared}},
    }


def _queue(dead_letters: str | None = None) -> dict[str, Any]:
    redrive = {"deadLetterTargetArn": {"Fn::GetAtt": [dead_letters, "Arn"]}, "maxReceiveCount": 3}
    return {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": redrive} if dead_letters else {}}


def _done(resources: dict[str, Any], fleet: str) -> list[bool]:
    record = simulate({"Resources": resources}, trace((0, 60)), fleet=fleet, scenario=SCENARIO)
    return [job.ended_s is not None for job in record.jobs]


def test_work_goes_to_the_queue_that_has_the_dead_letters_and_not_to_these() -> None:
    assert _done({"Dead": _queue(), "Work": _queue("Dead"), **_group("Fleet", "Work")}, "Fleet") == [True]


def test_of_several_queues_work_goes_to_the_one_whose_alarm_moves_the_fleet() -> None:
    both = {"A": _queue(), "B": _queue(), **_group("First", "A"), **_group("Second", "B")}
    assert _done(both, "First") == [True]
    assert _done(both, "Second") == [True]
