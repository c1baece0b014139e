"""How much of the fleet may go: the minimum, the share, the waiting work, the surplus, the weights."""

from __future__ import annotations

from datetime import timedelta

import pytest

from release_idle import planning
from release_idle.release_pass import PassIncomplete
from release_idle.survey import Surveyor
from runtime.demand import Backlog
from tests.handlers.driving import (
    GROUP,
    QUEUE_ENVIRONMENT,
    SCHEDULED,
    Release,
    alarm_event,
    idle_fleet,
)
from tests.handlers.fake_aws import Call, FakeAws, refusal
from tests.handlers.removed_guards import (
    count_every_busy_member_as_at_work,
    count_messages_by_capacity,
    see_everybody_at_work,
)

# ---- case 32 and the floor


def test_case_32_a_fleet_at_its_minimum_loses_nobody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", min_size=2)
    summary = Release(aws).run()
    assert aws.changes() == []
    assert summary["floor"] == 2
    assert "minimum is 2" in summary["kept"][0]["reason"]


def test_case_32_without_the_floor_aws_would_be_asked(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-1", "i-2", min_size=2)
    monkeypatch.setattr(planning._Ledger, "objection", lambda self, capacity: None)
    with pytest.raises(PassIncomplete):
        Release(aws).run()
    assert len(aws.changes()) == 2


def test_case_32_a_refusal_is_reported_and_never_turned_into_a_replacement(aws: FakeAws) -> None:
    """Somebody raises the minimum between the last reading and the act."""
    idle_fleet(aws, "i-1")
    group = aws.autoscaling.groups[GROUP]

    def happen(call: Call) -> None:
        if call.operation == "TerminateInstanceInAutoScalingGroup":
            group.min_size = 1

    aws.before.append(happen)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="i-1: termination refused"):
        release.run()
    assert len(aws.changes()) == 1
    assert aws.changes()[0].parameters["ShouldDecrementDesiredCapacity"] is True
    assert (aws.terminated(), group.replacements) == ([], 0)
    assert "minSize" in release.lines.documents("verdict")[0]["kept_because"]


def test_the_share_bounds_one_pass_and_the_longest_idle_go_first(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3")
    for instance_id, minutes in (("i-1", 40), ("i-2", 50), ("i-3", 35)):
        aws.publish(instance_id, 95, minutes=1, until=aws.clock.now() - timedelta(minutes=minutes))
    summary = Release(aws, {"MAX_RELEASE_SHARE": "0.34"}).run()
    assert summary["released"] == ["i-2", "i-1"]
    assert "share" in summary["kept"][0]["reason"]


def test_a_share_of_one_in_ten_still_frees_one_of_three(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3")
    assert Release(aws, {"MAX_RELEASE_SHARE": "0.1"}).run()["released"] == ["i-1"]


# ---- the queue


@pytest.mark.parametrize(
    ("at_work", "visible", "in_flight", "per_instance", "released"),
    [
        ((), 0, 0, "1", ["i-1", "i-2", "i-3"]),
        # Nobody is seen at work, so any of them may have taken the message a moment ago.
        ((), 1, 0, "1", []),
        ((), 0, 1, "1", []),
        (("i-1",), 0, 1, "1", ["i-2", "i-3"]),
        (("i-1",), 1, 1, "1", []),
        (("i-1", "i-2"), 1, 1, "1", ["i-3"]),
        # One instance may work on four messages at a time, but two may also be on two instances.
        (("i-1",), 0, 1, "4", ["i-2", "i-3"]),
        (("i-1",), 0, 2, "4", []),
        (("i-1",), 0, 4, "4", []),
        (("i-1", "i-2"), 0, 2, "4", ["i-3"]),
        (("i-1",), 500, 1, "1", []),
    ],
)
def test_case_65_idle_members_stay_until_all_work_is_seen(
    aws: FakeAws, at_work: tuple[str, ...], visible: int, in_flight: int, per_instance: str, released: list[str]
) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", busy=at_work)
    aws.sqs.hold(visible=visible, in_flight=in_flight)
    release = Release(aws, {**QUEUE_ENVIRONMENT, "MESSAGES_PER_INSTANCE": per_instance})
    assert release.run()["released"] == released
    (metrics,) = release.lines.metrics()
    assert metrics["MembersIdleDespiteWork"] == (0 if released else 3 - len(at_work))


def test_case_65_a_session_is_no_work(aws: FakeAws) -> None:
    """Somebody is logged in on one member; the message in flight is on the other, which looks idle still."""
    idle_fleet(aws, "i-1", "i-2")
    aws.ssm.active.append("i-1")
    aws.sqs.hold(visible=0, in_flight=1)
    assert Release(aws, {**QUEUE_ENVIRONMENT, "WATCH_SESSIONS": "true"}).run()["released"] == []


def test_case_65_without_the_rule_the_member_with_the_job_would_go(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1", "i-2")
    aws.sqs.hold(visible=0, in_flight=1)
    see_everybody_at_work(monkeypatch)
    assert Release(aws, QUEUE_ENVIRONMENT).run()["released"] != []


def test_case_65_two_messages_may_be_on_two_instances_however_many_one_can_take(aws: FakeAws) -> None:
    """i-1 works on one of the two; i-2 took the other a moment ago and looks idle still."""
    idle_fleet(aws, "i-1", "i-2", busy=("i-1",))
    aws.sqs.hold(visible=0, in_flight=2)
    summary = Release(aws, {**QUEUE_ENVIRONMENT, "MESSAGES_PER_INSTANCE": "4"}).run()
    assert summary["released"] == []
    assert "each message may be on an instance of its own" in summary["kept"][1]["reason"]
    assert summary["floor"] == 1


def test_case_65_counted_by_what_one_can_take_the_second_job_would_be_killed(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-1",))
    aws.sqs.hold(visible=0, in_flight=2)
    count_messages_by_capacity(monkeypatch)
    Release(aws, {**QUEUE_ENVIRONMENT, "MESSAGES_PER_INSTANCE": "4"}).run()
    assert aws.terminated() == ["i-2"]


def finished_while_another_began(aws: FakeAws, minutes_ago: int) -> None:
    """i-1 finished its job; i-2 took the only message seconds ago, and its metrics do not show it yet."""
    idle_fleet(aws, "i-1", "i-2")
    aws.publish("i-1", 95, minutes=30, until=aws.clock.now() - timedelta(minutes=minutes_ago))
    aws.sqs.hold(visible=0, in_flight=1)


@pytest.mark.parametrize("minutes_ago", [1, 2, 3, 5, 10, 16, 30])
def test_case_65_who_worked_until_a_moment_ago_does_not_account_for_the_message(aws: FakeAws, minutes_ago: int) -> None:
    finished_while_another_began(aws, minutes_ago)
    assert Release(aws, QUEUE_ENVIRONMENT).run()["released"] == []


@pytest.mark.parametrize(("finished_minutes_ago", "released"), [(0, ["i-2"]), (1, []), (4, []), (30, [])])
def test_case_65_a_long_window_asks_the_newest_minutes_too(
    aws: FakeAws, finished_minutes_ago: int, released: list[str]
) -> None:
    """A window of six hours is read in periods of 300 s, which do not tell who works now."""
    idle_fleet(aws, "i-1", "i-2")
    for instance_id, value, ago in (("i-1", 0, 0), ("i-2", 0, 0), ("i-1", 95, finished_minutes_ago)):
        until = aws.clock.now() - timedelta(minutes=ago)
        aws.publish(instance_id, value, minutes=100 if value else 900, until=until)
    aws.sqs.hold(visible=0, in_flight=1)
    assert Release(aws, {**QUEUE_ENVIRONMENT, "WINDOW_SECONDS": str(6 * 3600)}).run()["released"] == released


@pytest.mark.parametrize("minutes_ago", [1, 2, 3, 5, 10, 16, 30])
def test_case_65_counted_by_the_whole_window_the_one_at_work_would_be_killed(
    aws: FakeAws, minutes_ago: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_while_another_began(aws, minutes_ago)
    count_every_busy_member_as_at_work(monkeypatch)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert aws.terminated() == ["i-2"]


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"ApproximateNumberOfMessages": "0"},
        {"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "-1"},
        {"ApproximateNumberOfMessages": "none", "ApproximateNumberOfMessagesNotVisible": "0"},
    ],
)
def test_case_07_a_queue_without_its_counts_is_no_empty_queue(aws: FakeAws, attributes: dict[str, str]) -> None:
    idle_fleet(aws, "i-1")
    aws.sqs.attributes = attributes
    release = Release(aws, QUEUE_ENVIRONMENT)
    with pytest.raises(PassIncomplete, match="GetQueueAttributes"):
        release.run()
    assert aws.changes() == []
    assert release.verdicts() == {"i-1": "idle"}


def test_case_07_a_denied_queue_releases_nobody(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("GetQueueAttributes", "AccessDenied")
    release = Release(aws, QUEUE_ENVIRONMENT)
    with pytest.raises(PassIncomplete, match="GetQueueAttributes"):
        release.run()
    assert aws.changes() == []


def test_case_07_without_the_guard_an_unreadable_queue_would_release(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("GetQueueAttributes", "AccessDenied")
    monkeypatch.setattr(Surveyor, "backlog", lambda self: Backlog(visible=0, in_flight=0))
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert aws.terminated() == ["i-1"]


# ---- case 33: one decrement for one instance


def test_case_33_a_surplus_is_released_without_lowering_the_desired_capacity(aws: FakeAws) -> None:
    """The maximum was lowered to 2 under four protected members: desired is 2, and four still run."""
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=("i-3", "i-4"), min_size=2, desired=2)
    summary = Release(aws).run()
    group = aws.autoscaling.groups[GROUP]
    assert summary["released"] == ["i-1", "i-2"]
    assert [call.parameters["ShouldDecrementDesiredCapacity"] for call in aws.changes()] == [False, False]
    assert (group.desired, group.replacements) == (2, 0)


def test_case_33_beyond_the_surplus_each_release_lowers_it(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", desired=2)
    Release(aws).run()
    group = aws.autoscaling.groups[GROUP]
    assert [call.parameters["ShouldDecrementDesiredCapacity"] for call in aws.changes()] == [
        False,
        True,
        True,
    ]
    assert (group.desired, group.replacements, aws.terminated()) == (0, 0, ["i-1", "i-2", "i-3"])


def surplus_without_launches(aws: FakeAws, *ids: str, desired: int, min_size: int = 0) -> None:
    """Create a group with more members than desired, that cannot replace one."""
    idle_fleet(aws, *ids, desired=desired, min_size=min_size)
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]


def resize_before(aws: FakeAws, occurrence: int, *, minimum: int) -> None:
    """Let somebody raise the minimum, and AWS the desired capacity with it, once that many members were asked for."""
    group = aws.autoscaling.groups[GROUP]
    asked = 0

    def happen(call: Call) -> None:
        nonlocal asked
        if asked >= occurrence and group.min_size < minimum:
            group.min_size, group.desired = minimum, max(minimum, group.desired)
        asked += call.operation == "TerminateInstanceInAutoScalingGroup"

    aws.before.append(happen)


def test_case_33_without_launches_the_whole_surplus_goes(aws: FakeAws) -> None:
    surplus_without_launches(aws, "i-1", "i-2", "i-3", "i-4", desired=2, min_size=2)
    aws.autoscaling.lag()
    assert Release(aws).run()["released"] == ["i-1", "i-2"]
    assert aws.autoscaling.groups[GROUP].desired == 2
    # Each time the group is looked at once more, just before.
    assert aws.operations().count("DescribeAutoScalingGroups") == 4


def test_case_33_who_ends_by_itself_is_no_part_of_what_stays(aws: FakeAws) -> None:
    """EC2 has ended i-4, which the group does not show yet. Then the minimum is raised to the three others."""
    surplus_without_launches(aws, "i-1", "i-2", "i-3", "i-4", desired=2, min_size=2)
    aws.ec2.machines["i-4"].state = "shutting-down"
    group = aws.autoscaling.groups[GROUP]
    looks = 0

    def happen(call: Call) -> None:
        nonlocal looks
        looks += call.operation == "DescribeAutoScalingGroups"
        if looks == 3:
            group.min_size = group.desired = 3

    aws.before.append(happen)
    assert Release(aws).run()["released"] == []
    assert looks == 3


@pytest.mark.parametrize(("raised_after", "released"), [(1, ["i-1"]), (2, ["i-1", "i-2"])])
def test_case_33_a_minimum_raised_while_members_go_keeps_the_rest_of_the_surplus(
    aws: FakeAws, raised_after: int, released: list[str]
) -> None:
    """Nothing would be launched for who goes, and AWS refuses nobody who goes without lowering the capacity."""
    surplus_without_launches(aws, "i-1", "i-2", "i-3", "i-4", desired=0)
    group = aws.autoscaling.groups[GROUP]
    resize_before(aws, raised_after, minimum=4 - raised_after)
    release = Release(aws)
    assert release.run()["released"] == released
    assert group.active == group.min_size == 4 - raised_after
    kept = release.lines.documents("verdict")[3]["kept_because"]
    assert kept.endswith(f"is to be larger: {4 - raised_after} are there, {4 - raised_after} are needed")
    # They were not asked for, so nothing remembers them as leaving.
    assert Release(aws).run()["released"] == []
    aws.before.clear()
    group.min_size = group.desired = 0
    assert Release(aws).run()["released"] == [each for each in ("i-1", "i-2", "i-3", "i-4") if each not in released]


def test_case_33_without_the_look_before_each_the_group_would_fall_below_its_minimum(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    surplus_without_launches(aws, "i-1", "i-2", "i-3", "i-4", desired=0)
    group = aws.autoscaling.groups[GROUP]
    resize_before(aws, 1, minimum=3)
    monkeypatch.setattr("release_idle.acting.is_surplus", lambda *group: True)
    Release(aws).run()
    assert group.active < group.min_size


def test_case_35_a_group_that_cannot_be_looked_at_keeps_its_surplus(aws: FakeAws) -> None:
    surplus_without_launches(aws, "i-1", "i-2", desired=1)
    looks = 0

    def happen(call: Call) -> None:
        nonlocal looks
        looks += call.operation == "DescribeAutoScalingGroups"
        if looks == 3 and not aws.faults:
            aws.fail("DescribeAutoScalingGroups", "AccessDenied")

    aws.before.append(happen)
    with pytest.raises(PassIncomplete, match="DescribeAutoScalingGroups"):
        Release(aws).run()
    # The second one goes by lowering the capacity, which AWS itself would refuse at the minimum.
    assert [c.parameters["ShouldDecrementDesiredCapacity"] for c in aws.changes()] == [True]


def test_case_33_two_runs_in_a_row_lower_it_once(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=("i-2", "i-3", "i-4"))
    Release(aws).run(alarm_event())
    Release(aws).run(SCHEDULED)
    assert aws.autoscaling.groups[GROUP].desired == 3
    assert aws.terminated() == ["i-1"]


def test_case_33_a_termination_without_an_answer_is_not_sent_twice(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.fail("TerminateInstanceInAutoScalingGroup", refusal("InternalFailure", status=500), times=1)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="no clear answer"):
        release.run()
    assert len(aws.changes()) == 1


def test_case_43_the_one_that_works_stays_while_the_rest_cannot_be_launched(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", busy=("i-1",), desired=4)
    Release(aws).run()
    assert aws.changes() == []


# ---- weights


def test_weights_count_as_capacity(aws: FakeAws) -> None:
    aws.add_group(GROUP, ["i-1", "i-2", "i-3"], min_size=3, desired=8)
    for member, weight in zip(aws.autoscaling.groups[GROUP].members, (4, 2, 2), strict=True):
        member.weight = weight
        aws.publish(member.instance_id, 0)
    summary = Release(aws).run()
    # 8 - 4 = 4 may go, then 2 more would leave 2 of the 3 that must stay.
    assert summary["released"] == ["i-1"]
    assert aws.autoscaling.groups[GROUP].desired == 4
