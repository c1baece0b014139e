"""What happens between the check and the act, and when an act does not go through."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from release_idle import survey
from release_idle.release_pass import PassIncomplete
from release_idle.survey import Surveyor
from tests.handlers.driving import (
    GROUP,
    QUEUE_ENVIRONMENT,
    Release,
    idle_fleet,
)
from tests.handlers.fake_aws import Call, FakeAws

# ---- case 12: between the check and the act


def becomes_busy_after(aws: FakeAws, operation: str, occurrence: int, instance_id: str) -> None:
    """Let work arrive on an instance just before the given occurrence of an operation."""
    seen = 0

    def happen(call: Call) -> None:
        nonlocal seen
        seen += call.operation == operation
        if seen == occurrence and call.operation == operation:
            aws.publish(instance_id, 95, minutes=1)

    aws.before.append(happen)


def test_case_12_work_that_arrives_after_the_check_is_not_killed(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    becomes_busy_after(aws, "GetMetricData", 2, "i-1")
    release = Release(aws)
    summary = release.run()
    assert summary["released"] == ["i-2"]
    assert release.verdicts()["i-1"] == "busy"


def test_case_12_without_the_second_reading_it_would_be(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-1", "i-2")
    becomes_busy_after(aws, "GetMetricData", 2, "i-1")
    surveyed = Surveyor.survey
    first: list[survey.Survey] = []

    def once(self: Surveyor, group: Any, only: Any = None, **_: Any) -> survey.Survey:
        if not first:
            first.append(surveyed(self, group, only))
        return first[0]

    monkeypatch.setattr(Surveyor, "survey", once)
    Release(aws).run()
    assert aws.terminated() == ["i-1", "i-2"]


def test_case_12_order_is_read_judge_read_again_act(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.sqs.hold(visible=0)
    Release(aws, {**QUEUE_ENVIRONMENT, "WATCH_SESSIONS": "true"}).run()
    reading = [
        "DescribeAutoScalingGroups",
        "DescribeInstances",
        "DescribeSessions",
        "GetMetricData",
        "GetQueueAttributes",
    ]
    lease, record, give_back = ["GetParameter", "PutParameter"], "PutParameter", "PutParameter"
    terminate = "TerminateInstanceInAutoScalingGroup"
    assert aws.operations() == [*reading, *lease, *reading, record, terminate, give_back]


def test_case_12_a_session_opened_in_between_keeps_it(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    reads = 0

    def happen(call: Call) -> None:
        nonlocal reads
        reads += call.operation == "DescribeAutoScalingGroups"
        if reads == 2:
            aws.ssm.active = ["i-1"]

    aws.before.append(happen)
    Release(aws, {"WATCH_SESSIONS": "true"}).run()
    assert aws.changes() == []


def test_case_12_a_backlog_that_arrives_in_between_keeps_them(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.sqs.hold(visible=0)
    reads = 0

    def happen(call: Call) -> None:
        nonlocal reads
        reads += call.operation == "DescribeAutoScalingGroups"
        if reads == 2:
            aws.sqs.hold(visible=1)

    aws.before.append(happen)
    summary = Release(aws, QUEUE_ENVIRONMENT).run()
    assert summary["released"] == []


def test_evidence_that_has_grown_old_releases_nobody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.fail("TerminateInstanceInAutoScalingGroup", "ScalingActivityInProgress")
    release = Release(aws, seconds=900)
    started = aws.clock.now()
    with pytest.raises(PassIncomplete, match="ran out of time"):
        release.run()
    assert aws.clock.now() - started <= timedelta(seconds=120)
    assert aws.terminated() == []


# ---- case 35: one failure does not spoil the rest


def test_case_35_an_error_on_one_does_not_stop_the_others_and_fails_the_invocation(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", "i-5")
    aws.fail("TerminateInstanceInAutoScalingGroup", "AccessDenied", matches=lambda p: p["InstanceId"] == "i-1")
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="i-1"):
        release.run()
    assert aws.terminated() == ["i-2", "i-3", "i-4", "i-5"]
    assert release.lines.documents("release pass")[0]["released"] == ["i-2", "i-3", "i-4", "i-5"]
    assert release.lines.metrics()[0]["InstancesReleased"] == 4


@pytest.mark.parametrize("code", ["ScalingActivityInProgress", "ResourceContention", "Throttling"])
def test_case_50_an_activity_in_the_way_is_waited_out(aws: FakeAws, code: str) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.fail("TerminateInstanceInAutoScalingGroup", code, times=3)
    assert sorted(Release(aws).run()["released"]) == ["i-1", "i-2"]
    assert aws.clock.slept


def test_case_50_one_that_is_held_up_does_not_hold_up_the_others(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.fail(
        "TerminateInstanceInAutoScalingGroup",
        "ScalingActivityInProgress",
        matches=lambda p: p["InstanceId"] == "i-1",
    )
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="i-1: ran out of time"):
        release.run()
    assert aws.terminated() == ["i-2"]


def test_a_pass_with_one_second_left_changes_nothing_and_fails(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    with pytest.raises(Exception, match="ran out of time"):
        Release(aws, seconds=1).run()
    assert aws.calls == []


@pytest.mark.parametrize("failing", ["DescribeAutoScalingGroups", "DescribeInstances", "GetMetricData"])
def test_case_12_a_second_reading_that_fails_keeps_them_all_and_is_told(aws: FakeAws, failing: str) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    groups_read = 0

    def happen(call: Call) -> None:
        nonlocal groups_read
        groups_read += call.operation == "DescribeAutoScalingGroups"
        if groups_read == 2 and not aws.faults:
            aws.fail(failing, "AccessDenied")

    aws.before.append(happen)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="AccessDenied"):
        release.run()
    assert aws.changes() == []
    assert len(release.lines.documents("release pass")) == 1
    assert release.lines.metrics()[0]["InstancesReleased"] == 0


@pytest.mark.parametrize("status", [None, "Delete in progress"])
def test_case_12_a_group_that_goes_in_between_is_left_alone(aws: FakeAws, status: str | None) -> None:
    idle_fleet(aws, "i-1")

    def happen(call: Call) -> None:
        if call.operation == "GetMetricData" and status:
            aws.autoscaling.groups[GROUP].status = status
        elif call.operation == "GetMetricData":
            aws.autoscaling.groups.clear()

    aws.before.append(happen)
    assert Release(aws).run()["released"] == []
    assert aws.changes() == []


def test_case_12_a_member_that_leaves_in_between_is_not_terminated(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    group = aws.autoscaling.groups[GROUP]

    def happen(call: Call) -> None:
        if call.operation == "GetMetricData" and len(group.members) == 2:
            group.members.pop(0)
            group.desired = 1

    aws.before.append(happen)
    release = Release(aws)
    assert release.run()["released"] == ["i-2"]
    assert release.lines.documents("verdict")[0]["kept_because"] == "left the group meanwhile"
