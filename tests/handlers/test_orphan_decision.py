"""The decision by itself: guards, marks, prices, settings; and what happens without each guard."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphan_sweep import decision
from orphan_sweep.decision import GUARDS, Judgement, Rules, Standing, judge, plan
from orphan_sweep.marks import LONGEST_TAG_VALUE, read_mark, read_version_marks, write_mark, write_version_marks
from orphan_sweep.prices import Price, PriceList, snapshot_gib
from orphan_sweep.settings import read_settings
from orphan_sweep.things import Sort, Thing
from runtime.environment import SettingError
from tests.handlers.fake_aws import START, FakeAws
from tests.handlers.sweeping import (
    DAY,
    FLEET,
    FLEET_TAG,
    HOLD_TAG,
    OURS,
    SWEEP_ENVIRONMENT,
    USD_RATES,
    Sweeper,
    leave,
)

RULES = Rules(
    tag_key=FLEET_TAG,
    tag_value=FLEET,
    hold_tag_key=HOLD_TAG,
    min_age=timedelta(hours=24),
    snapshot_age=timedelta(days=30),
)
ORPHAN = Thing(
    sort=Sort.VOLUME,
    id="vol-1",
    tags=OURS,
    created_at=START - timedelta(days=90),
    belongs_to=None,
    used_by=None,
    mark="2026-11-29T12:00:00Z",
    price=Price(usd_a_month=8.0, basis="gp3"),
)


def test_an_orphan_that_was_seen_long_ago_is_due() -> None:
    told = judge(ORPHAN, RULES, START)
    assert (told.standing, told.reason) == (Standing.DUE, "belongs to nothing, first seen 24.0 h ago")


@pytest.mark.parametrize(
    ("hours", "told"), [(24, "24.0 h"), (47.9, "47.9 h"), (48, "2.0 days"), (300 * 24, "300.0 days")]
)
def test_a_reason_tells_how_long_it_has_been_so(hours: float, told: str) -> None:
    mark = write_mark(START - timedelta(hours=hours))
    thing = replace(ORPHAN, mark=mark, created_at=START - timedelta(days=400))
    assert judge(thing, RULES, START).reason == f"belongs to nothing, first seen {told} ago"


@pytest.mark.parametrize(
    ("change", "standing"),
    [
        ({"tags": {FLEET_TAG: "stack/Train"}}, Standing.NEIGHBOUR),
        ({"tags": {}}, Standing.NEIGHBOUR),
        ({"tags": {**OURS, HOLD_TAG: "true"}}, Standing.HELD),
        ({"tags": {**OURS, HOLD_TAG: " FALSE "}}, Standing.DUE),
        ({"belongs_to": "group train-2"}, Standing.OWNED),
        ({"used_by": "attached to i-1"}, Standing.USED),
        ({"created_at": START - timedelta(minutes=59)}, Standing.YOUNG),
        ({"created_at": START - timedelta(hours=1)}, Standing.NEW),
        ({"created_at": None}, Standing.DUE),
        ({"mark": None}, Standing.NEW),
        ({"mark": "2026-11-29T12:00:01Z"}, Standing.WAITING),
        ({"mark": "2026-11-30T12:00:01Z"}, Standing.NEW),
        ({"sort": Sort.SNAPSHOT, "created_at": START - timedelta(days=30)}, Standing.DUE),
        ({"sort": Sort.SNAPSHOT, "created_at": START - timedelta(days=30, seconds=-1)}, Standing.YOUNG),
        ({"sort": Sort.SNAPSHOT, "created_at": None}, Standing.YOUNG),
    ],
)
def test_one_thing_is_different(change: dict[str, Any], standing: Standing) -> None:
    assert judge(replace(ORPHAN, **change), RULES, START).standing is standing


def test_without_an_age_no_snapshot_is_an_orphan() -> None:
    thing = replace(ORPHAN, sort=Sort.SNAPSHOT)
    assert judge(thing, replace(RULES, snapshot_age=None), START).standing is Standing.YOUNG


@given(
    hours=st.floats(0, 10_000),
    tag=st.sampled_from([FLEET, "stack/Train", None]),
    hold=st.sampled_from([None, "true", "false"]),
    belongs_to=st.sampled_from([None, "a stack"]),
    used_by=st.sampled_from([None, "something"]),
    mark=st.sampled_from([None, "x", "2026-11-28T12:00:00Z", "2026-11-30T11:00:00Z"]),
)
def test_what_is_freed_is_ours_unheld_unused_old_enough_and_seen_before(
    hours: float, tag: str | None, hold: str | None, belongs_to: str | None, used_by: str | None, mark: str | None
) -> None:
    tags = {key: value for key, value in {FLEET_TAG: tag, HOLD_TAG: hold}.items() if value is not None}
    created = START - timedelta(hours=hours)
    changes: dict[str, Any] = {"tags": tags, "created_at": created, "belongs_to": belongs_to, "used_by": used_by}
    thing = replace(ORPHAN, **changes, mark=mark)
    freed = plan([judge(thing, RULES, START)]).free
    expected = (
        tag == FLEET
        and hold != "true"
        and belongs_to is None
        and used_by is None
        and hours >= 48
        and mark == "2026-11-28T12:00:00Z"
    )
    assert bool(freed) is expected


def test_a_plan_touches_no_neighbour() -> None:
    judged = [Judgement(thing=ORPHAN, standing=standing, reason="") for standing in Standing]
    asked = plan(judged)
    assert (len(asked.mark), len(asked.free)) == (1, 1)
    # Held, looked after, used and young ones have lost their claim to be orphans.
    assert len(asked.unmark) == 4


# --- each guard taken out (case 82, 6) -------------------------------------------------------------------------------


def copied_tags(sweeper: Sweeper) -> str:
    leave(sweeper, "volume", {FLEET_TAG: "stack/train-2"})
    # A filter that got lost finds everybody's.
    sweeper.world.ec2.loses_tag_filters = True
    return "vol-left"


def held(sweeper: Sweeper) -> str:
    leave(sweeper, "volume", {**OURS, HOLD_TAG: "true"})
    return "vol-left"


def of_another_stack(sweeper: Sweeper) -> str:
    other = "arn:aws:cloudformation:eu-west-1:123456789012:stack/data/1"
    leave(sweeper, "volume", {**OURS, "aws:cloudformation:stack-id": other})
    return "vol-left"


def attached(sweeper: Sweeper) -> str:
    sweeper.world.add_interface("eni-1", OURS, attached_to="i-member")
    return "eni-1"


def young(sweeper: Sweeper) -> str:
    sweeper.world.add_snapshot("snap-1", OURS, age_hours=100)
    return "snap-1"


WORLDS = {
    Standing.NEIGHBOUR: copied_tags,
    Standing.HELD: held,
    Standing.OWNED: of_another_stack,
    Standing.USED: attached,
    Standing.YOUNG: young,
}


@pytest.mark.parametrize("guard", WORLDS)
def test_with_all_guards_nobody_asks_for_its_end(aws: FakeAws, guard: Standing) -> None:
    sweeper = Sweeper(aws)
    sweeper.world.iam_allows(lambda operation, tags: True)
    WORLDS[guard](sweeper)
    sweeper.run_twice()
    assert sweeper.freeing() == []


@pytest.mark.parametrize("guard", WORLDS)
def test_without_each_guard_something_wrong_would_go(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, guard: Standing
) -> None:
    monkeypatch.setattr(decision, "GUARDS", tuple(each for each in GUARDS if each[0] is not guard))
    sweeper = Sweeper(aws)
    sweeper.world.iam_allows(lambda operation, tags: True)
    id = WORLDS[guard](sweeper)
    sweeper.run()
    sweeper.wait(DAY)
    with pytest.MonkeyPatch.context() as patched:
        # AWS itself would refuse to delete an attached interface; that it is asked to is the fault.
        patched.setattr(sweeper.world.ec2, "delete_network_interface", lambda parameters: None)
        assert id in sweeper.run()["freed"]


def test_without_the_second_sighting_everything_would_go_at_once(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "read_mark", lambda mark, **named: START - timedelta(days=9))
    sweeper = Sweeper(aws)
    sweeper.world.iam_allows(lambda operation, tags: True)
    leave(sweeper, "volume")
    assert sweeper.run()["freed"] == ["vol-left"]


def test_without_asking_by_id_a_member_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orphan_sweep.machines.Machines._groups_of", lambda self, ids: {})
    sweeper = Sweeper(aws)
    sweeper.world.autoscaling.unlisted.add("i-member")
    assert sweeper.run_twice()["freed"] == ["i-member"]


def test_without_the_stacks_resources_its_own_volume_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orphan_sweep.fleet._stack_resources", lambda *given: ["train"])
    sweeper = Sweeper(aws)
    left = leave(sweeper, "volume")
    sweeper.world.cloudformation.resources.append(left.id)
    assert sweeper.run_twice()["freed"] == [left.id]


def test_without_reading_again_a_volume_just_held_would_go(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = Sweeper(aws)
    sweeper.world.iam_allows(lambda operation, tags: True)
    left = leave(sweeper, "volume")
    sweeper.run()
    sweeper.wait(DAY)
    volumes: list[Any] = []
    find = "orphan_sweep.storage.Volumes.find"

    def found(self: Any, belongings: Any) -> Any:
        volumes[:] = self._things(self._account.own_tag(), belongings)
        left.tags[HOLD_TAG] = "true"
        return volumes

    monkeypatch.setattr(find, found)
    monkeypatch.setattr("orphan_sweep.storage.Volumes.again", lambda self, ids, belongings: volumes)
    assert sweeper.run()["freed"] == [left.id]


# --- marks -----------------------------------------------------------------------------------------------------------


def test_a_mark_is_written_in_utc_and_read_back() -> None:
    at = datetime(2026, 11, 30, 21, 0, tzinfo=timezone(timedelta(hours=9)))
    assert write_mark(at) == "2026-11-30T12:00:00Z"
    assert read_mark(write_mark(at), created_at=None, now=START) == START


@given(st.dictionaries(st.integers(1, 10_000), st.integers(0, 400), max_size=300))
def test_the_marks_of_versions_fit_into_a_tag_and_never_look_older_than_they_are(sightings: dict[int, int]) -> None:
    marks = {version: write_mark(START + timedelta(days=day)) for version, day in sightings.items()}
    written = write_version_marks(marks)
    assert len(written) <= LONGEST_TAG_VALUE
    # What every AWS service takes as a tag's value.
    assert set(written) <= set("0123456789TZ:-.= ")
    read = read_version_marks(written)
    assert all(read[version] >= marks[version] for version in read)
    assert read.keys() <= marks.keys()


def test_versions_stand_together_and_keep_their_sightings() -> None:
    early, late = "2026-11-30T12:00:00Z", "2026-12-01T12:00:00Z"
    marks = {1: early, 2: early, 3: early, 5: early, 6: late}
    assert write_version_marks(marks) == f"{early}=1-3.5 {late}=6"
    assert read_version_marks(write_version_marks(marks)) == marks


def test_when_there_is_no_room_the_oldest_sightings_wait_longer() -> None:
    marks = {version: write_mark(START + timedelta(days=version)) for version in range(1, 40)}
    read = read_version_marks(write_version_marks(marks))
    assert read.keys() == marks.keys()
    assert (read[39], read[38]) == (marks[39], marks[38])
    assert read[1] > marks[1]


@pytest.mark.parametrize("value", [None, "", "x", "x=", "=", "t=1-", "t=-1", "t=a", "t=1..2", "2026-11-30T12:00:00Z"])
def test_a_note_of_versions_that_makes_no_sense_counts_for_nothing(value: str | None) -> None:
    assert read_version_marks(value) == {}


def test_a_note_of_absurdly_many_versions_costs_no_memory() -> None:
    assert len(read_version_marks("t=1-999999999")) <= 10_001


# --- prices ----------------------------------------------------------------------------------------------------------

PRICES = PriceList(usd_per_hour={"g6.xlarge": 0.8}, rates=USD_RATES)


@pytest.mark.parametrize(
    ("price", "usd"),
    [
        (PRICES.instance("g6.xlarge", running=True, spot=False), 584.0),
        (PRICES.instance("g6.xlarge", running=False, spot=False), 0.0),
        (PRICES.instance("g6.xlarge", running=True, spot=True), None),
        (PRICES.instance("g9.xlarge", running=True, spot=False), None),
        (PRICES.volume("gp3", gib=100, iops=3000, throughput=125), 8.0),
        (PRICES.volume("gp3", gib=100, iops=5000, throughput=225), 8.0 + 10.0 + 4.0),
        (PRICES.volume("gp3", gib=100, iops=None, throughput=125), None),
        (PRICES.volume("gp3", gib=100, iops=3000, throughput=None), None),
        (PRICES.volume("gp2", gib=100, iops=300, throughput=None), 10.0),
        (PRICES.volume("io2", gib=100, iops=1000, throughput=None), 12.5 + 65.0),
        (PRICES.volume("io2", gib=100, iops=32_001, throughput=None), None),
        (PRICES.volume("io2", gib=100, iops=None, throughput=None), None),
        (PRICES.volume("st9", gib=100, iops=None, throughput=None), None),
        (PRICES.address(amazon_owned=True), 3.65),
        (PRICES.address(amazon_owned=False), 0.0),
        (PRICES.snapshot("standard", gib=200), 10.0),
        (PRICES.snapshot("archive", gib=200), 2.5),
        (PRICES.snapshot("glacier", gib=200), None),
        (PRICES.parameter("Standard"), 0.0),
        (PRICES.parameter("Advanced"), 0.05),
        (PRICES.parameter("Intelligent"), None),
    ],
)
def test_a_price_is_the_list_price_or_unknown_and_says_how_it_comes_about(price: Price, usd: float | None) -> None:
    assert price.usd_a_month == (None if usd is None else pytest.approx(usd))
    assert price.basis


def test_what_is_partly_unknown_is_unknown() -> None:
    known = Price(usd_a_month=1.0, basis="a")
    assert known.and_also(Price(usd_a_month=None, basis="b")) == Price(usd_a_month=None, basis="a; b")
    assert known.and_also(known).usd_a_month == 2.0


def test_a_snapshot_is_as_large_as_aws_says_or_at_most_its_volume() -> None:
    assert snapshot_gib(5 * 1024**3, 100) == 5.0
    assert snapshot_gib(None, 100) == 100


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SWEEP_ENVIRONMENT.keys() - {"SNAPSHOT_AGE_SECONDS"}))
def test_a_missing_setting_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=name):
        read_settings({key: value for key, value in SWEEP_ENVIRONMENT.items() if key != name})


def test_snapshots_are_not_looked_at_unless_an_age_is_given(aws: FakeAws) -> None:
    environment = {key: value for key, value in SWEEP_ENVIRONMENT.items() if key != "SNAPSHOT_AGE_SECONDS"}
    assert read_settings(environment).rules.snapshot_age is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ACT", "yes"),
        ("MIN_AGE_SECONDS", "3599"),
        ("SNAPSHOT_AGE_SECONDS", "3600"),
        ("STACK_ID", "stack"),
        ("ENDPOINTS_PATH", "endpoints"),
        ("ENDPOINTS_PATH", "/endpoints"),
        ("ENDPOINTS_PATH", "/fleet/endpoints/"),
        ("USD_RATES", "[]"),
        ("USD_RATES", "x"),
        ("USD_RATES", json.dumps({"gp3": "0.08"})),
        ("USD_RATES", json.dumps({"gp3": -1})),
        ("TYPE_USD_PER_HOUR", '{"g6.xlarge": NaN}'),
        ("TYPE_USD_PER_HOUR", json.dumps({"g6.xlarge": True})),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: str) -> None:
    environment = {**SWEEP_ENVIRONMENT, name: value}
    with pytest.raises(SettingError, match=name):
        read_settings(environment)
