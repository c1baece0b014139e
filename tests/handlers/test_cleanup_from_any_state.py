"""From whatever state a fleet is in, its deletion comes to an end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fleet_cleanup import cleanup as cleanup_module
from fleet_cleanup import decision
from fleet_cleanup.cleanup import DeletionProtected
from runtime.group import Group, GroupMember
from tests.handlers.cleaning import TAG, CleanUpFunction, event, stack_event, tell_of_groups
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import Call, FakeAws, refusal
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.handlers.fake_aws.hooks import LAUNCHING, FakeHook

STARTERS = ["AlarmNotification", "InstanceRefresh", "Launch", "ScheduledActions"]


def scaled_out(aws: FakeAws) -> FakeGroup:
    return aws.add_group(GROUP, [f"i-{n}" for n in range(60)], min_size=2, tags=TAG)


def at_zero(aws: FakeAws) -> FakeGroup:
    return aws.add_group(GROUP, max_size=8, tags=TAG)


def paused_at_zero(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, max_size=0, tags=TAG)
    group.suspended = ["AZRebalance", "Launch", "ScheduledActions"]
    return group


def launch_failing(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, max_size=8, desired=3, tags=TAG)
    group.launch_fails_with = "We currently do not have sufficient g6.xlarge capacity"
    group.settle()
    return group


def launch_suspended_by_aws(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1"], max_size=8, desired=3, tags=TAG)
    group.suspended = ["Launch"]
    return group


def hook_pending(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1", "i-2"], max_size=8, tags=TAG)
    group.hooks.append(FakeHook("Drain", heartbeat_seconds=7200))
    group.take(group.members[0], "a release")
    return group


def boot_hook_pending(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, desired=1, tags=TAG)
    group.hooks.append(FakeHook("Boot", LAUNCHING, heartbeat_seconds=7200))
    group.members.append(FakeMember("i-1", "Pending:Wait", waits_for=["Boot"], waiting_since=aws.clock.now()))
    aws.add_machine("i-1", tags=TAG)
    return group


def refresh_running(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1", "i-2"], min_size=1, tags=TAG)
    group.refresh_status = "InProgress"
    return group


def parked(state: str) -> Callable[[FakeAws], FakeGroup]:
    def made(aws: FakeAws) -> FakeGroup:
        group = aws.add_group(GROUP, ["i-1", "i-2"], tags=TAG)
        group.members[0].lifecycle_state = state
        return group

    return made


def terminate_suspended(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1", "i-2"], tags=TAG)
    group.suspended = ["Terminate"]
    return group


def api_termination_protected(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1", "i-2"], tags=TAG)
    for machine in aws.ec2.machines.values():
        machine.termination_protected = True
    return group


def half_deleted(aws: FakeAws) -> FakeGroup:
    group = aws.add_group(GROUP, max_size=0, tags=TAG)
    group.status = "Delete in progress"
    return group


STATES: dict[str, Callable[[FakeAws], FakeGroup]] = {
    "scaled out": scaled_out,
    "at zero": at_zero,
    "paused at zero": paused_at_zero,
    "launch failing": launch_failing,
    "launch suspended": launch_suspended_by_aws,
    "hook pending": hook_pending,
    "launch hook pending": boot_hook_pending,
    "refresh running": refresh_running,
    "standby": parked("Standby"),
    "retained": parked("Terminating:Retained"),
    "retained by a warm pool's hook": parked("Warmed:Pending:Retained"),
    "terminate suspended": terminate_suspended,
    "termination protected": api_termination_protected,
    "half deleted": half_deleted,
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("asked", ["by the custom resource", "by the group's own deletion"])
def test_case_04_from_any_state_everybody_leaves_and_nobody_comes(
    aws: FakeAws, cleanup: CleanUpFunction, state: str, asked: str
) -> None:
    group = STATES[state](aws)
    members = {member.instance_id for member in group.members}
    if asked == "by the custom resource":
        cleanup.run(event("Delete"))
        assert cleanup.answer["Status"] == "SUCCESS"
    else:
        cleanup.hear(stack_event())
    assert set(aws.terminated()) == members
    assert (group.min_size, group.max_size, group.desired, group.replacements) == (0, 0, 0, 0)
    assert not [member for member in group.members if member.lifecycle_state.endswith((":Wait", ":Retained"))]
    # Within one run, an answer included.
    assert cleanup.seconds - sum(aws.clock.slept) > 20


@pytest.mark.parametrize("state", STATES)
def test_a_second_deletion_finds_nothing_to_do(aws: FakeAws, cleanup: CleanUpFunction, state: str) -> None:
    STATES[state](aws)
    cleanup.run(event("Delete"))
    changed = len(aws.changes())
    again = CleanUpFunction(aws)
    again.run(event("Delete"))
    assert (again.answer["Status"], len(aws.changes())) == ("SUCCESS", changed)


CLOSED = Group(
    name=GROUP,
    min_size=0,
    max_size=0,
    desired_capacity=0,
    protects_new_instances=False,
    being_deleted=False,
    suspended_processes=tuple(STARTERS),
    zones=(),
    members=(),
)


def test_a_closed_group_asks_for_nothing() -> None:
    step = decision.next_step(CLOSED)
    assert (step.is_done, step.close, step.suspend) == (True, False, ())


@pytest.mark.parametrize(
    "open_", [{"min_size": 1}, {"max_size": 1}, {"desired_capacity": 1}, {"protects_new_instances": True}]
)
def test_each_of_these_alone_lets_an_instance_start_or_stay(open_: dict[str, Any]) -> None:
    step = decision.next_step(replace(CLOSED, **open_))
    assert (step.is_done, step.close) == (False, True)


@pytest.mark.parametrize("process", STARTERS)
def test_each_process_alone_is_suspended(process: str) -> None:
    suspended = tuple(each for each in STARTERS if each != process)
    step = decision.next_step(replace(CLOSED, suspended_processes=suspended))
    assert (step.is_done, step.suspend) == (False, (process,))


@pytest.mark.parametrize(("state", "terminated"), [("InService", True), ("Pending", False), ("EnteringStandby", False)])
def test_a_group_that_takes_none_is_asked_only_for_those_in_service(state: str, terminated: bool) -> None:
    member = GroupMember(instance_id="i-1", lifecycle_state=state, protected_from_scale_in=False, capacity=1)
    suspended = (*STARTERS, "Terminate")
    step = decision.next_step(replace(CLOSED, suspended_processes=suspended, members=(member,)))
    assert (step.remaining, bool(step.terminate)) == (("i-1",), terminated)


# ---- case 39: nothing starts anew


def test_case_39_whatever_starts_an_instance_is_suspended_before_the_first_one_goes(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    group = scaled_out(aws)
    group.suspended = ["AZRebalance"]
    seen: list[list[str]] = []
    aws.before.append(lambda call: seen.append(group.suspended) if call.operation == "UpdateAutoScalingGroup" else None)
    cleanup.run(event("Delete"))
    assert [sorted(each) for each in seen] == [sorted(["AZRebalance", *STARTERS])]


def test_case_39_without_suspending_a_wake_in_between_would_start_an_instance(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    def woken(group: FakeGroup) -> Callable[[Call], None]:
        done: list[bool] = []

        def happen(call: Call) -> None:
            if call.operation == "SetInstanceProtection" and not done:
                done.append(True)
                group.max_size = group.desired = 5
                group.settle()

        return happen

    group = aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.before.append(woken(group))
    cleanup.run(event("Delete"))
    assert group.replacements == 0
    monkeypatch.setattr(decision, "_STARTERS", ())
    careless = FakeAws()
    group = careless.add_group(GROUP, ["i-1"], tags=TAG)
    careless.before.append(woken(group))
    with pytest.raises(Exception, match="out of time"):
        CleanUpFunction(careless).run(event("Delete"))
    assert group.replacements > 0


def test_only_what_is_missing_is_suspended(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    paused_at_zero(aws)
    cleanup.run(event("Delete"))
    (call,) = [each for each in aws.calls if each.operation == "SuspendProcesses"]
    assert call.parameters["ScalingProcesses"] == ["AlarmNotification", "InstanceRefresh"]


# ---- an instance refresh


def test_a_running_refresh_is_cancelled_first(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = refresh_running(aws)
    cleanup.run(event("Delete"))
    assert group.refresh_status == "Cancelling"
    changing = [each for each in aws.operations() if not each.startswith("Describe")]
    assert changing[0] == "CancelInstanceRefresh"
    assert cleanup.lines.documents("the instance refresh is cancelled")


@pytest.mark.parametrize("code", ["ActiveInstanceRefreshNotFound", "ActiveInstanceRefreshNotFoundFault"])
def test_no_refresh_is_no_error(aws: FakeAws, cleanup: CleanUpFunction, code: str) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    aws.fail("CancelInstanceRefresh", code)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert not cleanup.lines.documents("the instance refresh was not cancelled")


@pytest.mark.parametrize("trouble", ["AccessDenied", "ResourceContention", refusal("InternalFailure", status=500)])
def test_a_refresh_that_cannot_be_cancelled_is_suspended_and_told(
    aws: FakeAws, cleanup: CleanUpFunction, trouble: Exception | str
) -> None:
    group = refresh_running(aws)
    aws.fail("CancelInstanceRefresh", trouble)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert "InstanceRefresh" in group.suspended
    assert cleanup.lines.documents("the instance refresh was not cancelled")[0]["level"] == "ERROR"
    assert aws.operations().count("CancelInstanceRefresh") <= 5


# ---- case 51: a parked member that its group does not take


def test_case_51_a_parked_member_that_does_not_move_is_terminated_by_ec2(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the group's own call does to a member in Standby is documented nowhere."""
    group = parked("Standby")(aws)
    monkeypatch.setattr(aws.autoscaling, "terminate_instance_in_auto_scaling_group", lambda parameters: {})
    aws.ec2.machines["i-1"].termination_protected = True

    def happen(call: Call) -> None:
        if aws.ec2.machines["i-1"].state == "shutting-down":
            group.members[0].lifecycle_state = "Terminated"

    aws.before.append(happen)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert "i-1" in aws.terminated()
    assert 100 < sum(aws.clock.slept) < 180
    assert cleanup.lines.documents("terminated by EC2: its group has not taken it")[0]["instance_id"] == "i-1"


def test_case_32_the_group_is_asked_first_so_that_hooks_run_and_nothing_is_replaced(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    parked("Standby")(aws)
    cleanup.run(event("Delete"))
    (call,) = [each for each in aws.calls if each.operation == "TerminateInstanceInAutoScalingGroup"]
    assert call.parameters == {"InstanceId": "i-1", "ShouldDecrementDesiredCapacity": False}
    assert "TerminateInstances" not in aws.operations()


# ---- a warm pool


class Pool:
    """A warm pool that takes some looks to go."""

    def __init__(self, aws: FakeAws, monkeypatch: pytest.MonkeyPatch, *, looks: int = 3) -> None:
        self.fields = tell_of_groups(aws, monkeypatch, WarmPoolConfiguration={"MinSize": 2, "PoolState": "Stopped"})
        self.looks = looks
        self.deletions: list[Any] = []
        monkeypatch.setattr(aws.autoscaling, "delete_warm_pool", self._delete, raising=False)
        aws.before.append(self._look)

    def _delete(self, parameters: Any) -> dict[str, Any]:
        self.deletions.append(parameters)
        self.fields["WarmPoolConfiguration"] = {"Status": "PendingDelete"}
        return {}

    def _look(self, call: Call) -> None:
        if self.deletions and call.operation == "DescribeAutoScalingGroups":
            self.looks -= 1
            if self.looks <= 0:
                self.fields.pop("WarmPoolConfiguration", None)


def test_a_warm_pool_goes_with_its_instances_and_is_waited_for(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_zero(aws)
    pool = Pool(aws, monkeypatch)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert pool.deletions == [{"AutoScalingGroupName": GROUP, "ForceDelete": True}]
    assert "WarmPoolConfiguration" not in pool.fields


def test_a_warm_pool_that_never_goes_does_not_cost_the_answer(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled_out(aws)
    Pool(aws, monkeypatch, looks=10**6)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert sum(aws.clock.slept) < 880


def test_case_50_a_pool_in_the_middle_of_something_is_waited_for(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_zero(aws)
    pool = Pool(aws, monkeypatch)
    aws.fail("DeleteWarmPool", "ScalingActivityInProgress", times=3)
    aws.fail("DeleteWarmPool", "ResourceInUse", times=1)
    cleanup.run(event("Delete"))
    assert len(pool.deletions) == 1


def test_a_pool_that_somebody_else_deletes_is_no_error(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_zero(aws)
    pool = Pool(aws, monkeypatch)
    aws.fail("DeleteWarmPool", "ValidationError")
    aws.before.append(lambda call: pool.fields.clear() if call.operation == "DeleteWarmPool" else None)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"


def test_without_a_warm_pool_none_is_deleted(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    scaled_out(aws)
    cleanup.run(event("Delete"))
    assert "DeleteWarmPool" not in aws.operations()


# ---- deletion protection of the group


def test_a_protected_group_is_told_before_anything_is_touched(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled_out(aws)
    tell_of_groups(aws, monkeypatch, DeletionProtection="prevent-all-deletion")
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], aws.changes()) == ("FAILED", [])
    for words in ("DeletionProtected", GROUP, "--deletion-protection none", "nothing was done"):
        assert words in cleanup.answer["Reason"]


def test_without_that_guard_the_group_would_be_emptied_for_nothing(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled_out(aws)
    tell_of_groups(aws, monkeypatch, DeletionProtection="prevent-all-deletion")
    monkeypatch.setattr(cleanup_module, "_refuse_protected", lambda group: None)
    cleanup.run(event("Delete"))
    assert len(aws.terminated()) == 60


def test_the_event_of_a_protected_group_touches_nothing_either(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled_out(aws)
    tell_of_groups(aws, monkeypatch, DeletionProtection="prevent-all-deletion")
    with pytest.raises(DeletionProtected):
        cleanup.hear(stack_event())
    assert aws.changes() == []


@pytest.mark.parametrize("protection", ["none", "prevent-force-deletion"])
def test_protection_from_a_forced_deletion_is_in_nobodys_way(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch, protection: str
) -> None:
    """CloudFormation does not force a group's deletion, and an empty group may go."""
    scaled_out(aws)
    tell_of_groups(aws, monkeypatch, DeletionProtection=protection)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
