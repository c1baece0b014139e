"""What the policy says besides idleness: lives, hours, numbers, and the order in which members go. Plain data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from release_idle.decision import Decision, Facts, decide, nobody_could_go
from release_idle.measurement import Point, Reading, Series, Signal, Unreadable
from release_idle.members import Machine, Member, State, Verdict
from release_idle.planning import Cause
from release_idle.policy import AtMinimum, IdlePolicy, KeepWarm
from release_idle.unknown_memory import UNKNOWN_TAG, UnknownMemory, remembered, unknown_again
from runtime.demand import Backlog
from runtime.hours import Hours, read_hours
from tests.handlers.fake_aws import START

NOW = START
"""A Monday at noon, UTC."""
DAY = 24 * 3600
HOLD = "accelerated-fleet:hold"
GPU = Signal(name="gpu", metric="nvidia_smi_utilization_gpu", statistic="Maximum", idle_below=5, means="work")
POLICY = IdlePolicy(
    window_seconds=1800,
    warm_up_seconds=600,
    period_seconds=60,
    signals=(GPU,),
    max_release_share=1,
    hold_tag_key=HOLD,
    protection_holds=False,
)


def hours(start: str, end: str, *days: int, zone: str = "UTC") -> Hours:
    return read_hours({"days": list(days) or [0, 1, 2, 3, 4, 5, 6], "from": start, "to": end, "zone": zone})


def member(instance_id: str = "i-1", *, age: int = DAY, state: str = "InService", **machine: Any) -> Member:
    known: dict[str, Any] = {"state": "running", "tags": {"aws:autoscaling:groupName": "train"}, **machine}
    return Member(
        instance_id=instance_id,
        lifecycle_state=state,
        protected=True,
        machine=Machine(launched_at=NOW - timedelta(seconds=age), **known),
        in_session=False,
    )


def unknown_for(seconds: int, passes: int = 3, seen: int = 300) -> dict[str, str]:
    memory = UnknownMemory(since=NOW - timedelta(seconds=seconds), passes=passes, seen=NOW - timedelta(seconds=seen))
    return {"aws:autoscaling:groupName": "train", UNKNOWN_TAG: memory.text}


def steady(value: float, minutes: int = 70) -> Series:
    return Series(tuple(Point(NOW - timedelta(minutes=n), value) for n in range(1, minutes + 1)), 60)


IDLE, BUSY, SILENT = steady(0), steady(95), Series((), 60)


def facts(*members: Member, readings: Mapping[str, Reading] = {}, **more: Any) -> Facts:
    """Return facts in which every member that is not told otherwise is idle."""
    known: dict[str, Any] = {
        "now": NOW,
        "min_size": 0,
        "max_size": 100,
        "desired": len(members),
        "members": members,
        "readings": {each.instance_id: {"gpu": readings.get(each.instance_id, IDLE)} for each in members},
        "backlog": Backlog(visible=0, in_flight=0),
        **more,
    }
    return Facts(**known)


def released(decision: Decision) -> list[str]:
    return [release.instance_id for release in decision.plan.releases]


# ---- minimum life


def test_an_idle_member_younger_than_the_minimum_life_stays_with_its_age() -> None:
    policy = replace(POLICY, min_life_seconds=7200)
    decision = decide(facts(member("i-1", age=7199), member("i-2", age=7200)), policy)
    assert released(decision) == ["i-2"]
    assert decision.plan.spared == {"i-1": "launched 7199 s ago, minimum life is 7200 s"}
    assert decision.verdicts["i-1"].state is State.IDLE


# ---- hours


def test_in_quiet_hours_nothing_idle_goes() -> None:
    policy = replace(POLICY, quiet=(hours("11:00", "13:00"),))
    decision = decide(facts(member()), policy)
    assert released(decision) == []
    assert decision.plan.spared["i-1"] == "these are hours in which nothing idle is released"
    assert released(decide(replace(facts(member()), now=NOW), replace(policy, quiet=(hours("12:01", "13:00"),))))


def test_case_74_what_is_kept_warm_stays_and_the_rest_goes() -> None:
    warm = (
        KeepWarm(instances=2, hours=hours("08:00", "18:00", 0)),
        KeepWarm(instances=1, hours=hours("00:00", "24:00")),
    )
    decision = decide(facts(*(member(f"i-{n}") for n in range(4))), replace(POLICY, warm=warm))
    assert released(decision) == ["i-0", "i-1"]
    assert decision.plan.floor == 2
    assert decision.plan.spared["i-2"] == "2 are kept warm at this hour, 2 are there"


def test_case_74_nothing_stays_warm_in_a_fleet_that_is_paused() -> None:
    """It may have nobody at all, and what is there goes as surplus."""
    warm = (KeepWarm(instances=2, hours=hours("00:00", "24:00")),)
    paused = facts(member("i-1"), member("i-2"), desired=0, max_size=0)
    assert released(decide(paused, replace(POLICY, warm=warm))) == ["i-1", "i-2"]


def test_case_74_neither_quiet_hours_nor_a_minimum_life_keep_who_is_idle_in_a_fleet_that_is_paused() -> None:
    policy = replace(POLICY, quiet=(hours("00:00", "24:00"),), min_life_seconds=10 * DAY)
    assert released(decide(facts(member(), desired=0, max_size=0), policy)) == ["i-1"]
    assert released(decide(facts(member(), desired=0), policy)) == []


def test_outside_its_hours_nothing_is_kept_warm() -> None:
    warm = (KeepWarm(instances=2, hours=hours("18:00", "20:00")),)
    assert released(decide(facts(member()), replace(POLICY, warm=warm))) == ["i-1"]


# ---- how many, and in which order


@pytest.mark.parametrize(("share", "most", "count"), [(1.0, None, 5), (1.0, 2, 2), (0.2, 4, 1), (0.5, 3, 3)])
def test_the_smaller_of_share_and_number_bounds_a_pass(share: float, most: int | None, count: int) -> None:
    policy = replace(POLICY, max_release_share=share, max_releases=most)
    decision = decide(facts(*(member(f"i-{n}") for n in range(5))), policy)
    assert len(decision.plan.releases) == count
    assert set(decision.plan.spared.values()) <= {"this pass has released its share"}


def test_longest_idle_go_first_then_the_dearest_then_on_demand_before_spot_then_by_id() -> None:
    prices = {"p5.48xlarge": 55.0, "g6.xlarge": 0.8}
    members = (
        member("i-a", instance_type="g6.xlarge", spot=True),
        member("i-b", instance_type="g6.xlarge"),
        member("i-c", instance_type="p5.48xlarge", spot=True),
        member("i-d", instance_type="p5.48xlarge"),
        member("i-e", instance_type="p5.48xlarge"),
        member("i-f", instance_type="trn9.large"),
        member("i-g", instance_type="trn9.large"),
    )
    decision = decide(
        facts(*members, readings={"i-g": IDLE, "i-a": steady(0, 71)}), replace(POLICY, usd_per_hour=prices)
    )
    assert released(decision) == ["i-a", "i-d", "i-e", "i-c", "i-b", "i-f", "i-g"]


# ---- a maximum life


def test_case_07_without_the_switch_no_age_lets_a_busy_member_go() -> None:
    assert released(decide(facts(member(age=400 * DAY), readings={"i-1": BUSY}), POLICY)) == []


@pytest.mark.parametrize("reading", [BUSY, IDLE, SILENT, Unreadable("GetMetricData: AccessDenied")])
def test_case_07_past_the_maximum_life_a_member_goes_whatever_it_does(reading: Reading) -> None:
    policy = replace(POLICY, max_life_seconds=7 * DAY)
    old, young = member("i-1", age=7 * DAY), member("i-2", age=7 * DAY - 1)
    decision = decide(facts(old, young, readings={"i-1": reading, "i-2": BUSY}), policy)
    (release,) = decision.plan.releases
    assert (release.instance_id, release.cause, release.decrement) == ("i-1", Cause.MAX_LIFE, True)
    assert release.reason.startswith("launched 604800 s ago, maximum life is 604800 s; ")


def held_members() -> list[tuple[str, Member, IdlePolicy]]:
    limited = replace(POLICY, max_life_seconds=DAY, max_unknown_seconds=3600, at_minimum=AtMinimum.REPLACE)
    tags = unknown_for(10 * DAY)
    return [
        ("tag", member(age=9 * DAY, tags={**tags, HOLD: "debugging"}), limited),
        ("protected", replace(member(age=9 * DAY, tags=tags), protected=True), replace(limited, protection_holds=True)),
        ("standby", member(age=9 * DAY, state="Standby", tags=tags), limited),
        ("retained", member(age=9 * DAY, state="Terminating:Retained", tags=tags), limited),
        ("not returned by EC2", replace(member(), machine=None), limited),
        ("not there yet", member(age=9 * DAY, state="Pending:Wait", tags=tags), limited),
    ]


@pytest.mark.parametrize(("why", "each", "policy"), held_members())
@pytest.mark.parametrize("reading", [BUSY, IDLE, SILENT])
def test_who_is_held_or_cannot_be_seen_stays_past_every_hard_limit(
    why: str, each: Member, policy: IdlePolicy, reading: Reading
) -> None:
    assert released(decide(facts(each, readings={"i-1": reading}), policy)) == [], why


def test_the_maximum_life_acts_only_in_maintenance_hours() -> None:
    policy = replace(POLICY, max_life_seconds=DAY, maintenance=(hours("02:00", "04:00", 6),))
    world = facts(member(age=9 * DAY), readings={"i-1": BUSY})
    assert released(decide(world, policy)) == []
    sunday = NOW - timedelta(days=1, hours=9)
    assert sunday.weekday() == 6
    shifted = tuple(Point(point.at - (NOW - sunday), 95) for point in BUSY.points)
    then = replace(world, now=sunday, readings={"i-1": {"gpu": Series(shifted, 60)}})
    assert released(decide(then, policy)) == ["i-1"]


def test_quiet_hours_and_the_minimum_life_do_not_hold_up_the_maximum() -> None:
    policy = replace(POLICY, max_life_seconds=DAY, min_life_seconds=DAY - 1, quiet=(hours("00:00", "24:00"),))
    assert released(decide(facts(member(age=9 * DAY)), policy)) == ["i-1"]


def test_the_old_go_before_the_idle_and_the_oldest_first() -> None:
    policy = replace(POLICY, max_life_seconds=2 * DAY)
    members = (member("i-1"), member("i-2", age=3 * DAY), member("i-3", age=4 * DAY))
    decision = decide(facts(*members, readings={"i-2": BUSY, "i-3": BUSY}), policy)
    assert released(decision) == ["i-3", "i-2", "i-1"]


# ---- at the minimum


@pytest.mark.parametrize("at_minimum", list(AtMinimum))
def test_case_32_at_the_minimum_the_policy_says_what_becomes_of_the_old(at_minimum: AtMinimum) -> None:
    policy = replace(POLICY, max_life_seconds=2 * DAY, at_minimum=at_minimum)
    world = facts(member("i-1", age=3 * DAY), member("i-2"), readings={"i-1": BUSY}, min_size=2)
    decision = decide(world, policy)
    if at_minimum is AtMinimum.LEAVE:
        assert decision.plan.releases == ()
        assert decision.plan.spared["i-1"] == "the minimum is 2, 2 are there"
    else:
        (release,) = decision.plan.releases
        assert (release.instance_id, release.decrement, release.replaceable) == ("i-1", False, True)
    assert "i-2" in decision.plan.spared


def test_case_32_nothing_is_replaced_while_the_group_launches_nothing() -> None:
    policy = replace(POLICY, max_life_seconds=2 * DAY, at_minimum=AtMinimum.REPLACE)
    world = facts(member(age=3 * DAY), readings={"i-1": BUSY}, min_size=1, suspended_processes=("Launch",))
    assert released(decide(world, policy)) == []


@pytest.mark.parametrize("at_minimum", list(AtMinimum))
def test_without_knowing_the_queue_the_capacity_does_not_fall(at_minimum: AtMinimum) -> None:
    policy = replace(POLICY, max_life_seconds=2 * DAY, at_minimum=at_minimum)
    decision = decide(facts(member(age=3 * DAY), member("i-2"), backlog=None), policy)
    assert decision.plan.spared["i-2"] == "the queue could not be read"
    assert [release.decrement for release in decision.plan.releases] == ([] if at_minimum == "leave" else [False])


def test_work_that_waits_keeps_the_idle_but_not_those_past_a_hard_limit() -> None:
    policy = replace(POLICY, max_life_seconds=2 * DAY)
    world = facts(member("i-1", age=3 * DAY), member("i-2"), backlog=Backlog(visible=1, in_flight=0))
    decision = decide(world, policy)
    assert released(decision) == ["i-1"]
    assert decision.plan.kept_for_work == ("i-2",)


# ---- unknown for too long

LIMIT = replace(POLICY, max_unknown_seconds=3600)


def test_case_35_unknown_for_a_day_goes_only_if_the_user_set_a_limit() -> None:
    world = facts(member(tags=unknown_for(DAY)), readings={"i-1": SILENT})
    assert released(decide(world, POLICY)) == []
    assert decide(world, POLICY).remember == {}
    decision = decide(world, LIMIT)
    (release,) = decision.plan.releases
    assert (release.cause, release.decrement) == (Cause.MAX_UNKNOWN, True)
    assert release.reason.startswith("unknown since 2026-11-29T12:00:00Z, the limit is 3600 s; gpu ")


@pytest.mark.parametrize(
    ("tags", "goes"),
    [
        ({}, False),
        (unknown_for(3600), True),
        (unknown_for(3599), False),
        (unknown_for(DAY, passes=1), False),
        (unknown_for(DAY, passes=2), True),
        # The pass before last knew it, but could not take the tag away.
        (unknown_for(DAY, seen=901), False),
        (unknown_for(DAY, seen=900), True),
        # Written by a clock that was ahead, or by somebody else.
        (unknown_for(-60, seen=-60), False),
        (unknown_for(60, seen=120), False),
        ({UNKNOWN_TAG: "yes"}, False),
        ({UNKNOWN_TAG: ""}, False),
        ({UNKNOWN_TAG: "2026-11-01T00:00:00Z 9"}, False),
        ({UNKNOWN_TAG: "2026-11-01T00:00:00Z nine 2026-11-30T11:59:00Z"}, False),
        ({UNKNOWN_TAG: "2026-11-01T00:00:00 9 2026-11-30T11:59:00"}, False),
        ({UNKNOWN_TAG: "2026-11-01T00:00:00Z \uff19 2026-11-30T11:59:00Z"}, False),
    ],
)
def test_case_34_only_three_passes_in_a_row_and_the_time_let_it_go(tags: dict[str, str], goes: bool) -> None:
    each = member(tags={"aws:autoscaling:groupName": "train", **tags})
    assert released(decide(facts(each, readings={"i-1": SILENT}), LIMIT)) == (["i-1"] if goes else [])


CPU = Signal(name="cpu", metric="cpu_usage_active", statistic="Maximum", idle_below=30, means="work")


@pytest.mark.parametrize(
    ("cpu", "goes"),
    [
        (BUSY, False),
        (IDLE, True),
        (SILENT, True),
        (Unreadable("left out", absent=True), True),
        (Unreadable("x"), False),
    ],
)
@pytest.mark.parametrize("in_session", [False, None])
def test_case_06_unknown_by_one_signal_and_busy_by_another_is_not_ended(
    cpu: Reading, goes: bool, in_session: bool | None
) -> None:
    """The driver no longer tells while the machine works, or what AWS fails to tell may be work or a person."""
    each = replace(member(tags=unknown_for(DAY)), in_session=in_session)
    world = replace(facts(each), readings={"i-1": {"gpu": SILENT, "cpu": cpu}})
    decision = decide(world, replace(LIMIT, signals=(GPU, CPU)))
    assert decision.verdicts["i-1"].state is State.UNKNOWN
    assert released(decision) == (["i-1"] if goes and in_session is False else [])
    # Only what is known ends the row; what could not be asked is no end of it.
    assert decision.forget == (("i-1",) if cpu is BUSY else ())


def test_what_is_remembered_grows_from_pass_to_pass_and_is_forgotten_when_known() -> None:
    unknown, known = member("i-1"), member("i-2", tags=unknown_for(600, passes=1))
    decision = decide(facts(unknown, known, readings={"i-1": SILENT}), LIMIT)
    assert decision.remember == {"i-1": UnknownMemory(since=NOW, passes=1, seen=NOW)}
    assert decision.forget == ("i-2",)
    tags: dict[str, str] = {}
    for n in range(1, 6):
        now = NOW + timedelta(minutes=5 * n)
        memory = unknown_again(tags, now)
        assert (memory.since, memory.passes, memory.seen) == (NOW + timedelta(minutes=5), min(n, 3), now)
        tags = {UNKNOWN_TAG: memory.text}
        assert remembered(tags) == memory


def test_a_member_within_its_warm_up_is_not_unknown_yet() -> None:
    decision = decide(facts(member(age=599), readings={"i-1": SILENT}), LIMIT)
    assert (decision.remember, decision.verdicts["i-1"].state) == ({}, State.STARTING)


# ---- members asked to leave before


def test_case_33_who_was_asked_to_leave_goes_whatever_the_group_says() -> None:
    asked = {"i-1": NOW - timedelta(minutes=1)}
    members = (member("i-1"), member("i-2"), member("i-3"))
    decision = decide(facts(*members, asked_to_leave=asked, min_size=1), POLICY)
    assert decision.verdicts["i-1"] == Verdict(state=State.LEAVING, reason="asked to leave at 2026-11-30T11:59:00Z")
    assert released(decision) == ["i-2"]


def test_case_33_a_size_that_has_not_fallen_yet_is_not_lowered_below_what_work_needs() -> None:
    """The group still says desired 3 with 3 in service; one of them is on its way out, so it is 2."""
    asked = {"i-1": NOW - timedelta(minutes=1)}
    members = (member("i-1"), member("i-2"), member("i-3"))
    world = facts(
        *members,
        asked_to_leave=asked,
        backlog=Backlog(visible=1, in_flight=1),
        readings={"i-2": BUSY, "i-3": BUSY},
    )
    policy = replace(POLICY, max_life_seconds=DAY)
    decision = decide(world, policy)
    assert released(decision) == []
    assert decision.plan.spared["i-2"] == "the desired capacity is 2 and must not fall below 2"


@pytest.mark.parametrize("policy", [POLICY, replace(POLICY, max_life_seconds=DAY, max_unknown_seconds=3600)])
def test_case_33_who_was_not_looked_at_again_keeps_its_verdict_and_stays(policy: IdlePolicy) -> None:
    settled = {"i-2": Verdict(state=State.IDLE, reason="earlier", idle_seconds=9999)}
    world = facts(member("i-1", age=2 * DAY), member("i-2", age=2 * DAY), member("i-3", age=2 * DAY), settled=settled)
    world = replace(world, readings={"i-1": {"gpu": IDLE}})
    decision = decide(world, policy)
    assert released(decision) == ["i-1"]
    assert set(decision.verdicts) == {"i-1", "i-2"}


def test_the_decision_depends_on_nothing_but_its_arguments() -> None:
    world = facts(member("i-1"), member("i-2"), readings={"i-2": BUSY})
    assert decide(world, POLICY) == decide(world, POLICY)
    assert decide(replace(world, now=datetime.fromtimestamp(NOW.timestamp(), NOW.tzinfo)), POLICY) == decide(
        world, POLICY
    )


# ---- nobody could go


def test_who_was_asked_one_signal_of_two_never_goes_whatever_the_sizes_are() -> None:
    one_of_two = replace(POLICY, signals=(GPU, CPU))
    decision = decide(facts(member(), first_signal_only=True), one_of_two)
    assert decision.verdicts["i-1"].state is State.IDLE
    assert released(decision) == []
    assert decision.plan.spared["i-1"] == "nobody could go, so its other signals were not asked"


@pytest.mark.parametrize(
    ("sizes", "more", "nobody"),
    [
        ((2, 10), {}, True),
        ((1, 10), {}, False),
        ((0, 10), {"warm": (KeepWarm(instances=2, hours=hours("00:00", "24:00")),)}, True),
        ((0, 0), {"warm": (KeepWarm(instances=2, hours=hours("00:00", "24:00")),)}, False),
        ((0, 10), {"quiet": (hours("00:00", "24:00"),)}, True),
        ((0, 0), {"quiet": (hours("00:00", "24:00"),)}, False),
        ((2, 10), {"max_unknown_seconds": 3600}, False),
    ],
    ids=["at the minimum", "above it", "kept warm", "paused", "quiet", "quiet and paused", "unknown is counted"],
)
def test_when_nobody_could_go(sizes: tuple[int, int], more: dict[str, Any], nobody: bool) -> None:
    two = [member("i-1"), member("i-2")]
    policy = replace(POLICY, **more)
    assert nobody_could_go(two, min_size=sizes[0], max_size=sizes[1], policy=policy, now=NOW) is nobody
