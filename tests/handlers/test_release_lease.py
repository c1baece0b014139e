"""Case 33: two passes at once, repeated and late events, and answers that lag: nothing is changed twice."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from release_idle.release_pass import PassIncomplete
from tests.handlers.driving import (
    GROUP,
    MANUAL,
    QUEUE_ENVIRONMENT,
    SCHEDULED,
    STATE_PARAMETER,
    Release,
    alarm_event,
    idle_fleet,
)
from tests.handlers.fake_aws import Call, FakeAws
from tests.handlers.fake_aws.interleaving import run_interleaved
from tests.handlers.removed_guards import act_without_the_lease, forget_who_was_asked_to_leave

TERMINATE = "TerminateInstanceInAutoScalingGroup"


def asked_for(aws: FakeAws) -> list[str]:
    return [call.parameters["InstanceId"] for call in aws.calls if call.operation == TERMINATE]


def state(aws: FakeAws) -> Mapping[str, Any]:
    return dict(json.loads(aws.ssm.parameters[STATE_PARAMETER].value))


def two_passes(aws: FakeAws, turns: list[int]) -> None:
    release, other = Release(aws), Release(aws)
    run_interleaved(aws, turns, lambda: release.run(SCHEDULED), lambda: other.run(alarm_event()))


def orders() -> list[list[int]]:
    """Return one pass stopped at each of its calls while the other runs to its end, and some that take turns."""
    stopped = [[first] * n + [1 - first] * 20 for n in range(16) for first in (0, 1)]
    chance = random.Random(33)
    return [*stopped, *([chance.randint(0, 1) for _ in range(30)] for _ in range(20))]


@pytest.mark.parametrize("turns", orders(), ids=str)
def test_case_33_two_passes_at_once_release_each_member_once(aws: FakeAws, turns: list[int]) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=("i-4",))
    two_passes(aws, turns)
    assert sorted(asked_for(aws)) == ["i-1", "i-2", "i-3"]
    assert aws.autoscaling.groups[GROUP].desired == 1


def test_case_33_without_the_lease_the_capacity_would_fall_twice(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_fleet(aws, "i-1", "i-2", "i-3", "i-4", busy=("i-3", "i-4"))
    act_without_the_lease(monkeypatch)
    two_passes(aws, [0] * 6 + [1] * 20)
    assert len(asked_for(aws)) > 2
    assert aws.autoscaling.groups[GROUP].desired < 2


@pytest.mark.parametrize("times", [2, 3])
def test_case_33_events_delivered_again_find_the_members_gone(aws: FakeAws, times: int) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    aws.autoscaling.lag()
    for _ in range(times):
        Release(aws).run(alarm_event())
    assert asked_for(aws) == ["i-1"]
    assert aws.autoscaling.groups[GROUP].desired == 1


def test_case_33_a_group_that_lags_would_be_asked_twice_without_the_record(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    forget_who_was_asked_to_leave(monkeypatch)
    aws.autoscaling.lag()
    Release(aws).run()
    Release(aws).run()
    assert asked_for(aws) == ["i-1", "i-1"]
    assert aws.autoscaling.groups[GROUP].desired == 0


def test_case_33_the_second_pass_says_who_was_asked_and_when(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    aws.autoscaling.lag()
    Release(aws).run()
    again = Release(aws)
    assert again.run()["released"] == []
    assert again.verdicts() == {"i-1": "leaving"}
    assert again.reasons() == {"i-1": "asked to leave at 2026-11-30T12:00:00Z"}


def test_case_33_a_termination_without_an_answer_is_not_asked_for_again(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",))
    aws.lose_answers(TERMINATE, times=1)
    aws.autoscaling.lag()
    with pytest.raises(PassIncomplete, match="no clear answer"):
        Release(aws).run()
    aws.clock.advance(300)
    for each, value in (("i-1", 0), ("i-2", 95)):
        aws.publish(each, value, minutes=10)
    assert Release(aws).run()["released"] == []
    assert asked_for(aws) == ["i-1"]
    assert aws.autoscaling.groups[GROUP].desired == 1


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_a_termination_that_was_refused_is_asked_for_again_by_the_next_pass(aws: FakeAws, code: str) -> None:
    idle_fleet(aws, "i-1")
    aws.fail(TERMINATE, code, times=1)
    with pytest.raises(PassIncomplete):
        Release(aws).run()
    assert "leaving" not in state(aws)
    assert Release(aws).run()["released"] == ["i-1"]


def test_who_is_to_go_is_written_down_before_the_first_is_asked_for(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2")
    written: list[Mapping[str, Any]] = []

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            written.append(state(aws))

    aws.before.append(happen)
    Release(aws).run()
    assert [each["leaving"] for each in written] == [{"2026-11-30T12:00:00Z": "1 2"}] * 2
    assert "lease" not in state(aws)


def test_if_that_cannot_be_written_nobody_goes(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    puts = 0

    def happen(call: Call) -> None:
        nonlocal puts
        puts += call.operation == "PutParameter"
        if puts == 1 and not aws.faults:
            aws.fail("PutParameter", "AccessDeniedException", matches=lambda p: puts == 2)

    aws.before.append(happen)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="AccessDenied"):
        release.run()
    assert aws.changes() == []
    assert "could not be recorded" in release.lines.documents("verdict")[0]["kept_because"]


@pytest.mark.parametrize("operation", ["GetParameter", "PutParameter"])
@pytest.mark.parametrize("error", ["AccessDeniedException", "ThrottlingException", "InternalServerError"])
def test_a_state_that_cannot_be_read_or_written_releases_nobody_and_is_told(
    aws: FakeAws, operation: str, error: str
) -> None:
    idle_fleet(aws, "i-1")
    aws.fail(operation, error)
    release = Release(aws)
    with pytest.raises(PassIncomplete, match="taking the lease"):
        release.run()
    assert aws.changes() == []
    assert release.lines.documents("verdict")[0]["kept_because"] == "what earlier passes did could not be read"


@pytest.mark.parametrize("value", ["", "[]", "null", "x", '{"lease": 1}', '{"leaving": []}'])
def test_a_state_that_makes_no_sense_releases_nobody(aws: FakeAws, value: str) -> None:
    idle_fleet(aws, "i-1")
    aws.add_parameter(STATE_PARAMETER, value)
    with pytest.raises(PassIncomplete):
        Release(aws).run()
    assert aws.changes() == []


def test_another_pass_that_acts_is_no_failure(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")
    until = (aws.clock.now() + timedelta(minutes=2)).isoformat()
    aws.add_parameter(STATE_PARAMETER, json.dumps({"lease": ["another", until]}))
    release = Release(aws)
    assert release.run()["released"] == []
    assert release.lines.documents("verdict")[0]["kept_because"] == "another pass is acting"
    assert aws.changes() == []
    aws.clock.advance(121)
    aws.publish("i-1", 0)
    assert Release(aws).run()["released"] == ["i-1"]


def test_a_pass_with_nothing_to_release_does_not_touch_the_state(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", "i-2", busy=("i-2",), min_size=2)
    aws.sqs.hold(visible=0)
    Release(aws, QUEUE_ENVIRONMENT).run()
    Release(aws).run({**MANUAL, "dry_run": True})
    assert not {"GetParameter", "PutParameter"} & set(aws.operations())


def test_case_33_a_desired_capacity_is_taken_back_under_the_lease_only(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1", busy=("i-1",), desired=3)
    aws.sqs.hold(visible=0)
    until = (aws.clock.now() + timedelta(minutes=2)).isoformat()
    aws.add_parameter(STATE_PARAMETER, json.dumps({"lease": ["another", until]}))
    Release(aws, QUEUE_ENVIRONMENT).run()
    assert aws.changes() == []


def test_out_of_time_is_told_and_the_next_pass_goes_on(aws: FakeAws) -> None:
    ids = [f"i-{n}" for n in range(6)]
    idle_fleet(aws, *ids)
    slow = 30.0

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            aws.clock.advance(slow)

    aws.before.append(happen)
    first = Release(aws)
    with pytest.raises(PassIncomplete, match="i-4: ran out of time, left for the next pass"):
        first.run()
    assert asked_for(aws) == ids[:4]
    assert sorted(" ".join(state(aws)["leaving"].values()).split()) == ["0", "1", "2", "3"]
    slow = 0.0
    for each in ids:
        aws.publish(each, 0)
    assert Release(aws).run()["released"] == ["i-4", "i-5"]
    assert aws.autoscaling.groups[GROUP].desired == 0


def test_a_pass_that_runs_out_of_time_still_gives_the_lease_back(aws: FakeAws) -> None:
    """A short run, or one whose reading took most of its time. Who was not asked to leave is asked by the next."""
    ids = [f"i-{n}" for n in range(6)]
    idle_fleet(aws, *ids)
    slow = 10.0

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            aws.clock.advance(slow)

    aws.before.append(happen)
    first = Release(aws, seconds=33)
    with pytest.raises(PassIncomplete, match="ran out of time") as raised:
        first.run()
    assert "giving the lease back" not in str(raised.value) + first.lines.text
    assert "lease" not in state(aws)
    slow = 0.0
    for each in ids:
        aws.publish(each, 0)
    assert Release(aws).run()["released"] == ids[2:]


def test_a_pass_that_died_holds_up_others_only_until_its_lease_ends(aws: FakeAws) -> None:
    idle_fleet(aws, "i-1")

    class Died(BaseException):
        pass

    def happen(call: Call) -> None:
        if call.operation == TERMINATE:
            raise Died

    aws.before.append(happen)
    aws.fail("PutParameter", "AccessDeniedException", matches=lambda p: '"lease"' not in p["Value"])
    with pytest.raises(Died):
        Release(aws).run()
    aws.before.clear()
    aws.faults.clear()
    early = Release(aws)
    assert early.run()["released"] == []
    began = aws.clock.now()
    while not Release(aws).run()["released"]:
        aws.clock.advance(60)
        aws.publish("i-1", 0)
        assert aws.clock.now() - began < timedelta(minutes=12)
    assert_no_earlier_than(aws.clock.now(), began + timedelta(minutes=10))


def assert_no_earlier_than(at: datetime, limit: datetime) -> None:
    """Whether the termination was taken nobody knows: it is not asked for again within ten minutes."""
    assert at >= limit
