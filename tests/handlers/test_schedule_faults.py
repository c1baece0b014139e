"""The schedule function when runs break off, answers are lost or stale, and deploys and other runs come in between."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fleet_schedule.memory import MemoryUnreadable, Sizes
from fleet_schedule.run import ScheduleObstructed
from runtime.patience import OutOfTime
from tests.handlers.driving import SCHEDULED
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.interleaving import all_turns, run_interleaved
from tests.handlers.scheduling import (
    DAY,
    EVENING,
    NEXT_DAY,
    PARAMETER,
    PAUSE,
    RESUME,
    DeployRefused,
    Schedule,
    wake_up,
    work,
)


class RunEnds(BaseException):
    """Lambda ends the run here."""


def paused(aws: FakeAws, *, low: int = 1, high: int = 8, **options: Any) -> Schedule:
    """Return a schedule whose fleet was paused in the evening."""
    work(aws, low=low, high=high)
    schedule = Schedule(aws, template=(low, high), **options)
    schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)
    aws.calls.clear()
    return schedule


def end_run_at(aws: FakeAws, index: int) -> Callable[[Call], None]:
    """End the run just before its call of this number."""
    seen = [0]

    def end(call: Call) -> None:
        seen[0] += 1
        if seen[0] > index:
            raise RunEnds

    aws.before.append(end)
    return end


# --- case 39: order and completion ------------------------------------------------------------------------------------


def test_case_39_the_sizes_are_saved_before_they_are_changed(aws: FakeAws) -> None:
    work(aws, low=1)
    Schedule(aws).run(at=EVENING)
    assert aws.operations() == [
        "DescribeAutoScalingGroups",
        "GetParameter",
        "PutParameter",
        "UpdateAutoScalingGroup",
        "DescribeAutoScalingGroups",
    ]


def test_case_39_the_pause_is_over_when_the_group_shows_it(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.run(at=NEXT_DAY)
    assert aws.operations() == [
        "DescribeAutoScalingGroups",
        "GetParameter",
        "UpdateAutoScalingGroup",
        "DescribeAutoScalingGroups",
        "GetParameter",
        "PutParameter",
    ]


@pytest.mark.parametrize("calls", range(6))
def test_case_39_a_pause_that_breaks_off_is_completed_by_the_next_run(aws: FakeAws, calls: int) -> None:
    work(aws, "i-1", "i-2", low=1)
    schedule = Schedule(aws)
    schedule.move_to(EVENING)
    end = end_run_at(aws, calls)
    with pytest.raises(RunEnds) if calls < 5 else nullcontext():
        schedule.run()
    aws.before.remove(end)
    schedule.tick()
    assert schedule.sizes == (0, 0, 0)
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=2)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)


@pytest.mark.parametrize("calls", range(7))
def test_case_39_an_opening_that_breaks_off_is_completed_by_the_next_run(aws: FakeAws, calls: int) -> None:
    schedule = paused(aws)
    schedule.move_to(NEXT_DAY)
    end = end_run_at(aws, calls)
    with pytest.raises(RunEnds) if calls < 6 else nullcontext():
        schedule.run()
    aws.before.remove(end)
    # In between, waiting work may have raised it; that is not taken back.
    raised = schedule.sizes[1] > 0
    if raised:
        schedule.group.desired = 5
    schedule.tick()
    assert schedule.sizes == (1, 8, 5 if raised else 1)
    assert schedule.memory.paused is False


@pytest.mark.parametrize("calls", range(7))
def test_case_39_a_pause_by_hand_that_breaks_off_after_it_was_noted_holds(aws: FakeAws, calls: int) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.move_to(DAY)
    end = end_run_at(aws, calls)
    with pytest.raises(RunEnds):
        schedule.run(PAUSE)
    aws.before.remove(end)
    noted = schedule.aws.ssm.parameters[PARAMETER].version > 1
    schedule.tick()
    assert schedule.sizes == ((0, 0, 0) if noted else (1, 8, 1))


@pytest.mark.parametrize("operation", ["PutParameter", "UpdateAutoScalingGroup"])
def test_a_lost_answer_is_no_loss(aws: FakeAws, operation: str) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    for moment, sizes in ((EVENING, (0, 0, 0)), (NEXT_DAY, (1, 8, 1))):
        aws.lose_answers(operation, times=1)
        schedule.run(at=moment)
        assert schedule.sizes == sizes
    assert schedule.memory.paused is False


@pytest.mark.parametrize("code", ["Throttling", "ScalingActivityInProgress", "ResourceContention"])
def test_case_50_what_is_in_the_way_is_waited_out(aws: FakeAws, code: str) -> None:
    work(aws)
    aws.fail("UpdateAutoScalingGroup", code, times=2)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)


@pytest.mark.parametrize(
    "operation", ["DescribeAutoScalingGroups", "GetParameter", "PutParameter", "UpdateAutoScalingGroup"]
)
def test_a_refusal_fails_the_run_and_the_next_one_goes_on(aws: FakeAws, operation: str) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    aws.fail(operation, "AccessDenied", times=1)
    with pytest.raises(ClientError, match="AccessDenied"):
        schedule.run(at=EVENING)
    assert schedule.sizes == (1, 8, 1)
    schedule.tick()
    assert schedule.sizes == (0, 0, 0)


def test_nothing_is_closed_whose_sizes_could_not_be_saved(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    aws.fail("PutParameter", "InternalServerError")
    with pytest.raises(ClientError):
        schedule.run(at=EVENING)
    assert aws.changes() == []


def test_sizes_that_do_not_show_fail_the_run(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.move_to(EVENING)
    aws.autoscaling.lag()
    with pytest.raises(OutOfTime, match="waiting for sizes 0 to 0"):
        schedule.run()
    aws.autoscaling.catch_up()
    schedule.tick()
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=1)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "[]",
        "paused",
        '{"paused":1}',
        '{"sizes":{"min":1}}',
        '{"sizes":{"min":9,"max":8}}',
        '{"sizes":{"min":-1,"max":8}}',
        '{"sizes":[]}',
        '{"opened_at":"yesterday"}',
        '{"open_until":"2026-11-30T12:00:00"}',
        '{"open_until":5}',
        '{"woken":"x"}',
        '{"woken":[1]}',
    ],
)
def test_a_parameter_that_cannot_be_understood_stops_everything(aws: FakeAws, value: str) -> None:
    work(aws, low=1)
    aws.add_parameter(PARAMETER, value)
    schedule = Schedule(aws)
    with pytest.raises(MemoryUnreadable, match="the parameter cannot be read"):
        schedule.run(at=EVENING)
    assert aws.changes() == []
    assert aws.ssm.parameters[PARAMETER].value == value


def test_a_pause_without_saved_sizes_is_told(aws: FakeAws) -> None:
    group = work(aws)
    group.max_size = 0
    aws.add_parameter(PARAMETER, '{"paused":true}')
    schedule = Schedule(aws)
    with pytest.raises(ScheduleObstructed, match="no sizes were saved"):
        schedule.run(at=DAY)
    assert aws.changes() == []


# --- case 2: deploys --------------------------------------------------------------------------------------------------


def test_case_02_a_deploy_without_new_sizes_leaves_it_paused(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.deploy(1, 8)
    schedule.tick()
    assert aws.changes() == []
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)


@pytest.mark.parametrize("writes_all", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1, 12), (2, 12), (0, 12), (0, 8), (0, 4), (3, 3)])
def test_case_02_sizes_deployed_during_a_pause_come_back_after_it(
    aws: FakeAws, low: int, high: int, writes_all: bool
) -> None:
    schedule = paused(aws)
    schedule.deploy(low, high, writes_all=writes_all)
    schedule.tick()
    assert schedule.sizes == (0, 0, 0), "paused again"
    schedule.tick()
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (low, high, low)


def test_case_02_a_higher_minimum_alone_may_be_refused_during_a_pause_and_nothing_is_lost(aws: FakeAws) -> None:
    schedule = paused(aws)
    with pytest.raises(DeployRefused):
        schedule.deploy(2, 8)
    schedule.deploy(1, 8, writes_all=True)
    schedule.tick()
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)


@pytest.mark.parametrize("writes_all", [False, True])
def test_case_02_a_deploy_just_before_the_fleet_opens_is_not_missed(aws: FakeAws, writes_all: bool) -> None:
    schedule = paused(aws)
    schedule.move_to(NEXT_DAY)
    schedule.deploy(1, 12, writes_all=writes_all)
    schedule.run()
    assert schedule.sizes == (1, 12, 1)


def test_case_02_a_group_changes_before_the_function_learns_of_its_template(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.deploy(0, 12)
    schedule.template = (1, 8)
    schedule.tick()
    schedule.template = (0, 12)
    schedule.tick()
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (0, 12, 0)


def test_case_02_a_rollback_gives_back_what_was_before(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.deploy(2, 12)
    schedule.tick()
    schedule.deploy(1, 8, writes_all=True)
    schedule.tick()
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)


def test_case_02_a_fleet_opened_by_a_person_in_the_console_is_paused_again_with_those_sizes(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.group.max_size = 4
    assert schedule.tick()["reason"].startswith("outside the office hours: paused anew")
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 4, 1)


@pytest.mark.parametrize("known_first", [False, True])
def test_case_02_a_function_of_before_or_after_knows_no_template(aws: FakeAws, known_first: bool) -> None:
    work(aws, low=1)
    schedule = Schedule(aws, template=(1, 8) if known_first else None)
    schedule.run(at=EVENING)
    schedule.template = None if known_first else (2, 9)
    schedule.tick()
    told = schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)
    assert told["reason"] == "open again, from 1 to 8, 1 desired"


def test_of_a_group_that_is_not_in_the_template_sizes_come_back_too(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.run(at=EVENING)
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)
    assert schedule.memory.template is None


@pytest.mark.parametrize("times", [1, 2])
def test_a_deploy_that_resets_the_parameter_loses_no_sizes(aws: FakeAws, times: int) -> None:
    schedule = paused(aws)
    for _ in range(times):
        aws.add_parameter(PARAMETER, "{}")
    schedule.tick()
    assert aws.changes() == []
    schedule.run(at=NEXT_DAY)
    assert schedule.sizes == (1, 8, 1)
    schedule.run(at=EVENING + timedelta(days=1))
    assert schedule.sizes == (0, 0, 0)


def test_sizes_that_were_written_over_by_a_run_that_broke_off_are_found(aws: FakeAws) -> None:
    schedule = paused(aws)
    aws.ssm.stale_reads = 1
    # It reads what was before the pause, notes the person's word on top of that, and ends before it can look.
    aws.fail("GetParameter", "AccessDenied", times=1, matches=lambda given: ":" in given["Name"])
    with pytest.raises(ClientError):
        schedule.run(PAUSE)
    assert schedule.memory.sizes is None
    schedule.run(at=NEXT_DAY)
    assert schedule.memory.by_hand, "the word itself is not lost either"
    assert schedule.sizes == (0, 0, 0)
    schedule.run(RESUME)
    assert schedule.sizes == (1, 8, 1)


def test_older_versions_that_are_not_there_are_no_memory(aws: FakeAws) -> None:
    work(aws, low=1)
    aws.fail("GetParameter", "ParameterVersionNotFound", matches=lambda given: ":" in given["Name"])
    aws.add_parameter(PARAMETER, "{}")
    schedule = Schedule(aws)
    aws.add_parameter(PARAMETER, "{}")
    schedule.run(at=EVENING)
    assert schedule.sizes == (0, 0, 0)


# --- stale answers and other runs -------------------------------------------------------------------------------------


def test_a_stale_parameter_is_not_written_over_with_what_it_said(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.run(PAUSE)
    # It reads what was before the person's pause, and would open the fleet.
    schedule.move_to(NEXT_DAY)
    aws.ssm.stale_reads = 1
    schedule.run()
    schedule.tick()
    assert schedule.memory.by_hand
    assert schedule.sizes == (0, 0, 0)


def test_a_stale_group_in_the_evening_is_paused_all_the_same(aws: FakeAws) -> None:
    schedule = paused(aws)
    aws.autoscaling.lag()
    with pytest.raises(OutOfTime):
        schedule.run(at=NEXT_DAY)
    aws.autoscaling.catch_up()
    schedule.run(at=EVENING + timedelta(days=1))
    assert schedule.sizes == (0, 0, 0)
    schedule.run(at=NEXT_DAY + timedelta(days=1))
    assert schedule.sizes == (1, 8, 1)


PAIRS: list[tuple[datetime, object, object]] = [
    (EVENING, SCHEDULED, SCHEDULED),
    (EVENING, SCHEDULED, PAUSE),
    (EVENING, SCHEDULED, RESUME),
    (EVENING, PAUSE, RESUME),
    (DAY, PAUSE, SCHEDULED),
    (DAY, PAUSE, RESUME),
    (DAY, PAUSE, PAUSE),
]


@pytest.mark.parametrize("was_paused", [False, True])
@pytest.mark.parametrize(("moment", "first", "second"), PAIRS)
def test_two_runs_at_once_lose_neither_sizes_nor_a_person_s_word(
    moment: datetime, first: object, second: object, was_paused: bool
) -> None:
    # A share of all orders, the same each time; all of them pass.
    for turns in itertools.islice(all_turns(6, 5), 0, None, 11):
        aws = FakeAws()
        work(aws, "i-1", low=1)
        schedule = Schedule(aws)
        if was_paused:
            schedule.run(at=EVENING - timedelta(days=1))
        schedule.move_to(moment)
        walks = run_interleaved(aws, turns, partial(schedule.run, first), partial(schedule.run, second))
        for walk in walks:
            assert walk.error is None or isinstance(walk.error, OutOfTime), (turns, walk.error)
        schedule.tick()
        schedule.tick()
        words = [event for event in (first, second) if event is not SCHEDULED]
        closed = schedule.memory.by_hand or (moment == EVENING and schedule.memory.open_until is None)
        assert schedule.sizes == ((0, 0, 0) if closed else (1, 8, 1)), turns
        if words == [PAUSE] or words == [PAUSE, PAUSE]:
            assert schedule.memory.by_hand, turns
        if words == [RESUME]:
            assert schedule.memory.open_until is not None, turns
        schedule.run(RESUME)
        schedule.tick()
        assert schedule.sizes == (1, 8, 1), turns
        assert aws.terminated() == []


@pytest.mark.parametrize("minutes", [1, 60])
def test_a_run_that_closes_late_is_found_out(aws: FakeAws, minutes: int) -> None:
    schedule = paused(aws)
    schedule.run(at=NEXT_DAY)
    # A run that began before, and was slow. The next one may be late, too.
    schedule.group.min_size = schedule.group.max_size = schedule.group.desired = 0
    schedule.tick(minutes)
    assert schedule.sizes == (1, 8, 1)


def test_a_size_of_0_set_after_the_group_was_seen_open_is_somebody_else_s(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.run(at=NEXT_DAY)
    open_since = [schedule.memory.opened_at for _ in range(3) if schedule.tick()]
    assert [each is None for each in open_since] == [False, True, True]
    schedule.group.min_size = schedule.group.max_size = schedule.group.desired = 0
    schedule.tick()
    assert schedule.sizes == (0, 0, 0)


def test_a_deploy_that_resets_the_parameter_while_it_is_written_loses_nothing(aws: FakeAws) -> None:
    schedule = paused(aws)
    schedule.run(PAUSE)
    aws.add_parameter(PARAMETER, "{}")
    # It reads what was before the person's word.
    aws.ssm.stale_reads, aws.ssm.stale_by = 1, 2
    schedule.run(at=NEXT_DAY)
    schedule.tick()
    assert schedule.sizes == (0, 0, 0)
    assert schedule.memory.by_hand
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=1)


def test_a_deploy_that_resets_the_parameter_between_reading_and_writing_loses_nothing(aws: FakeAws) -> None:
    schedule = paused(aws)
    aws.add_parameter(PARAMETER, "{}")
    aws.ssm.stale_reads = 1
    schedule.run(PAUSE)
    assert schedule.memory.by_hand
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=1)
    assert schedule.memory.opened_at is None


def test_what_was_written_over_is_waited_for(aws: FakeAws) -> None:
    schedule = paused(aws)
    aws.ssm.stale_reads = 1
    aws.fail("GetParameter", "ParameterVersionNotFound", times=2, matches=lambda given: ":" in given["Name"])
    schedule.run(PAUSE)
    assert schedule.memory.by_hand
    assert schedule.memory.sizes == Sizes(min=1, max=8, desired=1)


def test_a_group_that_goes_while_it_is_opened_is_left(aws: FakeAws) -> None:
    schedule = paused(aws)

    def deleted(call: Call) -> None:
        if call.operation == "UpdateAutoScalingGroup":
            schedule.group.status = "Delete in progress"

    aws.before.append(deleted)
    schedule.run(at=NEXT_DAY)
    assert aws.operations().count("UpdateAutoScalingGroup") == 1


def test_a_group_that_goes_before_it_is_raised_is_left(aws: FakeAws) -> None:
    group = work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])

    def deleted(call: Call) -> None:
        if call.operation == "GetParameter":
            group.status = "Delete in progress"

    aws.before.append(deleted)
    schedule.run(at=DAY.replace(hour=9, minute=45))
    assert aws.changes() == []


def test_a_parameter_that_others_always_write_over_ends_in_time(aws: FakeAws) -> None:
    work(aws, low=1)
    schedule = Schedule(aws)
    schedule.move_to(EVENING)

    def somebody_writes(call: Call) -> None:
        if call.operation == "PutParameter":
            aws.add_parameter(PARAMETER, json.dumps({"woken": [str(len(aws.calls))]}))

    aws.before.append(somebody_writes)
    with pytest.raises(OutOfTime, match="writing the parameter"):
        schedule.run()
    assert aws.changes() == []


def test_a_wake_up_whose_answer_is_not_noted_asks_again_and_lowers_nothing(aws: FakeAws) -> None:
    work(aws)
    schedule = Schedule(aws, wake_ups=[wake_up("10:00", 3)])
    aws.fail("PutParameter", "AccessDenied", times=1)
    with pytest.raises(ClientError):
        schedule.run(at=DAY.replace(hour=9, minute=40))
    schedule.group.desired = 5
    schedule.tick()
    assert schedule.sizes == (0, 8, 5)
