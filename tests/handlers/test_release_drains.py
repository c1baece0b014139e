"""Members on their way out in a release pass: events of termination hooks, dead nodes, retained instances."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from runtime.triggers import MalformedEvent
from tests.handlers.driving import GROUP, MANUAL, STATE_PARAMETER, Release, idle_fleet
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.activities import failed_launch, terminating
from tests.handlers.fake_aws.groups import FakeMember

DRAIN = {"DRAIN_HOOK": "Drain"}
RETAINED = {"RETAINED_AFTER_SECONDS": "3600"}
TERMINATE = "TerminateInstanceInAutoScalingGroup"


def termination_event(group: object = GROUP, **detail: object) -> dict[str, Any]:
    return {
        "source": "aws.autoscaling",
        "detail-type": "EC2 Instance-terminate Lifecycle Action",
        "detail": {
            "AutoScalingGroupName": group,
            "EC2InstanceId": "i-1",
            "LifecycleHookName": "Drain",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
            **detail,
        },
    }


def drain(aws: FakeAws, instance_id: str, machine: str = "running") -> None:
    """Let a member wait for the hook, with its machine in this state."""
    member = aws.autoscaling.groups[GROUP].member(instance_id)
    assert member is not None
    member.lifecycle_state, member.waits_for = "Terminating:Wait", ["Drain"]
    member.waiting_since = aws.clock.now()
    aws.autoscaling.groups[GROUP].desired -= 1
    aws.ec2.machines[instance_id].state = machine


def completed(aws: FakeAws) -> list[str]:
    return [c.parameters["InstanceId"] for c in aws.calls if c.operation == "CompleteLifecycleAction"]


def fleet(aws: FakeAws, *ids: str, busy: tuple[str, ...] = (), **group: Any) -> None:
    idle_fleet(aws, *ids, busy=busy, **group)
    aws.add_hook(GROUP)


# ---- events


@pytest.mark.parametrize("group", ["another", "train-2", "TRAIN"])
def test_case_36_the_event_of_another_group_makes_no_call_and_no_error(aws: FakeAws, group: str) -> None:
    fleet(aws, "i-1")
    release = Release(aws, DRAIN)
    assert release.run(termination_event(group))["released"] == []
    assert aws.calls == []
    assert f"the event is about the group {group}" in release.lines.text


@pytest.mark.parametrize("group", [None, "", 7, ["train"]])
def test_case_36_an_event_of_no_group_is_not_understood(aws: FakeAws, group: object) -> None:
    fleet(aws, "i-1")
    with pytest.raises(MalformedEvent, match="AutoScalingGroupName"):
        Release(aws, DRAIN).run(termination_event(group))
    assert aws.calls == []


def test_case_36_the_event_of_an_instance_that_is_gone_changes_nothing(aws: FakeAws) -> None:
    fleet(aws, "i-2")
    assert Release(aws, DRAIN).run(termination_event())["released"] == []
    assert aws.operations() == ["DescribeAutoScalingGroups"]


def test_an_event_judges_nobody_and_costs_two_calls(aws: FakeAws) -> None:
    """A release of a hundred members sends a hundred of them."""
    fleet(aws, "i-1", "i-2")
    drain(aws, "i-1")
    Release(aws, DRAIN).run(termination_event())
    assert aws.operations() == ["DescribeAutoScalingGroups", "DescribeInstances"]
    assert aws.changes() == []


def test_an_event_of_a_group_that_is_gone_ends_well(aws: FakeAws) -> None:
    assert Release(aws, DRAIN).run(termination_event())["released"] == []


# ---- drains that nobody is there to do


@pytest.mark.parametrize("event", [termination_event(), MANUAL])
@pytest.mark.parametrize("machine", ["shutting-down", "stopped", "stopping", "terminated"])
def test_the_hook_of_a_dead_node_is_completed_and_counted(aws: FakeAws, event: dict[str, Any], machine: str) -> None:
    fleet(aws, "i-1", "i-2", busy=("i-2",))
    drain(aws, "i-1", machine)
    release = Release(aws, DRAIN)
    assert release.run(event)["drains_abandoned"] == ["i-1"]
    assert completed(aws) == ["i-1"]
    assert release.lines.metrics()[0]["DrainsAbandoned"] == 1


def test_an_event_says_nothing_of_members_that_it_did_not_look_at(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", busy=("i-2",))
    drain(aws, "i-1", "terminated")
    release = Release(aws, DRAIN)
    release.run(termination_event())
    (metrics,) = release.lines.metrics()
    assert [each["Name"] for each in metrics["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == ["DrainsAbandoned"]


@pytest.mark.parametrize("machine", ["running", "pending"])
def test_a_node_that_runs_keeps_its_time_to_drain(aws: FakeAws, machine: str) -> None:
    fleet(aws, "i-1", "i-2", busy=("i-2",))
    drain(aws, "i-1", machine)
    for event in (termination_event(), MANUAL):
        Release(aws, DRAIN).run(event)
    assert aws.changes() == []


def test_in_a_group_that_is_being_deleted_dead_nodes_are_let_go_too(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    drain(aws, "i-1", "terminated")
    aws.autoscaling.groups[GROUP].status = "Delete in progress"
    Release(aws, DRAIN).run()
    assert completed(aws) == ["i-1"]


def test_a_dry_run_completes_nothing(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    drain(aws, "i-1", "terminated")
    Release(aws, DRAIN).run({**MANUAL, "dry_run": True})
    assert aws.changes() == []


def test_case_35_a_hook_that_cannot_be_completed_fails_the_invocation_after_the_releases(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2")
    drain(aws, "i-1", "terminated")
    aws.fail("CompleteLifecycleAction", "AccessDenied")
    with pytest.raises(PassIncomplete, match="CompleteLifecycleAction: i-1"):
        Release(aws, DRAIN).run()
    assert [c.parameters["InstanceId"] for c in aws.changes() if c.operation == TERMINATE] == ["i-2"]


# ---- retained instances


def retain(aws: FakeAws, instance_id: str, ago: timedelta | None = None) -> None:
    group = aws.autoscaling.groups[GROUP]
    member = group.member(instance_id)
    assert member is not None
    member.lifecycle_state = "Terminating:Retained"
    group.desired -= 1
    if ago is not None:
        at = aws.clock.now() - ago
        group.activities.append(terminating(instance_id, at, "x", status_code="Cancelled", ended_at=at))


def test_a_retained_instance_is_reported_always_and_ended_never_without_the_policy(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", busy=("i-2",))
    retain(aws, "i-1", timedelta(days=30))
    release = Release(aws)
    release.run()
    assert release.verdicts() == {"i-1": "held", "i-2": "busy"}
    assert release.lines.metrics()[0]["MembersRetained"] == 1
    assert aws.changes() == []
    assert "DescribeScalingActivities" not in aws.operations()


def test_one_that_is_retained_for_too_long_is_ended_without_lowering_the_capacity(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", "i-3", busy=("i-3",))
    retain(aws, "i-1", timedelta(minutes=61))
    retain(aws, "i-2", timedelta(minutes=59))
    release = Release(aws, RETAINED)
    assert release.run()["released"] == ["i-1"]
    (call,) = aws.changes()
    assert call.parameters == {"InstanceId": "i-1", "ShouldDecrementDesiredCapacity": False}
    assert aws.autoscaling.groups[GROUP].desired == 1
    line = release.lines.documents("verdict")[0]
    assert line["released_because"] == "retained since 2026-11-30T10:59:00Z, the limit is 3600 s"


def test_without_a_history_it_counts_from_when_it_was_first_seen(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1")
    for _ in range(12):
        assert Release(aws, RETAINED).run()["released"] == []
        aws.clock.advance(300)
    assert Release(aws, RETAINED).run()["released"] == ["i-1"]


def test_one_that_somebody_holds_stays(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1", timedelta(days=3))
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "looking at it"
    assert Release(aws, RETAINED).run()["released"] == []
    assert aws.changes() == []


def test_one_that_was_asked_to_leave_is_not_asked_again(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1", timedelta(days=3))
    aws.autoscaling.lag()
    for _ in range(3):
        Release(aws, RETAINED).run()
    assert len(aws.changes()) == 1


def test_case_35_a_history_that_cannot_be_read_holds_up_nobody_and_is_told(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2")
    retain(aws, "i-1", timedelta(days=3))
    aws.fail("DescribeScalingActivities", "AccessDenied")
    with pytest.raises(PassIncomplete, match="DescribeScalingActivities"):
        Release(aws, RETAINED).run()
    assert [call.parameters["InstanceId"] for call in aws.changes()] == ["i-2"]
    assert json.loads(aws.ssm.parameters[STATE_PARAMETER].value)["retained"] == {"2026-11-30T12:00:00Z": "1"}


def puts(aws: FakeAws) -> int:
    return aws.operations().count("PutParameter")


def test_one_whose_time_has_not_come_is_written_down_once_and_then_costs_no_lease(aws: FakeAws) -> None:
    fleet(aws, "i-1", "i-2", busy=("i-2",))
    retain(aws, "i-1", timedelta(minutes=1))
    Release(aws, RETAINED).run()
    assert puts(aws) == 2
    for _ in range(5):
        Release(aws, RETAINED).run()
    assert puts(aws) == 2
    assert aws.operations().count("DescribeScalingActivities") == 1
    # It is gone by other means: that is remembered no longer.
    group = aws.autoscaling.groups[GROUP]
    group.members = group.members[1:]
    Release(aws, RETAINED).run()
    assert puts(aws) == 2


def test_one_that_somebody_holds_past_its_time_costs_no_lease_either(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1", timedelta(days=3))
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "looking at it"
    for _ in range(5):
        Release(aws, RETAINED).run()
    assert puts(aws) == 2


def test_one_that_was_asked_to_leave_costs_no_lease_while_the_group_lags(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1", timedelta(days=3))
    aws.autoscaling.lag()
    Release(aws, RETAINED).run()
    before = puts(aws)
    Release(aws, RETAINED).run()
    assert puts(aws) == before


def test_one_that_is_held_between_the_looks_stays(aws: FakeAws) -> None:
    fleet(aws, "i-1")
    retain(aws, "i-1", timedelta(days=3))

    def happen(call: Call) -> None:
        if call.operation == "PutParameter":
            aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "true"

    aws.before.append(happen)
    assert Release(aws, RETAINED).run()["released"] == []
    assert aws.changes() == []


def test_a_long_history_takes_five_pages_and_no_time_from_the_releases(aws: FakeAws) -> None:
    """Six weeks of a busy group, in which nothing says since when: each page takes its time."""
    fleet(aws, "i-1", "i-2")
    retain(aws, "i-1")
    group = aws.autoscaling.groups[GROUP]
    group.activities += [failed_launch("no", aws.clock.now() - timedelta(minutes=n)) for n in range(1000)]
    aws.before.append(lambda call: aws.clock.advance(5) if call.operation == "DescribeScalingActivities" else None)
    assert Release(aws, RETAINED, seconds=60).run()["released"] == ["i-2"]
    assert aws.operations().count("DescribeScalingActivities") == 5


# ---- retained in a warm pool, which the description of a group leaves out


def warm_pool(aws: FakeAws, monkeypatch: pytest.MonkeyPatch, **states: str) -> None:
    """Give the group a warm pool with these instances."""
    group = aws.autoscaling.groups[GROUP]
    described = group.document
    monkeypatch.setattr(group, "document", lambda: {**described(), "WarmPoolConfiguration": {"MinSize": 1}})
    for name, state in states.items():
        instance_id = name.replace("_", "-")
        group.warm_pool.append(FakeMember(instance_id, state))
        aws.add_machine(instance_id, tags={"aws:autoscaling:groupName": GROUP})


WARM = {"i_7": "Warmed:Stopped", "i_8": "Warmed:Terminating:Retained", "i_9": "Warmed:Pending:Retained"}


def test_those_retained_in_a_warm_pool_are_reported_and_ended_and_the_others_left_alone(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet(aws, "i-1", busy=("i-1",), min_size=1)
    warm_pool(aws, monkeypatch, **WARM)
    release = Release(aws, RETAINED)
    assert release.run()["released"] == []
    assert release.verdicts() == {"i-1": "busy", "i-8": "held", "i-9": "held"}
    assert release.lines.metrics()[0]["MembersRetained"] == 2
    aws.clock.advance(3600)
    aws.publish("i-1", 95)
    assert Release(aws, RETAINED).run()["released"] == ["i-8", "i-9"]
    assert [call.parameters["ShouldDecrementDesiredCapacity"] for call in aws.changes()] == [False, False]
    assert aws.autoscaling.groups[GROUP].desired == 1


def test_a_warm_pool_that_cannot_be_read_holds_up_nobody_and_is_told(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet(aws, "i-1")
    warm_pool(aws, monkeypatch, **WARM)
    aws.fail("DescribeWarmPool", "AccessDenied")
    with pytest.raises(PassIncomplete, match="DescribeWarmPool"):
        Release(aws, RETAINED).run()
    assert [call.parameters["InstanceId"] for call in aws.changes()] == ["i-1"]


@pytest.mark.parametrize("environment", [{}, RETAINED])
def test_nobody_asks_for_a_warm_pool_without_one_or_without_the_policy(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    fleet(aws, "i-1")
    if not environment:
        warm_pool(aws, monkeypatch, **WARM)
    Release(aws, environment).run()
    assert "DescribeWarmPool" not in aws.operations()
