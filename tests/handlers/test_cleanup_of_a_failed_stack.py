"""A stack that goes frees its fleet even if the clean-up's custom resource was never created."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from fleet_cleanup.aws import FleetAccess
from fleet_cleanup.settings import read_settings
from fleet_cleanup.stack_end import AmbiguousFleet
from runtime.environment import SettingError
from runtime.patience import OutOfTime
from runtime.triggers import MalformedEvent
from tests.handlers.cleaning import CLEANUP_ENVIRONMENT, STACK, TAG, CleanUpFunction, event, stack_event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.handlers.removed_guards import act_on_every_stack_event, take_the_first_group_found

OTHER_STACK = STACK.replace("stack/s/1", "stack/s/2")


def half_created(aws: FakeAws) -> FakeGroup:
    """A minimum of 3 of which 1 has come into service, 1 is starting, and 1 found no capacity."""
    group = aws.add_group(GROUP, ["i-1"], min_size=3, max_size=8, desired=3, tags=TAG)
    group.members.append(FakeMember("i-2", "Pending", protected=True))
    aws.add_machine("i-2", tags=TAG)
    return group


# ---- case 4: a creation that fails before there is a custom resource


def test_case_04_a_half_created_minimum_is_freed(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = half_created(aws)
    looks = 0

    def happen(call: Call) -> None:
        nonlocal looks
        looks += call.operation == "DescribeAutoScalingGroups"
        if looks == 4 and group.members[1].lifecycle_state == "Pending":
            group.members[1].lifecycle_state = "InService"

    aws.before.append(happen)
    assert cleanup.hear(stack_event()) == {"acted": True, "auto_scaling_group": GROUP, "survivors": "0"}
    assert (group.min_size, group.max_size, group.desired, group.protects_new) == (0, 0, 0, False)
    assert aws.terminated() == ["i-1", "i-2"]
    assert group.replacements == 0


def test_case_04_without_clearing_protection_the_half_created_group_would_stay(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_created(aws)
    monkeypatch.setattr(FleetAccess, "unprotect", lambda self, ids: {})
    with pytest.raises(OutOfTime):
        cleanup.hear(stack_event())
    assert aws.terminated() == []


def test_case_04_nobody_is_answered(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1"]
    assert cleanup.answers == []


@pytest.mark.parametrize("state", ["Standby", "Terminating:Retained"])
def test_case_04_parked_members_are_terminated(aws: FakeAws, cleanup: CleanUpFunction, state: str) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"], tags=TAG).members[0].lifecycle_state = state
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1", "i-2"]


def test_case_51_survivors_are_told_and_left(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.add_machine("i-detached", tags=TAG)
    assert cleanup.hear(stack_event())["survivors"] == "1"
    (warning,) = cleanup.lines.documents("instances of the fleet run on outside the group")
    assert warning["instance_ids"] == ["i-detached"]
    assert "TerminateInstances" not in aws.operations()


def test_case_41_a_create_that_was_never_answered_is_made_up_for(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """CloudFormation then deletes an id of its own making, which frees nothing."""
    aws.add_group(GROUP, ["i-1"], min_size=1, tags=TAG)
    cleanup.run(event("Delete", "stack-CleanUp-1ABCDEFGH"))
    assert aws.terminated() == []
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1"]


# ---- the group is found by its tag


@pytest.mark.parametrize("empty_pages", [0, 2])
def test_case_48_the_group_is_found_on_a_later_page(aws: FakeAws, cleanup: CleanUpFunction, empty_pages: int) -> None:
    for n in range(120):
        aws.add_group(f"other-{n}", [f"i-other-{n}"], tags={"accelerated-fleet:id": f"stack-fleet-{n + 2}"})
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.autoscaling.leading_empty_pages = empty_pages
    aws.autoscaling.ignores_filters = True
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1"]
    assert {c.parameters.get("AutoScalingGroupName", GROUP) for c in aws.changes()} == {GROUP}


def test_no_other_group_is_asked_for(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.hear(stack_event())
    first = next(call for call in aws.calls if call.operation == "DescribeAutoScalingGroups")
    assert first.parameters == {"Filters": [{"Name": "tag:accelerated-fleet:id", "Values": ["stack-fleet-1"]}]}


@pytest.mark.parametrize("tags", [{}, {"accelerated-fleet:id": "stack-fleet-2"}, {"other": "stack-fleet-1"}])
@pytest.mark.parametrize("ignores_filters", [False, True])
def test_case_37_a_neighbour_is_not_taken_for_the_fleet(
    aws: FakeAws, cleanup: CleanUpFunction, tags: dict[str, str], ignores_filters: bool
) -> None:
    aws.add_group(GROUP, ["i-1"], tags=tags)
    aws.autoscaling.ignores_filters = ignores_filters
    assert cleanup.hear(stack_event())["acted"] is False
    assert aws.changes() == []
    assert cleanup.lines.documents("nothing to free")


def test_case_37_two_groups_with_the_tag_are_refused(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    for name in (GROUP, "copy"):
        aws.add_group(name, [f"i-{name}"], tags=TAG)
    with pytest.raises(AmbiguousFleet, match=r"copy.*train"):
        cleanup.hear(stack_event(physical_id=""))
    assert aws.changes() == []
    assert cleanup.lines.documents("stack event failed")


def test_case_37_without_that_guard_one_of_the_two_would_be_emptied(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_the_first_group_found(monkeypatch)
    for name in (GROUP, "copy"):
        aws.add_group(name, [f"i-{name}"], tags=TAG)
    cleanup.hear(stack_event(physical_id=""))
    assert len(aws.terminated()) == 1


def test_case_37_a_group_that_takes_the_others_place_lives_on(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    for name in (GROUP, "replacement"):
        aws.add_group(name, [f"i-{name}"], tags=TAG)
    assert cleanup.hear(stack_event())["auto_scaling_group"] == GROUP
    assert aws.terminated() == [f"i-{GROUP}"]


def test_case_37_a_deleted_group_without_the_tag_is_not_ours(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags={})
    aws.add_group("other", ["i-2"], tags=TAG)
    assert cleanup.hear(stack_event())["acted"] is False
    assert aws.changes() == []


# ---- what asks for nothing

IGNORED = [
    stack_event(logical_id="Jobs", resource_type="AWS::SQS::Queue"),
    stack_event(logical_id="OtherGroup", physical_id=""),
    stack_event("DELETE_IN_PROGRESS", OTHER_STACK),
    stack_event("DELETE_IN_PROGRESS", STACK + "0"),
    *(
        stack_event(status)
        for status in (
            "CREATE_IN_PROGRESS",
            "CREATE_COMPLETE",
            "CREATE_FAILED",
            "ROLLBACK_COMPLETE",
            "ROLLBACK_FAILED",
            "UPDATE_IN_PROGRESS",
            "UPDATE_FAILED",
            "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
            "UPDATE_ROLLBACK_IN_PROGRESS",
            "UPDATE_ROLLBACK_FAILED",
            "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
            "UPDATE_ROLLBACK_COMPLETE",
            "IMPORT_ROLLBACK_IN_PROGRESS",
            "DELETE_COMPLETE",
            "DELETE_FAILED",
            "ROLLBACK_IN_PROGRESS",
            "DELETE_SKIPPED",
            "delete_in_progress",
        )
    ),
]


def named(happened: dict[str, Any]) -> str:
    detail = happened["detail"]
    return f"{detail['status-details']['status']} of {detail['stack-id'].rpartition('/')[2]}"


@pytest.mark.parametrize("happened", IGNORED, ids=named)
def test_case_37_another_stack_or_status_makes_no_call(
    aws: FakeAws, cleanup: CleanUpFunction, happened: dict[str, Any]
) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    assert cleanup.hear(happened)["acted"] is False
    assert aws.calls == []
    (line,) = cleanup.lines.documents("nothing to free")
    assert (line["stack_id"], line["status"]) == (
        happened["detail"]["stack-id"],
        happened["detail"]["status-details"]["status"],
    )


@pytest.mark.parametrize("happened", IGNORED, ids=named)
def test_case_37_without_that_guard_each_of_them_would_empty_the_group(
    aws: FakeAws, cleanup: CleanUpFunction, happened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    act_on_every_stack_event(monkeypatch)
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.hear(happened)
    assert aws.terminated() == ["i-1"]


@pytest.mark.parametrize(
    "happened",
    [
        {**stack_event(), "detail-type": "CloudFormation Stack Status Change"},
        {**stack_event(), "detail-type": None},
        {**stack_event(), "detail": None},
        {**stack_event(), "detail": {}},
        {**stack_event(), "detail": {"stack-id": STACK}},
        {**stack_event(), "detail": {"stack-id": STACK, "status-details": "ROLLBACK_IN_PROGRESS"}},
        stack_event(status=None),
        stack_event(status=["ROLLBACK_IN_PROGRESS"]),
        stack_event(stack_id=None),
        stack_event(stack_id=""),
        stack_event(logical_id=None),
        stack_event(resource_type=None),
    ],
)
def test_a_malformed_event_makes_no_call(aws: FakeAws, cleanup: CleanUpFunction, happened: object) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    with pytest.raises(MalformedEvent):
        cleanup.hear(happened)
    assert aws.calls == []
    assert cleanup.lines.documents("event not understood")


@pytest.mark.parametrize("name", ["FLEET_TAG_KEY", "FLEET_TAG_VALUE", "STACK_ID", "GROUP_LOGICAL_ID"])
@pytest.mark.parametrize("value", [None, "", " "])
def test_a_missing_setting_is_named(name: str, value: str | None) -> None:
    changed = {key: each for key, each in {**CLEANUP_ENVIRONMENT, name: value}.items() if each is not None}
    with pytest.raises(SettingError, match=name):
        read_settings(changed)


def test_a_stack_id_that_no_event_could_carry_is_refused() -> None:
    with pytest.raises(SettingError, match=r"STACK_ID must be .*ARN of a stack.*'s'"):
        read_settings({**CLEANUP_ENVIRONMENT, "STACK_ID": "s"})


# ---- case 50: beside CloudFormation, the custom resource, and other callers


def test_case_41_a_delete_at_the_same_time_does_no_harm(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = aws.add_group(GROUP, [f"i-{n}" for n in range(60)], min_size=2, tags=TAG)
    beside = CleanUpFunction(aws)
    started: list[bool] = []

    def happen(call: Call) -> None:
        if call.operation == "SetInstanceProtection" and not started:
            started.append(True)
            beside.run(event("Delete"))

    aws.before.append(happen)
    assert cleanup.hear(stack_event())["acted"] is True
    assert beside.answer["Status"] == "SUCCESS"
    assert len(aws.terminated()) == 60
    assert group.replacements == 0


def test_a_second_event_changes_nothing(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.hear(stack_event())
    changed = len(aws.changes())
    cleanup.hear(stack_event())
    assert len(aws.changes()) == changed


def test_a_group_that_cloudformation_is_deleting_is_left_alone(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, tags=TAG, max_size=8).status = "Delete in progress"
    cleanup.hear(stack_event())
    assert aws.changes() == []


def test_case_50_a_group_that_vanishes_in_between_is_gone_for_the_next_run(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    aws.add_group(GROUP, tags=TAG, max_size=8)

    def happen(call: Call) -> None:
        if call.operation == "UpdateAutoScalingGroup":
            aws.autoscaling.groups.clear()

    aws.before.append(happen)
    with pytest.raises(ClientError, match="name not found"):
        cleanup.hear(stack_event())
    # Lambda runs the same event again.
    assert cleanup.hear(stack_event())["acted"] is False


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("DescribeAutoScalingGroups", "Throttling"),
        ("UpdateAutoScalingGroup", "ScalingActivityInProgress"),
        ("SetInstanceProtection", "Throttling"),
        ("DescribeInstances", "RequestLimitExceeded"),
    ],
)
def test_case_50_throttling_and_conflicts_are_waited_out(
    aws: FakeAws, cleanup: CleanUpFunction, operation: str, code: str
) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail(operation, code, times=4)
    assert cleanup.hear(stack_event())["survivors"] == "0"
    assert aws.terminated() == ["i-1"]


def test_case_50_out_of_time_is_handed_over_to_the_next_run(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("UpdateAutoScalingGroup", "ScalingActivityInProgress")
    with pytest.raises(OutOfTime):
        cleanup.hear(stack_event())
    assert cleanup.lines.documents("stack event failed")[0]["error"] == "OutOfTime"
    aws.faults.clear()
    cleanup.hear(stack_event())
    assert aws.terminated() == ["i-1"]


def test_a_refusal_fails_the_run_so_that_lambda_repeats_it(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("UpdateAutoScalingGroup", "AccessDenied")
    with pytest.raises(ClientError, match="AccessDenied"):
        cleanup.hear(stack_event())
    assert cleanup.lines.documents("stack event failed")[0]["level"] == "ERROR"
