"""Launches that come to nothing, as a release pass meets them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import GROUP, MANUAL, STATE_PARAMETER, Release, idle_fleet
from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.activities import failed_launch, launching

TOPIC = "arn:aws:sns:eu-west-1:123456789012:fleet"
WATCH = {"MAX_FAILED_LAUNCHES": "3", "TOPIC_ARN": TOPIC}
MESSAGE = "You have requested more vCPU capacity than your current vCPU limit of 0 allows (VcpuLimitExceeded)"


def failing(aws: FakeAws, count: int, *ids: str, desired: int = 2, busy: tuple[str, ...] = ()) -> Any:
    idle_fleet(aws, *ids, desired=desired, busy=busy)
    group = aws.autoscaling.groups[GROUP]
    group.launch_fails_with = MESSAGE
    now = aws.clock.now()
    group.activities += [failed_launch(MESSAGE, now - timedelta(minutes=n)) for n in range(count, 0, -1)]
    return group


def test_launches_that_fail_in_a_row_are_stopped_told_and_counted(aws: FakeAws) -> None:
    group = failing(aws, 3)
    release = Release(aws, WATCH)
    assert release.run()["launches_stopped"] is True
    assert group.suspended == ["Launch"]
    (told,) = aws.sns.published
    assert told["TopicArn"] == TOPIC
    assert "VcpuLimitExceeded" in told["Message"]
    (metrics,) = release.lines.metrics()
    assert metrics["LaunchesStopped"] == 1
    assert "MembersBusy" not in metrics
    assert release.lines.documents("launching stopped")[0]["causes"] == ["quota"]


def test_it_is_told_once_and_counted_in_every_pass(aws: FakeAws) -> None:
    failing(aws, 3)
    Release(aws, WATCH).run()
    again = Release(aws, WATCH)
    assert again.run()["launches_stopped"] is True
    assert len(aws.sns.published) == 1
    assert again.lines.metrics()[0]["LaunchesStopped"] == 1


def test_one_fewer_stops_nothing(aws: FakeAws) -> None:
    group = failing(aws, 2)
    assert Release(aws, WATCH).run()["launches_stopped"] is False
    assert (group.suspended, aws.sns.published) == ([], [])
    assert "PutParameter" not in aws.operations()


def test_without_a_number_nobody_asks(aws: FakeAws) -> None:
    failing(aws, 9)
    assert Release(aws).run()["launches_stopped"] is None
    assert aws.operations() == ["DescribeAutoScalingGroups"]


def test_a_fleet_in_which_nothing_is_amiss_asks_nothing_more(aws: FakeAws) -> None:
    failing(aws, 9, "i-1", "i-2", busy=("i-1", "i-2"))
    Release(aws, WATCH).run()
    assert aws.operations() == ["DescribeAutoScalingGroups", "DescribeInstances", "GetMetricData"]


def test_resumed_by_somebody_launches_count_anew(aws: FakeAws) -> None:
    group = failing(aws, 3)
    Release(aws, WATCH).run()
    aws.clock.advance(1800)
    group.suspended = []
    release = Release(aws, WATCH)
    assert release.run()["launches_stopped"] is False
    assert (group.suspended, len(aws.sns.published)) == ([], 1)


def test_case_66_instances_that_never_report_are_failed_launches(aws: FakeAws) -> None:
    ids = ("i-1", "i-2", "i-3")
    aws.add_group(GROUP, ids, age=timedelta(minutes=20))
    group = aws.autoscaling.groups[GROUP]
    group.activities += [launching(each, aws.clock.now() - timedelta(minutes=20)) for each in ids]
    release = Release(aws, WATCH)
    assert release.run()["launches_stopped"] is True
    assert "has never reported" in aws.sns.published[0]["Message"]
    assert aws.terminated() == []


def test_idle_members_are_released_before_anything_else_is_done(aws: FakeAws) -> None:
    group = failing(aws, 3, "i-1")
    Release(aws, WATCH).run()
    assert aws.terminated() == ["i-1"]
    assert group.suspended == ["Launch"]
    assert [call.operation for call in aws.changes()][-1] == "SuspendProcesses"


@pytest.mark.parametrize("operation", ["DescribeScalingActivities", "SuspendProcesses", "Publish"])
def test_case_35_what_cannot_be_asked_or_done_is_told_and_done_by_the_next_pass(aws: FakeAws, operation: str) -> None:
    group = failing(aws, 3, "i-1")
    aws.fail(operation, "AccessDenied", times=1)
    with pytest.raises(PassIncomplete, match="launches"):
        Release(aws, WATCH).run()
    assert aws.terminated() == ["i-1"]
    assert "launches" not in json.loads(aws.ssm.parameters[STATE_PARAMETER].value)
    assert Release(aws, WATCH).run()["launches_stopped"] is True
    assert (group.suspended, len(aws.sns.published)) == (["Launch"], 1)


def test_a_dry_run_stops_nothing(aws: FakeAws) -> None:
    group = failing(aws, 3)
    Release(aws, WATCH).run({**MANUAL, "dry_run": True})
    assert (group.suspended, aws.sns.published) == ([], [])
