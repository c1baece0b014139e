"""The wake function on a fake AWS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from runtime.demand import Backlog
from runtime.patience import OutOfTime
from runtime.queue_reader import UnreadableQueue
from runtime.structured_log import StructuredLog
from runtime.triggers import MalformedEvent
from tests.handlers.driving import GROUP, MANUAL, QUEUE_URL, SCHEDULED, Lines, alarm_event
from tests.handlers.fake_aws import Context, FakeAws
from wake_on_demand.aws import Clients
from wake_on_demand.decision import decide_wake
from wake_on_demand.index import handle
from wake_on_demand.settings import read_settings


@dataclass
class Wake:
    """The wake function over a fake AWS."""

    aws: FakeAws
    per_instance: int = 1
    seconds: float = 30
    lines: Lines = field(default_factory=Lines)

    def run(self, event: object = SCHEDULED) -> dict[str, Any]:
        settings = read_settings(
            {
                "AUTO_SCALING_GROUP_NAME": GROUP,
                "QUEUE_URL": QUEUE_URL,
                "MESSAGES_PER_INSTANCE": str(self.per_instance),
            }
        )
        clients = Clients(
            autoscaling=self.aws.client("autoscaling"),
            cloudwatch=self.aws.client("cloudwatch"),
            sqs=self.aws.client("sqs"),
        )
        clock = self.aws.clock
        log = StructuredLog(clock, self.lines.lines.append)
        return dict(handle(event, Context(clock, self.seconds), settings, clients, clock, log))


def set_to(aws: FakeAws) -> list[int]:
    return [call.parameters["DesiredCapacity"] for call in aws.changes()]


def test_an_empty_queue_is_read_and_auto_scaling_is_not(aws: FakeAws) -> None:
    aws.sqs.hold(visible=0)
    wake = Wake(aws)
    assert wake.run()["set_desired_to"] is None
    assert aws.operations() == ["GetQueueAttributes"]
    assert wake.lines.documents("wake decision")[0]["reason"] == "the queue is empty"


@pytest.mark.parametrize(
    ("visible", "in_flight", "per_instance", "desired", "maximum", "expected"),
    [
        # Case 58: one job that needs one instance starts exactly one.
        (1, 0, 1, 0, 8, [1]),
        (5, 0, 4, 0, 8, [2]),
        (4, 0, 4, 0, 8, [1]),
        (1, 4, 4, 1, 8, [2]),
        (0, 1, 1, 0, 8, [1]),
        (500, 0, 1, 3, 8, [8]),
        # Never lowered, not even to the maximum.
        (1, 0, 1, 5, 8, []),
        (2, 0, 1, 2, 8, []),
        (500, 0, 1, 8, 8, []),
        (500, 0, 1, 0, 0, []),
    ],
)
def test_the_group_is_raised_to_exactly_what_the_backlog_needs(
    aws: FakeAws,
    visible: int,
    in_flight: int,
    per_instance: int,
    desired: int,
    maximum: int,
    expected: list[int],
) -> None:
    aws.add_group(GROUP, [f"i-{n}" for n in range(desired)], max_size=maximum)
    aws.sqs.hold(visible=visible, in_flight=in_flight)
    wake = Wake(aws, per_instance=per_instance)
    result = wake.run()
    assert set_to(aws) == expected
    assert result["set_desired_to"] == (expected[0] if expected else None)
    (line,) = wake.lines.documents("wake decision")
    assert (line["visible"], line["in_flight"], line["messages_per_instance"]) == (
        visible,
        in_flight,
        per_instance,
    )
    assert (line["desired"], line["max_size"]) == (desired, maximum)


def test_it_does_not_wait_for_a_cooldown(aws: FakeAws) -> None:
    aws.add_group(GROUP)
    aws.sqs.hold(visible=1)
    Wake(aws).run()
    assert aws.changes()[0].parameters == {
        "AutoScalingGroupName": GROUP,
        "DesiredCapacity": 1,
        "HonorCooldown": False,
    }


def test_both_counts_are_asked_for(aws: FakeAws) -> None:
    aws.sqs.hold(visible=0)
    Wake(aws).run()
    assert aws.calls[0].parameters == {
        "QueueUrl": QUEUE_URL,
        "AttributeNames": ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    }


@pytest.mark.parametrize("status", [None, "Delete in progress"])
def test_a_group_that_is_gone_or_going_is_left_alone(aws: FakeAws, status: str | None) -> None:
    if status:
        aws.add_group(GROUP).status = status
    aws.sqs.hold(visible=1)
    assert Wake(aws).run()["set_desired_to"] is None
    assert aws.changes() == []


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"ApproximateNumberOfMessages": "1"},
        {"ApproximateNumberOfMessagesNotVisible": "1"},
        {"ApproximateNumberOfMessages": "", "ApproximateNumberOfMessagesNotVisible": "0"},
        {"ApproximateNumberOfMessages": "-1", "ApproximateNumberOfMessagesNotVisible": "0"},
        {"ApproximateNumberOfMessages": "1e3", "ApproximateNumberOfMessagesNotVisible": "0"},
        {"ApproximateNumberOfMessages": "²", "ApproximateNumberOfMessagesNotVisible": "0"},
    ],
)
def test_counts_that_are_missing_or_nonsense_wake_nobody(aws: FakeAws, attributes: dict[str, str]) -> None:
    aws.add_group(GROUP)
    aws.sqs.attributes = attributes
    with pytest.raises(UnreadableQueue, match="ApproximateNumberOfMessages"):
        Wake(aws).run()
    assert aws.operations() == ["GetQueueAttributes"]


@pytest.mark.parametrize("event", [None, {}, {"source": "aws.sqs"}, alarm_event()])
def test_an_event_that_is_not_ours_makes_no_call(aws: FakeAws, event: object) -> None:
    wake = Wake(aws)
    with pytest.raises(MalformedEvent):
        wake.run(event)
    assert aws.calls == []
    assert wake.lines.documents("event not understood")


def test_a_person_may_start_it(aws: FakeAws) -> None:
    aws.add_group(GROUP)
    aws.sqs.hold(visible=1)
    Wake(aws).run(MANUAL)
    assert set_to(aws) == [1]


@pytest.mark.parametrize("code", ["Throttling", "ScalingActivityInProgress", "ResourceContention"])
def test_case_50_what_is_in_the_way_is_waited_out(aws: FakeAws, code: str) -> None:
    aws.add_group(GROUP)
    aws.sqs.hold(visible=1)
    aws.fail("SetDesiredCapacity", code, times=2)
    Wake(aws).run()
    assert aws.autoscaling.groups[GROUP].desired == 1


def test_it_fails_when_the_way_stays_blocked(aws: FakeAws) -> None:
    aws.add_group(GROUP)
    aws.sqs.hold(visible=1)
    aws.fail("SetDesiredCapacity", "ScalingActivityInProgress")
    with pytest.raises(OutOfTime, match="ScalingActivityInProgress"):
        Wake(aws).run()


def test_a_refusal_fails_the_invocation_at_once(aws: FakeAws) -> None:
    aws.add_group(GROUP)
    aws.sqs.hold(visible=1)
    aws.fail("SetDesiredCapacity", "AccessDenied")
    with pytest.raises(ClientError, match="AccessDenied"):
        Wake(aws).run()
    assert aws.clock.slept == []


def test_a_suspended_launch_is_warned_about(aws: FakeAws) -> None:
    aws.add_group(GROUP).suspended = ["Launch"]
    aws.sqs.hold(visible=1)
    wake = Wake(aws)
    wake.run()
    (line,) = wake.lines.documents("wake decision")
    assert (line["level"], line["launch_suspended"]) == ("WARN", True)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 100))
def test_capacity_is_just_enough(visible: int, in_flight: int, per_instance: int) -> None:
    needed = Backlog(visible=visible, in_flight=in_flight).needed_capacity(per_instance)
    assert needed * per_instance >= visible + in_flight > (needed - 1) * per_instance


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_decision_never_lowers_and_never_exceeds_the_maximum(needed: int, desired: int, maximum: int) -> None:
    target = decide_wake(needed=needed, desired=desired, max_size=maximum).set_desired_to
    assert target is None or desired < target <= min(maximum, needed)
    if target is None:
        assert desired >= min(maximum, needed)
