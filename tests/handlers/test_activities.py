"""Reading a group's activity history."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from runtime.activities import Activity, ActivityKind, read_activities
from runtime.patience import Patience
from tests.handlers.fake_aws import START, FakeAws
from tests.handlers.fake_aws.activities import FakeActivity, failed_launch, launching, terminating

GROUP = "train"


def read(client: Any, aws: FakeAws) -> Any:
    patience = Patience(clock=aws.clock, deadline=START + timedelta(minutes=5), attempts=5)
    return read_activities(client, GROUP, patience)


def test_launches_and_terminations_are_told_apart(aws: FakeAws) -> None:
    aws.add_group(GROUP).activities += [
        launching("i-0a", START, zone="eu-west-1b"),
        failed_launch("no capacity", START + timedelta(minutes=1), zone=None),
        terminating("i-0a", START + timedelta(minutes=2), "in response to a user request"),
        FakeActivity("Moving EC2 instance out of Standby: i-0b", START + timedelta(minutes=3)),
    ]
    found = list(read(aws.client("autoscaling"), aws))
    assert [(each.kind, each.instance_id, each.status, each.zone) for each in found] == [
        (ActivityKind.OTHER, "i-0b", "Successful", "eu-west-1a"),
        (ActivityKind.TERMINATION, "i-0a", "InProgress", "eu-west-1a"),
        (ActivityKind.LAUNCH, None, "Failed", None),
        (ActivityKind.LAUNCH, "i-0a", "Successful", "eu-west-1b"),
    ]
    assert (found[2].message, found[1].cause) == ("no capacity", "in response to a user request")
    assert (found[1].ended_at, found[3].ended_at) == (None, START)


def test_a_page_is_read_only_when_somebody_wants_it(aws: FakeAws) -> None:
    group = aws.add_group(GROUP)
    group.activities += [launching(f"i-{n}", START + timedelta(minutes=n)) for n in range(5)]
    aws.autoscaling.activities_per_page = 2
    activities = read(aws.client("autoscaling"), aws)
    assert aws.calls == []
    assert [each.instance_id for each in islice(activities, 2)] == ["i-4", "i-3"]
    assert len(aws.calls) == 1
    assert [each.instance_id for each in activities] == ["i-2", "i-1", "i-0"]
    assert len(aws.calls) == 3


def test_case_48_an_empty_page_with_a_token_is_not_the_end(aws: FakeAws) -> None:
    document = launching("i-1", START).document(GROUP)
    pages: list[Any] = [{"Activities": [], "NextToken": "a"}, {"NextToken": "b"}, {"Activities": [document]}]
    tokens: list[Any] = []

    class Client:
        def describe_scaling_activities(self, **parameters: Any) -> Any:
            tokens.append(parameters.get("NextToken"))
            return pages.pop(0)

    assert [each.instance_id for each in read(Client(), aws)] == ["i-1"]
    assert tokens == [None, "a", "b"]


def test_throttling_is_waited_out(aws: FakeAws) -> None:
    aws.add_group(GROUP).activities.append(launching("i-1", START))
    aws.fail("DescribeScalingActivities", "Throttling", times=2)
    assert len(list(read(aws.client("autoscaling"), aws))) == 1


@pytest.mark.parametrize("details", ["", "no JSON", "[]", "{}", '{"Availability Zone": 7}'])
def test_details_that_name_no_zone(aws: FakeAws, details: str) -> None:
    class Client:
        def describe_scaling_activities(self, **parameters: Any) -> Any:
            return {"Activities": [{"Details": details, "StartTime": START, "StatusCode": "Failed"}]}

    (found,) = read(Client(), aws)
    assert found == Activity(
        kind=ActivityKind.OTHER,
        instance_id=None,
        status="Failed",
        message="",
        cause="",
        zone=None,
        started_at=START,
        ended_at=None,
    )
