"""When the stack goes, members get to drain for a while, and then no hook holds anything up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fleet_cleanup import cleanup as cleanup_module
from fleet_cleanup.decision import Hook, drained_by
from runtime.patience import OutOfTime
from tests.handlers.cleaning import TAG, CleanUpFunction, event, stack_event
from tests.handlers.driving import GROUP
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.auto_scaling import FakeGroup, FakeMember
from tests.handlers.fake_aws.hooks import LAUNCHING, FakeHook
from tests.handlers.fake_aws.time import START


def with_drain(aws: FakeAws, *ids: str, heartbeat_seconds: int = 360, desired: int | None = None) -> FakeGroup:
    group = aws.add_group(GROUP, ids or ("i-1", "i-2"), tags=TAG, desired=desired)
    group.hooks.append(FakeHook("Drain", heartbeat_seconds=heartbeat_seconds, default_result="CONTINUE"))
    return group


def after(aws: FakeAws, seconds: float, happen: object) -> None:
    """Do something once, at the first call that is made so many seconds from now or later."""
    due = aws.clock.now() + timedelta(seconds=seconds)
    done: list[bool] = []

    def watch(call: Call) -> None:
        if not done and aws.clock.now() >= due:
            done.append(True)
            assert callable(happen)
            happen()

    aws.before.append(watch)


def bury_as_time_goes(aws: FakeAws) -> None:
    def watch(call: Call) -> None:
        if GROUP in aws.autoscaling.groups:
            aws.bury(GROUP)

    aws.before.append(watch)


def waited(aws: FakeAws) -> float:
    return (aws.clock.now() - START).total_seconds()


# ---- case 59: a drain gets its time, and no more


def test_case_59_a_member_that_drains_is_waited_for_until_it_is_done(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = with_drain(aws)

    def finish() -> None:
        for member in group.members:
            group.complete(member, "Drain", "CONTINUE")

    after(aws, 120, finish)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert 120 <= waited(aws) <= 135
    # Its own node completed it: nothing was cut short, and the hook is CloudFormation's to remove with the group.
    assert "DeleteLifecycleHook" not in aws.operations()
    assert [hook.name for hook in group.hooks] == ["Drain"]


@pytest.mark.parametrize(("heartbeat_seconds", "at_most"), [(360, 360), (540, 480), (7200, 480)])
def test_case_59_a_drain_that_never_ends_is_cut_short(
    aws: FakeAws, cleanup: CleanUpFunction, heartbeat_seconds: int, at_most: int
) -> None:
    group = with_drain(aws, heartbeat_seconds=heartbeat_seconds)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert at_most - 20 <= waited(aws) <= at_most + 30
    assert group.hooks == []
    assert [member.lifecycle_state for member in group.members] == ["Terminating:Proceed"] * 2
    (line,) = cleanup.lines.documents("drains are cut short")
    assert line["instance_ids"] == ["i-1", "i-2"]


def test_case_59_a_hook_that_times_out_by_itself_is_not_waited_for_longer(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    with_drain(aws, heartbeat_seconds=90)
    bury_as_time_goes(aws)
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], waited(aws) <= 120) == ("SUCCESS", True)
    assert "DeleteLifecycleHook" not in aws.operations()


def test_case_59_without_deleting_the_hook_the_members_would_wait_on(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup_module.CleanUp, "_end_hooks", lambda self, hooks: None)
    group = with_drain(aws, heartbeat_seconds=7200)
    cleanup.run(event("Delete"))
    assert [member.lifecycle_state for member in group.members] == ["Terminating:Wait"] * 2


def test_case_59_without_waiting_no_work_could_be_saved(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup_module, "drained_by", lambda now, hooks, last_moment: now)
    with_drain(aws)
    cleanup.run(event("Delete"))
    assert waited(aws) < 60


def test_a_member_that_is_about_to_wait_in_the_hook_counts_as_draining(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """AWS shows Terminating for a moment before it shows Terminating:Wait."""
    group = with_drain(aws, "i-1")
    group.members[0].lifecycle_state = "Terminating"
    group.desired = 0

    def hold() -> None:
        group.members[0].lifecycle_state = "Terminating:Wait"
        group.members[0].waits_for = ["Drain"]

    after(aws, 5, hold)
    cleanup.run(event("Delete"))
    assert waited(aws) > 300
    assert [member.lifecycle_state for member in group.members] == ["Terminating:Proceed"]


def test_without_a_hook_nobody_waits(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    aws.add_group(GROUP, ["i-1"], tags=TAG)
    cleanup.run(event("Delete"))
    assert waited(aws) < 30


def test_an_empty_group_is_not_asked_for_its_hooks(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    with_drain(aws, "i-1").members.clear()
    cleanup.run(event("Delete"))
    assert "DescribeLifecycleHooks" not in aws.operations()
    assert waited(aws) < 5


def test_members_that_come_late_get_what_is_left_of_the_run(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    """One run of the function is 15 minutes; its answer, and the hook's end, must fit in."""
    group = with_drain(aws, "i-1", heartbeat_seconds=7200, desired=1)
    group.members[0].lifecycle_state = "Pending"

    def arrive() -> None:
        group.members[0].lifecycle_state = "InService"

    after(aws, 480, arrive)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert group.hooks == []
    assert 700 < waited(aws) < 880


@pytest.mark.parametrize("seconds", [200, 460, 900])
def test_case_41_a_drain_never_costs_the_answer(aws: FakeAws, seconds: float) -> None:
    with_drain(aws, heartbeat_seconds=7200)
    cleanup = CleanUpFunction(aws, seconds=seconds)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert waited(aws) < seconds


def test_the_event_of_the_groups_own_deletion_lets_them_drain_too(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = with_drain(aws)
    cleanup.hear(stack_event())
    assert 340 <= waited(aws) <= 390
    assert group.hooks == []


def test_it_ends_at_once_when_cloudformation_has_deleted_the_group_meanwhile(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    with_drain(aws)
    after(aws, 60, aws.autoscaling.groups.clear)
    cleanup.run(event("Delete"))
    assert (cleanup.answer["Status"], waited(aws) < 90) == ("SUCCESS", True)


def test_hooks_of_somebody_else_end_as_well(aws: FakeAws, cleanup: CleanUpFunction) -> None:
    group = with_drain(aws, "i-1")
    group.hooks.append(FakeHook("TheirHook", heartbeat_seconds=7200))
    cleanup.run(event("Delete"))
    assert group.hooks == []
    assert [member.lifecycle_state for member in group.members] == ["Terminating:Proceed"]
    assert waited(aws) <= 630


def test_case_04_a_member_that_waits_in_a_launch_hook_does_not_keep_the_group(
    aws: FakeAws, cleanup: CleanUpFunction
) -> None:
    """The group takes no pending member, and a launch hook may hold one up for two days."""
    group = aws.add_group(GROUP, desired=1, tags=TAG)
    group.hooks.append(FakeHook("Boot", LAUNCHING, heartbeat_seconds=7200))
    group.members.append(FakeMember("i-1", "Pending:Wait", waits_for=["Boot"], waiting_since=aws.clock.now()))
    aws.add_machine("i-1", tags=TAG)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert aws.terminated() == ["i-1"]
    assert group.replacements == 0
    assert waited(aws) < 30


def test_case_04_without_ending_that_hook_the_deletion_would_run_out_of_time(
    aws: FakeAws, cleanup: CleanUpFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup_module.CleanUp, "_end_hooks", lambda self, hooks: None)
    group = aws.add_group(GROUP, desired=1, tags=TAG)
    group.hooks.append(FakeHook("Boot", LAUNCHING, heartbeat_seconds=7200))
    group.members.append(FakeMember("i-1", "Pending:Wait", waits_for=["Boot"], waiting_since=aws.clock.now()))
    with pytest.raises(OutOfTime):
        cleanup.run(event("Delete"))


# ---- what goes wrong with a hook is told, and keeps nobody


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_hooks_that_cannot_be_listed_end_by_themselves(aws: FakeAws, cleanup: CleanUpFunction, code: str) -> None:
    with_drain(aws)
    aws.fail("DescribeLifecycleHooks", code)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert waited(aws) < 30
    assert aws.operations().count("DescribeLifecycleHooks") == 1
    assert cleanup.lines.documents("the hooks could not be listed")[0]["level"] == "ERROR"


@pytest.mark.parametrize(("code", "asked"), [("AccessDenied", 1), ("ResourceContention", 5), ("ValidationError", 1)])
def test_a_hook_that_cannot_be_deleted_ends_by_itself(
    aws: FakeAws, cleanup: CleanUpFunction, code: str, asked: int
) -> None:
    with_drain(aws)
    aws.fail("DeleteLifecycleHook", code)
    cleanup.run(event("Delete"))
    assert cleanup.answer["Status"] == "SUCCESS"
    assert aws.operations().count("DeleteLifecycleHook") == asked
    assert cleanup.lines.documents("hook not deleted")[0]["hook"] == "Drain"


@pytest.mark.parametrize("times", [1, 4])
def test_case_50_a_contention_is_waited_out(aws: FakeAws, cleanup: CleanUpFunction, times: int) -> None:
    group = with_drain(aws)
    aws.fail("DescribeLifecycleHooks", "ResourceContention", times=times)
    aws.fail("DeleteLifecycleHook", "ResourceContention", times=times)
    cleanup.run(event("Delete"))
    assert group.hooks == []


# ---- the rule itself


def hook(heartbeat_seconds: int, launching: bool = False) -> Hook:
    return Hook(name="Drain", launching=launching, heartbeat_seconds=heartbeat_seconds)


@pytest.mark.parametrize(
    ("hooks", "seconds"),
    [
        ([], 0),
        ([hook(60)], 60),
        ([hook(60), hook(300)], 300),
        ([hook(479)], 479),
        ([hook(480)], 480),
        ([hook(481)], 480),
        ([hook(7200, launching=True), hook(90)], 90),
    ],
)
def test_the_longest_termination_hook_counts_but_eight_minutes_at_most(hooks: list[Hook], seconds: int) -> None:
    assert drained_by(START, hooks, START + timedelta(hours=1)) == START + timedelta(seconds=seconds)


def test_the_end_of_the_run_comes_first() -> None:
    assert drained_by(START, [hook(480)], START + timedelta(seconds=30)) == START + timedelta(seconds=30)
