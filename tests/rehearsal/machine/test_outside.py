"""What EC2 measures of instances, whatever runs on them."""

from __future__ import annotations

from constructs_lib.rehearsal.cloud.metrics import MetricStore
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.machine.outside import Outside

WORKING, RESTING = Load(cpu=30.0), Load(cpu=1.0)


def average(store: MetricStore, dimension: str, value: str, start: int) -> float | None:
    metric = {
        "Namespace": "AWS/EC2",
        "MetricName": "CPUUtilization",
        "Dimensions": [{"Name": dimension, "Value": value}],
    }
    query = {"Id": "cpu", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Average"}}
    return store.answer([query], [start], 10_000)["cpu"].get(start)


def test_group_has_the_average_of_its_instances_and_each_has_its_own() -> None:
    store = MetricStore({})
    one, other = (Outside({"InstanceId": name, "AutoScalingGroupName": "Group"}) for name in ("i-1", "i-2"))
    one.note(store, 600, WORKING)
    other.note(store, 600, RESTING)

    assert average(store, "AutoScalingGroupName", "Group", 900) == (30 + 1) / 2
    assert average(store, "InstanceId", "i-1", 900) == 30
    assert average(store, "InstanceId", "i-2", 900) == 1


def test_period_has_the_average_of_its_minutes() -> None:
    store = MetricStore({})
    one = Outside({"InstanceId": "i-1", "AutoScalingGroupName": "Group"})
    one.note(store, 600, WORKING)
    one.note(store, 1_080, RESTING)

    # 900, 960 and 1,020 at work; 1,080 and 1,140 at rest.
    assert average(store, "AutoScalingGroupName", "Group", 900) == (3 * 30 + 2 * 1) / 5


def test_instance_that_is_gone_says_nothing() -> None:
    store = MetricStore({})
    one = Outside({"InstanceId": "i-1", "AutoScalingGroupName": "Group"})
    one.end(store, 0)
    one.note(store, 600, WORKING)
    one.end(store, 1_200)

    assert average(store, "AutoScalingGroupName", "Group", 900) == 30
    assert average(store, "AutoScalingGroupName", "Group", 1_200) is None
