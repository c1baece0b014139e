"""The custom resource's Delete empties the group only when the stack itself goes; an update frees what it deletes."""

from __future__ import annotations

import pytest

from fleet_cleanup.stack_status import StackUnreadable
from runtime.patience import OutOfTime
from tests.handlers.cleaning import STACK, TAG, CleanUpFunction, event, stack_event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import FakeAws, refusal
from tests.handlers.removed_guards import (
    heed_only_the_logical_id,
    take_an_unreadable_stack_for_one_that_goes,
    take_every_delete_for_the_stacks_end,
)

OLD_GROUP = "train-old"
# Everything that DescribeStacks may answer (API reference, Stack, StackStatus) but these two: the stack is being
# deleted, or its creation is rolled back.
ENDS = ["DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"]
LIVES_ON = [
    # The phases in which an update deletes what was removed, replaced or, rolled back, newly made.
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_IN_PROGRESS",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_FAILED",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_ROLLBACK_FAILED",
    "IMPORT_IN_PROGRESS",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_IN_PROGRESS",
    "IMPORT_ROLLBACK_FAILED",
    "IMPORT_ROLLBACK_COMPLETE",
    "REVIEW_IN_PROGRESS",
    "CREATE_IN_PROGRESS",
    "CREATE_COMPLETE",
    # Nothing is being deleted any more, or not yet: only a run that comes late can see these.
    "CREATE_FAILED",
    "ROLLBACK_FAILED",
    "ROLLBACK_COMPLETE",
    "DELETE_FAILED",
    "DELETE_COMPLETE",
    # Not made up yet.
    "DELETE_IN_PROGRESS_SOME_DAY",
]

# ---- case 37: the stack lives on


@pytest.mark.parametrize("status", LIVES_ON)
def test_case_37_a_delete_in_a_stack_that_lives_on_touches_nothing(
    aws: FakeAws, cleanup: CleanUpFunction, status: str
) -> None:
    """The custom resource alone was removed, or has got another logical id."""
    group = aws.add_group(GROUP, ["i-1", "i-2"], min_size=1, tags=TAG)
    aws.cloudformation.status = status
    cleanup.run(event("Delete"))
    assert aws.operations() == ["DescribeStacks"]
    assert (group.min_size, group.max_size, group.desired) == (1, 10_000, 2)
    assert (cleanup.answer["Status"], cleanup.answer["PhysicalResourceId"]) == ("SUCCESS", GROUP)
    (line,) = cleanup.lines.documents("answer")
    assert status in line["reason"]
    assert "nothing done" in line["reason"]


@pytest.mark.parametrize("status", LIVES_ON)
def test_case_37_without_that_guard_the_living_group_would_be_emptied(
    aws: FakeAws, cleanup: CleanUpFunction, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_every_delete_for_the_stacks_end(monkeypatch)
    aws.add_group(GROUP, ["i-1", "i-2"], min_size=1, tags=TAG)
    aws.cloudformation.status = status
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1", "i-2"]


@pytest.mark.parametrize("status", ENDS)
def test_case_04_a_stack_that_goes_takes_its_fleet_along(aws: FakeAws, cleanup: CleanUpFunction, status: str) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"], min_size=1, tags=TAG)
    aws.cloudformation.status = status
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1", "i-2"]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_the_stack_is_asked_for_by_the_id_that_came_with_the_request(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """A name may meanwhile be another stack's, and a role may be limited to the id alone."""
    cleanup.run(event("Delete"))
    assert [c.parameters for c in aws.calls if c.operation == "DescribeStacks"] == [{"StackName": STACK}]


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_nobody_asks_for_the_stack_unless_it_matters(aws: FakeAws, cleanup: CleanUpFunction, request_type: str) -> None:
    aws.add_group(GROUP)
    aws.fail("DescribeStacks", "AccessDenied")
    cleanup.run(event(request_type))
    assert cleanup.answer["Status"] == "SUCCESS"


# ---- the stack cannot be read


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_case_37_a_stack_that_may_not_be_read_leaves_the_group_and_fails_with_the_reason(
    aws: FakeAws, cleanup: CleanUpFunction, code: str
) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("DescribeStacks", code)
    cleanup.run(event("Delete"))
    assert aws.operations() == ["DescribeStacks"]
    assert (cleanup.answer["Status"], cleanup.answer["PhysicalResourceId"]) == ("FAILED", GROUP)
    assert code in cleanup.answer["Reason"]
    assert "cloudformation:DescribeStacks" in cleanup.answer["Reason"]
    assert STACK in cleanup.answer["Reason"]


def test_case_37_without_that_guard_an_unreadable_stack_would_empty_the_group(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_an_unreadable_stack_for_one_that_goes(monkeypatch)
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("DescribeStacks", "AccessDenied")
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1"]


def test_case_37_an_answer_without_the_stack_is_no_answer(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aws.cloudformation, "describe_stacks", lambda parameters: {"Stacks": []})
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], aws.changes()) == ("FAILED", [])
    assert StackUnreadable.__name__ in cleanup.answer["Reason"]


@pytest.mark.parametrize("trouble", ["Throttling", refusal("InternalFailure", status=500)])
def test_case_50_a_stack_that_answers_late_is_waited_for(
    aws: FakeAws, cleanup: CleanUpFunction, trouble: Exception | str
) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("DescribeStacks", trouble, times=4)
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1"]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_case_50_a_stack_that_never_answers_is_told_within_two_minutes(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """Waiting out the whole run, three times over, would keep a deletion for 45 minutes without a word."""
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("DescribeStacks", "Throttling")
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], aws.changes()) == ("FAILED", [])
    assert len(aws.calls) == 8
    assert 15 < sum(aws.clock.slept) < 120


def test_case_50_a_run_that_ends_before_that_hands_over_to_the_next(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("DescribeStacks", "Throttling", times=6)
    cleanup = CleanUpFunction(aws, seconds=22)
    with pytest.raises(OutOfTime):
        cleanup.run(event("Delete"))
    assert cleanup.answers == []
    aws.faults.clear()
    again = CleanUpFunction(aws)
    again.run(event("Delete"))
    assert again.answer["Status"] == "SUCCESS"
    assert aws.terminated() == ["i-1"]


# ---- what an update deletes is freed by the event of the group's own deletion


@pytest.mark.parametrize("logical_id", ["FleetGroup", "GroupOfTheOldTemplate"])
def test_case_04_a_group_that_an_update_replaces_is_freed_by_its_own_event(
    aws: FakeAws, cleanup: CleanUpFunction, logical_id: str
) -> None:
    """The custom resource has become the new group's; the function's settings hold the new template's logical id."""
    aws.cloudformation.status = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
    for name in (GROUP, OLD_GROUP):
        aws.add_group(name, [f"i-{name}"], min_size=1, tags=TAG)
    old = {"AutoScalingGroupName": OLD_GROUP, "FleetTagKey": "accelerated-fleet:id", "FleetTagValue": "stack-fleet-1"}
    cleanup.run(event("Delete", OLD_GROUP, ResourceProperties=old))
    assert (cleanup.answer["Status"], aws.changes()) == ("SUCCESS", [])
    told = cleanup.hear(stack_event(logical_id=logical_id, physical_id=OLD_GROUP))
    assert (told["acted"], told["auto_scaling_group"]) == (True, OLD_GROUP)
    assert aws.terminated() == [f"i-{OLD_GROUP}"]
    assert aws.autoscaling.groups[GROUP].min_size == 1


def test_case_04_heeding_the_logical_id_alone_would_leave_the_renamed_group_protected(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    heed_only_the_logical_id(monkeypatch)
    aws.add_group(OLD_GROUP, ["i-1"], tags=TAG)
    assert cleanup.hear(stack_event(logical_id="GroupOfTheOldTemplate", physical_id=OLD_GROUP))["acted"] is False
    assert aws.terminated() == []


def test_case_04_a_fleet_added_by_an_update_that_is_rolled_back_is_freed(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    aws.cloudformation.status = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
    aws.add_group(GROUP, ["i-1"], min_size=1, tags=TAG)
    cleanup.run(event("Delete"))
    assert aws.changes() == []
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1"]


def test_case_37_another_fleets_group_in_the_same_stack_is_left_to_its_own_function(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    aws.add_group("other", ["i-other"], tags={"accelerated-fleet:id": "stack-fleet-2"})
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    assert cleanup.hear(stack_event(logical_id="OtherGroup", physical_id="other"))["acted"] is False
    assert aws.changes() == []
