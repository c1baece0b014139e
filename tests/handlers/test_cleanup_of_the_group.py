"""The clean-up function empties its own group, in any state, and nothing else."""

from __future__ import annotations

import pytest

from fleet_cleanup.aws import FleetAccess
from runtime.patience import OutOfTime
from tests.handlers.cleaning import CleanUpFunction, event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import Call, FakeAws

# ---- create and update


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_case_14_zone_rebalancing_is_suspended_for_that_group(
    aws: FakeAws, cleanup: CleanUpFunction, request_type: str
) -> None:
    aws.add_group(GROUP)
    aws.add_group("other")
    cleanup.run(event(request_type))
    assert aws.autoscaling.groups[GROUP].suspended == ["AZRebalance"]
    assert aws.autoscaling.groups["other"].suspended == []
    assert aws.operations() == ["SuspendProcesses"]
    assert (cleanup.answer["Status"], cleanup.answer["PhysicalResourceId"]) == ("SUCCESS", GROUP)


def test_an_update_to_another_group_changes_the_id(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """CloudFormation then deletes the old id, which frees nothing, and the old group, whose own event frees it."""
    aws.add_group(GROUP)
    cleanup.run(event("Update", "train-old"))
    assert cleanup.answer["PhysicalResourceId"] == GROUP


def test_the_answer_repeats_what_cloudformation_asked(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP)
    cleanup.run(event("Create"))
    asked = event("Create")
    for name in ("StackId", "RequestId", "LogicalResourceId"):
        assert cleanup.answer[name] == asked[name]


# ---- case 4: a scaled-out fleet with protected instances can be deleted


def test_case_04_120_protected_members_are_freed_in_batches_of_50(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    ids = [f"i-{n:03}" for n in range(120)]
    group = aws.add_group(GROUP, ids, min_size=2, max_size=200)
    cleanup.run(event("Delete"))
    assert (group.min_size, group.max_size, group.desired, group.protects_new) == (0, 0, 0, False)
    sizes = [len(c.parameters["InstanceIds"]) for c in aws.calls if c.operation == "SetInstanceProtection"]
    assert sizes == [50, 50, 20]
    assert aws.terminated() == ids
    assert cleanup.answer["Status"] == "SUCCESS"


def test_case_04_without_clearing_protection_nobody_would_leave(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    monkeypatch.setattr(FleetAccess, "unprotect", lambda self, ids: {})
    with pytest.raises(OutOfTime):
        cleanup.run(event("Delete"))
    assert aws.terminated() == []
    assert cleanup.answers == []


def test_case_04_a_group_that_is_gone_is_success(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert aws.changes() == []


def test_case_04_the_group_is_gone_between_two_looks(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    looks = 0

    def happen(call: Call) -> None:
        nonlocal looks
        looks += call.operation == "DescribeAutoScalingGroups"
        if looks == 2:
            aws.autoscaling.groups.pop(GROUP, None)

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"


def test_case_39_sizes_come_before_protection_so_that_nothing_starts_anew(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    cleanup.run(event("Delete"))
    assert aws.operations()[:7] == [
        "DescribeStacks",
        "DescribeAutoScalingGroups",
        "CancelInstanceRefresh",
        "SuspendProcesses",
        "UpdateAutoScalingGroup",
        "DescribeLifecycleHooks",
        "SetInstanceProtection",
    ]
    assert group.replacements == 0


def test_case_39_a_second_run_completes_what_the_first_one_left(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    aws.fail("SetInstanceProtection", "AccessDenied", times=1)
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], cleanup.answer["PhysicalResourceId"]) == ("FAILED", GROUP)
    again = CleanUpFunction(aws)
    again.run(event("Delete"))
    assert again.answer["Status"] == "SUCCESS"
    assert aws.terminated() == ["i-1", "i-2"]


def test_a_second_delete_of_a_finished_group_changes_nothing(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    cleanup.run(event("Delete"))
    changed = len(aws.changes())
    CleanUpFunction(aws).run(event("Delete"))
    assert len(aws.changes()) == changed


def test_a_member_that_left_meanwhile_does_not_spoil_its_batch(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2", "i-3"])

    def happen(call: Call) -> None:
        if call.operation == "SetInstanceProtection":
            group.members[1].lifecycle_state = "Terminating"

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert aws.terminated() == ["i-1", "i-2", "i-3"]


def test_a_pending_protected_member_is_freed_once_it_is_in_service(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.members[0].lifecycle_state = "Pending"
    looks = 0

    def happen(call: Call) -> None:
        nonlocal looks
        looks += call.operation == "DescribeAutoScalingGroups"
        if looks == 3:
            group.members[0].lifecycle_state = "InService"
            happened.append(True)

    happened: list[bool] = []

    def once(call: Call) -> None:
        if not happened:
            happen(call)

    aws.before.append(once)
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1"]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_success_is_told_only_after_the_closed_group_has_been_seen(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, max_size=8)
    cleanup.run(event("Delete"))
    assert aws.operations() == [
        "DescribeStacks",
        "DescribeAutoScalingGroups",
        "CancelInstanceRefresh",
        "SuspendProcesses",
        "UpdateAutoScalingGroup",
        "DescribeAutoScalingGroups",
        "DescribeInstances",
    ]


def test_a_size_that_somebody_raises_again_is_set_back(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    raised: list[bool] = []

    def happen(call: Call) -> None:
        if call.operation == "SetInstanceProtection" and not raised:
            raised.append(True)
            group.max_size = group.desired = 1

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert (group.max_size, group.desired) == (0, 0)
    assert cleanup.answer["Status"] == "SUCCESS"


# ---- members that the group never takes


@pytest.mark.parametrize("state", ["Standby", "Terminating:Retained", "Warmed:Terminating:Retained"])
def test_case_04_parked_members_are_terminated_one_by_one(aws: FakeAws, cleanup: CleanUpFunction, state: str) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    group.members[0].lifecycle_state = state
    cleanup.run(event("Delete"))
    terminations = [c for c in aws.calls if c.operation == "TerminateInstanceInAutoScalingGroup"]
    assert [c.parameters for c in terminations] == [{"InstanceId": "i-1", "ShouldDecrementDesiredCapacity": False}]
    assert group.replacements == 0
    assert aws.terminated() == ["i-1", "i-2"]


def test_case_04_a_suspended_terminate_process_does_not_keep_them(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"]).suspended = ["AZRebalance", "Terminate"]
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1", "i-2"]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_case_51_termination_protection_is_switched_off_for_a_parked_member(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.members[0].lifecycle_state = "Standby"
    aws.ec2.machines["i-1"].termination_protected = True
    aws.fail("TerminateInstanceInAutoScalingGroup", "ValidationError")

    def happen(call: Call) -> None:
        if aws.ec2.machines["i-1"].state == "shutting-down":
            group.members[0].lifecycle_state = "Terminating"

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert [each for each in aws.operations() if each.startswith(("Terminate", "Modify"))] == [
        "TerminateInstanceInAutoScalingGroup",
        "TerminateInstances",
        "ModifyInstanceAttribute",
        "TerminateInstances",
    ]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_a_parked_member_that_ec2_no_longer_knows_is_no_error(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.members[0].lifecycle_state = "Standby"
    del aws.ec2.machines["i-1"]
    aws.fail("TerminateInstanceInAutoScalingGroup", "ValidationError")

    def happen(call: Call) -> None:
        if call.operation == "TerminateInstances":
            group.members.clear()

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"


@pytest.mark.parametrize("state", ["Terminating", "Terminating:Wait", "Terminating:Proceed", "Terminated"])
def test_members_on_their_way_out_are_left_to_cloudformation(
    aws: FakeAws, cleanup: CleanUpFunction, state: str
) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.members[0].lifecycle_state = state
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert aws.operations().count("UpdateAutoScalingGroup") == 1
    assert "SetInstanceProtection" not in aws.operations()


# ---- case 50: conflicts and time


def test_case_50_conflicts_are_waited_out(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.fail("UpdateAutoScalingGroup", "ScalingActivityInProgress", times=3)
    aws.fail("UpdateAutoScalingGroup", "ResourceInUse", times=1)
    aws.fail("SetInstanceProtection", "Throttling", times=2)
    cleanup.run(event("Delete"))
    assert aws.terminated() == ["i-1"]
    assert cleanup.answer["Status"] == "SUCCESS"


def test_case_50_running_out_of_time_hands_over_instead_of_reporting_success(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.fail("UpdateAutoScalingGroup", "ScalingActivityInProgress")
    with pytest.raises(OutOfTime):
        cleanup.run(event("Delete"))
    assert cleanup.answers == []
    # Lambda runs the same event again: the same function, the same request, and now one answer.
    aws.faults.clear()
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
