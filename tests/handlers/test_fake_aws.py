"""The fake itself: a test on a kind mock proves nothing (field case 82)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.world import GPU, NAMESPACE


def query(instance_id: str, metric: str = GPU, **extra: str) -> dict[str, Any]:
    dimensions = {"InstanceId": instance_id, **extra}
    return {
        "Id": "m0",
        "MetricStat": {
            "Metric": {
                "Namespace": NAMESPACE,
                "MetricName": metric,
                "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
            },
            "Period": 60,
            "Stat": "Maximum",
        },
        "ReturnData": True,
    }


def read(aws: FakeAws, *queries: dict[str, Any], **more: Any) -> Any:
    now = aws.clock.now()
    return aws.client("cloudwatch").get_metric_data(
        MetricDataQueries=list(queries), StartTime=now - timedelta(hours=1), EndTime=now, **more
    )


@pytest.mark.parametrize(
    "wrong",
    [
        query("i-2"),
        query("i-1", metric="utilization_gpu"),
        query("i-1", index="0"),
        query("I-1"),
    ],
)
def test_case_82_1_a_wrong_dimension_sees_nothing(aws: FakeAws, wrong: dict[str, Any]) -> None:
    aws.publish("i-1", 90)
    assert read(aws, wrong)["MetricDataResults"][0]["Values"] == []
    assert read(aws, wrong)["MetricDataResults"][0]["StatusCode"] == "Complete"
    assert read(aws, query("i-1"))["MetricDataResults"][0]["Values"] == [90.0] * 60


def test_case_82_2_an_expression_is_not_answered_with_something(aws: FakeAws) -> None:
    with pytest.raises(NotImplementedError):
        read(aws, {"Id": "m0", "Expression": "FILL(m1, 0)"})


def test_case_82_4_capacity_never_takes_a_protected_member_but_a_direct_call_does(aws: FakeAws) -> None:
    aws.add_group("train", ["i-1", "i-2"], protected=True)
    autoscaling = aws.client("autoscaling")
    autoscaling.set_desired_capacity(AutoScalingGroupName="train", DesiredCapacity=0)
    assert aws.terminated() == []
    autoscaling.set_instance_protection(AutoScalingGroupName="train", InstanceIds=["i-1"], ProtectedFromScaleIn=False)
    assert aws.terminated() == ["i-1"]
    autoscaling.terminate_instance_in_auto_scaling_group(InstanceId="i-2", ShouldDecrementDesiredCapacity=False)
    assert aws.terminated() == ["i-1", "i-2"]


def test_terminating_at_the_minimum_with_decrement_is_refused(aws: FakeAws) -> None:
    aws.add_group("train", ["i-1"], min_size=1)
    with pytest.raises(ClientError, match="desiredSize equals minSize"):
        aws.client("autoscaling").terminate_instance_in_auto_scaling_group(
            InstanceId="i-1", ShouldDecrementDesiredCapacity=True
        )
    assert aws.terminated() == []


def test_terminating_without_decrement_starts_a_replacement(aws: FakeAws) -> None:
    group = aws.add_group("train", ["i-1"])
    aws.client("autoscaling").terminate_instance_in_auto_scaling_group(
        InstanceId="i-1", ShouldDecrementDesiredCapacity=False
    )
    assert (group.desired, group.replacements) == (1, 1)


def test_a_missing_argument_fails_as_it_would_in_boto3(aws: FakeAws) -> None:
    aws.add_group("train", ["i-1"])
    with pytest.raises(AssertionError, match="ShouldDecrementDesiredCapacity"):
        aws.client("autoscaling").terminate_instance_in_auto_scaling_group(InstanceId="i-1")


def test_limits_are_enforced(aws: FakeAws) -> None:
    aws.add_group("train", [f"i-{n}" for n in range(51)])
    with pytest.raises(ClientError, match="50"):
        aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[f"g{n}" for n in range(51)])
    with pytest.raises(ClientError, match="50"):
        aws.client("autoscaling").set_instance_protection(
            AutoScalingGroupName="train",
            InstanceIds=[f"i-{n}" for n in range(51)],
            ProtectedFromScaleIn=False,
        )
    with pytest.raises(ClientError, match="500"):
        read(aws, *[{**query(f"i-{n}"), "Id": f"m{n}"} for n in range(501)])
    with pytest.raises(ClientError, match="1000"):
        aws.client("ec2").describe_instances(Filters=[], MaxResults=1001)
    with pytest.raises(ClientError, match="200"):
        aws.client("ec2").describe_instances(
            Filters=[{"Name": "instance-id", "Values": [f"i-{n}" for n in range(201)]}], MaxResults=1000
        )


def test_metrics_come_in_pages_of_points_and_a_cut_series_is_partial(aws: FakeAws) -> None:
    aws.publish("i-1", 1)
    aws.publish("i-2", 2)
    aws.cloudwatch.points_per_page = 80
    queries = [{**query("i-1"), "Id": "m1"}, {**query("i-2"), "Id": "m2"}]
    first = read(aws, *queries)
    assert [(r["Id"], r["StatusCode"], len(r["Values"])) for r in first["MetricDataResults"]] == [
        ("m1", "Complete", 60),
        ("m2", "PartialData", 20),
    ]
    second = read(aws, *queries, NextToken=first["NextToken"])
    assert [(r["Id"], r["StatusCode"], len(r["Values"])) for r in second["MetricDataResults"]] == [
        ("m2", "Complete", 40)
    ]
    assert "NextToken" not in second


def test_a_fault_lasts_as_many_calls_as_it_was_told(aws: FakeAws) -> None:
    aws.add_group("train")
    aws.fail("DescribeAutoScalingGroups", "Throttling", times=1)
    with pytest.raises(ClientError, match="Throttling"):
        aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=["train"])
    answer = aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=["train"])
    assert len(answer["AutoScalingGroups"]) == 1
