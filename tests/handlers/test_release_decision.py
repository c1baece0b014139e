"""Properties that must hold for any fleet, whatever its state."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_idle.decision import judge
from release_idle.measurement import Point, Reading, Series, Signal, Unreadable
from release_idle.members import Machine, Member, State, Verdict
from release_idle.planning import MOST_RELEASES, Candidate, CapacityLimits, Cause, Plan, members_at_work, plan_release
from release_idle.policy import IdlePolicy
from release_idle.state import MOST_ASKED
from tests.handlers.fake_aws import START

NOW = START
GPU = Signal(name="gpu", metric="nvidia_smi_utilization_gpu", statistic="Maximum", idle_below=5, means="work")
CPU = Signal(name="cpu", metric="cpu_usage_active", statistic="Maximum", idle_below=30, means="work")
POLICY = IdlePolicy(
    window_seconds=1800,
    warm_up_seconds=600,
    period_seconds=60,
    signals=(GPU, CPU),
    max_release_share=1,
    hold_tag_key="accelerated-fleet:hold",
    protection_holds=False,
)


def member(instance_id: str = "i-1", state: str = "InService", capacity: int = 1) -> Member:
    machine = Machine(launched_at=NOW - timedelta(days=1), state="running", tags={})
    return Member(
        instance_id=instance_id,
        lifecycle_state=state,
        protected=True,
        machine=machine,
        in_session=False,
        capacity=capacity,
    )


def steady(value: float, minutes: int = 60) -> Series:
    return Series(tuple(Point(NOW - timedelta(minutes=n), value) for n in range(1, minutes + 1)), 60)


IDLE_READINGS: dict[str, Reading] = {"gpu": steady(0), "cpu": steady(1)}

lifecycle_states = st.sampled_from(
    ["InService", "InService", "InService", "Pending", "Pending:Wait", "Terminating", "Standby"]
)
states = st.sampled_from(list(State))


Fleet: TypeAlias = tuple[list[Member], dict[str, Verdict], CapacityLimits]


def plan_for(members: list[Member], verdicts: dict[str, Verdict], limits: CapacityLimits) -> Plan:
    """Plan with the idle members as candidates, longest idle first, and with the unknown ones past a hard limit."""

    def candidate(each: Member, cause: Cause) -> Candidate:
        return Candidate(member=each, cause=cause, reason="")

    unknown = [each for each in members if verdicts[each.instance_id].state is State.UNKNOWN] if limits.replaces else []
    idle = [each for each in members if each.instance_id in verdicts and verdicts[each.instance_id].state is State.IDLE]
    idle.sort(key=lambda each: (-(verdicts[each.instance_id].idle_seconds or 0), each.instance_id))
    candidates = [candidate(each, Cause.MAX_UNKNOWN) for each in unknown]
    return plan_release(members, verdicts, [*candidates, *(candidate(each, Cause.IDLE) for each in idle)], limits)


@st.composite
def fleets(draw: st.DrawFn, *, replaces: bool = False) -> Fleet:
    size = draw(st.integers(0, 12))
    members = [member(f"i-{n:02}", draw(lifecycle_states), draw(st.sampled_from([1, 1, 1, 2, 4]))) for n in range(size)]
    verdicts = {}
    for each in members:
        state = draw(states) if each.lifecycle_state == "InService" else State.LEAVING
        idle_seconds = draw(st.integers(1800, 1810)) if state is State.IDLE else None
        at_work = state is State.BUSY and draw(st.booleans())
        verdicts[each.instance_id] = Verdict(state=state, reason="", idle_seconds=idle_seconds, at_work=at_work)
    messages = draw(st.one_of(st.none(), st.integers(0, 10)))
    limits = CapacityLimits(
        min_size=draw(st.integers(0, 10)),
        desired=draw(st.integers(0, 30)),
        messages=messages,
        demand=None if messages is None else -(-messages // draw(st.sampled_from([1, 4]))),
        at_work=members_at_work(members, verdicts),
        most_releases=draw(st.integers(1, 12)),
        warm=draw(st.sampled_from([0, 0, 3])),
        replaces=replaces,
    )
    return members, verdicts, limits


def is_leaving(verdicts: dict[str, Verdict], member: Member) -> bool:
    return verdicts[member.instance_id].state is State.LEAVING


def capacity_of(members: list[Member], plan: Plan, *states_counted: str) -> int:
    gone = {release.instance_id for release in plan.releases}
    return sum(m.capacity for m in members if m.instance_id not in gone and m.lifecycle_state in states_counted)


@given(fleets())
def test_only_idle_members_are_ever_released(
    fleet: Fleet,
) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    released = [release.instance_id for release in plan.releases]
    assert all(verdicts[each].state is State.IDLE for each in released)
    assert len(set(released)) == len(released)
    idle = {each for each, verdict in verdicts.items() if verdict.state is State.IDLE}
    assert idle == set(released) | set(plan.spared)


@given(fleets())
def test_case_32_what_stays_holds_the_minimum_and_the_waiting_work(
    fleet: Fleet,
) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    if limits.demand is None or limits.messages is None:
        assert plan.releases == ()
        assert plan.floor is None
    elif plan.releases:
        assert capacity_of(members, plan, "InService", "Pending", "Pending:Wait") >= max(limits.min_size, limits.warm)
        assert capacity_of(members, plan, "InService") >= limits.demand
        assert limits.at_work >= limits.messages
        lowered = sum(
            m.capacity for m in members for r in plan.releases if r.instance_id == m.instance_id and r.decrement
        )
        if lowered:
            assert limits.desired - lowered >= max(limits.min_size, limits.demand)


@given(fleets(replaces=True))
def test_case_32_beyond_the_minimum_only_those_past_a_hard_limit_go_and_are_replaced(fleet: Fleet) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    capacities = {m.instance_id: m.capacity for m in members}
    there = capacity_of(members, replace(plan, releases=()), "InService", "Pending", "Pending:Wait")
    there -= sum(m.capacity for m in members if m.lifecycle_state == "InService" and is_leaving(verdicts, m))
    for release in plan.releases:
        there -= capacities[release.instance_id]
        if there < max(limits.min_size, limits.warm):
            assert (release.cause, release.decrement, release.replaceable) == (Cause.MAX_UNKNOWN, False, True)


@given(fleets())
def test_case_33_a_release_without_decrement_never_starts_a_replacement(
    fleet: Fleet,
) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    capacities = {m.instance_id: m.capacity for m in members}
    desired = limits.desired
    active = sum(m.capacity for m in members if m.lifecycle_state in ("InService", "Pending", "Pending:Wait"))
    for release in plan.releases:
        active -= capacities[release.instance_id]
        if release.decrement:
            desired -= capacities[release.instance_id]
        else:
            assert active >= desired


@given(fleets())
def test_one_pass_releases_at_most_so_many(
    fleet: Fleet,
) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    assert len(plan.releases) <= limits.most_releases


@given(fleets(), st.randoms(use_true_random=False))
def test_the_order_of_the_answer_does_not_matter_and_the_longest_idle_go_first(
    fleet: Fleet, shuffler: random.Random
) -> None:
    members, verdicts, limits = fleet
    plan = plan_for(members, verdicts, limits)
    shuffled = members[:]
    shuffler.shuffle(shuffled)
    again = plan_for(shuffled, verdicts, limits)
    assert again.releases == plan.releases
    assert dict(again.spared) == dict(plan.spared)
    turns = [(-(verdicts[r.instance_id].idle_seconds or 0), r.instance_id) for r in plan.releases]
    assert turns == sorted(turns)


values = st.floats(0, 4.9)


@given(
    st.lists(values, min_size=60, max_size=60),
    st.integers(0, 31),
    st.floats(5, 100),
    st.sampled_from(["gpu", "cpu"]),
)
def test_case_03_any_busy_point_in_the_window_keeps_the_member(
    idle_values: list[float], position: int, busy_value: float, busy_signal: str
) -> None:
    quiet = [Point(NOW - timedelta(minutes=n + 1), value) for n, value in enumerate(idle_values)]
    loud = [*quiet]
    loud[position] = Point(quiet[position].at, busy_value if busy_signal == "gpu" else busy_value + 25)
    readings: dict[str, Reading] = {"gpu": Series(tuple(quiet), 60), "cpu": Series(tuple(quiet), 60)}
    assert judge(member(), readings, POLICY, NOW).state is State.IDLE
    readings[busy_signal] = Series(tuple(loud), 60)
    assert judge(member(), readings, POLICY, NOW).state is State.BUSY


@given(st.sets(st.integers(1, 60)))
def test_case_07_dropping_points_never_makes_a_busy_member_idle(dropped: set[int]) -> None:
    """Whatever is lost of a busy series, it is busy or unknown."""
    kept = tuple(point for n, point in enumerate(steady(95).points, start=1) if n not in dropped)
    readings: dict[str, Reading] = {**IDLE_READINGS, "gpu": Series(kept, 60)}
    assert judge(member(), readings, POLICY, NOW).state in (State.BUSY, State.UNKNOWN)


@given(st.integers(0, 86400), st.integers(0, 120))
def test_case_11_nothing_younger_than_its_warm_up_or_the_window_is_idle(age: int, minutes: int) -> None:
    young = member()
    assert young.machine is not None
    born = NOW - timedelta(seconds=age)
    young = replace(young, machine=replace(young.machine, launched_at=born))
    lived = tuple(point for point in steady(0, minutes).points if point.at >= born)
    readings: dict[str, Reading] = {"gpu": Series(lived, 60), "cpu": Series(lived, 60)}
    verdict = judge(young, readings, POLICY, NOW)
    if age < 1800 - 180:
        assert verdict.state is not State.IDLE
    if age < 600:
        assert verdict.state is State.STARTING


def test_the_verdict_on_a_young_idle_member_says_that_it_is_young() -> None:
    young = member()
    assert young.machine is not None
    young = replace(young, machine=replace(young.machine, launched_at=NOW - timedelta(minutes=25)))
    readings: dict[str, Reading] = {"gpu": steady(0, 24), "cpu": steady(0, 24)}
    verdict = judge(young, readings, POLICY, NOW)
    assert verdict == Verdict(
        state=State.STARTING, reason="launched 1500 s ago, too young to have been idle for 1800 s"
    )


def test_idle_is_as_long_as_the_shortest_signal() -> None:
    readings: dict[str, Reading] = {"gpu": steady(0, 60), "cpu": steady(0, 45)}
    assert judge(member(), readings, POLICY, NOW).idle_seconds == 45 * 60


def test_a_signal_that_nobody_read_is_not_idle() -> None:
    verdict = judge(member(), {"gpu": steady(0)}, POLICY, NOW)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, "cpu was not read")


def test_the_first_signal_that_is_not_idle_decides() -> None:
    readings: dict[str, Reading] = {"gpu": steady(95), "cpu": Unreadable("x")}
    assert judge(member(), readings, POLICY, NOW).state is State.BUSY
    readings = {"gpu": Unreadable("x"), "cpu": steady(95)}
    assert judge(member(), readings, POLICY, NOW).state is State.UNKNOWN


def test_a_policy_without_signals_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one signal"):
        replace(POLICY, signals=())


def test_a_member_that_still_boots_does_not_stand_in_for_one_that_serves() -> None:
    """One message in flight: it may be on the idle-looking member in service, never on the pending one."""
    members = [member("i-1"), member("i-2", "Pending")]
    verdicts = {"i-1": Verdict(state=State.IDLE, reason="", idle_seconds=1800)}
    limits = CapacityLimits(min_size=0, desired=2, messages=1, demand=1, at_work=0, most_releases=9)
    plan = plan_for(members, verdicts, limits)
    assert plan.releases == ()
    assert plan.kept_for_work == ("i-1",)
    assert plan.spared["i-1"].startswith("the queue has 1 messages, 0 members are seen at work")


def test_a_desired_capacity_below_the_waiting_work_is_not_lowered_further() -> None:
    """Work has just arrived and the wake function has not raised the group yet."""
    members = [member("i-1"), member("i-2", capacity=2)]
    verdicts = {"i-2": Verdict(state=State.IDLE, reason="", idle_seconds=1800)}
    limits = CapacityLimits(min_size=1, desired=2, messages=1, demand=1, at_work=1, most_releases=9)
    plan = plan_for(members, verdicts, limits)
    assert plan.releases == ()
    assert plan.spared["i-2"] == "the desired capacity is 2 and must not fall below 1"


def test_no_pass_releases_more_than_it_can_record() -> None:
    members = [member(f"i-{n:03}") for n in range(250)]
    verdicts = {m.instance_id: Verdict(state=State.IDLE, reason="", idle_seconds=1800) for m in members}
    limits = CapacityLimits(min_size=0, desired=250, messages=0, demand=0, at_work=0, most_releases=250)
    assert len(plan_for(members, verdicts, limits).releases) == MOST_RELEASES == MOST_ASKED == 200
