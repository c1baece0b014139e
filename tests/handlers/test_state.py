"""What passes remember, and which of two at once may act (field cases 33 and 34)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from release_idle.state import (
    ASKED_LASTS,
    LEASE_LASTS,
    LEASE_MARGIN,
    MOST_ASKED,
    MOST_NEVER_KNOWN,
    LaunchMemory,
    Lease,
    PassState,
    StateStore,
    StateUnreadable,
)
from runtime.patience import Patience
from tests.handlers.fake_aws import START, Call, FakeAws, refusal
from tests.handlers.fake_aws.interleaving import all_turns, run_interleaved

PARAMETER = "state"
GROUP = "train"


def store(aws: FakeAws, *, seconds: float = 300) -> StateStore:
    patience = Patience(
        clock=aws.clock, deadline=aws.clock.now() + timedelta(seconds=seconds), attempts=5, jitter=lambda: 0.0
    )
    return StateStore(aws.client("ssm"), PARAMETER, patience)


def acquired(aws: FakeAws, holder: str = "a") -> Lease:
    of = store(aws)
    lease = of.acquire(of.read(), holder=holder, until=aws.clock.now() + timedelta(minutes=5))
    assert lease is not None
    return lease


def stored(aws: FakeAws) -> Any:
    return json.loads(aws.ssm.parameters[PARAMETER].value)


# ---- reading


def test_an_empty_object_remembers_nothing(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    assert store(aws).read() == PassState(version=1)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "nothing",
        "[]",
        "null",
        '{"lease":"a"}',
        '{"lease":["a"]}',
        '{"lease":["a","soon"]}',
        '{"lease":["a","2026-11-30T12:00:00"]}',
        '{"leaving":["1"]}',
        '{"leaving":{"soon":"1"}}',
        '{"leaving":{"2026-11-30T12:00:00Z":1}}',
        '{"retained":7}',
        '{"launches":[]}',
        '{"launches":{"stopped_at":1}}',
        '{"launches":{"never_known":["1"]}}',
    ],
)
def test_case_34_a_value_that_makes_no_sense_is_not_an_empty_one(aws: FakeAws, value: str) -> None:
    aws.add_parameter(PARAMETER, value)
    with pytest.raises(StateUnreadable, match="to begin anew"):
        store(aws).read()


@pytest.mark.parametrize("code", ["AccessDeniedException", "ParameterNotFound", "InternalServerError"])
def test_case_34_a_parameter_that_cannot_be_read_is_told(aws: FakeAws, code: str) -> None:
    aws.add_parameter(PARAMETER)
    aws.fail("GetParameter", refusal(code, status=500 if code == "InternalServerError" else 400))
    with pytest.raises(StateUnreadable, match=code):
        store(aws).read()


@pytest.mark.parametrize("missing", ["Parameter", "Value", "Version", "LastModifiedDate"])
def test_case_34_an_answer_with_something_missing_is_told(missing: str, aws: FakeAws) -> None:
    class Client:
        def get_parameter(self, *, Name: str) -> Any:
            parameter = {"Value": "{}", "Version": 1, "LastModifiedDate": START}
            return {"Parameter": {k: v for k, v in parameter.items() if k != missing}} if missing != "Parameter" else {}

        def put_parameter(self, **parameters: Any) -> Any:
            raise AssertionError

    with pytest.raises(StateUnreadable, match=missing):
        StateStore(Client(), PARAMETER, store(aws).patience).read()


def test_throttling_is_waited_out_and_time_that_runs_out_is_told(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    aws.fail("GetParameter", "ThrottlingException", times=2)
    assert store(aws).read().version == 1
    aws.fail("GetParameter", "ThrottlingException")
    with pytest.raises(StateUnreadable, match="ran out of time"):
        store(aws, seconds=1).read()


# ---- a lease


def test_a_lease_is_taken_recorded_in_and_given_back(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws, "a" * 100)
    assert lease.mark.holder.startswith("a" * 32 + "-")
    assert len(lease.mark.holder) == 41
    assert lease.mark.until == START + LEASE_LASTS
    assert lease.acts_until == START + LEASE_LASTS - LEASE_MARGIN
    assert lease.record(["i-0a", "i-0b"], aws.clock.now())
    assert stored(aws) == {
        "after": 2,
        "lease": [lease.mark.holder, "2026-11-30T12:04:00Z"],
        "leaving": {"2026-11-30T12:00:00Z": "0a 0b"},
    }
    assert lease.finish(drop=["i-0b"])
    assert stored(aws) == {"after": 3, "leaving": {"2026-11-30T12:00:00Z": "0a"}}
    assert store(aws).read().asked_to_leave(aws.clock.now()) == {"i-0a": START}
    assert aws.operations() == ["GetParameter", "PutParameter", "PutParameter", "PutParameter", "GetParameter"]


def test_a_lease_is_shorter_than_passes_are_apart_and_its_end_is_later_than_any_call_of_its_holder() -> None:
    assert timedelta(minutes=5) > LEASE_LASTS
    # The time-outs of a call add up to 25 seconds.
    assert (MOST_ASKED, MOST_NEVER_KNOWN) == (200, 12)
    assert timedelta(seconds=50) <= LEASE_MARGIN <= timedelta(seconds=60)
    assert timedelta(minutes=10) == ASKED_LASTS


def test_a_pass_that_ends_earlier_acts_no_longer(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    of = store(aws)
    lease = of.acquire(of.read(), holder="a", until=START + timedelta(seconds=30))
    assert lease is not None
    assert lease.acts_until == START + timedelta(seconds=30)
    assert lease.mark.until == START + LEASE_LASTS


def test_case_33_while_one_pass_holds_the_lease_another_gets_none_and_writes_nothing(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    acquired(aws)
    of = store(aws)
    state = of.read()
    aws.calls.clear()
    assert of.acquire(state, holder="a", until=START + timedelta(minutes=5)) is None
    assert aws.calls == []


def test_case_33_a_lease_that_its_pass_did_not_live_to_give_back_expires(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    dead = acquired(aws)
    assert dead.record(["i-0a"], aws.clock.now())
    aws.clock.advance(LEASE_LASTS.total_seconds() - 1)
    of = store(aws)
    assert of.acquire(of.read(), holder="b", until=aws.clock.now() + timedelta(minutes=5)) is None
    aws.clock.advance(1)
    lease = acquired(aws, "b")
    assert list(lease.state.asked_to_leave(aws.clock.now())) == ["i-0a"]
    # The first one was only slow after all: it can neither record nor set free what is not its own any more.
    assert dead.record(["i-0b"], START) is False
    assert dead.finish() is False
    found = store(aws).read()
    assert found.lease == lease.mark
    assert list(found.leaving) == ["i-0a"]
    assert lease.record(["i-0c"], aws.clock.now())


def test_case_33_a_stale_read_gets_no_lease_and_does_no_harm(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)
    assert lease.record(["i-0a"], aws.clock.now())
    assert lease.finish()
    aws.ssm.stale_reads = 1
    aws.ssm.stale_by = 3
    of = store(aws)
    old = of.read()
    assert old.version == 1
    assert of.acquire(old, holder="b", until=START + timedelta(minutes=5)) is None
    found = store(aws).read()
    assert (found.version, list(found.leaving), found.lease) == (5, ["i-0a"], None)
    assert acquired(aws, "c").record(["i-0b"], aws.clock.now())
    assert list(store(aws).read().leaving) == ["i-0a", "i-0b"]


def test_case_33_what_a_stale_pass_wrote_does_not_break_the_lease_of_another(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    slow, quick = store(aws), store(aws)
    seen_by_slow, seen_by_quick = slow.read(), quick.read()
    until = START + timedelta(minutes=5)
    lease = quick.acquire(seen_by_quick, holder="quick", until=until)
    assert lease is not None
    assert slow.acquire(seen_by_slow, holder="slow", until=until) is None
    assert lease.record(["i-0a"], aws.clock.now())
    assert lease.finish()
    assert list(store(aws).read().leaving) == ["i-0a"]


def test_case_33_a_duplicate_of_the_same_event_is_another_pass(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    first, second = store(aws), store(aws)
    states = (first.read(), second.read())
    until = START + timedelta(minutes=5)
    assert first.acquire(states[0], holder="same", until=until) is not None
    assert second.acquire(states[1], holder="same", until=until) is None


@pytest.mark.parametrize("put", [1, 2, 3])
@pytest.mark.parametrize("times", [1, 5, 7])
def test_case_33_an_answer_that_is_lost_after_the_put_took_effect(aws: FakeAws, put: int, times: int) -> None:
    aws.add_parameter(PARAMETER)
    puts = 0

    def lose(call: Call) -> None:
        nonlocal puts
        puts += call.operation == "PutParameter"
        if puts == put and not aws.faults:
            aws.lose_answers("PutParameter", times=times)

    aws.before.append(lose)
    lease = acquired(aws)
    assert lease.record(["i-0a"], aws.clock.now())
    assert lease.finish()
    found = store(aws).read()
    assert (list(found.leaving), found.lease) == (["i-0a"], None)


def test_case_33_a_lost_answer_and_a_stale_read_leave_the_pass_without_a_lease(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    aws.lose_answers("PutParameter", times=5)
    of = store(aws)
    state = of.read()
    aws.ssm.stale_reads, aws.ssm.stale_by = 1, 5
    assert of.acquire(state, holder="a", until=START + timedelta(minutes=5)) is None
    # Nobody knows that it has it: it holds up the others until it expires.
    left = store(aws).read().lease
    assert left is not None
    aws.clock.advance(LEASE_LASTS.total_seconds())
    acquired(aws, "b")


@pytest.mark.parametrize("code", ["AccessDeniedException", "ParameterMaxVersionLimitExceeded", "ValidationException"])
def test_a_parameter_that_cannot_be_written_is_told(aws: FakeAws, code: str) -> None:
    aws.add_parameter(PARAMETER)
    of = store(aws)
    state = of.read()
    aws.fail("PutParameter", code)
    with pytest.raises(StateUnreadable, match=code):
        of.acquire(state, holder="a", until=START + timedelta(minutes=5))


def test_too_many_updates_at_once_is_another_pass(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    of = store(aws)
    state = of.read()
    aws.fail("PutParameter", "TooManyUpdates", times=1)
    assert of.acquire(state, holder="a", until=START + timedelta(minutes=5)) is None


def test_time_that_runs_out_before_the_put_is_told(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    of = store(aws, seconds=10)
    state = of.read()
    aws.clock.advance(10)
    with pytest.raises(StateUnreadable, match="ran out of time"):
        of.acquire(state, holder="a", until=START + timedelta(minutes=5))


def test_an_answer_without_a_version_is_no_answer(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)

    class Client:
        def get_parameter(self, *, Name: str) -> Any:
            return aws.client("ssm").get_parameter(Name=Name)

        def put_parameter(self, **parameters: Any) -> Any:
            aws.client("ssm").put_parameter(**parameters)
            return {}

    of = StateStore(Client(), PARAMETER, store(aws).patience)
    lease = of.acquire(of.read(), holder="a", until=START + timedelta(minutes=5))
    assert lease is not None
    assert lease.state.version == 2
    assert lease.record(["i-0a"], aws.clock.now())


def test_nothing_is_recorded_when_the_time_to_act_is_over(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)
    aws.clock.advance((LEASE_LASTS - LEASE_MARGIN).total_seconds())
    aws.calls.clear()
    assert lease.record(["i-0a"], aws.clock.now()) is False
    assert aws.calls == []
    assert lease.finish()


def test_case_33_a_person_who_empties_the_parameter_takes_the_lease_away(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)
    aws.add_parameter(PARAMETER, "{}")
    assert lease.record(["i-0a"], aws.clock.now()) is False
    lease.finish()
    assert store(aws).read().leaving == {}
    acquired(aws, "b")


def test_a_put_that_never_comes_through_ends(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)

    def overtake(call: Call) -> None:
        if call.operation == "PutParameter":
            aws.ssm.hold(PARAMETER, '{"after":0}')

    aws.before.append(overtake)
    assert lease.record(["i-0a"], aws.clock.now()) is False
    assert aws.operations().count("PutParameter") == 4


# ---- values that do not count, and the past


def test_the_past_that_is_gone_matters_no_longer_after_a_while(aws: FakeAws) -> None:
    parameter = aws.add_parameter(PARAMETER, '{"after":7,"leaving":{"2026-11-30T11:59:00Z":"0a"}}')
    assert parameter.version == 1
    with pytest.raises(StateUnreadable):
        store(aws).read()
    aws.clock.advance(15 * 60)
    found = store(aws).read()
    assert (found.version, found.asked_to_leave(aws.clock.now())) == (1, {})
    acquired(aws)


def test_values_that_do_not_count_are_passed_over_one_by_one(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER, '{"leaving":{"2026-11-30T12:00:00Z":"0a"}}')
    for _ in range(3):
        aws.add_parameter(PARAMETER, '{"after":0}')
    found = store(aws).read()
    assert (found.version, list(found.leaving)) == (4, ["i-0a"])
    assert aws.operations() == ["GetParameter"] * 4


def test_who_was_asked_long_ago_counts_no_longer_and_is_forgotten(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)
    assert lease.record(["i-0a"], aws.clock.now())
    assert lease.finish()
    aws.clock.advance(ASKED_LASTS.total_seconds() - 1)
    assert list(store(aws).read().asked_to_leave(aws.clock.now())) == ["i-0a"]
    aws.clock.advance(1)
    assert store(aws).read().asked_to_leave(aws.clock.now()) == {}
    lease = acquired(aws)
    assert lease.record(["i-0b"], aws.clock.now())
    assert list(store(aws).read().leaving) == ["i-0b"]


def test_what_is_remembered_comes_back_to_the_second(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    at = datetime(2026, 11, 30, 11, 0, 0, 999, tzinfo=timezone.utc)
    launches = LaunchMemory(
        stopped_at=START, counted_from=START - timedelta(hours=1), told=True, never_known=("i-0c", "i-0d")
    )
    lease = acquired(aws)
    lease.remember(retained={"i-0a": at}, launches=launches)
    assert lease.record([], aws.clock.now())
    lease.remember()
    assert lease.finish()
    found = store(aws).read()
    assert found.retained == {"i-0a": at.replace(microsecond=0)}
    assert found.launches == launches
    assert found == lease.state


def test_the_most_that_may_be_recorded_fits_with_everything_else(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    aws.ssm.parameters[PARAMETER].versions *= 1_000_000
    lease = acquired(aws, "x" * 100)
    before = [f"i-{n:017x}" for n in range(150)]
    assert lease.record(before, aws.clock.now())
    aws.clock.advance(60)
    retained = {f"i-{n:017x}": START + timedelta(seconds=n) for n in range(1000, 1020)}
    known = tuple(f"i-{n:017x}" for n in range(2000, 2000 + MOST_NEVER_KNOWN))
    launches = LaunchMemory(stopped_at=START, counted_from=START, told=True, never_known=known)
    lease.remember(retained=retained, launches=launches)
    ids = [f"i-{n:017x}" for n in range(5000, 5000 + MOST_ASKED)]
    assert lease.record(ids, aws.clock.now())
    assert len(aws.ssm.parameters[PARAMETER].value.encode()) <= 4096
    found = store(aws).read()
    assert sorted(found.leaving) == ids
    assert found.launches == launches
    # As much as fits of what was retained; the longest first.
    assert list(found.retained) == sorted(retained)[: len(found.retained)]
    # Those that did not fit are still known to this pass, and come back when there is room.
    assert lease.finish(drop=ids[50:])
    assert sorted(store(aws).read().leaving) == before + ids[:50]


def test_of_those_that_are_retained_ten_are_remembered_the_longest(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    lease = acquired(aws)
    lease.remember(retained={f"i-{n:02}": START - timedelta(minutes=n) for n in range(15)})
    assert lease.finish()
    assert sorted(store(aws).read().retained) == [f"i-{n:02}" for n in range(5, 15)]


def test_more_than_that_is_a_mistake(aws: FakeAws) -> None:
    aws.add_parameter(PARAMETER)
    with pytest.raises(ValueError, match="at most 200"):
        acquired(aws).record([f"i-{n}" for n in range(MOST_ASKED + 1)], START)


# ---- two passes at once


class Died(Exception):
    """The function was ended where it stood."""


@dataclass
class Walker:
    """A pass that terminates whoever the (lagging) group shows in service, save who was asked already."""

    aws: FakeAws
    name: str
    most: int = 2
    asked: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        of = store(self.aws)
        state = of.read()
        lease = of.acquire(state, holder=self.name, until=self.aws.clock.now() + timedelta(minutes=5))
        if lease is None:
            return []
        leaving = lease.state.asked_to_leave(self.aws.clock.now())
        chosen = [each for each in self._in_service() if each not in leaving][: self.most]
        if not lease.record(chosen, self.aws.clock.now()):
            lease.finish(drop=chosen)
            return []
        autoscaling = self.aws.client("autoscaling")
        for instance_id in chosen:
            if self.aws.clock.now() >= lease.acts_until:
                break
            self.asked.append(instance_id)
            autoscaling.terminate_instance_in_auto_scaling_group(
                InstanceId=instance_id, ShouldDecrementDesiredCapacity=True
            )
        lease.finish(drop=[each for each in chosen if each not in self.asked])
        return self.asked

    def _in_service(self) -> list[str]:
        groups = self.aws.autoscaling.stale_groups or self.aws.autoscaling.groups
        return [m.instance_id for m in groups[GROUP].members if m.lifecycle_state == "InService"]


def a_world(*, lagging: bool = True) -> FakeAws:
    aws = FakeAws()
    aws.add_parameter(PARAMETER)
    aws.add_group(GROUP, ["i-1", "i-2", "i-3", "i-4"], min_size=0)
    if lagging:
        aws.autoscaling.lag()
    return aws


def assert_nothing_twice(aws: FakeAws) -> None:
    asked = [c.parameters["InstanceId"] for c in aws.calls if c.operation.startswith("Terminate")]
    assert len(asked) == len(set(asked))
    assert aws.autoscaling.groups[GROUP].desired == 4 - len(aws.terminated())


def test_case_33_two_passes_at_once_change_nothing_twice_in_any_order_of_their_calls() -> None:
    for turns in all_turns(6, 6):
        aws = a_world()
        walks = run_interleaved(aws, turns, Walker(aws, "a").run, Walker(aws, "b").run)
        assert [walk.error for walk in walks] == [None, None]
        assert_nothing_twice(aws)
        # And one of them did what was to be done.
        assert len(aws.terminated()) >= 2, turns


def a_crash_before(aws: FakeAws, name: str, nth: int) -> Callable[[], Any]:
    """Return a pass that is ended just before its nth call."""
    walker = Walker(aws, name)
    made = 0
    perform = aws.client

    class Client:
        def __init__(self, service: str) -> None:
            self._inner = perform(service)

        def __getattr__(self, method: str) -> Any:
            def call(**parameters: Any) -> Any:
                nonlocal made
                made += 1
                if made == nth:
                    raise Died
                return getattr(self._inner, method)(**parameters)

            return call

    class Mortal:
        clock = aws.clock
        autoscaling = aws.autoscaling
        client = staticmethod(Client)

    walker.aws = Mortal()  # type: ignore[assignment]
    return walker.run


@pytest.mark.parametrize("nth", range(1, 7))
@pytest.mark.parametrize("later", [0, 60, 240, 300])
def test_case_33_a_pass_that_dies_at_any_call_leaves_nothing_to_be_done_twice(nth: int, later: int) -> None:
    aws = a_world()
    with pytest.raises(Died):
        a_crash_before(aws, "dead", nth)()
    aws.clock.advance(later)
    second = Walker(aws, "b")
    second.run()
    assert_nothing_twice(aws)
    if later >= LEASE_LASTS.total_seconds():
        # Who was recorded and may or may not be going is left for later; others go.
        assert second.asked == (["i-1", "i-2"] if nth <= 3 else ["i-3", "i-4"])
    # When the group shows what is true, the rest follows.
    aws.autoscaling.catch_up()
    for _ in range(3):
        aws.clock.advance(300)
        Walker(aws, "c", most=4).run()
    assert_nothing_twice(aws)
    assert len(aws.terminated()) == 4


@pytest.mark.parametrize("nth", range(2, 7))
def test_case_33_a_pass_that_dies_beside_another_in_any_order(nth: int) -> None:
    for turns in all_turns(4, 6):
        aws = a_world()
        run_interleaved(aws, turns, a_crash_before(aws, "dead", nth), Walker(aws, "b").run)
        assert_nothing_twice(aws)


@pytest.mark.parametrize("lost", ["GetParameter", "PutParameter", "TerminateInstanceInAutoScalingGroup"])
@pytest.mark.parametrize("heard", [True, False])
def test_case_33_answers_that_are_lost_change_nothing_twice(lost: str, heard: bool) -> None:
    for turns in all_turns(4, 4):
        aws = a_world()
        if heard:
            aws.lose_answers(lost, times=2)
        else:
            aws.fail(lost, refusal("InternalFailure", status=500), times=2)
        run_interleaved(aws, turns, Walker(aws, "a").run, Walker(aws, "b").run)
        assert_nothing_twice(aws)


def test_case_33_stale_reads_of_the_state_change_nothing_twice() -> None:
    for reads in range(1, 4):
        for by in range(1, 4):
            for turns in all_turns(4, 4):
                aws = a_world()
                Walker(aws, "before", most=1).run()
                aws.ssm.stale_reads, aws.ssm.stale_by = reads, by
                run_interleaved(aws, turns, Walker(aws, "a").run, Walker(aws, "b").run)
                assert_nothing_twice(aws)


def test_case_33_a_slow_pass_stops_before_another_may_begin() -> None:
    for stalls_before in range(1, 8):
        aws = a_world()
        calls = 0

        def stall(call: Call, aws: FakeAws = aws, at: int = stalls_before) -> None:
            nonlocal calls
            calls += 1
            if calls == at:
                # The other pass comes when the lease has just expired.
                aws.clock.advance(LEASE_LASTS.total_seconds())
                Walker(aws, "b").run()

        if stalls_before == 5:
            # A call on its way cannot take longer than its time-outs, which the margin covers.
            continue
        aws.before.append(stall)
        Walker(aws, "a").run()
        assert_nothing_twice(aws)


@pytest.mark.parametrize("seed", range(60))
def test_case_33_three_passes_with_faults_at_random_change_nothing_twice(seed: int) -> None:
    chance = random.Random(seed)
    aws = a_world(lagging=chance.random() < 0.8)
    for operation in ("GetParameter", "PutParameter"):
        fault = chance.choice(["none", "lost", "throttled", "stale"])
        if fault == "lost":
            aws.lose_answers(operation, times=chance.randint(1, 6))
        elif fault == "throttled":
            aws.fail(operation, "ThrottlingException", times=chance.randint(1, 6))
        elif fault == "stale":
            aws.ssm.stale_reads, aws.ssm.stale_by = chance.randint(1, 3), chance.randint(1, 3)
    turns: Sequence[int] = [chance.randrange(3) for _ in range(25)]
    run_interleaved(aws, turns, *(Walker(aws, name).run for name in "abc"))
    assert_nothing_twice(aws)


# ---- the guards removed: each test above can fail


def test_case_33_without_what_was_recorded_a_lagging_group_is_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PassState, "asked_to_leave", lambda self, now: {})
    aws = a_world()
    Walker(aws, "a").run()
    Walker(aws, "b").run()
    with pytest.raises(AssertionError):
        assert_nothing_twice(aws)


def test_case_33_without_the_number_of_the_version_both_act(monkeypatch: pytest.MonkeyPatch) -> None:
    put = StateStore.put

    def careless(self: StateStore, wanted: PassState) -> PassState | None:
        written = put(self, wanted)
        return written or wanted

    monkeypatch.setattr(StateStore, "put", careless)
    seen = 0
    for turns in all_turns(6, 6):
        aws = a_world()
        run_interleaved(aws, turns, Walker(aws, "a").run, Walker(aws, "b").run)
        asked = [c.parameters["InstanceId"] for c in aws.calls if c.operation.startswith("Terminate")]
        seen += len(asked) != len(set(asked))
    assert seen
