"""The wake function of a group that stands in for another one, on a fake AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from runtime.group_metrics_reader import UnreadableMetrics
from runtime.group_reader import UnreadableGroup
from runtime.patience import OutOfTime
from runtime.structured_log import StructuredLog
from tests.handlers.driving import GROUP, SCHEDULED, Lines
from tests.handlers.fake_aws import START, Call, Context, FakeAws
from tests.handlers.fake_aws.groups import FakeGroup, FakeMember
from wake_on_demand.aws import Clients
from wake_on_demand.index import handle
from wake_on_demand.settings import read_settings
from wake_on_demand.shortfall_window import History, UnknownShortfall, lasting_shortfall

SPOT = "spot"
AFTER = 15
MINUTE = timedelta(minutes=1)


@dataclass
class StandIn:
    """The wake function of `GROUP`, which stands in for `SPOT`."""

    aws: FakeAws
    seconds: float = 30
    lines: Lines = field(default_factory=Lines)

    def run(self) -> dict[str, Any]:
        settings = read_settings(
            {
                "AUTO_SCALING_GROUP_NAME": GROUP,
                "SHORTFALL_OF_GROUP": SPOT,
                "SHORTFALL_AFTER_SECONDS": str(AFTER * 60),
            }
        )
        clients = Clients(
            autoscaling=self.aws.client("autoscaling"),
            cloudwatch=self.aws.client("cloudwatch"),
            sqs=self.aws.client("sqs"),
        )
        clock = self.aws.clock
        log = StructuredLog(clock, self.lines.lines.append)
        return dict(handle(SCHEDULED, Context(clock, self.seconds), settings, clients, clock, log))

    @property
    def reason(self) -> str:
        return str(self.lines.documents("wake decision")[-1]["reason"])


def publish(aws: FakeAws, group: str, metric: str, values: Iterable[float | None], *, newest: int = 2) -> None:
    """Publish one value a minute, the newest first, from so many minutes ago; None for a minute without one."""
    now = aws.clock.now().replace(second=0, microsecond=0)
    samples = {now - MINUTE * (newest + back): value for back, value in enumerate(values) if value is not None}
    aws.cloudwatch.publish("AWS/AutoScaling", metric, {"AutoScalingGroupName": group}, samples)


def short(
    aws: FakeAws,
    *,
    wants: int = 3,
    has: int = 0,
    minutes: int = 60,
    own: int = 0,
    max_size: int = 8,
    newest: int = 2,
) -> FakeGroup:
    """Make both groups, and let the other one have been short for so many minutes. Return the other one."""
    aws.add_group(GROUP, [f"i-own{n}" for n in range(own)], max_size=max_size)
    other = aws.add_group(SPOT, [f"i-{n}" for n in range(has)], desired=wants)
    publish(aws, SPOT, "GroupDesiredCapacity", [wants] * minutes + [has] * (90 - minutes), newest=newest)
    publish(aws, SPOT, "GroupInServiceInstances", [has] * 90, newest=newest)
    publish(aws, GROUP, "GroupDesiredCapacity", [own] * 90, newest=newest)
    return other


def set_to(aws: FakeAws) -> list[int]:
    return [call.parameters["DesiredCapacity"] for call in aws.changes()]


# --- when it wakes, and how far ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wants", "has", "own", "max_size", "expected"),
    [
        (1, 0, 0, 8, [1]),
        (3, 0, 0, 8, [3]),
        (3, 2, 0, 8, [1]),
        (3, 0, 2, 8, [3]),
        (20, 0, 0, 8, [8]),
        # Never lowered, and nothing to do when as many are here as are missing there.
        (3, 0, 3, 8, []),
        (3, 0, 5, 8, []),
        (20, 0, 8, 8, []),
        (3, 3, 0, 8, []),
        (3, 0, 0, 0, []),
    ],
)
def test_case_80_one_instance_for_each_that_is_missing(
    aws: FakeAws, wants: int, has: int, own: int, max_size: int, expected: list[int]
) -> None:
    short(aws, wants=wants, has=has, own=own, max_size=max_size)
    result = StandIn(aws).run()
    assert set_to(aws) == expected
    assert result["set_desired_to"] == (expected[0] if expected else None)


def test_all_numbers_are_in_the_log(aws: FakeAws) -> None:
    short(aws, wants=3, has=1)
    stand_in = StandIn(aws)
    stand_in.run()
    (line,) = stand_in.lines.documents("wake decision")
    assert (line["of_group"], line["wanted"], line["missing"], line["missing_throughout"]) == (SPOT, 3, 2, 2)
    assert (line["needed"], line["desired"], line["max_size"], line["set_desired_to"]) == (2, 0, 8, 2)


def test_other_groups_are_not_touched_and_no_cooldown_is_waited_for(aws: FakeAws) -> None:
    short(aws)
    StandIn(aws).run()
    assert [call.parameters for call in aws.changes()] == [
        {"AutoScalingGroupName": GROUP, "DesiredCapacity": 3, "HonorCooldown": False}
    ]


@pytest.mark.parametrize(("minutes", "expected"), [(AFTER - 1, []), (AFTER, [3])])
def test_case_43_it_must_have_been_short_in_every_minute(aws: FakeAws, minutes: int, expected: list[int]) -> None:
    short(aws, minutes=minutes)
    stand_in = StandIn(aws)
    stand_in.run()
    assert set_to(aws) == expected
    assert expected or stand_in.reason == "nothing was missing for all of 15 minutes"


@pytest.mark.parametrize("back", range(AFTER))
def test_one_minute_without_a_shortage_is_enough_to_wait(aws: FakeAws, back: int) -> None:
    short(aws)
    publish(aws, SPOT, "GroupInServiceInstances", [3], newest=2 + back)
    StandIn(aws).run()
    assert set_to(aws) == []


def test_as_many_start_as_were_missing_all_the_time(aws: FakeAws) -> None:
    """Ten that are wanted since five minutes may be on their way: AWS has yet to say that it has none."""
    short(aws, wants=11)
    publish(aws, SPOT, "GroupDesiredCapacity", [11] * 5 + [1] * 60)
    StandIn(aws).run()
    assert set_to(aws) == [1]


def test_what_is_on_its_way_is_not_missing(aws: FakeAws) -> None:
    other = short(aws, wants=5)
    states = ("Pending", "Pending:Wait", "ReplacingRootVolume", "RootVolumeReplaced")
    other.members += [FakeMember(f"i-{state}", state) for state in states]
    StandIn(aws).run()
    assert set_to(aws) == [1]


@pytest.mark.parametrize("state", ["Terminating", "Terminating:Wait", "Terminating:Retained", "Standby"])
def test_what_is_on_its_way_out_is_missing(aws: FakeAws, state: str) -> None:
    other = short(aws, wants=1)
    other.members.append(FakeMember("i-1", state))
    StandIn(aws).run()
    assert set_to(aws) == [1]


def test_nothing_missing_reads_no_metrics_which_cost_money(aws: FakeAws) -> None:
    short(aws, wants=3, has=3)
    StandIn(aws).run()
    assert aws.operations() == ["DescribeAutoScalingGroups"] * 2


def test_the_queue_is_nobodys_business_here(aws: FakeAws) -> None:
    short(aws)
    StandIn(aws).run()
    assert "GetQueueAttributes" not in aws.operations()


# --- who wants nothing ------------------------------------------------------------------------------------------------


def _paused(other: FakeGroup) -> None:
    other.max_size = other.min_size = 0


def _suspended(other: FakeGroup) -> None:
    other.suspended = ["Launch"]


def _going(other: FakeGroup) -> None:
    other.status = "Delete in progress"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_paused, "the other group is paused: its maximum is 0"),
        (_suspended, "the other group has its launches suspended"),
        (_going, "the other group is being deleted"),
    ],
)
def test_a_group_that_nobody_wants_to_grow_lacks_nothing(
    aws: FakeAws, change: Callable[[FakeGroup], None], reason: str
) -> None:
    change(short(aws))
    stand_in = StandIn(aws)
    stand_in.run()
    assert set_to(aws) == []
    assert stand_in.reason == reason


def test_another_group_that_is_gone_lacks_nothing(aws: FakeAws) -> None:
    short(aws)
    del aws.autoscaling.groups[SPOT]
    stand_in = StandIn(aws)
    stand_in.run()
    assert (set_to(aws), stand_in.reason) == ([], "the other group is gone")


@pytest.mark.parametrize("status", [None, "Delete in progress"])
def test_a_group_that_is_gone_or_going_itself_is_left_alone(aws: FakeAws, status: str | None) -> None:
    short(aws)
    aws.autoscaling.groups[GROUP].status = status
    if status is None:
        del aws.autoscaling.groups[GROUP]
    assert StandIn(aws).run()["reason"] == "the group is gone or being deleted"
    assert aws.operations() == ["DescribeAutoScalingGroups"]


def test_launches_that_are_suspended_here_are_warned_about(aws: FakeAws) -> None:
    short(aws)
    aws.autoscaling.groups[GROUP].suspended = ["Launch"]
    stand_in = StandIn(aws)
    stand_in.run()
    (line,) = stand_in.lines.documents("wake decision")
    assert (line["level"], line["launch_suspended"]) == ("WARN", True)


# --- no flapping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("back", "expected"), [(0, []), (AFTER - 1, []), (AFTER, [3])])
def test_case_74_what_was_given_back_is_not_started_again_at_once(aws: FakeAws, back: int, expected: list[int]) -> None:
    """Its instance was idle and went; as long as the other group is short, the next one would be as idle."""
    short(aws, wants=3, own=2)
    publish(aws, GROUP, "GroupDesiredCapacity", [3], newest=2 + back)
    stand_in = StandIn(aws)
    stand_in.run()
    assert set_to(aws) == expected
    assert expected or stand_in.reason == "capacity was given back here within 15 minutes"


# --- silence is no fact -----------------------------------------------------------------------------------------------


def unknown(aws: FakeAws, error: type[Exception], match: str) -> None:
    """Nobody is woken, the invocation fails, and the log says why."""
    stand_in = StandIn(aws)
    with pytest.raises(error, match=match):
        stand_in.run()
    assert set_to(aws) == []
    (line,) = stand_in.lines.documents("shortfall unknown")
    assert (line["level"], line["of_group"]) == ("ERROR", SPOT)
    assert line["why"]


@pytest.mark.parametrize("metric", ["GroupDesiredCapacity", "GroupInServiceInstances"])
@pytest.mark.parametrize("group", [SPOT, GROUP])
def test_a_series_that_is_missing_wakes_nobody(aws: FakeAws, group: str, metric: str) -> None:
    short(aws)
    if aws.cloudwatch.samples.pop(("AWS/AutoScaling", metric, frozenset({("AutoScalingGroupName", group)})), None):
        unknown(aws, UnknownShortfall, "none of the last 5 minutes is known: are both groups' own metrics switched on")


@pytest.mark.parametrize("back", range(1, AFTER))
def test_a_minute_that_is_missing_wakes_nobody(aws: FakeAws, back: int) -> None:
    short(aws)
    identity = ("AWS/AutoScaling", "GroupInServiceInstances", frozenset({("AutoScalingGroupName", SPOT)}))
    del aws.cloudwatch.samples[identity][START - MINUTE * (2 + back)]
    unknown(aws, UnknownShortfall, "of the last 15 minutes of the other group 1 are not known")


def test_a_minute_of_its_own_that_is_missing_wakes_nobody(aws: FakeAws) -> None:
    short(aws)
    identity = ("AWS/AutoScaling", "GroupDesiredCapacity", frozenset({("AutoScalingGroupName", GROUP)}))
    del aws.cloudwatch.samples[identity][START - MINUTE * 9]
    unknown(aws, UnknownShortfall, "of the last 15 minutes of this group 1 are not known")


def test_a_missing_minute_does_not_matter_when_another_says_that_nothing_was_missing(aws: FakeAws) -> None:
    short(aws, minutes=8)
    identity = ("AWS/AutoScaling", "GroupInServiceInstances", frozenset({("AutoScalingGroupName", SPOT)}))
    del aws.cloudwatch.samples[identity][START - MINUTE * 4]
    assert StandIn(aws).run()["set_desired_to"] is None


@pytest.mark.parametrize("newest", range(6))
def test_metrics_may_be_some_minutes_late(aws: FakeAws, newest: int) -> None:
    short(aws, newest=newest)
    aws.clock.advance(25)
    assert StandIn(aws).run()["set_desired_to"] == 3


def test_metrics_that_are_later_say_nothing_of_now(aws: FakeAws) -> None:
    short(aws, newest=6)
    unknown(aws, UnknownShortfall, "none of the last 5 minutes is known")


@pytest.mark.parametrize("age", [3, 14])
def test_before_it_was_made_a_group_was_not_short(aws: FakeAws, age: int) -> None:
    """A group that starts with instances has no older minutes, and need not be unknown for that."""
    other = short(aws)
    other.created_at = START - MINUTE * age
    for identity, points in aws.cloudwatch.samples.items():
        if ("AutoScalingGroupName", SPOT) in identity[2]:
            first = other.created_at + MINUTE
            aws.cloudwatch.samples[identity] = {at: value for at, value in points.items() if at >= first}
    assert StandIn(aws).run()["set_desired_to"] is None


def test_a_group_of_which_nothing_came_for_long_is_not_new(aws: FakeAws) -> None:
    other = short(aws)
    aws.cloudwatch.samples = {}
    other.created_at = aws.autoscaling.groups[GROUP].created_at = START - MINUTE * 11
    unknown(aws, UnknownShortfall, "none of the last 5 minutes is known")


def test_before_it_was_made_this_group_gave_nothing_back(aws: FakeAws) -> None:
    short(aws)
    aws.autoscaling.groups[GROUP].created_at = START - MINUTE * 4
    identity = ("AWS/AutoScaling", "GroupDesiredCapacity", frozenset({("AutoScalingGroupName", GROUP)}))
    points = aws.cloudwatch.samples[identity]
    aws.cloudwatch.samples[identity] = {at: value for at, value in points.items() if at >= START - MINUTE * 3}
    assert StandIn(aws).run()["set_desired_to"] == 3


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
@pytest.mark.parametrize("operation", ["GetMetricData", "DescribeAutoScalingGroups"])
def test_a_refusal_fails_the_invocation_at_once(aws: FakeAws, operation: str, code: str) -> None:
    short(aws)
    aws.fail(operation, code, matches=lambda given: given.get("AutoScalingGroupNames", [SPOT]) == [SPOT])
    unknown(aws, ClientError, code)
    assert aws.clock.slept == []


@pytest.mark.parametrize("operation", ["GetMetricData", "DescribeAutoScalingGroups", "SetDesiredCapacity"])
def test_case_50_what_is_in_the_way_is_waited_out(aws: FakeAws, operation: str) -> None:
    short(aws)
    aws.fail(operation, "Throttling", times=2)
    assert StandIn(aws).run()["set_desired_to"] == 3
    assert set_to(aws)[-1] == 3


def test_it_fails_when_metrics_stay_throttled(aws: FakeAws) -> None:
    short(aws)
    aws.fail("GetMetricData", "Throttling")
    unknown(aws, OutOfTime, "reading the group's metrics")


@pytest.mark.parametrize("status", ["PartialData", "InternalError", "Forbidden"])
def test_an_answer_that_is_not_complete_wakes_nobody(aws: FakeAws, status: str) -> None:
    short(aws)
    aws.cloudwatch.statuses = {"": status}
    unknown(aws, UnreadableMetrics, status)


def test_an_answer_with_a_message_wakes_nobody(aws: FakeAws) -> None:
    short(aws)
    aws.cloudwatch.messages = [{"Code": "ArithmeticError", "Value": "x"}]
    unknown(aws, UnreadableMetrics, "ArithmeticError")


def test_an_answer_without_results_wakes_nobody(aws: FakeAws) -> None:
    short(aws)
    aws.cloudwatch.left_out = {""}
    unknown(aws, UnreadableMetrics, "no answer")


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "3", None, True])
def test_values_that_cannot_be_true_wake_nobody(aws: FakeAws, value: Any) -> None:
    short(aws)
    aws.cloudwatch.raw_values = {"": [value] * 20}
    unknown(aws, UnreadableMetrics, "for a number of instances")


def test_fewer_values_than_timestamps_wake_nobody(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    short(aws)
    answer = aws.cloudwatch.get_metric_data

    def shortened(parameters: Any) -> dict[str, Any]:
        given = answer(parameters)
        given["MetricDataResults"][0]["Values"].pop()
        return given

    monkeypatch.setattr(aws.cloudwatch, "get_metric_data", shortened)
    unknown(aws, UnreadableMetrics, "more or fewer values than timestamps")


@pytest.mark.parametrize("points", [7, 20, 41])
def test_an_answer_in_pages_is_put_together(aws: FakeAws, points: int) -> None:
    short(aws)
    aws.cloudwatch.points_per_page = points
    assert StandIn(aws).run()["set_desired_to"] == 3
    assert aws.operations().count("GetMetricData") > 1


def test_weights_are_refused_since_the_metric_counts_instances(aws: FakeAws) -> None:
    other = short(aws, wants=8)
    other.members.append(FakeMember("i-1", weight=2))
    unknown(aws, UnreadableGroup, "the group spot has weights")


def test_it_asks_for_each_minute_of_both_groups_and_no_more(aws: FakeAws) -> None:
    short(aws)
    aws.clock.advance(25)
    StandIn(aws).run()
    (call,) = [each for each in aws.calls if each.operation == "GetMetricData"]
    assert call.parameters["EndTime"] == START + MINUTE
    assert call.parameters["StartTime"] == START - MINUTE * 20
    asked = [query["MetricStat"] for query in call.parameters["MetricDataQueries"]]
    assert [(each["Metric"]["MetricName"], each["Stat"], each["Period"]) for each in asked] == [
        ("GroupDesiredCapacity", "Minimum", 60),
        ("GroupInServiceInstances", "Maximum", 60),
        ("GroupDesiredCapacity", "Maximum", 60),
    ]


def test_the_other_group_changes_between_two_calls(aws: FakeAws) -> None:
    """What was read first holds for this run: the next one, a minute later, sees the change."""
    other = short(aws)

    def satisfied(call: Call) -> None:
        if call.operation == "GetMetricData":
            other.desired = 0

    aws.before.append(satisfied)
    StandIn(aws).run()
    aws.before.clear()
    StandIn(aws).run()
    assert set_to(aws) == [3]


# --- for any history --------------------------------------------------------------------------------------------------

POINTS = st.lists(st.none() | st.integers(0, 4), min_size=25, max_size=25)


@given(POINTS, POINTS, POINTS)
def test_it_says_only_what_each_minute_says(
    wanted: list[int | None], in_service: list[int | None], own: list[int | None]
) -> None:
    def series(values: list[int | None]) -> dict[Any, float]:
        return {START - MINUTE * back: float(value) for back, value in enumerate(values) if value is not None}

    history = History(
        wanted=series(wanted),
        in_service=series(in_service),
        own=series(own),
        other_created_at=None,
        own_created_at=None,
    )
    try:
        lasting = lasting_shortfall(history, now=START + timedelta(seconds=40), minutes=10)
    except UnknownShortfall:
        return
    if lasting.missing:
        newest = next(n for n in range(6) if None not in (wanted[n], in_service[n], own[n]))
        for back in range(newest, newest + 10):
            want, have, here = wanted[back], in_service[back], own[back]
            assert want is not None
            assert have is not None
            assert here is not None
            assert want - have >= lasting.missing
            assert here <= lasting.own_most
