"""Case 43: a desired capacity that AWS never filled is taken back once no work needs it."""

from __future__ import annotations

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import GROUP, MANUAL, QUEUE_ENVIRONMENT, Release, idle_fleet
from tests.handlers.fake_aws import Call, FakeAws


def set_to(aws: FakeAws) -> list[int]:
    return [c.parameters["DesiredCapacity"] for c in aws.calls if c.operation == "SetDesiredCapacity"]


def short_of_capacity(aws: FakeAws, *ids: str, desired: int, busy: tuple[str, ...] = (), min_size: int = 0) -> None:
    """Create a group for which AWS had fewer instances than desired."""
    idle_fleet(aws, *ids, busy=busy, desired=desired, min_size=min_size)


def test_case_43_the_unfilled_rest_goes_before_the_first_release_and_nothing_is_launched_for_it(aws: FakeAws) -> None:
    short_of_capacity(aws, "i-1", desired=8)
    aws.sqs.hold(visible=0)
    release = Release(aws, QUEUE_ENVIRONMENT)
    summary = release.run()
    group = aws.autoscaling.groups[GROUP]
    assert [call.operation for call in aws.changes()] == [
        "SetDesiredCapacity",
        "TerminateInstanceInAutoScalingGroup",
    ]
    assert aws.changes()[0].parameters == {
        "AutoScalingGroupName": GROUP,
        "DesiredCapacity": 1,
        "HonorCooldown": False,
    }
    assert (group.desired, group.replacements, summary["released"]) == (0, 0, ["i-1"])
    assert summary["desired_lowered_to"] == 1
    (line,) = release.lines.documents("desired capacity lowered")
    assert (line["before"], line["now"]) == (8, 1)


def test_case_43_without_it_the_release_is_refilled(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    short_of_capacity(aws, "i-1", desired=8)
    aws.sqs.hold(visible=0)
    monkeypatch.setattr("release_idle.acting.filled_capacity", lambda *numbers: None)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert aws.autoscaling.groups[GROUP].replacements == 7


@pytest.mark.parametrize(
    ("messages", "per_instance", "min_size", "lowered_to"),
    [
        (0, "1", 0, [1]),
        (1, "1", 0, [1]),
        (3, "1", 0, [3]),
        (3, "2", 0, [2]),
        (0, "1", 2, [2]),
        (3, "1", 5, [5]),
        # The work still needs all of it, or more.
        (8, "1", 0, []),
        (100, "1", 0, []),
    ],
)
def test_case_43_as_much_stays_as_works_or_is_needed(
    aws: FakeAws, messages: int, per_instance: str, min_size: int, lowered_to: list[int]
) -> None:
    short_of_capacity(aws, "i-1", desired=8, busy=("i-1",), min_size=min_size)
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    aws.sqs.hold(visible=messages)
    Release(aws, {**QUEUE_ENVIRONMENT, "MESSAGES_PER_INSTANCE": per_instance}).run()
    assert set_to(aws) == lowered_to
    assert aws.terminated() == []


def test_case_43_an_empty_group_gives_back_what_it_never_got(aws: FakeAws) -> None:
    aws.add_group(GROUP, desired=3)
    aws.sqs.hold(visible=0)
    release = Release(aws, QUEUE_ENVIRONMENT)
    assert release.run()["desired_lowered_to"] == 0
    assert aws.autoscaling.groups[GROUP].desired == 0
    assert release.lines.metrics() == []


def test_case_43_an_empty_group_that_work_waits_for_keeps_it(aws: FakeAws) -> None:
    aws.add_group(GROUP, desired=3)
    aws.sqs.hold(visible=3)
    assert Release(aws, QUEUE_ENVIRONMENT).run()["desired_lowered_to"] is None
    assert aws.changes() == []


@pytest.mark.parametrize("state", ["Pending", "Pending:Wait", "InService"])
def test_what_is_on_its_way_is_filled(aws: FakeAws, state: str) -> None:
    short_of_capacity(aws, "i-1", "i-2", desired=2, busy=("i-1", "i-2"))
    aws.autoscaling.groups[GROUP].members[1].lifecycle_state = state
    aws.sqs.hold(visible=0)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert set_to(aws) == []


def test_without_a_queue_a_person_set_the_number(aws: FakeAws) -> None:
    short_of_capacity(aws, "i-1", desired=4, busy=("i-1",))
    Release(aws).run()
    assert aws.changes() == []


def test_a_dry_run_takes_nothing_back(aws: FakeAws) -> None:
    short_of_capacity(aws, "i-1", desired=4)
    aws.sqs.hold(visible=0)
    summary = Release(aws, QUEUE_ENVIRONMENT).run({**MANUAL, "dry_run": True})
    assert (aws.changes(), summary["desired_lowered_to"]) == ([], None)


def test_case_07_an_unreadable_queue_takes_nothing_back(aws: FakeAws) -> None:
    short_of_capacity(aws, "i-1", desired=4)
    release = Release(aws, QUEUE_ENVIRONMENT)
    with pytest.raises(PassIncomplete, match="GetQueueAttributes"):
        release.run()
    assert aws.changes() == []


def test_case_35_a_refusal_fails_the_pass_and_stops_nothing_else(aws: FakeAws) -> None:
    short_of_capacity(aws, "i-1", desired=4)
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    aws.sqs.hold(visible=0)
    aws.fail("SetDesiredCapacity", "AccessDenied")
    release = Release(aws, QUEUE_ENVIRONMENT)
    with pytest.raises(PassIncomplete, match=r"SetDesiredCapacity.*AccessDenied"):
        release.run()
    assert aws.terminated() == ["i-1"]
    (line,) = release.lines.documents("release pass")
    assert line["desired_lowered_to"] is None


def test_case_50_a_throttled_call_is_repeated(aws: FakeAws) -> None:
    aws.add_group(GROUP, desired=3)
    aws.sqs.hold(visible=0)
    aws.fail("SetDesiredCapacity", "Throttling", times=2)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert set_to(aws) == [0, 0, 0]
    assert aws.autoscaling.groups[GROUP].desired == 0


def test_case_12_what_was_launched_while_signals_were_read_is_not_cut_off(aws: FakeAws) -> None:
    """Capacity comes back during the pass: three more are there when the number is set."""
    short_of_capacity(aws, "i-1", desired=4, busy=("i-1",))
    aws.sqs.hold(visible=0)
    group = aws.autoscaling.groups[GROUP]

    def happen(call: Call) -> None:
        if call.operation == "GetQueueAttributes":
            group.settle()

    aws.before.append(happen)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert set_to(aws) == []
    assert group.active == 4


@pytest.mark.parametrize(("messages", "number"), [(6, 6), (0, 6), (0, 2)])
def test_case_12_a_number_that_somebody_set_while_the_pass_ran_is_left_to_the_next(
    aws: FakeAws, messages: int, number: int
) -> None:
    """Work arrived after the queue was read and woke the fleet, or a person set another number."""
    short_of_capacity(aws, "i-1", desired=3, busy=("i-1",))
    group = aws.autoscaling.groups[GROUP]
    group.suspended = ["Launch"]
    aws.sqs.hold(visible=0)

    def happen(call: Call) -> None:
        if call.operation == "PutParameter":
            aws.sqs.hold(visible=messages)
            group.desired = number

    aws.before.append(happen)
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert set_to(aws) == []


# --- a group that stands in for another one --------------------------------------------------------------------------

STAND_IN_ENVIRONMENT = {"SHORTFALL_OF_GROUP": "spot", "SHORTFALL_AFTER_SECONDS": "900"}


@pytest.mark.parametrize(
    ("wanted", "there", "lowered_to"),
    [(0, 0, [1]), (2, 2, [1]), (3, 0, [3]), (5, 2, [3]), (8, 0, []), (20, 0, [])],
)
def test_case_43_a_stand_in_takes_back_what_the_other_group_lacks_no_more(
    aws: FakeAws, wanted: int, there: int, lowered_to: list[int]
) -> None:
    short_of_capacity(aws, "i-1", desired=8, busy=("i-1",))
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    aws.add_group("spot", [f"i-spot{n}" for n in range(there)], desired=wanted)
    Release(aws, STAND_IN_ENVIRONMENT).run()
    assert set_to(aws) == lowered_to
    assert aws.terminated() == []


@pytest.mark.parametrize("change", [{"max_size": 0}, {"suspended": ["Launch"]}, {"status": "Delete in progress"}])
def test_case_43_a_stand_in_for_a_group_that_wants_nothing_wants_nothing(
    aws: FakeAws, change: dict[str, object]
) -> None:
    aws.add_group(GROUP, desired=3)
    other = aws.add_group("spot", desired=3)
    for name, value in change.items():
        setattr(other, name, value)
    assert Release(aws, STAND_IN_ENVIRONMENT).run()["desired_lowered_to"] == 0


def test_case_43_nothing_is_taken_back_while_the_other_group_cannot_be_read(aws: FakeAws) -> None:
    aws.add_group(GROUP, desired=3)
    aws.add_group("spot", desired=3)
    aws.fail(
        "DescribeAutoScalingGroups", "AccessDenied", matches=lambda given: given["AutoScalingGroupNames"] == ["spot"]
    )
    with pytest.raises(PassIncomplete, match="DescribeAutoScalingGroups"):
        Release(aws, STAND_IN_ENVIRONMENT).run()
    assert set_to(aws) == []


def test_case_43_an_idle_stand_in_goes_though_the_other_group_is_short_still(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    aws.add_group("spot", desired=5)
    assert Release(aws, STAND_IN_ENVIRONMENT).run()["released"] == ["i-1"]
    assert aws.autoscaling.groups[GROUP].desired == 1
