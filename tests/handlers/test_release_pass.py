"""A release pass when all is well, and what starts one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.triggers import MalformedEvent
from tests.handlers.driving import (
    GROUP,
    MANUAL,
    QUEUE_ENVIRONMENT,
    SCHEDULED,
    Release,
    alarm_event,
    idle_fleet,
)
from tests.handlers.fake_aws import FakeAws

# ---- what happens when all is well


def test_two_idle_members_go_and_the_busy_one_stays_with_its_reason(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", busy=("i-2",))
    release = Release(aws)
    summary = release.run()
    assert summary["released"] == ["i-1", "i-3"]
    assert aws.terminated() == ["i-1", "i-3"]
    assert aws.autoscaling.groups[GROUP].desired == 1
    assert aws.autoscaling.groups[GROUP].replacements == 0
    kept = {each["instance_id"]: each for each in summary["kept"]}
    assert kept["i-2"]["verdict"] == "busy"
    assert "gpu (nvidia_smi_utilization_gpu Maximum) was 95" in kept["i-2"]["reason"]
    assert summary["counts"] == {
        "busy": 1,
        "idle": 2,
        "unknown": 0,
        "starting": 0,
        "held": 0,
        "leaving": 0,
    }
    assert (summary["floor"], summary["desired_lowered_to"], summary["dry_run"]) == (0, None, False)
    assert json.loads(json.dumps(summary)) == summary


def test_every_verdict_is_one_line_and_the_pass_one_metric_line(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    release = Release(aws)
    release.run()
    assert [(v["instance_id"], v["verdict"], v["released"]) for v in release.lines.documents("verdict")] == [
        ("i-1", "idle", True),
        ("i-2", "busy", False),
    ]
    assert len(release.lines.documents("release pass")) == 1
    (metrics,) = release.lines.metrics()
    directive = metrics["_aws"]["CloudWatchMetrics"][0]
    assert directive["Namespace"] == "AcceleratedFleet"
    assert directive["Dimensions"] == [["AutoScalingGroupName"]]
    assert metrics["AutoScalingGroupName"] == GROUP
    assert {m["Name"]: (metrics[m["Name"]], m["Unit"]) for m in directive["Metrics"]} == {
        "MembersBusy": (1, "Count"),
        "MembersIdle": (1, "Count"),
        "MembersUnknown": (0, "Count"),
        "MembersHeld": (0, "Count"),
        "MembersRetained": (0, "Count"),
        "MembersIdleDespiteWork": (0, "Count"),
        "InstancesReleased": (1, "Count"),
        "LaunchesStopped": (0, "Count"),
        "DrainsAbandoned": (0, "Count"),
    }
    assert all(
        {"timestamp", "level", "message"} <= set(line) for line in release.lines.documents() if "_aws" not in line
    )


def test_an_empty_group_costs_one_call_and_prints_no_metrics(aws: FakeAws) -> None:
    aws.add_group(GROUP)
    release = Release(aws, QUEUE_ENVIRONMENT)
    assert release.run()["released"] == []
    assert aws.operations() == ["DescribeAutoScalingGroups"]
    assert release.lines.metrics() == []


@pytest.mark.parametrize("being_deleted", [False, True])
def test_a_group_that_is_gone_or_going_is_left_alone(aws: FakeAws, being_deleted: bool) -> None:
    if being_deleted:
        idle_fleet(aws, "i-1")
        aws.autoscaling.groups[GROUP].status = "Delete in progress"
    release = Release(aws)
    assert release.run()["released"] == []
    assert aws.operations() == ["DescribeAutoScalingGroups"]


# ---- events


@pytest.mark.parametrize("event", [SCHEDULED, MANUAL, alarm_event()])
def test_each_kind_of_event_starts_a_pass(aws: FakeAws, event: dict[str, Any]) -> None:
    idle_fleet(aws, "i-1")
    assert Release(aws).run(event)["released"] == ["i-1"]


def test_a_dry_run_judges_and_changes_nothing(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    summary = Release(aws).run({**MANUAL, "dry_run": True})
    assert aws.changes() == []
    assert (summary["released"], summary["would_release"], summary["dry_run"]) == ([], ["i-1"], True)
    assert "dry run" in summary["kept"][0]["reason"]


@pytest.mark.parametrize("state", ["OK", "INSUFFICIENT_DATA"])
def test_an_alarm_that_is_over_asks_for_nothing(aws: FakeAws, state: str) -> None:
    idle_fleet(aws, "i-1")
    release = Release(aws)
    assert release.run(alarm_event(state))["released"] == []
    assert aws.calls == []
    assert state in release.lines.text


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "x",
        {},
        {"source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification"},
        {"source": "aws.events"},
        {"source": "aws.cloudwatch"},
        {"source": "aws.cloudwatch", "alarmData": None},
        {"source": "aws.cloudwatch", "alarmData": {"state": {"value": "alarm"}}},
        {"source": "accelerated-fleet.manual", "dry_run": "yes"},
        {"source": "aws.autoscaling", "detail": {"EC2InstanceId": "i-1", "AutoScalingGroupName": "other"}},
    ],
)
def test_case_36_an_event_that_is_not_ours_makes_no_call(aws: FakeAws, event: object) -> None:
    idle_fleet(aws, "i-1")
    release = Release(aws)
    with pytest.raises(MalformedEvent):
        release.run(event)
    assert aws.calls == []
    (line,) = release.lines.documents("event not understood")
    assert line["level"] == "ERROR"


def test_case_12_what_the_alarm_claims_is_never_trusted(aws: FakeAws) -> None:
    """The alarm says idle, three minutes late; the machine works."""
    idle_fleet(aws, "i-1", busy=("i-1",))
    assert Release(aws).run(alarm_event("ALARM"))["released"] == []
    assert aws.terminated() == []


# ---- case 3: the victim is never left to the group


@pytest.mark.parametrize("busy", ["i-1", "i-2", "i-3", "i-4"])
def test_case_03_only_idle_members_go_whichever_is_busy(aws: FakeAws, busy: str) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=(busy,))
    Release(aws).run()
    assert busy not in aws.terminated()
    assert len(aws.terminated()) == 3
    assert {call.operation for call in aws.changes()} == {"TerminateInstanceInAutoScalingGroup"}


def test_case_61_the_straggler_stays_and_nine_go(aws: FakeAws) -> None:
    ids = [f"i-{n}" for n in range(10)]
    idle_fleet(aws, *ids, busy=("i-4",))
    Release(aws).run()
    assert aws.terminated() == [each for each in ids if each != "i-4"]
