"""The end of a Capacity Block (case 18): everybody leaves ahead of it, at work or not, with a drain."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from release_idle.settings import read_settings
from runtime.environment import SettingError
from tests.handlers.driving import GROUP, QUEUE_ENVIRONMENT, RELEASE_ENVIRONMENT, Release
from tests.handlers.fake_aws import FakeAws
from tests.handlers.fake_aws.interleaving import run_interleaved

ALWAYS = {"days": [0, 1, 2, 3, 4, 5, 6], "from": "00:00", "to": "24:00", "zone": "UTC"}
SIZES: dict[str, Any] = {"min_size": 0, "max_size": 0, "desired": 0}


def leave_at(aws: FakeAws, seconds: float) -> dict[str, str]:
    """The setting for so many seconds from now on."""
    return {"LEAVE_FROM": f"{aws.clock.now() + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"}


def busy(aws: FakeAws, *ids: str) -> None:
    for each in ids:
        aws.publish(each, 95)


def test_case_18_nobody_at_work_goes_before_the_time(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1", "i-2"))
    busy(aws, "i-1", "i-2")
    assert Release(aws, leave_at(aws, 60)).run()["released"] == []


def test_case_18_all_go_from_the_time_on_and_say_why(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1", "i-2"))
    busy(aws, "i-1")
    release = Release(aws, leave_at(aws, -1))
    assert sorted(release.run()["released"]) == ["i-1", "i-2"]
    line = next(each for each in release.lines.documents("verdict") if each["instance_id"] == "i-1")
    assert "all leave from " in line["released_because"]


def test_case_18_those_beyond_the_desired_capacity_go_too(aws: FakeAws) -> None:
    """The scheduled action has set the sizes to 0, and their protection has kept them."""
    aws.add_group(GROUP, ("i-1", "i-2"), **SIZES)
    busy(aws, "i-1", "i-2")
    assert sorted(Release(aws, leave_at(aws, -1)).run()["released"]) == ["i-1", "i-2"]
    assert aws.autoscaling.groups[GROUP].desired == 0


def test_case_18_also_one_that_has_just_started(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1",), **SIZES)
    aws.ec2.machines["i-1"].launched_at = aws.clock.now() - timedelta(seconds=30)
    assert Release(aws, {}).run()["released"] == []
    assert Release(aws, leave_at(aws, -1)).run()["released"] == ["i-1"]


def test_who_is_held_stays(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1",), **SIZES)
    busy(aws, "i-1")
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "debugging"
    assert Release(aws, leave_at(aws, -1)).run()["released"] == []


@pytest.mark.parametrize("wrong", ["tomorrow", "2027-03-01", "2027-03-01T11:00:00", "2027-03-01T11:00:00+00:00"])
def test_a_time_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(SettingError, match="LEAVE_FROM"):
        read_settings({**RELEASE_ENVIRONMENT, "LEAVE_FROM": wrong})


@pytest.mark.parametrize("state", ["Warmed:Stopped", "Warmed:Running", "Warmed:Pending:Wait", "Warmed:Hibernated"])
def test_what_waits_in_a_warm_pool_is_no_member_and_never_released(aws: FakeAws, state: str) -> None:
    """Not even where an answer should list it: it has no place in the capacity and is not looked at."""
    aws.add_group(GROUP, ("i-1", "i-2"), min_size=0, max_size=8, desired=1)
    member = aws.autoscaling.groups[GROUP].member("i-2")
    assert member is not None
    member.lifecycle_state = state
    busy(aws, "i-1")
    assert Release(aws, {}).run()["released"] == []
    assert Release(aws, leave_at(aws, -1)).run()["released"] == ["i-1"]


@pytest.mark.parametrize(
    "keeps",
    [
        {"MAX_RELEASES": "1"},
        {"MAX_RELEASE_SHARE": "0.1"},
        {"HOURS": json.dumps({"warm": [{"instances": 2, "hours": ALWAYS}]})},
        QUEUE_ENVIRONMENT,
    ],
    ids=["a number at a time", "a share at a time", "kept warm", "work waits"],
)
def test_case_18_nothing_keeps_anybody_from_the_time_on(aws: FakeAws, keeps: dict[str, str]) -> None:
    ids = ("i-1", "i-2", "i-3")
    aws.add_group(GROUP, ids, **SIZES)
    busy(aws, *ids)
    aws.sqs.hold(visible=100)
    assert sorted(Release(aws, {**keeps, **leave_at(aws, -1)}).run()["released"]) == list(ids)


def test_case_18_also_when_the_group_has_not_been_closed(aws: FakeAws) -> None:
    """The scheduled action is late, or somebody has suspended that process."""
    aws.add_group(GROUP, ("i-1", "i-2"), min_size=0, max_size=8, desired=2)
    busy(aws, "i-1", "i-2")
    aws.sqs.hold(visible=100)
    assert sorted(Release(aws, {**QUEUE_ENVIRONMENT, **leave_at(aws, -1)}).run()["released"]) == ["i-1", "i-2"]
    assert aws.autoscaling.groups[GROUP].desired == 0


def test_case_18_nobody_of_whom_ec2_tells_nothing_goes(aws: FakeAws) -> None:
    """Nobody knows whether it is held. The next pass asks again; EC2 takes whoever is left at the end."""
    aws.add_group(GROUP, ("i-1", "i-2"), **SIZES)
    busy(aws, "i-1", "i-2")
    aws.ec2.machines.pop("i-2")
    assert Release(aws, leave_at(aws, -1)).run()["released"] == ["i-1"]
    aws.add_group(GROUP, ("i-3",), **SIZES)
    aws.fail("DescribeInstances", "InternalError")
    with pytest.raises(PassIncomplete, match="DescribeInstances"):
        Release(aws, leave_at(aws, -1)).run()
    assert "i-3" not in aws.terminated()


@pytest.mark.parametrize("operation", ["GetMetricData", "DescribeSessions", "GetQueueAttributes"])
def test_case_18_what_is_not_known_of_work_keeps_nobody(aws: FakeAws, operation: str) -> None:
    aws.add_group(GROUP, ("i-1",), **SIZES)
    aws.fail(operation, "InternalError")
    release = Release(aws, {**QUEUE_ENVIRONMENT, "WATCH_SESSIONS": "true", **leave_at(aws, -1)})
    with contextlib.suppress(PassIncomplete):
        release.run()
    assert aws.terminated() == ["i-1"]


def test_case_18_a_group_that_cannot_be_read_loses_nobody(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1",), **SIZES)
    aws.fail("DescribeAutoScalingGroups", "InternalError")
    with pytest.raises(Exception, match=r"InternalError|DescribeAutoScalingGroups"):
        Release(aws, leave_at(aws, -1)).run()
    assert aws.changes() == []


@pytest.mark.parametrize("state", ["Standby", "Terminating:Retained", "Pending", "Pending:Wait", "Terminating:Wait"])
def test_case_18_who_is_not_in_service_is_left_alone(aws: FakeAws, state: str) -> None:
    aws.add_group(GROUP, ("i-1",), **SIZES)
    member = aws.autoscaling.groups[GROUP].member("i-1")
    assert member is not None
    member.lifecycle_state = state
    assert Release(aws, leave_at(aws, -1)).run()["released"] == []


def test_case_18_two_passes_at_once_ask_for_each_once(aws: FakeAws) -> None:
    aws.add_group(GROUP, ("i-1", "i-2"), **SIZES)
    busy(aws, "i-1", "i-2")
    one, other = (Release(aws, leave_at(aws, -1)) for _ in range(2))
    run_interleaved(aws, [0, 1] * 20, one.run, other.run)
    assert sorted(aws.terminated()) == ["i-1", "i-2"]
