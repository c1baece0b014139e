"""Launches that come to nothing (field cases 8, 16, 42, 43, 46, 66 and 80)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from release_idle.launch_trouble import FailureCause, classify_failure
from release_idle.launches import (
    LaunchPolicy,
    LaunchReview,
    act_on_launches,
    judge_launches,
    may_be_amiss,
    review_launches,
    silent_members,
)
from release_idle.measurement import Point, Reading, Series, Unreadable
from release_idle.members import Machine, Member, State, Verdict
from release_idle.state import MOST_NEVER_KNOWN, LaunchMemory
from runtime.activities import Activity, read_activities
from runtime.group import Group
from runtime.group_reader import read_group
from runtime.patience import OutOfTime, Patience
from tests.handlers.fake_aws import START, FakeAws
from tests.handlers.fake_aws.activities import FakeActivity, failed_launch, launching, terminating
from tests.handlers.fake_aws.groups import FakeGroup

GROUP = "train"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:fleet"
WARM_UP = 600
NO_CAPACITY = (
    "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested (eu-west-1a). "
    "Launching EC2 instance failed."
)
QUOTA = "You have requested more vCPU capacity than your current vCPU limit of 0 allows. p5.48xlarge"
STOPPED = (
    "At 2026-11-30T12:00:00Z an instance was taken out of service in response to an EC2 health check indicating it has "
    "been terminated or stopped."
)
STATUS_CHECK = "an instance was taken out of service in response to an EC2 instance status checks failure."
ELB_CHECK = "an instance was taken out of service in response to an ELB system health check failure."
MARKED = "an instance was taken out of service in response to a user health-check."
BY_A_USER = "instance i-1 was taken out of service in response to a user request, shrinking the capacity from 1 to 0."

BUSY = Verdict(state=State.BUSY, reason="busy")
IDLE = Verdict(state=State.IDLE, reason="idle")
HELD = Verdict(state=State.HELD, reason="held")
UNKNOWN = Verdict(state=State.UNKNOWN, reason="gpu has reported nothing")
STARTING = Verdict(state=State.STARTING, reason="young")


def policy(most: int = 3) -> LaunchPolicy:
    return LaunchPolicy(most_in_a_row=most, warm_up_seconds=WARM_UP)


def patience(aws: FakeAws) -> Patience:
    return Patience(clock=aws.clock, deadline=aws.clock.now() + timedelta(minutes=5), attempts=5)


def at(minutes: float) -> datetime:
    """Return the time so many minutes before the start."""
    return START - timedelta(minutes=minutes)


def judged(
    *history: FakeActivity,
    verdicts: Mapping[str, Verdict] | None = None,
    never_known: Iterable[str] = (),
    most: int = 3,
    counted_from: datetime | None = None,
    with_pool: bool = False,
) -> int:
    """Return how long the row is that the policy forbids, 0 when it does not."""
    aws = FakeAws()
    aws.add_group(GROUP).activities += history
    activities: Iterable[Activity] = read_activities(aws.client("autoscaling"), GROUP, patience(aws))
    trouble = judge_launches(
        activities,
        verdicts or {},
        frozenset(never_known),
        policy(most),
        counted_from=counted_from,
        now=START,
        with_pool=with_pool,
    )
    return 0 if trouble is None else len(trouble.failures)


def failed(minutes: float, message: str = QUOTA, status_code: str = "Failed") -> FakeActivity:
    return failed_launch(message, at(minutes), status_code=status_code)


def lived(instance_id: str, since: float, until: float, cause: str = STOPPED) -> tuple[FakeActivity, FakeActivity]:
    return launching(instance_id, at(since)), terminating(instance_id, at(until), cause)


# ---- counting


def test_case_43_launches_that_failed_are_counted() -> None:
    assert judged(failed(30), failed(20)) == 0
    assert judged(failed(30), failed(20), failed(10)) == 3
    assert judged(failed(30), failed(20, status_code="Cancelled"), failed(10)) == 3
    assert judged(failed(10), most=1) == 1
    # No more than are needed are looked at.
    assert judged(*(failed(minute) for minute in range(50))) == 3


@pytest.mark.parametrize("cause", [STOPPED, STATUS_CHECK, ELB_CHECK, MARKED])
def test_case_42_instances_that_a_health_check_takes_out_before_they_are_ready_are_counted(cause: str) -> None:
    assert judged(*lived("i-1", 90, 80, cause), *lived("i-2", 60, 50, cause), *lived("i-3", 30, 20, cause)) == 3
    assert judged(*lived("i-1", 90, 80, cause), *lived("i-2", 60, 35, cause), *lived("i-3", 30, 5, cause)) == 3


def test_case_46_an_instance_that_was_ready_and_failed_later_was_a_good_boot() -> None:
    # Twenty-six minutes are more than the warm-up and a quarter of an hour.
    assert judged(*lived("i-1", 90, 80), *lived("i-2", 60, 34), *lived("i-3", 30, 20)) == 0
    assert judged(*lived("i-0", 120, 110), *lived("i-1", 90, 80), *lived("i-2", 60, 34), *lived("i-3", 30, 20)) == 0
    assert judged(*lived("i-1", 90, 80), *lived("i-2", 60, 34), *lived("i-3", 30, 20), never_known=["i-2"]) == 3


def test_case_42_one_good_boot_ends_the_row() -> None:
    good = lived("i-g", 60, 30, BY_A_USER)
    assert judged(failed(90), failed(80), *good, failed(20)) == 0
    assert judged(failed(90), failed(80), *good, failed(20), failed(15), failed(10)) == 3


def test_case_42_an_instance_that_a_release_or_a_person_ended_early_counts_for_nothing() -> None:
    early = lived("i-g", 60, 50, BY_A_USER)
    assert judged(failed(90), *early, failed(20)) == 0
    assert judged(failed(90), failed(80), *early, failed(20)) == 3


@pytest.mark.parametrize("verdict", [BUSY, IDLE, HELD])
def test_case_42_a_member_that_is_known_after_its_warm_up_ends_the_row(verdict: Verdict) -> None:
    history = [failed(90), failed(80), launching("i-1", at(10)), failed(5)]
    assert judged(*history, verdicts={"i-1": verdict}) == 0
    young = [failed(90), failed(80), launching("i-1", at(9.9)), failed(5)]
    assert judged(*young, verdicts={"i-1": verdict}) == 3


@pytest.mark.parametrize("verdict", [UNKNOWN, STARTING, Verdict(state=State.LEAVING, reason="x"), None])
def test_a_member_of_which_nothing_is_known_counts_for_nothing(verdict: Verdict | None) -> None:
    history = [failed(90), failed(80), launching("i-1", at(60)), failed(5)]
    verdicts = {} if verdict is None else {"i-1": verdict}
    assert judged(*history, verdicts=verdicts) == 3
    assert judged(*history[1:], verdicts=verdicts) == 0


def test_case_66_members_that_never_reported_are_counted() -> None:
    history = [launching(f"i-{n}", at(40)) for n in range(3)]
    verdicts = {f"i-{n}": UNKNOWN for n in range(3)}
    assert judged(*history, verdicts=verdicts) == 0
    assert judged(*history, verdicts=verdicts, never_known=["i-0", "i-1"]) == 0
    assert judged(*history, verdicts=verdicts, never_known=["i-0", "i-1", "i-2"]) == 3


def test_case_66_those_that_were_ended_for_it_are_counted_too_however_long_they_lived() -> None:
    history = [each for n in range(3) for each in lived(f"i-{n}", 300 - 60 * n, 240 - 60 * n, BY_A_USER)]
    assert judged(*history) == 0
    assert judged(*history, never_known=["i-0", "i-1", "i-2"]) == 3


def test_launches_under_way_count_for_nothing() -> None:
    waiting = FakeActivity("Launching a new EC2 instance", at(1), status_code="WaitingForSpotInstanceId")
    assert judged(failed(30), failed(20), waiting) == 0
    assert judged(failed(30), failed(20), failed(10), waiting) == 3


def test_what_is_no_launch_counts_for_nothing() -> None:
    other = FakeActivity("Moving EC2 instance into Standby: i-1", at(5), status_code="Failed")
    term = terminating("i-1", at(4), "x", status_code="Failed")
    assert judged(failed(30), failed(20), other, term) == 0


def test_case_42_after_somebody_resumed_launches_are_counted_anew() -> None:
    history = [failed(30), failed(20), failed(10)]
    assert judged(*history, counted_from=at(20)) == 0
    assert judged(*history, counted_from=at(30)) == 3


def test_case_80_an_interrupted_instance_that_worked_ends_no_fleet() -> None:
    """A Spot interruption looks like a failed health check: only of one that never got ready is it counted."""
    history = [each for n in range(5) for each in lived(f"i-{n}", 300 - 60 * n, 270 - 60 * n, STOPPED)]
    assert judged(*history) == 0


def test_the_history_is_read_no_further_than_needed() -> None:
    aws = FakeAws()
    group = aws.add_group(GROUP)
    group.activities += [failed(minute) for minute in range(100)]
    aws.autoscaling.activities_per_page = 2
    activities = read_activities(aws.client("autoscaling"), GROUP, patience(aws))
    assert judge_launches(activities, {}, (), policy(), counted_from=None, now=START) is not None
    assert len(aws.calls) == 2


# ---- who has never reported


def a_member(instance_id: str, minutes: float, **machine: Any) -> Member:
    return Member(
        instance_id=instance_id,
        lifecycle_state="InService",
        protected=True,
        machine=Machine(launched_at=at(minutes), state="running", tags={}, **machine),
        in_session=False,
    )


EMPTY = Series(points=(), period_seconds=60)
ONE_POINT = Series(points=(Point(at=at(1), value=0.0),), period_seconds=60)
ONE_NEW = Series(points=(), period_seconds=300, newest=(Point(at=at(1), value=0.0),))


@pytest.mark.parametrize(
    ("readings", "verdict", "minutes", "silent"),
    [
        ({"gpu": EMPTY}, UNKNOWN, 20, True),
        ({"gpu": EMPTY, "cpu": EMPTY}, UNKNOWN, 30, True),
        ({"gpu": EMPTY}, UNKNOWN, 30.1, False),
        ({"gpu": EMPTY}, STARTING, 5, False),
        ({"gpu": EMPTY}, None, 20, False),
        ({"gpu": ONE_POINT}, UNKNOWN, 20, False),
        ({"gpu": ONE_NEW}, UNKNOWN, 20, False),
        ({"gpu": EMPTY, "cpu": ONE_POINT}, UNKNOWN, 20, False),
        ({"gpu": Unreadable("AccessDenied")}, UNKNOWN, 20, False),
        ({}, UNKNOWN, 20, False),
    ],
)
def test_case_8_only_what_was_read_and_empty_since_launch_is_silence(
    readings: Mapping[str, Reading], verdict: Verdict | None, minutes: float, silent: bool
) -> None:
    verdicts = {} if verdict is None else {"i-1": verdict}
    members = [a_member("i-1", minutes)]
    found = silent_members(members, verdicts, {"i-1": readings}, read_from=at(30))
    assert found == (frozenset({"i-1"}) if silent else frozenset())


def test_a_member_that_ec2_did_not_return_is_not_called_silent() -> None:
    gone = Member(instance_id="i-1", lifecycle_state="InService", protected=True, machine=None, in_session=None)
    assert silent_members([gone], {"i-1": UNKNOWN}, {"i-1": {"gpu": EMPTY}}, read_from=at(30)) == frozenset()
    assert silent_members([a_member("i-1", 20)], {"i-1": UNKNOWN}, {}, read_from=at(30)) == frozenset()


# ---- causes


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("VcpuLimitExceeded", FailureCause.QUOTA),
        (
            "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket "
            "that the specified instance type belongs to. Launching EC2 instance failed.",
            FailureCause.QUOTA,
        ),
        ("MaxSpotInstanceCountExceeded", FailureCause.QUOTA),
        ("Max spot instance count exceeded. Launching EC2 instance failed.", FailureCause.QUOTA),
        (
            "You have requested more instances (1) than your current instance limit of 0 allows for the specified "
            "instance type.",
            FailureCause.QUOTA,
        ),
        ("8 instance(s) are already running. Launching EC2 instance failed.", FailureCause.QUOTA),
        (NO_CAPACITY, FailureCause.NO_CAPACITY),
        ("InsufficientInstanceCapacity", FailureCause.NO_CAPACITY),
        ("Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill", FailureCause.NO_CAPACITY),
        ("There is no Spot capacity available that matches your request.", FailureCause.NO_CAPACITY),
        (
            "The requested reservation does not have sufficient compatible and available capacity for this request.",
            FailureCause.NO_CAPACITY,
        ),
        ("The Capacity Block is not active yet.", FailureCause.NO_CAPACITY),
        (
            "Your requested instance type (p5.48xlarge) is not supported in your requested Availability Zone "
            "(eu-west-1c).",
            FailureCause.UNSUPPORTED,
        ),
        ("The requested configuration is currently not supported.", FailureCause.UNSUPPORTED),
        ("The image id '[ami-0123abcd]' does not exist. Launching EC2 instance failed.", FailureCause.BAD_IMAGE),
        ("InvalidAMIID.NotFound", FailureCause.BAD_IMAGE),
        ("AMI cannot be described", FailureCause.BAD_IMAGE),
        (
            "The architecture 'arm64' of the specified instance type does not match the architecture 'x86_64'.",
            FailureCause.BAD_IMAGE,
        ),
        (
            "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "
            "Client.InternalError: Client error on launch",
            FailureCause.KEY_WITHOUT_GRANT,
        ),
        ("Client.InvalidKMSKey.InvalidState: The KMS key is disabled", FailureCause.KEY_WITHOUT_GRANT),
        ("You are not authorized to perform this operation.", FailureCause.OTHER),
        ("", FailureCause.OTHER),
    ],
)
def test_case_43_the_cause_is_named(message: str, cause: FailureCause) -> None:
    assert classify_failure(message) is cause


# ---- a pass


def failing_fleet(aws: FakeAws, *messages: str, desired: int = 4) -> FakeGroup:
    group = aws.add_group(GROUP, ["i-1"], desired=desired)
    aws.autoscaling.groups[GROUP].activities += [
        failed_launch(message, aws.clock.now() - timedelta(minutes=len(messages) - n), zone=f"eu-west-1{'ab'[n % 2]}")
        for n, message in enumerate(messages)
    ]
    return group


def group_of(aws: FakeAws) -> Group:
    group = read_group(aws.client("autoscaling"), GROUP, patience(aws))
    assert group is not None
    return group


@pytest.mark.parametrize(
    ("minutes", "row"),
    [((1, 2, 3), 0), ((1, 30, 60), 0), ((1, 30, 61), 3), ((1, 2, 3, 61), 4)],
    ids=["short", "almost an hour", "an hour", "many in an hour"],
)
def test_case_43_want_of_capacity_counts_only_when_it_lasts(minutes: tuple[int, ...], row: int) -> None:
    """It costs nothing and passes by itself: a fleet of scarce accelerators must not stop after a few minutes."""
    assert judged(*(failed(each, NO_CAPACITY) for each in minutes)) == row


@pytest.mark.parametrize(
    ("minutes", "row"),
    [((1, 1440, 1441), 0), ((1, 60, 130), 0), ((1, 31, 61, 1440), 3), ((1, 2, 60, 110, 1440), 4)],
    ids=["yesterday", "twice with a pause", "an hour", "an hour with more tries"],
)
def test_case_43_want_of_capacity_on_two_days_has_not_lasted_from_one_to_the_other(
    minutes: tuple[int, ...], row: int
) -> None:
    assert judged(*(failed(each, NO_CAPACITY) for each in minutes)) == row


@pytest.mark.parametrize(("days", "row"), [((1, 2, 3), 3), ((6, 12, 18), 3), ((8, 8.1, 8.2), 0), ((1, 2, 9.5), 0)])
def test_case_43_what_failed_a_week_before_the_next_try_says_nothing_of_today(
    days: tuple[float, ...], row: int
) -> None:
    """A fleet that works at night only may fail each night; what failed weeks ago is no reason to stop a launch now."""
    assert judged(launching("i-1", at(1)), *(failed(each * 1440) for each in days)) == row


def test_case_43_anything_else_among_it_counts_at_once() -> None:
    assert judged(failed(1, NO_CAPACITY), failed(2, QUOTA), failed(3, NO_CAPACITY)) == 3


def review(
    aws: FakeAws,
    memory: LaunchMemory | None = None,
    *,
    members: Sequence[Member] = (),
    verdicts: Mapping[str, Verdict] | None = None,
    silent: Iterable[str] = (),
    most: int = 3,
) -> LaunchReview:
    group = group_of(aws)
    aws.calls.clear()
    return review_launches(
        aws.client("autoscaling"),
        group,
        members,
        verdicts or {},
        frozenset(silent),
        policy(most),
        memory or LaunchMemory(),
        patience(aws),
    )


def act(aws: FakeAws, reviewed: LaunchReview) -> None:
    act_on_launches(aws.client("autoscaling"), aws.client("sns"), GROUP, TOPIC, reviewed, patience(aws))


def test_a_healthy_pass_asks_for_nothing_more(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    reviewed = review(aws, verdicts={"i-1": UNKNOWN})
    assert (aws.calls, reviewed.changes(LaunchMemory()), reviewed.stopped) == ([], False, False)


@pytest.mark.parametrize(
    ("verdict", "silent", "desired", "suspended", "amiss"),
    [
        (IDLE, (), 1, [], False),
        (UNKNOWN, (), 1, ["AZRebalance"], False),
        (STARTING, (), 1, [], True),
        (UNKNOWN, ("i-1",), 1, [], True),
        (BUSY, (), 2, [], True),
        (BUSY, (), 1, ["Launch"], True),
    ],
)
def test_case_42_the_history_is_asked_only_when_something_may_be_amiss(
    aws: FakeAws, verdict: Verdict, silent: tuple[str, ...], desired: int, suspended: list[str], amiss: bool
) -> None:
    group = aws.add_group(GROUP, ["i-1"], desired=desired)
    group.suspended = suspended
    assert may_be_amiss(group_of(aws), {"i-1": verdict}, silent) == amiss
    review(aws, verdicts={"i-1": verdict}, silent=silent)
    assert ("DescribeScalingActivities" in aws.operations()) == amiss


def test_case_43_quota_of_zero_stops_and_tells(aws: FakeAws) -> None:
    group = failing_fleet(aws, NO_CAPACITY, NO_CAPACITY, QUOTA)
    reviewed = review(aws)
    assert (reviewed.suspend, reviewed.stopped, reviewed.changes(LaunchMemory())) == (True, True, True)
    assert aws.changes() == []
    act(aws, reviewed)
    assert group.suspended == ["Launch"]
    (told,) = aws.sns.published
    assert told["TopicArn"] == TOPIC
    assert told["Subject"] == "Launching stopped (quota): train"
    for expected in (
        "3 launches in a row",
        "Cause: quota, no capacity.",
        f"AWS said: {QUOTA}",
        "Instance types: p5.48xlarge.",
        "Zones: eu-west-1a, eu-west-1b.",
        "Service Quotas",
        "aws autoscaling resume-processes --auto-scaling-group-name 'train' --scaling-processes Launch",
    ):
        assert expected in told["Message"]
    # Told once: it is remembered.
    aws.calls.clear()
    again = review(aws, reviewed.memory)
    assert (again.changes(reviewed.memory), again.stopped, aws.calls) == (False, True, [])


def test_case_43_the_one_that_works_is_not_touched(aws: FakeAws) -> None:
    group = failing_fleet(aws, *[QUOTA] * 20)
    act(aws, review(aws, verdicts={"i-1": BUSY}))
    assert (group.desired, aws.terminated()) == (4, [])


def test_fewer_than_the_policy_allows_are_left_to_aws(aws: FakeAws) -> None:
    failing_fleet(aws, QUOTA, QUOTA)
    reviewed = review(aws)
    assert (reviewed.changes(LaunchMemory()), aws.operations()) == (False, ["DescribeScalingActivities"])


def test_case_42_a_fleet_whose_instances_all_fail_their_checks_launches_a_bounded_number_in_a_day(aws: FakeAws) -> None:
    """Each instance is marked unhealthy ten minutes after its launch, and replaced; a pass comes every five minutes."""
    group = aws.add_group(GROUP, desired=1)
    group.settle()
    memory = LaunchMemory()
    born = {group.members[0].instance_id: aws.clock.now()}
    for _ in range(24 * 12):
        aws.clock.advance(300)
        for member in list(group.members):
            since = born.setdefault(member.instance_id, aws.clock.now())
            if aws.clock.now() - since >= timedelta(minutes=10):
                group.take(member, MARKED)
        group.bury()
        group.settle()
        for member in group.members:
            born.setdefault(member.instance_id, aws.clock.now())
        verdicts = {member.instance_id: STARTING for member in group.members}
        # Nothing else shows that anything is amiss: as many members are on their way as are desired.
        reviewed = review(aws, memory, verdicts=verdicts, silent=(), most=5)
        if reviewed.changes(memory):
            act(aws, reviewed)
        memory = reviewed.memory
    assert group.replacements <= 7
    assert len(aws.sns.published) == 1
    assert "never ready" in aws.sns.published[0]["Subject"]


def test_case_66_the_types_of_silent_members_are_told_and_remembered(aws: FakeAws) -> None:
    ids = ["i-1", "i-2", "i-3"]
    group = aws.add_group(GROUP, ids)
    group.activities += [launching(each, at(20)) for each in ids]
    members = [a_member(each, 20, instance_type="g6.xlarge") for each in ids]
    verdicts = dict.fromkeys(ids, UNKNOWN)
    first = review(aws, members=members[:2], verdicts=verdicts, silent=ids[:2])
    assert not first.suspend
    assert first.memory.never_known == ("i-1", "i-2")
    assert first.changes(LaunchMemory())
    # Older than what is read by now, two of them are not seen to be silent any more.
    second = review(aws, first.memory, members=members, verdicts=verdicts, silent=["i-3"])
    assert second.suspend
    assert second.message is not None
    assert "Instance types: g6.xlarge." in second.message.text
    assert "has never reported" in second.message.text


def test_a_slow_one_that_reports_after_all_is_no_longer_counted(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1", "i-2"])
    memory = LaunchMemory(never_known=("i-1", "i-2"))
    reviewed = review(aws, memory, verdicts={"i-1": BUSY, "i-2": UNKNOWN})
    assert reviewed.memory.never_known == ("i-2",)
    assert reviewed.changes(memory)


def test_only_the_newest_silent_ones_are_remembered(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1"])
    old = tuple(f"i-{n}" for n in range(MOST_NEVER_KNOWN))
    reviewed = review(aws, LaunchMemory(never_known=old), silent=["i-99"])
    assert reviewed.memory.never_known == (*old[1:], "i-99")


def test_case_42_when_somebody_resumes_launches_are_counted_anew(aws: FakeAws) -> None:
    group = failing_fleet(aws, *[QUOTA] * 5)
    stopped = review(aws)
    act(aws, stopped)
    memory = stopped.memory
    aws.clock.advance(3600)
    group.launch_fails_with = QUOTA
    aws.client("autoscaling").resume_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["Launch"])
    resumed = review(aws, memory)
    assert resumed.memory == LaunchMemory(counted_from=aws.clock.now())
    assert (resumed.suspend, resumed.stopped, resumed.changes(memory)) == (False, False, True)
    # The first try after the resumption was at the very moment from which on they count.
    aws.clock.advance(60)
    group.settle()
    assert not review(aws, resumed.memory).suspend
    aws.clock.advance(60)
    group.settle()
    again = review(aws, resumed.memory)
    assert again.suspend
    assert again.message is not None


def test_case_34_a_lagging_group_does_not_look_resumed(aws: FakeAws) -> None:
    failing_fleet(aws, *[QUOTA] * 5)
    aws.autoscaling.lag()
    stopped = review(aws)
    act(aws, stopped)
    aws.clock.advance(300)
    again = review(aws, stopped.memory)
    assert (again.changes(stopped.memory), again.stopped) == (False, True)


def test_a_pass_that_died_before_it_could_remember_is_followed_by_one_that_tells_again(aws: FakeAws) -> None:
    group = failing_fleet(aws, *[QUOTA] * 5)
    act(aws, review(aws))
    again = review(aws, LaunchMemory())
    assert (again.suspend, again.stopped) == (False, True)
    act(aws, again)
    assert (group.suspended, len(aws.sns.published)) == (["Launch"], 2)


def test_case_35_a_message_that_cannot_be_sent_is_told_and_tried_again(aws: FakeAws) -> None:
    group = failing_fleet(aws, *[QUOTA] * 5)
    aws.fail("Publish", "AuthorizationError", times=1)
    with pytest.raises(ClientError, match="AuthorizationError"):
        act(aws, review(aws))
    assert group.suspended == ["Launch"]
    act(aws, review(aws, LaunchMemory()))
    assert len(aws.sns.published) == 1


def test_time_that_runs_out_stops_nothing(aws: FakeAws) -> None:
    group = failing_fleet(aws, *[QUOTA] * 5)
    reviewed = review(aws)
    aws.fail("SuspendProcesses", "Throttling")
    with pytest.raises(OutOfTime):
        act_on_launches(
            aws.client("autoscaling"),
            aws.client("sns"),
            GROUP,
            TOPIC,
            reviewed,
            Patience(clock=aws.clock, deadline=aws.clock.now() + timedelta(seconds=1)),
        )
    assert (group.suspended, aws.sns.published) == ([], [])


def test_a_suspension_by_aws_is_told_as_such_and_once(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, [], desired=1)
    group.suspended = ["Launch"]
    group.suspension_reasons = {"Launch": "Administrator suspended at 2026-11-30T11:00:00Z"}
    first = review(aws)
    assert (first.suspend, first.stopped, first.memory.told) == (False, False, True)
    act(aws, first)
    assert group.suspended == ["Launch"]
    (told,) = aws.sns.published
    assert "Administrator suspended at" in told["Message"]
    assert "resume-processes" in told["Message"]
    assert not review(aws, first.memory).changes(first.memory)
    aws.client("autoscaling").resume_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["Launch"])
    assert review(aws, first.memory).memory == LaunchMemory()


def test_a_suspension_by_a_person_is_nobodys_business(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, [], desired=1)
    group.suspended = ["AZRebalance", "Launch"]
    group.suspension_reasons = {"AZRebalance": "Administrator suspended at 2026-11-30T11:00:00Z"}
    assert not review(aws).changes(LaunchMemory())


def test_a_subject_is_a_line_of_ascii(aws: FakeAws) -> None:
    name = "gr\u00fcppe" + "x" * 200
    aws.add_group(name, [], desired=1).activities += [failed(minute) for minute in range(3)]
    group = read_group(aws.client("autoscaling"), name, patience(aws))
    assert group is not None
    reviewed = review_launches(
        aws.client("autoscaling"), group, (), {}, frozenset(), policy(), LaunchMemory(), patience(aws)
    )
    act_on_launches(aws.client("autoscaling"), aws.client("sns"), name, TOPIC, reviewed, patience(aws))
    assert len(aws.sns.published) == 1


def test_a_history_that_cannot_be_read_is_told(aws: FakeAws) -> None:
    failing_fleet(aws, QUOTA)
    aws.fail("DescribeScalingActivities", "AccessDenied")
    with pytest.raises(ClientError, match="AccessDenied"):
        review(aws)


def test_a_long_history_of_nothing_is_read_in_part(aws: FakeAws) -> None:
    group = aws.add_group(GROUP, [], desired=1)
    group.activities += [launching(f"i-{n}", at(n)) for n in range(900)]
    review(aws)
    assert aws.operations() == ["DescribeScalingActivities"] * 5
