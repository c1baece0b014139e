"""The metric store: a value that is held is the same as its samples, added one by one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore

MINUTE = 60
_KEY: Key = ("N", "m", frozenset({("InstanceId", "i-1")}))
_HORIZON = 2_400

_BY_HAND: dict[str, Callable[[Sequence[float]], float]] = {
    "Average": statistics.fmean,
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "Sum": sum,
    # The least sample that at least half, nine tenths or all of the samples are not above.
    "p50": lambda values: sorted(values)[(len(values) + 1) // 2 - 1],
    "p90": lambda values: sorted(values)[-(-9 * len(values) // 10) - 1],
    "p100": max,
}


class _Sample(NamedTuple):
    timestamp: int
    visible_at: float
    value: float


class _Change(NamedTuple):
    """What a source holds from a moment on; ``value`` None is nothing."""

    source: int
    at: float
    value: float | None
    every: int = MINUTE
    slope: float = 0.0
    delay: int | None = None
    hidden_until: int = 0


def _samples(changes: Sequence[_Change]) -> list[_Sample]:
    """Return, one by one, the samples that changes in the order of time mean for each source."""
    found = []
    for index, change in enumerate(changes):
        later = [each.at for each in changes[index + 1 :] if each.source == change.source]
        end = later[0] if later else _HORIZON
        for timestamp in range(0, _HORIZON, change.every):
            if change.value is not None and change.at <= timestamp < end:
                readable = timestamp // MINUTE * MINUTE + (MINUTE if change.delay is None else change.delay)
                value = change.value + change.slope * (timestamp - change.at)
                found.append(_Sample(timestamp, max(readable, change.hidden_until), value))
    return found


def _tell(store: MetricStore, change: _Change) -> None:
    if change.value is None:
        store.stop(_KEY, change.at, source=change.source)
        return
    store.hold(
        _KEY,
        change.at,
        change.value,
        every=change.every,
        slope=change.slope,
        delay=change.delay,
        hidden_until=change.hidden_until,
        source=change.source,
    )


_CHANGES = st.lists(
    st.builds(
        _Change,
        source=st.integers(0, 2),
        at=st.integers(0, 1_800),
        value=st.none() | st.integers(-3, 3).map(float),
        every=st.sampled_from([10, 20, 60, 300]),
        slope=st.sampled_from([0.0, 0.0, 1.0, -2.0]),
        delay=st.sampled_from([None, 0, 120]),
        hidden_until=st.sampled_from([0, 0, 0, 700]),
    ),
    max_size=8,
).map(lambda changes: sorted(changes, key=lambda change: change.at))
_READINGS = st.tuples(
    st.sampled_from(sorted(_BY_HAND)),
    st.sampled_from([10, 60, 120, 300, 600]),
    st.integers(0, 120).map(lambda step: step * 10),
    st.integers(0, _HORIZON // MINUTE - 1).map(lambda minute: minute * MINUTE),
)


@given(changes=_CHANGES, singles=st.lists(st.integers(0, 30), max_size=4), readings=st.lists(_READINGS, max_size=12))
def test_held_value_is_its_samples_one_by_one(
    changes: list[_Change], singles: list[int], readings: list[tuple[str, int, int, int]]
) -> None:
    store = MetricStore({})
    for minute in singles:
        store.add(_KEY, minute * MINUTE, 7.0)
    for change in changes:
        _tell(store, change)
    samples = _samples(changes) + [_Sample(minute * MINUTE, minute * MINUTE + MINUTE, 7.0) for minute in singles]

    for statistic, period, start, now in readings:
        grid = range(start, start + 3 * period, period)
        found = store.series(_KEY, statistic, period, grid, now)

        for slot in grid:
            values = [s.value for s in samples if slot <= s.timestamp < slot + period and s.visible_at <= now]
            expected = _BY_HAND[statistic](values) if values else None
            assert found.get(slot) == (None if expected is None else pytest.approx(expected))


@given(changes=_CHANGES, since=st.integers(0, 30))
def test_what_is_forgotten_was_before_the_moment(changes: list[_Change], since: int) -> None:
    kept, forgetful = MetricStore({}), MetricStore({})
    for change in changes:
        _tell(kept, change)
        _tell(forgetful, change)
        if change.at >= since * MINUTE:
            forgetful.forget_before(since * MINUTE)
    forgetful.forget_before(since * MINUTE)

    grid = range(since * MINUTE, _HORIZON, MINUTE)
    assert forgetful.series(_KEY, "Sum", MINUTE, grid, _HORIZON) == kept.series(_KEY, "Sum", MINUTE, grid, _HORIZON)


@given(changes=_CHANGES, minutes=st.integers(1, 30))
def test_points_do_not_depend_on_what_was_asked_before(changes: list[_Change], minutes: int) -> None:
    asked, fresh = MetricStore({}), MetricStore({})
    grid = range(0, _HORIZON, 300)
    for change in changes:
        asked.series(_KEY, "Average", 300, grid, minutes * MINUTE)
        _tell(asked, change)
        _tell(fresh, change)

    assert asked.series(_KEY, "Average", 300, grid, _HORIZON) == fresh.series(_KEY, "Average", 300, grid, _HORIZON)


@given(
    changes=_CHANGES,
    now=st.integers(1, 30),
    statistic=st.sampled_from(["Average", "Maximum", "Minimum", "SampleCount", "Sum", "p50"]),
    asked_before=st.booleans(),
)
def test_each_minute_is_like_the_one_before_since_the_change(
    changes: list[_Change], now: int, statistic: str, asked_before: bool
) -> None:
    store = MetricStore({})
    for change in changes:
        _tell(store, change)
        if asked_before:
            store.changed_at(_KEY, statistic=statistic)

    if store.changed_at(_KEY, statistic=statistic) <= now * MINUTE:
        first, second = (
            list(store.series(_KEY, statistic, MINUTE, [start], _HORIZON).values())
            for start in (now * MINUTE, (now + 1) * MINUTE)
        )
        assert first == second


@given(
    changes=_CHANGES,
    single=st.none() | st.integers(0, 30),
    statistic=st.sampled_from(["Average", "Maximum", "Minimum", "SampleCount", "Sum", "p50"]),
    period=st.sampled_from([10, 60, 300]),
    now=st.integers(1, _HORIZON // MINUTE),
)
def test_periods_of_a_steady_span_all_come_to_the_same_for_good(
    changes: list[_Change], single: int | None, statistic: str, period: int, now: int
) -> None:
    store = MetricStore({})
    for change in changes:
        _tell(store, change)
    if single is not None:
        store.add(_KEY, single * MINUTE, 7.0)

    since, until = store.steady_span(_KEY, statistic, period, now * MINUTE)
    starts = range(int(max(since, 0)), int(until) - period + 1, 10) if since < until else ()

    found = {
        store.series(_KEY, statistic, period, [start], at).get(start)
        for start in starts
        for at in (now * MINUTE, 2 * _HORIZON)
    }
    assert until <= now * MINUTE
    assert len({None if value is None else round(value, 9) for value in found}) <= 1


def test_steady_span_ends_before_what_cannot_be_read_yet() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0, every=300, delay=120)

    # The samples of minute 23 became readable at 1,500, those of minute 24 will a minute later.
    assert store.steady_span(_KEY, "Maximum", 300, 1_500) == (0, 1_440)


def test_periods_shorter_than_what_lies_between_two_samples_are_not_steady() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0, every=300)

    assert store.steady_span(_KEY, "Maximum", MINUTE, 1_500)[0] == float("inf")


def test_series_that_nobody_publishes_is_steady() -> None:
    assert MetricStore({}).steady_span(_KEY, "Maximum", MINUTE, 1_500) == (float("-inf"), 1_500)


def test_change_that_a_statistic_does_not_show_is_none_to_it() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 95.0, source="a")
    store.hold(_KEY, 0, 95.0, source="b")
    store.hold(_KEY, 600, 0.0, source="b")
    store.hold(_KEY, 900, 5.0, source="b")

    changed = {name: store.changed_at(_KEY, statistic=name) for name in ("Maximum", "SampleCount", "Minimum", "")}

    assert changed == {"Maximum": 0, "SampleCount": 0, "Minimum": 900, "": 900}


def test_sources_hold_side_by_side_and_one_of_them_ends() -> None:
    store = MetricStore({})
    for source in ("i-1", "i-2", "i-3"):
        store.hold(_KEY, 0, 5.0, source=source)
    store.stop(_KEY, 120, source="i-2")

    assert store.series(_KEY, "SampleCount", MINUTE, [0, 60, 120], 600) == {0: 3, 60: 3, 120: 2}
    assert store.series(_KEY, "Sum", 180, [0], 600) == {0: 40.0}


def test_sources_need_not_take_turns_in_the_order_of_time() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0, source="a")
    store.hold(_KEY, 300, 2.0, source="a")
    store.hold(_KEY, 120, 10.0, source="b")

    assert store.series(_KEY, "Sum", MINUTE, range(0, 420, 60), 600) == {
        **dict.fromkeys((0, 60), 1.0),
        **dict.fromkeys((120, 180, 240), 11.0),
        **dict.fromkeys((300, 360), 12.0),
    }


def test_what_a_source_was_to_hold_later_is_taken_back() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0)
    store.hold(_KEY, 300, 2.0)
    store.hold(_KEY, 120, 3.0)

    assert store.series(_KEY, "Sum", MINUTE, [60, 120, 300, 360], 600) == {60: 1.0, 120: 3.0, 300: 3.0, 360: 3.0}


def test_source_that_has_changed_twice_since_cannot_change() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0)
    store.hold(_KEY, 240, 1.5)
    store.hold(_KEY, 300, 2.0)

    with pytest.raises(ValueError, match="cannot change at 120"):
        store.hold(_KEY, 120, 3.0)


def test_samples_of_one_that_is_held_again_and_again_stay_as_they_are() -> None:
    store = MetricStore({})
    for minute in range(5):
        store.hold(_KEY, minute * MINUTE, 3.0)

    assert store.changed_at(_KEY) == 0
    assert store.series(_KEY, "SampleCount", 300, [0], 600) == {0: 5}


def test_change_between_two_samples_is_not_seen() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 0.0)
    store.hold(_KEY, 70, 95.0)
    store.hold(_KEY, 110, 0.0)

    assert store.series(_KEY, "Maximum", 300, [0], 600) == {0: 0.0}


def test_growing_value_is_what_it_has_grown_to_at_each_sample() -> None:
    store = MetricStore({})
    store.hold(_KEY, 120, 0.0, slope=1.0)

    assert store.series(_KEY, "Maximum", MINUTE, [60, 120, 180, 240], 600) == {120: 0.0, 180: 60.0, 240: 120.0}
    assert store.series(_KEY, "Average", 300, [0], 600) == {0: 60.0}
    assert store.changed_at(_KEY) == float("inf")


def test_waking_queue_shows_nothing_until_its_lag_is_over() -> None:
    store = MetricStore({"N": 120})
    store.hold(_KEY, 0, 4.0, hidden_until=900)

    grid = range(0, 900, 60)
    assert store.series(_KEY, "Maximum", MINUTE, grid, 840) == {}
    assert list(store.series(_KEY, "Maximum", MINUTE, grid, 900)) == list(range(0, 840, 60))


def test_trimmed_mean_leaves_out_the_highest_samples() -> None:
    store = MetricStore({})
    for second in range(10):
        store.add(_KEY, second, float(second + 1))

    points = {name: store.series(_KEY, name, MINUTE, [0], 600)[0] for name in ("tm90", "tm50", "tm100")}

    # The mean of 1..9, of 1..5 and of 1..10.
    assert points == {"tm90": 5.0, "tm50": 3.0, "tm100": 5.5}


@pytest.mark.parametrize("statistic", ["median", "p101", "wm90", "TM(10%:90%)", "average"])
def test_statistic_that_is_not_known_is_refused(statistic: str) -> None:
    store = MetricStore({})
    store.add(_KEY, 0, 1.0)

    with pytest.raises(ArgumentError, match="statistic must be one of Average, Maximum"):
        store.series(_KEY, statistic, MINUTE, [0], 60)


def test_store_tells_of_what_makes_settled_periods_something_else() -> None:
    store = MetricStore({"N": 0})
    told = {(store.upsets, store.version(_KEY))}
    store.hold(_KEY, 0, 1.0)
    told.add((store.upsets, store.version(_KEY)))
    assert len(told) == 2, "there is a series that was not there"
    assert store.series(_KEY, "Sum", MINUTE, range(0, 5 * MINUTE, MINUTE), 5 * MINUTE)
    store.hold(_KEY, 5 * MINUTE, 2.0)
    told.add((store.upsets, store.version(_KEY)))
    assert len(told) == 2, "what is published now is in no period that was settled"
    store.add(_KEY, 2 * MINUTE, 9.0)
    told.add((store.upsets, store.version(_KEY)))
    assert len(told) == 3
    assert len({upsets for upsets, _ in told}) == len({version for _, version in told}) == 3


def test_series_with_nothing_left_is_forgotten() -> None:
    store = MetricStore({})
    store.hold(_KEY, 0, 1.0)
    store.stop(_KEY, 300)
    store.forget_before(240)
    assert store.published("N") == {("m", frozenset({"InstanceId"}))}

    store.forget_before(600)

    assert store.published("N") == set()
