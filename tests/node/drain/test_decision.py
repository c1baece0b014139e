"""The road that an instance takes before it goes, driven without a clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.drain.decision import (
    CHECKPOINT,
    COMMAND,
    HOOK_MARGIN_SECONDS,
    UNKNOWN_SECONDS,
    Announce,
    Complete,
    Kill,
    Publish,
    Run,
    Signal,
    State,
    not_begun,
)
from constructs_lib.node.drain.memory import from_text, to_text
from constructs_lib.node.drain.notices import Notices
from tests.node.drain.instance import ADVICE, FINISH, NOW, SAVE, SPOT, Instance, asked

END = ["publish DrainsDone", "complete"]
ROAD = ["announce termination", "run checkpoint", "signal", "run command", *END]
LATE = "publish DrainsTimedOut"
FULL = asked(checkpoint_command=SAVE, command=FINISH)


def terminated(instance: Instance, seconds: float = 600) -> Instance:
    instance.notice(target="Terminated")
    instance.run(seconds)
    return instance


# --- the road ------------------------------------------------------------------------------------------------------


def test_an_instance_in_service_does_nothing() -> None:
    instance = Instance(FULL, marks=3, in_use=True)
    instance.run(86_400, every=60)
    assert instance.deeds == []


@pytest.mark.parametrize("target", ["", "Detached", "Standby", "Pending"])
def test_what_is_no_end_is_no_drain(target: str) -> None:
    instance = Instance(FULL, notices=Notices(target), marks=1)
    instance.run(600)
    assert instance.deeds == []


def test_sr_8_an_idle_instance_goes_at_once_since_it_is_billed() -> None:
    instance = terminated(Instance(asked()))
    assert instance.story == [(0, "announce termination"), (5, END[0]), (5, END[1])]


def test_the_order_of_the_road() -> None:
    instance = terminated(Instance(FULL, marks=1, in_use=True))
    assert instance.deeds == ROAD
    assert instance.at("complete") <= 15


def test_the_road_says_first_that_no_new_work_is_taken() -> None:
    """Case 12: fence, look again, act. What is looked at is what is there after the fence."""
    instance = Instance(asked())
    instance.notice(target="Terminated")
    (first, *_) = instance.step()
    assert first == Announce("termination", NOW + 300)


def test_case_12_a_job_that_is_taken_between_the_look_and_the_fence_is_not_lost() -> None:
    """The drain looks and sees nothing; a worker makes its mark and finds no drain; only then the drain says so."""
    instance = Instance(asked(), heeds_signal=False)
    instance.notice(target="Terminated")
    assert instance.step() == (Announce("termination", NOW + 300),)
    instance.marks, instance.work_ends = 1, NOW + 120
    instance.run(600, every=2)
    assert instance.at("publish DrainsDone") == instance.at("complete") == 120


@pytest.mark.parametrize("notice", [{"interruption": SPOT}, {"rebalance": ADVICE}])
def test_case_12_no_drain_is_done_before_it_was_said(notice: dict[str, str]) -> None:
    instance = Instance(asked(drain_on_rebalance=True))
    instance.notice(**notice)
    assert [type(action) for action in instance.step()] == [Announce]
    assert Publish("DrainsDone") in instance.step()


def test_a_command_that_could_not_be_started_is_tried_again() -> None:
    """As on a machine that has no memory for another process at that moment."""
    instance = Instance(FULL)
    instance.notice(target="Terminated")
    instance.step()
    instance.state, instance.running = not_begun(instance.state, CHECKPOINT), {}
    assert Run(CHECKPOINT, "termination", NOW + 300) in instance.step()
    instance = Instance(FULL)
    instance.notice(rebalance=ADVICE)
    instance.step()
    instance.state, instance.running = not_begun(instance.state, CHECKPOINT), {}
    assert instance.step() == (Run(CHECKPOINT, "rebalance", NOW + 300),)


def test_case_65_work_that_came_in_the_meantime_is_waited_for() -> None:
    """The release handler saw it idle; a job has landed since."""
    instance = Instance(asked(), marks=1, in_use=True, heeds_signal=False, work_ends=NOW + 200)
    terminated(instance)
    assert instance.at("publish DrainsDone") == 200
    assert instance.at("complete") == 200


def test_case_12_work_that_comes_before_the_hook_is_completed_is_waited_for() -> None:
    """The hook is not there yet, as while a load balancer lets go; a worker that asked nobody took a job."""
    instance = Instance(asked(), hook_from=NOW + 40, heeds_signal=False)
    instance.notice(target="Terminated")
    instance.run(10)
    instance.marks, instance.work_ends = 1, NOW + 120
    instance.run(600)
    attempts = [at for at, deed in instance.story if deed == "complete"]
    assert attempts[0] == 5
    assert attempts[1] >= 120
    assert len(attempts) == 2


@pytest.mark.parametrize(("marks", "in_use"), [(1, False), (0, True), (None, False), (0, None), (None, None)])
def test_silence_is_no_end_of_work(marks: int | None, in_use: bool | None) -> None:
    instance = terminated(Instance(asked(), marks=marks, in_use=in_use, heeds_signal=False))
    assert instance.at(LATE) == 300
    assert instance.at("complete") == 300


@pytest.mark.parametrize(("marks", "in_use"), [(None, False), (0, None), (None, None)])
def test_work_that_nobody_can_see_is_waited_for_five_minutes_of_a_longer_deadline(
    marks: int | None, in_use: bool | None
) -> None:
    instance = terminated(Instance(asked(deadline=1_800), marks=marks, in_use=in_use, heeds_signal=False), 1_800)
    assert instance.at("complete") == 300


@pytest.mark.parametrize(("marks", "in_use"), [(1, None), (None, True), (1, False)])
def test_work_that_somebody_sees_is_waited_for_until_the_deadline(marks: int | None, in_use: bool | None) -> None:
    instance = terminated(Instance(asked(deadline=1_800), marks=marks, in_use=in_use, heeds_signal=False), 1_900)
    assert instance.at("complete") == 1_800


def test_case_59_stuck_work_is_gone_at_the_deadline_and_not_after_48_hours() -> None:
    instance = Instance(FULL, marks=1, in_use=True, heeds_signal=False, lasts={CHECKPOINT: 1e9, COMMAND: 1e9})
    terminated(instance, 3_600)
    assert instance.deeds == [*ROAD[:4], "kill checkpoint", "kill command", LATE, "complete"]
    assert instance.at("complete") == 300
    assert instance.running == {}


@given(
    deadline=st.integers(30, 6_900),
    marks=st.none() | st.integers(0, 2),
    in_use=st.none() | st.booleans(),
    work_ends=st.floats(0, 10_000),
    heeds=st.booleans(),
    lasts=st.floats(0, 10_000),
    hook_from=st.none() | st.floats(0, 10_000),
)
def test_case_59_no_call_outlives_the_heartbeat_and_nothing_is_started_late(
    deadline: int,
    marks: int | None,
    in_use: bool | None,
    work_ends: float,
    heeds: bool,
    lasts: float,
    hook_from: float | None,
) -> None:
    """The heartbeat ends a minute after the deadline; a call may take 15 seconds."""
    instance = Instance(
        asked(deadline, checkpoint_command=SAVE, command=FINISH),
        marks=marks,
        in_use=in_use,
        work_ends=NOW + work_ends,
        heeds_signal=heeds,
        lasts={CHECKPOINT: lasts, COMMAND: lasts},
        hook_from=None if hook_from is None else NOW + hook_from,
    )
    instance.notice(target="Terminated")
    instance.run(deadline + 120, every=max(2.0, deadline / 100))
    for at, action in instance.log:
        if isinstance(action, Complete):
            assert at <= deadline + HOOK_MARGIN_SECONDS
        if isinstance(action, (Run, Signal)):
            assert at < deadline
        if isinstance(action, Complete) and at < deadline:
            unseen = not marks and not in_use and at >= UNKNOWN_SECONDS
            assert instance.work_ends <= NOW + at or (marks, in_use) == (0, False) or unseen
    assert sum(isinstance(action, Publish) for _, action in instance.log) <= 1


def test_a_hook_that_is_not_there_yet_is_completed_once_it_is() -> None:
    """The target is set when the move begins; a load balancer may take minutes before the hook begins to wait."""
    instance = Instance(asked(), hook_from=NOW + 100)
    terminated(instance)
    attempts = [at for at, deed in instance.story if deed == "complete"]
    assert attempts[-1] <= 130
    assert attempts[0] == 5
    pauses = [later - sooner for sooner, later in pairwise(attempts)]
    assert pauses == sorted(pauses), "every call is one of a bucket that all of the account draw from"
    assert instance.deeds.count("publish DrainsDone") == 1


def test_case_59_a_hook_that_nobody_finds_is_left_alone_at_last() -> None:
    instance = terminated(Instance(asked(), hook_from=None), 86_400)
    attempts = [at for at, deed in instance.story if deed == "complete"]
    assert 300 < attempts[-1] <= 345
    assert len(attempts) < 20
    assert instance.state.over


def test_a_completed_hook_is_not_completed_again() -> None:
    instance = terminated(Instance(asked()), 3_600)
    assert instance.deeds.count("complete") == 1


def test_duplicate_notices_change_nothing() -> None:
    instance = Instance(FULL, marks=1, in_use=True, heeds_signal=False, work_ends=NOW + 100)
    instance.notice(target="Terminated")
    instance.step()
    state, log = instance.state, list(instance.log)
    for _ in range(100):
        instance.step()
    assert (instance.state, instance.log) == (state, log)


def test_the_signal_goes_to_whoever_holds_a_mark_as_long_as_somebody_does() -> None:
    """Each program gets it once; a mark that is made late has a holder that has not got it."""
    instance = Instance(asked(), marks=1, heeds_signal=False, work_ends=NOW + 60)
    terminated(instance)
    assert [at for at, action in instance.log if isinstance(action, Signal)] == [*range(0, 60, 5)]


def test_a_checkpoint_that_takes_long_holds_up_nothing_for_more_than_half_of_the_time() -> None:
    instance = Instance(FULL, marks=1, heeds_signal=False, lasts={CHECKPOINT: 1e9}, work_ends=NOW + 200)
    terminated(instance)
    assert instance.at("signal") == instance.at("run command") == 150
    assert instance.at("kill checkpoint") == 300


def test_a_checkpoint_that_is_still_written_is_waited_for_when_all_else_is_over() -> None:
    instance = Instance(FULL, lasts={CHECKPOINT: 250})
    terminated(instance)
    assert instance.at("publish DrainsDone") == 250


def test_a_drain_command_that_returns_is_not_yet_the_end_of_work() -> None:
    instance = Instance(asked(command=FINISH), marks=1, heeds_signal=False, work_ends=NOW + 90, lasts={COMMAND: 10})
    assert terminated(instance).at("complete") == 90


# --- Spot ----------------------------------------------------------------------------------------------------------


def interrupted(instance: Instance, seconds: float = 115) -> Instance:
    instance.notice(interruption=SPOT)
    instance.run(seconds)
    return instance


def test_case_80_work_is_told_of_an_interruption_with_90_seconds_left() -> None:
    instance = interrupted(Instance(FULL, marks=1, in_use=True, lasts={CHECKPOINT: 20}))
    assert instance.deeds == ["announce interruption", "run checkpoint", "signal", "run command", END[0]]
    assert instance.at("run checkpoint") == 0
    assert instance.at("signal") <= 30


def test_case_80_an_interruption_does_not_lengthen_the_two_minutes() -> None:
    slow = Instance(FULL, marks=1, heeds_signal=False, lasts={CHECKPOINT: 1e9, COMMAND: 1e9})
    interrupted(slow)
    assert slow.at(LATE) == 105
    assert [action for _, action in slow.log if isinstance(action, Announce)] == [Announce("interruption", NOW + 105)]
    assert "complete" not in slow.deeds


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "soon", '{"action": "stop"}', '{"time": 5}', '{"time": "2020-01-01T00:00:00Z"}',
     '{"time": "2030-01-01T00:00:00Z"}', "[" * 100_000],
)  # fmt: skip
def test_a_notice_that_cannot_be_read_is_one_of_two_minutes(text: str) -> None:
    """Or a clock that is wrong."""
    instance = Instance(FULL, marks=1, heeds_signal=False)
    instance.notice(interruption=text or " ")
    instance.run(115)
    assert instance.at(LATE) == 105


def test_case_80_work_is_told_of_an_interruption_that_is_seen_in_its_last_seconds() -> None:
    """The metadata did not answer before, or the program was just started again."""
    instance = Instance(FULL, now=NOW + 108, marks=1, heeds_signal=False)
    instance.notice(interruption=SPOT)
    instance.run(10)
    assert instance.deeds == ["announce interruption", "signal", LATE]
    assert len([action for _, action in instance.log if isinstance(action, Signal)]) == 1


def test_an_interruption_amid_a_drain_leaves_less_time_and_starts_nothing_anew() -> None:
    instance = Instance(FULL, marks=1, heeds_signal=False, lasts={COMMAND: 1e9})
    instance.notice(target="Terminated")
    instance.run(60)
    instance.notice(interruption=SPOT.replace("08:02", "08:03"))
    instance.run(300)
    assert instance.deeds == [*ROAD[:4], "announce interruption", "kill command", LATE, "complete"]
    assert instance.at("complete") == 165


def test_a_termination_that_comes_with_an_interruption_is_completed_too() -> None:
    """The hook may run beside it; it lengthens nothing."""
    instance = Instance(asked(30), marks=1, heeds_signal=False)
    instance.notice(interruption=SPOT)
    instance.run(20)
    instance.notice(target="Terminated")
    instance.run(100)
    assert instance.at(LATE) == instance.at("complete") == 50


def test_an_interruption_that_is_called_off_ends_the_drain() -> None:
    instance = interrupted(Instance(asked()), 60)
    instance.notice(interruption="")
    instance.run(60)
    assert "retract" not in instance.deeds, "the notice may be missing for a moment"
    instance.run(600)
    assert instance.deeds.count("retract") == 1
    assert instance.state == State(served=True)


# --- rebalance -----------------------------------------------------------------------------------------------------


def test_case_80_a_recommendation_saves_the_work_and_ends_none() -> None:
    instance = Instance(FULL, marks=1, in_use=True)
    instance.notice(rebalance=ADVICE)
    instance.run(3_600)
    assert instance.deeds == ["run checkpoint"]
    assert instance.log == [(0, Run(CHECKPOINT, "rebalance", NOW + 300))]
    assert not instance.state.reason


def test_case_80_each_recommendation_is_acted_on_once() -> None:
    instance = Instance(FULL)
    for number in range(3):
        instance.notice(rebalance=ADVICE.replace("08:00", f"08:0{number}"))
        instance.run(300)
    assert instance.deeds == ["run checkpoint"] * 3


def test_case_80_without_a_checkpoint_command_a_recommendation_is_nothing() -> None:
    instance = Instance(asked(command=FINISH), marks=1)
    instance.notice(rebalance=ADVICE)
    instance.run(600)
    assert instance.deeds == []


def test_a_checkpoint_at_a_recommendation_has_a_limit() -> None:
    instance = Instance(FULL, lasts={CHECKPOINT: 1e9})
    instance.notice(rebalance=ADVICE)
    instance.run(600)
    assert instance.story == [(0, "run checkpoint"), (300, "kill checkpoint")]


def test_a_recommendation_that_comes_with_the_interruption_is_one_checkpoint() -> None:
    instance = Instance(FULL, marks=1, lasts={CHECKPOINT: 20})
    instance.notice(rebalance=ADVICE, interruption=SPOT)
    instance.run(115)
    assert instance.deeds.count("run checkpoint") == 1


def test_a_checkpoint_that_runs_already_is_that_of_the_interruption() -> None:
    instance = Instance(FULL, marks=1, lasts={CHECKPOINT: 30})
    instance.notice(rebalance=ADVICE)
    instance.run(10)
    instance.notice(interruption=SPOT)
    instance.run(110)
    assert instance.deeds == ["run checkpoint", "announce interruption", "signal", "run command", END[0]]
    assert instance.at("signal") == 30


def test_work_that_went_on_after_a_recommendation_is_saved_again() -> None:
    instance = Instance(FULL)
    instance.notice(rebalance=ADVICE)
    instance.run(60)
    terminated(instance)
    assert instance.deeds.count("run checkpoint") == 2


def test_a_recommendation_may_be_asked_to_drain() -> None:
    instance = Instance(asked(drain_on_rebalance=True, checkpoint_command=SAVE), marks=1)
    instance.notice(rebalance=ADVICE)
    instance.run(3_600)
    assert instance.deeds == ["announce rebalance", "run checkpoint", "signal", END[0]]


def test_what_comes_after_a_drain_by_recommendation_takes_the_road_again() -> None:
    """A worker that does not ask may have gone on."""
    instance = Instance(asked(drain_on_rebalance=True, checkpoint_command=SAVE), marks=1)
    instance.notice(rebalance=ADVICE)
    instance.run(600)
    instance.marks, instance.work_ends = 1, float("inf")
    terminated(instance)
    assert instance.deeds[3:] == [END[0], "announce termination", "run checkpoint", *END]
    assert [at for at, action in instance.log if isinstance(action, Signal)][-1] >= 600


def test_a_recommendation_that_is_withdrawn_ends_the_drain() -> None:
    instance = Instance(asked(drain_on_rebalance=True))
    instance.notice(rebalance=ADVICE)
    instance.run(60)
    instance.notice(rebalance="")
    instance.run(60)
    assert instance.deeds[-1] == "retract"


# --- warm pool -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated"])
def test_an_instance_on_its_way_into_the_pool_has_no_work_yet(target: str) -> None:
    instance = Instance(FULL, notices=Notices(target), marks=1)
    instance.run(600)
    assert instance.deeds == []


@pytest.mark.parametrize("target", ["Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated", "Warmed:Terminated"])
def test_an_instance_that_goes_back_to_the_pool_drains(target: str) -> None:
    """The termination hook runs then, and the target never reads Terminated."""
    instance = Instance(FULL, marks=1, in_use=True)
    instance.run(10)
    instance.notice(target=target)
    instance.run(600)
    assert instance.deeds == ROAD


def test_an_instance_that_comes_out_of_the_pool_again_is_as_before() -> None:
    instance = Instance(asked())
    for _ in range(3):
        instance.notice(target="InService")
        instance.run(600)
        instance.notice(target="Warmed:Stopped")
        instance.run(600)
        instance.restart()
    round_trip = ["announce termination", *END]
    assert instance.deeds == [*round_trip, "retract", *round_trip, "retract", *round_trip]


def test_an_instance_that_is_terminated_in_the_pool_completes_the_hook() -> None:
    instance = Instance(asked(), notices=Notices("Warmed:Terminated"))
    instance.run(60)
    assert instance.deeds == ["announce termination", *END]


# --- restarts ------------------------------------------------------------------------------------------------------


def test_a_restart_amid_a_drain_goes_on_and_does_not_begin_anew() -> None:
    instance = Instance(FULL, marks=1, heeds_signal=False, lasts={COMMAND: 1e9})
    instance.notice(target="Terminated")
    instance.run(100)
    instance.restart()
    instance.run(600)
    # The checkpoint is there; the command did not come to its end.
    assert instance.deeds == [*ROAD[:4], "run command", "kill command", LATE, "complete"]
    assert instance.at("complete") == 300


def test_a_checkpoint_that_a_restart_cut_off_runs_again() -> None:
    instance = Instance(FULL, lasts={CHECKPOINT: 60})
    instance.notice(target="Terminated")
    instance.run(30)
    instance.restart()
    instance.run(600)
    assert instance.deeds.count("run checkpoint") == 2
    instance = Instance(FULL, lasts={CHECKPOINT: 60})
    instance.notice(rebalance=ADVICE)
    instance.run(30)
    instance.restart()
    instance.run(600)
    assert instance.deeds.count("run checkpoint") == 2


@given(ago=st.floats(-1e6, 1e6))
def test_a_clock_that_was_wrong_lengthens_nothing(ago: float) -> None:
    instance = Instance(asked(), marks=1, heeds_signal=False)
    instance.notice(target="Terminated")
    instance.run(10)
    instance.now += ago
    began = instance.now
    instance.restart()
    instance.run(900)
    last = [at for at, action in instance.log if isinstance(action, (Complete, Publish))][-1]
    assert last - (began - NOW) <= 300 + 45 + 5


@given(at=st.lists(st.integers(0, 400), max_size=4))
def test_restarts_at_any_time_end_in_one_metric_and_a_completed_hook(at: list[int]) -> None:
    instance = Instance(FULL, marks=1, in_use=True, heeds_signal=False, work_ends=NOW + 170)
    instance.notice(target="Terminated")
    while instance.now < NOW + 500:
        instance.step()
        if int(instance.now - NOW) in {each // 5 * 5 for each in at}:
            text = to_text("i-1", instance.state)
            assert from_text(text, "i-1") == instance.state
            instance.restart()
        instance.now += 5
    assert instance.state.over
    assert sum(isinstance(action, Publish) for _, action in instance.log) == 1
    assert instance.deeds[-1] == "complete"
    assert instance.now - NOW <= 500


def test_an_instance_that_is_in_service_again_forgets_its_drain() -> None:
    instance = Instance(FULL, marks=1, heeds_signal=False, lasts={COMMAND: 1e9})
    instance.notice(target="Terminated")
    instance.run(30)
    instance.notice(target="InService")
    assert Kill(COMMAND) in instance.step()
    assert instance.deeds[-2:] == ["kill command", "retract"]
    assert instance.state == replace(State(), served=True)
