"""What only a changed function would do: found by changing the deciding and acting modules in one place at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from release_idle.launch_trouble import FailureCause, classify_failure, suspended_by_aws_message
from release_idle.launches import LaunchReview
from release_idle.measurement import (
    Busy,
    Idle,
    Point,
    Series,
    Signal,
    Unknown,
    examine,
    span_to_read,
    window_before,
)
from release_idle.members import Member, State, Verdict
from release_idle.planning import Candidate, CapacityLimits, Cause, plan_release
from release_idle.release_pass import PassIncomplete
from release_idle.state import LaunchMemory, PassState, StateStore
from release_idle.state_document import MOST_ASKED, document_of, state_of, value_of
from release_idle.unknown_memory import UNKNOWN_TAG, remembered
from runtime.group import is_coming
from tests.handlers.driving import GROUP, QUEUE_ENVIRONMENT, SCHEDULED, Release, idle_fleet
from tests.handlers.fake_aws import START, Call, FakeAws
from tests.handlers.fake_aws.activities import failed_launch, launching

QUOTA = "You have requested more vCPU capacity than your current vCPU limit of 0 allows (VcpuLimitExceeded)"

# ---- planning


def plan(members: Sequence[Member], limits: CapacityLimits) -> list[str]:
    idle = Verdict(state=State.IDLE, reason="idle")
    candidates = [Candidate(member=member, cause=Cause.IDLE, reason="idle") for member in members]
    verdicts = {member.instance_id: idle for member in members}
    return [each.instance_id for each in plan_release(members, verdicts, candidates, limits).releases]


def member(instance_id: str, lifecycle_state: str = "InService") -> Member:
    return Member(
        instance_id=instance_id,
        lifecycle_state=lifecycle_state,
        protected=True,
        capacity=1,
        machine=None,
        in_session=False,
    )


def test_each_release_brings_the_desired_capacity_nearer_to_what_work_needs() -> None:
    limits = CapacityLimits(min_size=0, desired=3, messages=2, demand=2, at_work=2, most_releases=10)
    assert plan([member("i-1"), member("i-2"), member("i-3")], limits) == ["i-1"]


@pytest.mark.parametrize("state", ["ReplacingRootVolume", "ReplacingRootVolume:Wait", "RootVolumeReplaced"])
def test_an_instance_whose_root_volume_is_replaced_comes_back(state: str) -> None:
    assert is_coming(state)


def test_a_member_on_its_way_out_is_no_capacity_that_stays() -> None:
    idle = member("i-1")
    candidate = Candidate(member=idle, cause=Cause.IDLE, reason="idle")
    limits = CapacityLimits(min_size=1, desired=2, messages=0, demand=0, at_work=0, most_releases=10)
    verdicts = {"i-1": Verdict(state=State.IDLE, reason="idle")}
    made = plan_release([idle, member("i-2", "Terminating")], verdicts, [candidate], limits)
    assert made.releases == ()


# ---- what is said of a member


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("pending", "EC2 says that it is pending"),
        ("stopping", "EC2 says that it is stopping"),
        (None, "EC2 did not return the instance"),
    ],
)
def test_what_ec2_says_is_the_reason(aws: FakeAws, state: str | None, reason: str) -> None:
    idle_fleet(aws, "i-1")
    if state is None:
        aws.ec2.lost.add("i-1")
    else:
        aws.ec2.machines["i-1"].state = state
    release = Release(aws)
    release.run()
    assert release.reasons() == {"i-1": reason}


def test_what_the_signals_say_is_the_reason_of_a_release(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    release = Release(aws)
    release.run()
    (line,) = release.lines.documents("verdict")
    assert line["reason"].startswith("gpu (nvidia_smi_utilization_gpu Maximum) below 5 for")
    assert line["released_because"] == line["reason"]


def test_a_member_whose_warm_up_ends_now_is_judged(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", age=timedelta(seconds=600), busy=("i-1",))
    release = Release(aws)
    release.run()
    assert release.verdicts() == {"i-1": "busy"}


def test_a_tag_of_somebody_else_s_policy_is_left_alone(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", busy=("i-1",))
    aws.ec2.machines["i-1"].tags[UNKNOWN_TAG] = "2026-11-30T11:00:00Z 3"
    Release(aws).run()
    assert aws.changes() == []


# ---- measuring

WINDOW_SIGNAL = Signal(name="gpu", metric="gpu", statistic="Maximum", idle_below=5, means="work")


def test_a_long_window_is_read_in_a_multiple_of_its_period_only() -> None:
    window = window_before(START, window_seconds=150_000, period_seconds=600)
    assert span_to_read(WINDOW_SIGNAL, window, START).period_seconds == 3600


def test_idle_minutes_long_before_the_window_make_up_for_nothing() -> None:
    window = window_before(START, window_seconds=900, period_seconds=60)
    seen = [back for back in range(1, 20) if back not in (5, 8, 11)]
    points = tuple(Point(window.end - timedelta(minutes=back), 0.0) for back in seen)
    finding = examine(WINDOW_SIGNAL, Series(points, 60), window, expected_from=START - timedelta(days=1), now=START)
    assert isinstance(finding, Unknown)
    assert finding.reason == "gpu (gpu Maximum) was seen idle for 14 of 15 min"


# ---- what the second look asks for


def test_the_second_look_asks_only_of_those_that_are_to_go(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", busy=("i-1", "i-2"))
    Release(aws).run()
    asked = [len(call.parameters["MetricDataQueries"]) for call in aws.calls if call.operation == "GetMetricData"]
    assert asked == [3, 1]


def test_without_launches_nobody_past_a_limit_is_replaced(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", busy=("i-1",), min_size=1, age=timedelta(days=3))
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    old = {"MAX_LIFE_SECONDS": "172800", "AT_MINIMUM": "replace"}
    assert Release(aws, old).run()["released"] == []


def test_the_group_that_cannot_be_read_again_is_why_they_stay(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    seen = 0

    def deleted(call: Call) -> None:
        nonlocal seen
        seen += call.operation == "DescribeAutoScalingGroups"
        if seen == 2:
            aws.autoscaling.groups[GROUP].status = "Delete in progress"

    aws.before.append(deleted)
    kept = Release(aws).run()["kept"]
    assert "the group could not be read again, or is going" in kept[0]["reason"]


# ---- the lease and the record


def test_a_lease_that_ended_is_named_as_the_reason(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-1")
    monkeypatch.setattr("release_idle.state.Lease.record", lambda self, ids, now: False)
    with pytest.raises(PassIncomplete, match="recording who is asked to leave: the lease has ended"):
        Release(aws).run()
    assert aws.terminated() == []


def test_a_state_that_cannot_be_read_is_named_as_the_reason(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("GetParameter", "AccessDenied")
    with pytest.raises(PassIncomplete, match=r"taking the lease: SSM GetParameter: .*AccessDenied"):
        Release(aws).run()


def test_the_state_is_written_as_a_plain_string(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    Release(aws).run()
    assert {call.parameters["Type"] for call in aws.calls if call.operation == "PutParameter"} == {"String"}


def test_the_newest_of_too_many_are_remembered_in_few_letters() -> None:
    leaving = {f"i-{number:03}": START - timedelta(seconds=number) for number in range(MOST_ASKED + 1)}
    kept = state_of(2, document_of(value_of(PassState(version=1, leaving=leaving)))).leaving
    # Not even that many fit when each has a time of its own; whoever was asked last is among those that do.
    assert "i-000" in kept
    assert f"i-{MOST_ASKED:03}" not in kept
    assert '": ' not in value_of(PassState(version=1, leaving=leaving))


def test_launches_that_were_stopped_are_counted_while_the_history_cannot_be_read(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1", desired=2, busy=("i-1",))
    stopped = PassState(version=1, launches=LaunchMemory(stopped_at=START - timedelta(days=1)))
    monkeypatch.setattr(StateStore, "read", lambda self: stopped)
    monkeypatch.setattr(
        "release_idle.launch_watch.review_launches", lambda *args, **named: (_ for _ in ()).throw(KeyError("StartTime"))
    )
    watch = {"MAX_FAILED_LAUNCHES": "3", "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:fleet"}
    release = Release(aws, watch)
    with pytest.raises(PassIncomplete, match="reading what became of launches: the answer lacks 'StartTime'"):
        release.run()
    assert release.lines.metrics()[0]["LaunchesStopped"] == 1


@pytest.mark.parametrize("retained", [(), ("i-1",)])
def test_the_history_is_asked_only_for_retained_ones_that_may_be_ended(aws: FakeAws, retained: tuple[str, ...]) -> None:
    idle_fleet(aws, "i-1", "i-2")
    for each in aws.autoscaling.groups[GROUP].members:
        if each.instance_id in retained:
            each.lifecycle_state = "Terminating:Retained"
    Release(aws, {} if retained else {"RETAINED_AFTER_SECONDS": "600"}).run()
    assert "DescribeScalingActivities" not in aws.operations()


def test_the_desired_capacity_taken_back_is_the_one_that_releases_start_from(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", desired=5)
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    aws.sqs.hold(visible=0)
    summary = Release(aws, QUEUE_ENVIRONMENT).run()
    assert (summary["desired_lowered_to"], summary["released"]) == (2, ["i-1", "i-2"])
    assert aws.autoscaling.groups[GROUP].desired == 0


# ---- launches


def test_a_cause_is_recognised_in_whatever_letters_aws_writes_it() -> None:
    assert classify_failure("VCPULIMITEXCEEDED") is FailureCause.QUOTA


def test_a_suspension_by_aws_says_which_group_and_how_to_resume_it() -> None:
    message = suspended_by_aws_message("train", "the group has failed to launch")
    assert message.subject == "AWS suspended launching: train"
    assert message.text.splitlines()[-1] == (
        "aws autoscaling resume-processes --auto-scaling-group-name 'train' --scaling-processes Launch"
    )


@pytest.mark.parametrize("review", [LaunchReview(memory=LaunchMemory(), suspend=True)])
def test_a_stop_without_a_message_is_still_something_to_do(review: LaunchReview) -> None:
    assert review.changes(LaunchMemory())
    assert not replace(review, suspend=False).changes(LaunchMemory())


# ---- idle time

IDLE_SECONDS = Signal(name="idle", metric="idle_seconds", statistic="Minimum", idle_below=1, means="idle_time")
WINDOW = window_before(START, window_seconds=900, period_seconds=60)


def idle_time(*values: float, newest_minutes_ago: int = 3) -> Idle | Busy | Unknown:
    """Return what a series of these values, a minute apart, says."""
    last = START - timedelta(minutes=newest_minutes_ago)
    points = tuple(Point(last - timedelta(minutes=back), value) for back, value in enumerate(reversed(values)))
    return examine(IDLE_SECONDS, Series(points, 60), WINDOW, expected_from=START - timedelta(days=1), now=START)


def test_idle_time_says_why_it_is_unknown_or_busy() -> None:
    nothing, ended, nonsense, busy = idle_time(), idle_time(900, newest_minutes_ago=9), idle_time(-1), idle_time(60)
    assert isinstance(nothing, Unknown)
    assert nothing.reason.startswith("idle (idle_seconds Minimum) has no data from 2026-11-30T11:43Z")
    assert isinstance(ended, Unknown)
    assert ended.reason == "idle (idle_seconds Minimum) has had no data since 2026-11-30T11:52Z"
    assert isinstance(nonsense, Unknown)
    assert nonsense.reason == "idle (idle_seconds Minimum) holds -1 at 2026-11-30T11:57Z"
    assert isinstance(busy, Busy)
    assert busy.reason == "idle (idle_seconds Minimum) was 60 s at 2026-11-30T11:57Z, the window is 900 s"


def test_idle_time_heeds_a_point_at_the_very_end_of_the_window() -> None:
    settled_idle_then_work = idle_time(5000, 0, newest_minutes_ago=2)
    assert isinstance(settled_idle_then_work, Busy)


# ---- what is told of what could not be done

TERMINATION = {
    "source": "aws.autoscaling",
    "detail-type": "EC2 Instance-terminate Lifecycle Action",
    "detail": {"AutoScalingGroupName": GROUP, "EC2InstanceId": "i-1", "LifecycleHookName": "Drain"},
}


def waits_to_drain(aws: FakeAws, instance_id: str) -> None:
    """Let a member wait for the hook of the drain, with nobody there to complete it."""
    aws.add_hook(GROUP)
    leaving = aws.autoscaling.groups[GROUP].member(instance_id)
    assert leaving is not None
    leaving.lifecycle_state, leaving.waits_for = "Terminating:Wait", ["Drain"]
    aws.ec2.machines[instance_id].state = "terminated"


def told(aws: FakeAws, environment: dict[str, str], event: object = SCHEDULED) -> list[str]:
    """Run a pass that fails; return the failures that it told."""
    release = Release(aws, environment)
    with pytest.raises(PassIncomplete):
        release.run(event)
    return list(release.lines.documents("release pass")[0]["failures"])


def test_a_tag_that_cannot_be_written_is_told_with_its_cause(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    aws.fail("CreateTags", "AccessDenied")
    (failure,) = told(aws, {"MAX_UNKNOWN_SECONDS": "3600"})
    assert failure.startswith("remembering who is unknown: ")
    assert "AccessDenied" in failure


def test_a_hook_that_cannot_be_completed_hides_no_other_failure(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    waits_to_drain(aws, "i-1")
    aws.fail("CompleteLifecycleAction", "AccessDenied")
    aws.fail("GetParameter", "AccessDenied")
    assert [failure.split(":")[0] for failure in told(aws, {"DRAIN_HOOK": "Drain"})] == [
        "taking the lease",
        "Auto Scaling CompleteLifecycleAction",
    ]


def test_an_event_whose_hook_cannot_be_completed_fails(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    waits_to_drain(aws, "i-1")
    aws.fail("CompleteLifecycleAction", "AccessDenied")
    assert len(told(aws, {"DRAIN_HOOK": "Drain"}, TERMINATION)) == 1


def test_a_machine_that_ec2_does_not_list_is_asked_for_by_its_id(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    waits_to_drain(aws, "i-1")
    del aws.ec2.machines["i-1"]
    assert Release(aws, {"DRAIN_HOOK": "Drain"}).run()["drains_abandoned"] == ["i-1"]


@pytest.mark.parametrize(
    ("operation", "what"),
    [
        ("DescribeScalingActivities", "Auto Scaling DescribeScalingActivities: "),
        ("PutParameter", "taking the lease: "),
    ],
)
def test_what_keeps_a_retained_instance_is_told_with_its_cause(aws: FakeAws, operation: str, what: str) -> None:
    idle_fleet(aws, "i-1")
    aws.autoscaling.groups[GROUP].members[0].lifecycle_state = "Terminating:Retained"
    aws.fail(operation, "AccessDenied")
    failures = told(aws, {"RETAINED_AFTER_SECONDS": "600"})
    assert failures[0].startswith(what)
    assert "AccessDenied" in failures[0]


@pytest.mark.parametrize("operation", ["SuspendProcesses", "Publish"])
def test_launches_that_could_not_be_stopped_are_told_and_not_counted_as_stopped(aws: FakeAws, operation: str) -> None:
    idle_fleet(aws, "i-1", desired=2, busy=("i-1",))
    group = aws.autoscaling.groups[GROUP]
    group.launch_fails_with = QUOTA
    group.activities += [failed_launch(QUOTA, START - timedelta(minutes=minute)) for minute in (3, 2, 1)]
    aws.fail(operation, "AccessDenied")
    release = Release(aws, {"MAX_FAILED_LAUNCHES": "3", "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:fleet"})
    with pytest.raises(PassIncomplete, match=r"stopping launches that come to nothing: .*AccessDenied"):
        release.run()
    assert release.lines.metrics()[0]["LaunchesStopped"] == 0
    assert release.lines.documents("release pass")[0]["launches_stopped"] is False


@pytest.mark.parametrize(
    ("operation", "environment"),
    [("SetDesiredCapacity", QUEUE_ENVIRONMENT), ("SuspendProcesses", {"SCALE_IN_PROTECTION": "hold"})],
)
def test_a_change_of_the_group_that_is_refused_is_told_by_its_name(
    aws: FakeAws, operation: str, environment: dict[str, str]
) -> None:
    idle_fleet(aws, "i-1", desired=3, protected=False)
    group = aws.autoscaling.groups[GROUP]
    group.zones, group.suspended = ["eu-west-1a", "eu-west-1b"], ["Launch"]
    aws.sqs.hold(visible=0)
    aws.fail(operation, "AccessDenied")
    assert told(aws, environment)[0].startswith(f"Auto Scaling {operation}: ")


def test_why_aws_suspended_launching_is_asked_of_this_group_alone(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", desired=2, busy=("i-1",))
    other = aws.add_group("a-group-before")
    other.suspended = ["Launch"]
    group = aws.autoscaling.groups[GROUP]
    group.suspended = ["Launch"]
    group.suspension_reasons = {"Launch": "Administrator suspended at 2026-11-30T11:00:00Z"}
    Release(aws, {"MAX_FAILED_LAUNCHES": "3", "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:fleet"}).run()
    asked = [call.parameters for call in aws.calls if call.operation == "DescribeAutoScalingGroups"]
    assert all(each == {"AutoScalingGroupNames": [GROUP]} for each in asked)
    assert aws.sns.published[0]["Subject"] == f"AWS suspended launching: {GROUP}"
    assert f"the Auto Scaling group {GROUP} is suspended" in aws.sns.published[0]["Message"]


@pytest.mark.parametrize(
    "text",
    ["2026-11-30T11:00:00 3 2026-11-30T11:55:00Z", "2026-11-30T11:00:00Z 3 2026-11-30T11:55:00"],
)
def test_a_memory_without_a_time_zone_is_not_this_function_s(text: str) -> None:
    assert remembered({UNKNOWN_TAG: text}) is None


def test_a_member_that_works_and_whose_launch_is_in_the_history_is_a_good_boot(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", desired=2, busy=("i-1",))
    group = aws.autoscaling.groups[GROUP]
    group.launch_fails_with = QUOTA
    group.activities += [failed_launch(QUOTA, START - timedelta(minutes=minute)) for minute in (90, 80, 70)]
    group.activities.append(launching("i-1", START - timedelta(minutes=60)))
    watch = {"MAX_FAILED_LAUNCHES": "3", "TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:fleet"}
    assert Release(aws, watch).run()["launches_stopped"] is False


def test_a_limit_on_being_unknown_asks_nothing_of_members_that_are_held(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.ec2.machines["i-1"].tags["accelerated-fleet:hold"] = "true"
    Release(aws, {"MAX_UNKNOWN_SECONDS": "3600"}).run()
    assert "GetMetricData" not in aws.operations()
