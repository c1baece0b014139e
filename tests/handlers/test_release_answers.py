"""Answers that lack something: whoever cannot be told apart, or judged, stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import CPU_SIGNAL, GPU_SIGNAL, GROUP, QUEUE_ENVIRONMENT, Release, idle_fleet
from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.world import NAMESPACE

Answer = Any
Spoil = Callable[[Answer], None]


def spoil(aws: FakeAws, monkeypatch: pytest.MonkeyPatch, service: Any, method: str, change: Spoil) -> None:
    """Let an operation answer without something."""
    answers = getattr(service, method)

    def spoilt(parameters: Mapping[str, Any]) -> Answer:
        answer = answers(parameters)
        change(answer)
        return answer

    monkeypatch.setattr(service, method, spoilt)
    # Answers are compared with the service's model otherwise.
    monkeypatch.setattr("tests.handlers.fake_aws.world.check_answer", lambda *_: None)


def without(*path: str | int) -> Spoil:
    """Take what is at the end of the path out of an answer."""

    def change(answer: Answer) -> None:
        for step in path[:-1]:
            answer = answer[step]
        del answer[path[-1]]

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("MetricDataResults"),
        without("MetricDataResults", 0, "Id"),
        without("MetricDataResults", 0, "StatusCode"),
        without("MetricDataResults", 0, "Timestamps"),
        without("MetricDataResults", 0, "Values"),
    ],
)
def test_case_07_metrics_that_name_nobody_say_nothing(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, change: Spoil
) -> None:
    idle_fleet(aws, "i-1", busy=("i-1",))
    spoil(aws, monkeypatch, aws.cloudwatch, "get_metric_data", change)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="signal gpu"):
        release.run()
    assert release.verdicts() == {"i-1": "unknown"}
    assert aws.changes() == []


def test_case_07_a_result_without_a_name_leaves_every_series_of_the_call_in_doubt(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest points of a busy instance may be in it, and its older ones look idle."""
    idle_fleet(aws, "i-1", "i-2")
    spoil(aws, monkeypatch, aws.cloudwatch, "get_metric_data", without("MetricDataResults", 1, "Id"))
    release = Release(aws)
    with pytest.raises(PassIncomplete):
        release.run()
    assert release.verdicts() == {"i-1": "unknown", "i-2": "unknown"}


@pytest.mark.parametrize(
    "change",
    [
        without("Reservations"),
        without("Reservations", 0, "Instances"),
        *(without("Reservations", 0, "Instances", 0, field) for field in ("InstanceId", "LaunchTime", "State", "Tags")),
        without("Reservations", 0, "Instances", 0, "State", "Name"),
        without("Reservations", 0, "Instances", 0, "Tags", 0, "Key"),
        without("Reservations", 0, "Instances", 0, "Tags", 0, "Value"),
    ],
)
def test_case_34_an_instance_that_is_told_of_in_part_stays(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, change: Spoil
) -> None:
    idle_fleet(aws, "i-1")
    spoil(aws, monkeypatch, aws.ec2, "describe_instances", change)
    release = Release(aws)
    release.run()
    assert release.verdicts() == {"i-1": "unknown"}
    assert aws.changes() == []


def test_a_machine_without_a_type_is_judged_all_the_same(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-1")
    spoil(aws, monkeypatch, aws.ec2, "describe_instances", without("Reservations", 0, "Instances", 0, "InstanceType"))
    assert Release(aws, {"TYPE_USD_PER_HOUR": '{"g6.xlarge":0.8}'}).run()["released"] == ["i-1"]


@pytest.mark.parametrize("change", [without("Sessions"), without("Sessions", 0, "Target")])
def test_case_68_sessions_that_name_no_machine_may_be_on_any(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, change: Spoil
) -> None:
    idle_fleet(aws, "i-1")
    aws.ssm.active = ["i-1"]
    spoil(aws, monkeypatch, aws.ssm, "describe_sessions", change)
    release = Release(aws, {"WATCH_SESSIONS": "true"})
    with pytest.raises(PassIncomplete, match="DescribeSessions"):
        release.run()
    assert release.reasons() == {"i-1": "active sessions could not be read"}
    assert aws.changes() == []


@pytest.mark.parametrize(
    "change",
    [
        without("AutoScalingGroups"),
        *(
            without("AutoScalingGroups", 0, field)
            for field in ("AutoScalingGroupName", "MinSize", "DesiredCapacity", "Instances")
        ),
        *(
            without("AutoScalingGroups", 0, "Instances", 0, field)
            for field in ("InstanceId", "LifecycleState", "ProtectedFromScaleIn")
        ),
    ],
)
def test_a_group_that_is_told_of_in_part_is_not_changed(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, change: Spoil
) -> None:
    """Least of all is one without its list of instances taken for an empty one with too high a number."""
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    aws.sqs.hold(visible=0)
    spoil(aws, monkeypatch, aws.autoscaling, "describe_auto_scaling_groups", change)
    with pytest.raises(PassIncomplete, match="the answer about the group train lacks"):
        Release(aws, QUEUE_ENVIRONMENT).run()
    assert aws.changes() == []


# ---- signals from elsewhere


def test_a_signal_of_another_namespace_with_its_own_dimensions_is_read_exactly(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3")
    requests = {
        **CPU_SIGNAL,
        "name": "requests",
        "metric": "InFlight",
        "namespace": "Serving",
        "dimensions": {"Model": "llama"},
        "idle_below": 1,
    }
    end = aws.clock.now()
    for instance_id, namespace, value in (("i-1", "Serving", 0), ("i-2", "Serving", 3), ("i-3", NAMESPACE, 0)):
        aws.publish(instance_id, value, metric="InFlight")
        samples = aws.cloudwatch.samples.pop((NAMESPACE, "InFlight", frozenset({("InstanceId", instance_id)})))
        dimensions = {"InstanceId": instance_id, "Model": "llama"}
        aws.cloudwatch.publish(namespace, "InFlight", dimensions, samples)
    release = Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, requests])})
    assert release.run()["released"] == ["i-1"]
    assert release.verdicts() == {"i-1": "idle", "i-2": "busy", "i-3": "unknown"}
    assert aws.clock.now() == end


@pytest.mark.parametrize(("seconds", "goes"), [(1799, False), (1801, True)])
def test_a_node_that_counts_its_own_idle_seconds_is_believed(aws: FakeAws, seconds: int, goes: bool) -> None:
    idle_fleet(aws, "i-1")
    aws.publish("i-1", seconds, metric="idle_seconds", minutes=10)
    signal = {**GPU_SIGNAL, "name": "idle", "metric": "idle_seconds", "statistic": "Minimum", "means": "idle_time"}
    Release(aws, {"SIGNALS": json.dumps([GPU_SIGNAL, signal])}).run()
    assert aws.terminated() == (["i-1"] if goes else [])
    assert aws.autoscaling.groups[GROUP].desired == (0 if goes else 1)
