"""Case 14: releases make zones uneven, and evening them out must not cost a member at work."""

from __future__ import annotations

from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import GROUP, MANUAL, Release, idle_fleet
from tests.handlers.fake_aws import FakeAws

FOREIGN = {"SCALE_IN_PROTECTION": "hold"}
"""A group that is not ours: its members are not protected."""


def two_zones(aws: FakeAws, *busy: str) -> Any:
    idle_fleet(aws, "i-1", "i-2", "i-3", busy=busy, protected=False)
    group = aws.autoscaling.groups[GROUP]
    group.zones = ["eu-west-1a", "eu-west-1b"]
    return group


def test_case_14_rebalancing_is_suspended_once_before_the_first_termination(aws: FakeAws) -> None:
    group = two_zones(aws, "i-3")
    release = Release(aws, FOREIGN)
    assert release.run()["released"] == ["i-1", "i-2"]
    assert [call.operation for call in aws.changes()] == [
        "SuspendProcesses",
        "TerminateInstanceInAutoScalingGroup",
        "TerminateInstanceInAutoScalingGroup",
    ]
    assert aws.changes()[0].parameters == {"AutoScalingGroupName": GROUP, "ScalingProcesses": ["AZRebalance"]}
    assert group.suspended == ["AZRebalance"]
    (line,) = release.lines.documents("zone rebalancing suspended")
    assert line["process"] == "AZRebalance"


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_case_14_if_it_cannot_be_suspended_nobody_goes(aws: FakeAws, code: str) -> None:
    two_zones(aws)
    aws.fail("SuspendProcesses", code)
    release = Release(aws, FOREIGN)
    with pytest.raises(PassIncomplete, match=f"SuspendProcesses.*{code}"):
        release.run()
    assert aws.terminated() == []
    assert "AZRebalance" in release.lines.documents("verdict")[0]["kept_because"]


def test_case_50_a_throttled_suspension_is_repeated(aws: FakeAws) -> None:
    two_zones(aws)
    aws.fail("SuspendProcesses", "Throttling", times=2)
    assert Release(aws, FOREIGN).run()["released"] == ["i-1", "i-2", "i-3"]


def test_case_14_one_zone_cannot_be_uneven(aws: FakeAws) -> None:
    two_zones(aws).zones = ["eu-west-1a"]
    Release(aws, FOREIGN).run()
    assert "SuspendProcesses" not in aws.operations()


def test_case_14_what_is_suspended_already_is_not_asked_for_again(aws: FakeAws) -> None:
    two_zones(aws).suspended = ["AZRebalance"]
    assert Release(aws, FOREIGN).run()["released"] == ["i-1", "i-2", "i-3"]
    assert "SuspendProcesses" not in aws.operations()


def test_case_14_a_fleets_own_group_is_left_to_its_custom_resource(aws: FakeAws) -> None:
    two_zones(aws)
    assert Release(aws, {"SCALE_IN_PROTECTION": "ignore"}).run()["released"] == ["i-1", "i-2", "i-3"]
    assert "SuspendProcesses" not in aws.operations()


def test_case_14_a_group_that_loses_nobody_is_not_changed(aws: FakeAws) -> None:
    two_zones(aws, "i-1", "i-2", "i-3")
    Release(aws, FOREIGN).run()
    assert aws.changes() == []


def test_case_14_a_dry_run_suspends_nothing(aws: FakeAws) -> None:
    two_zones(aws)
    Release(aws, FOREIGN).run({**MANUAL, "dry_run": True})
    assert aws.changes() == []
