"""The clean-up function answers CloudFormation exactly once, whatever happens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet_cleanup import index
from fleet_cleanup.request import read_request
from fleet_cleanup.response import ResponseNotDelivered
from runtime.patience import OutOfTime
from runtime.triggers import MalformedEvent
from tests.handlers.cleaning import PROPERTIES, SECRET, CleanUpFunction, event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import FakeAws, refusal

# ---- case 41: exactly one answer, whatever happens


def nothing(aws: FakeAws) -> None:
    """All is well."""


def aws_error(aws: FakeAws) -> None:
    aws.fail("SuspendProcesses", "AccessDenied")
    aws.fail("UpdateAutoScalingGroup", "AccessDenied")


def absent(aws: FakeAws) -> None:
    aws.autoscaling.groups.clear()


def our_own_bug(aws: FakeAws) -> None:
    aws.fail("SuspendProcesses", KeyError("bug"))
    aws.fail("DescribeAutoScalingGroups", KeyError("bug"))


OUTCOMES: list[tuple[str, Callable[[FakeAws], None], str]] = [
    ("Create", nothing, "SUCCESS"),
    ("Update", nothing, "SUCCESS"),
    ("Delete", nothing, "SUCCESS"),
    ("Create", aws_error, "FAILED"),
    ("Update", aws_error, "FAILED"),
    ("Delete", aws_error, "FAILED"),
    ("Create", absent, "FAILED"),
    ("Update", absent, "FAILED"),
    ("Delete", absent, "SUCCESS"),
    ("Create", our_own_bug, "FAILED"),
    ("Update", our_own_bug, "FAILED"),
    ("Delete", our_own_bug, "FAILED"),
]


@pytest.mark.parametrize(("request_type", "spoil", "status"), OUTCOMES)
def test_case_41_exactly_one_answer(
    aws: FakeAws, cleanup: CleanUpFunction, request_type: str, spoil: Callable[[FakeAws], None], status: str
) -> None:
    aws.add_group(GROUP, ["i-1"])
    spoil(aws)
    cleanup.run(event(request_type))
    assert cleanup.answer["Status"] == status
    assert cleanup.answer["Reason"]
    assert len(cleanup.bodies[0]) <= 4096


@pytest.mark.parametrize("missing", ["AutoScalingGroupName", "FleetTagKey", "FleetTagValue"])
@pytest.mark.parametrize("value", [None, "", " ", 7, ["train"]])
@pytest.mark.parametrize("request_type", ["Create", "Update", "Delete"])
def test_case_41_malformed_properties_fail_with_their_name(
    aws: FakeAws, cleanup: CleanUpFunction, request_type: str, missing: str, value: object
) -> None:
    aws.add_group(GROUP, ["i-1"])
    cleanup.run(event(request_type, ResourceProperties={**PROPERTIES, missing: value}))
    assert cleanup.answer["Status"] == "FAILED"
    assert missing in cleanup.answer["Reason"]
    assert aws.calls == []


def test_case_41_no_properties_at_all_fail(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    cleanup.run(event("Create", ResourceProperties=None))
    assert cleanup.answer["Status"] == "FAILED"


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_case_41_with_one_second_left_the_answer_is_failed(aws: FakeAws, request_type: str) -> None:
    aws.add_group(GROUP, ["i-1"])
    cleanup = CleanUpFunction(aws, seconds=1)
    cleanup.run(event(request_type))
    assert (cleanup.answer["Status"], aws.calls) == ("FAILED", [])
    assert "ran out of time" in cleanup.answer["Reason"]


def test_case_41_with_one_second_left_a_delete_is_left_to_the_next_run(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    cleanup = CleanUpFunction(aws, seconds=1)
    with pytest.raises(OutOfTime):
        cleanup.run(event("Delete"))
    assert (cleanup.answers, aws.calls) == ([], [])


def test_case_41_the_delete_of_a_failed_create_touches_nothing(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.fail("SuspendProcesses", "AccessDenied")
    cleanup.run(event("Create"))
    failed_id = cleanup.answer["PhysicalResourceId"]
    assert cleanup.answer["Status"] == "FAILED"
    assert failed_id != GROUP
    aws.calls.clear()
    rollback = CleanUpFunction(aws)
    rollback.run(event("Delete", failed_id))
    assert (rollback.answer["Status"], rollback.answer["PhysicalResourceId"]) == ("SUCCESS", failed_id)
    assert aws.calls == []


@pytest.mark.parametrize("properties", [{}, {**PROPERTIES, "AutoScalingGroupName": ""}])
def test_case_41_the_delete_of_a_failed_create_succeeds_also_with_malformed_properties(
    aws: FakeAws, cleanup: CleanUpFunction, properties: dict[str, str]
) -> None:
    cleanup.run(event("Delete", f"{index.NOT_CREATED}request-1", ResourceProperties=properties))
    assert (cleanup.answer["Status"], aws.calls) == ("SUCCESS", [])


@pytest.mark.parametrize("physical_id", ["stack-CleanUp-1ABCDEFGH", "Train", "train-2"])
def test_case_41_the_delete_of_an_id_that_we_never_gave_touches_nothing(
    aws: FakeAws, cleanup: CleanUpFunction, physical_id: str
) -> None:
    aws.add_group(GROUP, ["i-1"])
    cleanup.run(event("Delete", physical_id))
    assert (cleanup.answer["Status"], aws.calls) == ("SUCCESS", [])


def test_case_41_without_that_guard_the_group_would_be_emptied(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    # The only difference to the test above: the id is ours.
    cleanup.run(event("Delete", GROUP))
    assert aws.terminated() == ["i-1"]


@pytest.mark.parametrize("request_type", ["Update", "Delete"])
def test_a_failed_update_or_delete_keeps_its_id(aws: FakeAws, cleanup: CleanUpFunction, request_type: str) -> None:
    aws.add_group(GROUP)
    aws_error(aws)
    cleanup.run(event(request_type))
    assert cleanup.answer["PhysicalResourceId"] == GROUP


@pytest.mark.parametrize(
    "request_",
    [
        None,
        {},
        event("Rename"),
        event("Create", ResponseURL=""),
        event("Create", ResponseURL="file:///etc/passwd"),
        event("Create", RequestId=None),
        event("Delete", None),
    ],
)
def test_an_event_that_cannot_be_answered_makes_no_call(
    aws: FakeAws, cleanup: CleanUpFunction, request_: object
) -> None:
    with pytest.raises(MalformedEvent):
        cleanup.run(request_)
    assert (aws.calls, cleanup.answers) == ([], [])
    assert cleanup.lines.documents("event not understood")


# ---- the answer itself


def test_a_long_reason_is_cut_to_4096_bytes(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP)
    aws.fail("SuspendProcesses", refusal("AccessDenied", "ä\U0001f600" * 5000))
    cleanup.run(event("Create"))
    assert 4000 < len(cleanup.bodies[0]) <= 4096
    assert cleanup.answer["Reason"].startswith("ClientError: ")


def test_an_answer_that_got_lost_is_sent_again(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP)
    cleanup.statuses = [OSError("reset"), 503, 200]
    cleanup.run(event("Create"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert len(aws.clock.slept) == 2


@pytest.mark.parametrize("statuses", [[403], [OSError(SECRET)] * 4, [500] * 4])
def test_an_answer_that_nobody_takes_fails_the_invocation(
    aws: FakeAws, cleanup: CleanUpFunction, statuses: list[int | Exception]
) -> None:
    aws.add_group(GROUP)
    cleanup.statuses = statuses
    with pytest.raises(ResponseNotDelivered) as caught:
        cleanup.run(event("Create"))
    assert "c0ffee" not in repr(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(("request_type", "spoil", "status"), OUTCOMES)
def test_the_response_url_is_never_logged(
    aws: FakeAws, cleanup: CleanUpFunction, request_type: str, spoil: Callable[[FakeAws], None], status: str
) -> None:
    aws.add_group(GROUP, ["i-1"])
    spoil(aws)
    cleanup.run(event(request_type))
    assert cleanup.lines.lines
    assert "c0ffee" not in cleanup.lines.text
    assert "s3.amazonaws.com" not in cleanup.lines.text


def test_a_request_shows_itself_without_its_secret() -> None:
    request = read_request(event("Delete"))
    assert "c0ffee" not in f"{request} {request!r}"
    assert "CleanUp" in repr(request)


@pytest.mark.parametrize(
    "refused", ["TerminateInstanceInAutoScalingGroup", "TerminateInstances", "SetInstanceProtection"]
)
def test_a_refusal_in_the_middle_is_answered_with_failed(aws: FakeAws, cleanup: CleanUpFunction, refused: str) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2", "i-3"])
    group.members[0].lifecycle_state = "Standby"
    if refused == "TerminateInstances":
        aws.fail("TerminateInstanceInAutoScalingGroup", "ValidationError")
    if refused == "SetInstanceProtection":
        aws.fail("SetInstanceProtection", "ValidationError", times=1)
    aws.fail(refused, "AccessDenied")
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "FAILED"
    assert "AccessDenied" in cleanup.answer["Reason"]
