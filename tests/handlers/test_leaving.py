"""Dead members in a drain (field case 59), and retained ones that bill beside their replacement."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from release_idle.leaving import (
    AbandonedDrains,
    complete_for_the_dead,
    overdue,
    retained_ids,
    retained_since,
    waiting_to_drain,
)
from release_idle.measurement import Signal
from release_idle.members import Machine, Member
from release_idle.policy import IdlePolicy
from runtime.activities import Activity, read_activities
from runtime.group import GroupMember
from runtime.group_reader import read_group
from runtime.patience import Patience
from tests.handlers.fake_aws import START, FakeAws, refusal
from tests.handlers.fake_aws.activities import failed_launch, launching, terminating
from tests.handlers.removed_guards import take_every_machine_for_dead

GROUP = "train"
SIGNAL = Signal(name="gpu", metric="gpu", statistic="Maximum", idle_below=5, means="work")


def policy(*, protection_holds: bool = False) -> IdlePolicy:
    return IdlePolicy(
        window_seconds=1800,
        warm_up_seconds=600,
        period_seconds=60,
        signals=(SIGNAL,),
        max_release_share=1,
        hold_tag_key="accelerated-fleet:hold",
        protection_holds=protection_holds,
    )


def patience(aws: FakeAws, seconds: float = 300) -> Patience:
    return Patience(clock=aws.clock, deadline=aws.clock.now() + timedelta(seconds=seconds), attempts=5)


def draining_fleet(aws: FakeAws, *ids: str) -> None:
    """Create a group whose members are all held up by the drain's hook."""
    aws.add_group(GROUP, ids)
    aws.add_hook(GROUP)
    for instance_id in ids:
        aws.client("autoscaling").terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=True
        )
    aws.calls.clear()


def group_members(aws: FakeAws) -> tuple[GroupMember, ...]:
    group = read_group(aws.client("autoscaling"), GROUP, patience(aws))
    assert group is not None
    return group.members


def machines(aws: FakeAws, *left_out: str) -> dict[str, Machine]:
    return {
        each.instance_id: Machine(launched_at=each.launched_at, state=each.state, tags=each.tags)
        for each in aws.ec2.machines.values()
        if each.instance_id not in left_out
    }


def complete(aws: FakeAws, *left_out: str, hook: str = "Drain", seconds: float = 300) -> AbandonedDrains:
    waiting = waiting_to_drain(group_members(aws))
    aws.calls.clear()
    return complete_for_the_dead(
        aws.client("autoscaling"),
        aws.client("ec2"),
        group_name=GROUP,
        hook_name=hook,
        waiting=waiting,
        machines=machines(aws, *left_out),
        patience=patience(aws, seconds),
    )


# ---- drains


@pytest.mark.parametrize("state", ["shutting-down", "terminated", "stopping", "stopped"])
def test_case_59_a_drain_that_nobody_can_end_is_ended(aws: FakeAws, state: str) -> None:
    draining_fleet(aws, "i-1", "i-2")
    aws.ec2.machines["i-1"].state = state
    assert complete(aws) == AbandonedDrains(completed=["i-1"])
    assert aws.operations() == ["CompleteLifecycleAction"]
    assert aws.bury(GROUP) == ["i-1"]
    assert complete(aws) == AbandonedDrains()


@pytest.mark.parametrize("state", ["running", "pending"])
def test_case_59_a_drain_on_a_living_machine_is_left_alone(aws: FakeAws, state: str) -> None:
    draining_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = state
    assert complete(aws) == AbandonedDrains()
    assert aws.calls == []


@pytest.mark.parametrize("listed", [True, False])
def test_case_59_without_that_guard_the_drain_of_a_living_machine_would_be_cut_short(
    aws: FakeAws, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draining_fleet(aws, "i-1")
    left_out = () if listed else ("i-1",)
    assert complete(aws, *left_out) == AbandonedDrains()
    assert aws.bury(GROUP) == []
    take_every_machine_for_dead(monkeypatch)
    assert complete(aws, *left_out) == AbandonedDrains(completed=["i-1"])
    assert aws.bury(GROUP) == ["i-1"]


def test_case_59_of_a_group_in_which_nobody_drains_nothing_is_asked(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    assert complete(aws) == AbandonedDrains()
    assert aws.calls == []


def test_case_34_a_machine_that_a_listing_leaves_out_is_asked_for_by_its_id(aws: FakeAws) -> None:
    draining_fleet(aws, "i-1", "i-2", "i-3")
    aws.ec2.machines["i-2"].state = "terminated"
    del aws.ec2.machines["i-3"]
    assert complete(aws, "i-1", "i-2", "i-3") == AbandonedDrains(completed=["i-2", "i-3"])
    assert aws.operations() == ["DescribeInstances"] * 3 + ["CompleteLifecycleAction"] * 2


@pytest.mark.parametrize(
    "answer", [{}, {"Reservations": []}, {"Reservations": [{}]}, {"Reservations": [{"Instances": [{}]}]}]
)
def test_case_34_an_answer_without_the_machine_is_no_proof(aws: FakeAws, answer: Any) -> None:
    draining_fleet(aws, "i-1")

    class Ec2:
        def describe_instances(self, **parameters: Any) -> Any:
            return answer

    drains = complete_for_the_dead(
        aws.client("autoscaling"),
        Ec2(),
        group_name=GROUP,
        hook_name="Drain",
        waiting=["i-1"],
        machines={},
        patience=patience(aws),
    )
    assert drains == AbandonedDrains()


def test_case_35_one_that_cannot_be_asked_for_does_not_hold_up_the_others(aws: FakeAws) -> None:
    draining_fleet(aws, "i-1", "i-2")
    del aws.ec2.machines["i-2"]
    aws.fail("DescribeInstances", "UnauthorizedOperation", matches=lambda p: p["InstanceIds"] == ["i-1"])
    drains = complete(aws, "i-1")
    assert drains.completed == ["i-2"]
    assert len(drains.failures) == 1
    assert "i-1" in drains.failures[0]


def test_many_that_are_not_listed_are_asked_for_a_few_at_a_time(aws: FakeAws) -> None:
    ids = [f"i-{n}" for n in range(50)]
    draining_fleet(aws, *ids)
    complete(aws, *ids)
    assert aws.operations() == ["DescribeInstances"] * 20


def test_case_59_a_hook_that_has_ended_meanwhile_is_not_completed_again(aws: FakeAws) -> None:
    draining_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "terminated"
    assert complete(aws, hook="Another") == AbandonedDrains()
    assert aws.operations() == ["CompleteLifecycleAction"]


@pytest.mark.parametrize("heard", [True, False])
def test_case_59_a_completion_that_is_not_answered_is_asked_again(aws: FakeAws, heard: bool) -> None:
    draining_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "terminated"
    if heard:
        aws.lose_answers("CompleteLifecycleAction", times=1)
    else:
        aws.fail("CompleteLifecycleAction", "ResourceContention", times=1)
    # Told once too little rather than twice, when the first one had been heard.
    assert complete(aws).completed == ([] if heard else ["i-1"])
    assert aws.bury(GROUP) == ["i-1"]


@pytest.mark.parametrize(
    "error",
    [
        refusal("AccessDenied"),
        refusal("ResourceContention"),
        refusal("InternalFailure", status=500),
        ReadTimeoutError(endpoint_url="https://aws"),
    ],
)
def test_case_35_a_completion_that_fails_is_told(aws: FakeAws, error: Exception) -> None:
    draining_fleet(aws, "i-1", "i-2")
    for each in ("i-1", "i-2"):
        aws.ec2.machines[each].state = "terminated"
    aws.fail("CompleteLifecycleAction", error, matches=lambda p: p["InstanceId"] == "i-1")
    drains = complete(aws)
    assert drains.completed == ["i-2"]
    assert [each.split(": ")[1] for each in drains.failures] == ["i-1"]


def test_time_that_runs_out_is_told(aws: FakeAws) -> None:
    draining_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "terminated"
    aws.fail("CompleteLifecycleAction", "Throttling")
    drains = complete(aws, seconds=1)
    assert drains.completed == []
    assert "ran out of time" in drains.failures[0]


def test_two_passes_complete_a_drain_once(aws: FakeAws) -> None:
    draining_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].state = "terminated"
    completed: list[str] = []

    def second(call: Any) -> None:
        if call.operation == "CompleteLifecycleAction":
            aws.before.clear()
            completed.extend(complete(aws).completed)

    aws.before.append(second)
    completed += complete(aws).completed
    assert completed == ["i-1"]


# ---- retained


def a_member(
    instance_id: str, state: str = "Terminating:Retained", *, protected: bool = False, hold: str | None = None
) -> Member:
    tags = {} if hold is None else {"accelerated-fleet:hold": hold}
    machine = Machine(launched_at=START - timedelta(days=2), state="running", tags=tags)
    return Member(
        instance_id=instance_id, lifecycle_state=state, protected=protected, machine=machine, in_session=False
    )


def history(aws: FakeAws) -> Iterable[Activity]:
    return read_activities(aws.client("autoscaling"), GROUP, patience(aws))


def test_retained_instances_are_found_those_of_a_warm_pool_too_and_none_waits_to_drain(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2", "i-3", "i-4", "i-5"])
    states = ["InService", "Terminating:Retained", "Warmed:Terminating:Retained", "Warmed:Pending:Retained", "Standby"]
    for member, state in zip(group.members, states, strict=True):
        member.lifecycle_state = state
    assert retained_ids(group_members(aws)) == ["i-2", "i-3", "i-4"]
    assert waiting_to_drain(group_members(aws)) == []


def test_since_when_is_in_the_history(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    group.retains = True
    aws.add_hook(GROUP, default_result="ABANDON")
    for instance_id in ("i-1", "i-2"):
        aws.client("autoscaling").terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=False
        )
    aws.clock.advance(360)
    aws.bury(GROUP)
    assert retained_ids(group_members(aws)) == ["i-1", "i-2"]
    since = aws.clock.now()
    aws.clock.advance(3600)
    found = retained_since(["i-1", "i-2"], {}, history(aws), aws.clock.now())
    assert found == {"i-1": since, "i-2": since}


def test_what_the_history_does_not_tell_counts_from_when_it_was_first_seen(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"])
    group.activities += [
        terminating("i-1", START - timedelta(hours=5), "x", status_code="Successful"),
        terminating("i-3", START - timedelta(hours=4), "x", status_code="Cancelled"),
        launching("i-1", START - timedelta(hours=3), status_code="Cancelled"),
        failed_launch("no", START - timedelta(hours=2), status_code="Cancelled"),
    ]
    seen = {"i-2": START - timedelta(hours=1), "i-9": START}
    found = retained_since(["i-1", "i-2"], seen, history(aws), START)
    assert found == {"i-1": START, "i-2": START - timedelta(hours=1)}


def test_the_history_is_read_only_for_those_that_have_not_been_seen_and_no_further_than_needed(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1"])
    group.activities += [failed_launch("no", START - timedelta(days=1)) for _ in range(10)]
    group.activities.append(terminating("i-1", START - timedelta(hours=1), "x", status_code="Cancelled"))
    aws.autoscaling.activities_per_page = 2
    assert retained_since(["i-1"], {"i-1": START}, history(aws), START) == {"i-1": START}
    assert aws.calls == []
    assert retained_since(["i-1"], {}, history(aws), START) == {"i-1": START - timedelta(hours=1)}
    assert aws.operations() == ["DescribeScalingActivities"]


def test_who_is_retained_for_too_long_goes_longest_first() -> None:
    since = {
        "i-1": START - timedelta(seconds=3600),
        "i-2": START - timedelta(seconds=3599),
        "i-3": START - timedelta(seconds=7200),
    }
    members = [a_member("i-1"), a_member("i-2"), a_member("i-3"), a_member("i-4", "InService")]
    assert overdue(members, since, policy(), after_seconds=3600, now=START) == ["i-3", "i-1"]


def test_a_retained_instance_that_somebody_keeps_stays() -> None:
    since = dict.fromkeys(["i-1", "i-2", "i-3", "i-4"], START - timedelta(days=1))
    unknown = Member(
        instance_id="i-3", lifecycle_state="Terminating:Retained", protected=False, machine=None, in_session=None
    )
    members = [
        a_member("i-1", hold="yes"),
        a_member("i-2", hold=" False"),
        unknown,
        a_member("i-4", protected=True),
    ]
    assert overdue(members, since, policy(), after_seconds=3600, now=START) == ["i-2", "i-4"]
    assert overdue(members, since, policy(protection_holds=True), after_seconds=3600, now=START) == ["i-2"]


def test_ending_a_retained_instance_with_decrement_would_take_from_those_that_work(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, ["i-1", "i-2"], desired=1)
    group.members[0].lifecycle_state = "Terminating:Retained"
    autoscaling = aws.client("autoscaling")
    autoscaling.terminate_instance_in_auto_scaling_group(InstanceId="i-1", ShouldDecrementDesiredCapacity=False)
    assert (group.desired, group.replacements, aws.terminated()) == (1, 0, ["i-1"])
