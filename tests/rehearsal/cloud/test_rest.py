"""An alarm that rests is in the state that it would be in if it were looked at each minute."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.cloud.alarm_watch import AlarmWatch
from constructs_lib.rehearsal.cloud.alarms import Alarm, State
from constructs_lib.rehearsal.cloud.metric_math import MathReading
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore
from constructs_lib.rehearsal.cloud.rest import Rest
from constructs_lib.rehearsal.template import Template
from tests.rehearsal.cloud.plain import plain_template, resource

MINUTE = 60
_NAMES = ("Waiting", "Running")
_KEYS: dict[str, Key] = {name: ("Fleet", name, frozenset()) for name in _NAMES}
_READING = MathReading()
_EXTRA = 2

Event = tuple[str, str, float]
"""What happens to a series: a source holds a value, one stops, or there is a sample that is some minutes old."""

_WHAT = ("hold", "hold beside", "stop", "late")
_EVENTS = st.lists(
    st.tuples(st.sampled_from(_WHAT), st.sampled_from(_NAMES), st.sampled_from((0.0, 1.0, 3.0))), max_size=2
)
_MINUTES = st.lists(st.tuples(_EVENTS, st.integers(0, 12) | st.integers(20, 40)), min_size=1, max_size=12)
"""What happens, and for how many minutes nothing does after it."""


def _properties(period: int, n: int, m: int, missing: str, expression: str, **actions: list[str]) -> dict[str, Any]:
    stats = [
        {
            "Id": name.lower(),
            "MetricStat": {"Metric": {"Namespace": "Fleet", "MetricName": name}, "Period": period, "Stat": statistic},
            "ReturnData": False,
        }
        for name, statistic in zip(_NAMES, ("Minimum", "Maximum"), strict=True)
    ]
    return {
        "Metrics": [*stats, {"Id": "result", "Expression": expression, "ReturnData": True}],
        "EvaluationPeriods": n,
        "DatapointsToAlarm": m,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": missing,
        **actions,
    }


def _tell(store: MetricStore, at: int, event: Event) -> None:
    what, name, value = event
    if what == "hold":
        store.hold(_KEYS[name], at, value, source="one")
    elif what == "hold beside":
        store.hold(_KEYS[name], at, value, source="other")
    elif what == "stop":
        store.stop(_KEYS[name], at, source="one")
    else:
        store.add(_KEYS[name], at - 4 * MINUTE, value)


def _watched(properties: dict[str, Any], store: MetricStore) -> AlarmWatch:
    watch = AlarmWatch(store, extra=_EXTRA, reading=_READING)
    template = Template(plain_template({"Watched": resource("CloudWatch::Alarm", **properties)}))
    watch.read(template, lambda target: target == "Policy")
    return watch


@pytest.mark.parametrize("period", [60, 120, 300])
@pytest.mark.parametrize("missing", ["missing", "ignore", "breaching", "notBreaching"])
@settings(max_examples=20)
@given(
    minutes=_MINUTES,
    judged=st.integers(1, 4).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    expression=st.sampled_from(["waiting - running", "IF(running > 0, waiting / running)", "2 * running"]),
    delay=st.sampled_from([0, 120, 180]),
)
def test_alarm_watch_sees_every_change_that_one_without_a_memory_sees(
    period: int,
    missing: str,
    minutes: list[tuple[list[Event], int]],
    judged: tuple[int, int],
    expression: str,
    delay: int,
) -> None:
    store = MetricStore({"Fleet": delay})
    watch = _watched(_properties(period, *judged, missing, expression, AlarmActions=["Policy"]), store)
    alarm = watch.alarms["Watched"]
    state: State = "INSUFFICIENT_DATA"
    history: list[tuple[int, str, State]] = []
    doubts: set[str] = set()
    now = 20 * MINUTE
    for events, quiet in minutes:
        for event in events:
            _tell(store, now, event)
        for _ in range(quiet + 1):
            actions = list(watch.tick(now))
            found = alarm.judge(store, now, state, extra=_EXTRA, reading=_READING)
            if found.state != state:
                history.append((now, "Watched", found.state))
            if found.state != state or now % 300 == 0:
                doubts.update(found.doubts)
            state = found.state
            assert watch.states["Watched"] == state
            assert [action.target for action in actions] == list(alarm.actions[state])
            assert all(action.points == found.points for action in actions)
            now += MINUTE

    assert watch.history == history
    assert watch.doubts == doubts


def _rest(n: int, m: int, period: int = MINUTE) -> Rest:
    alarm = Alarm.from_properties("Alarm", _properties(period, n, m, "missing", "waiting - running"))
    slots = alarm.slots()
    assert slots is not None
    return Rest(alarm, slots, _READING)


def _rests_for(rest: Rest, store: MetricStore, now: int) -> int:
    """Return for how many minutes more it lasts."""
    return next(minute for minute in range(60) if not rest.lasts(store, now + (minute + 1) * MINUTE))


def _fine(until: int = 20) -> MetricStore:
    """Return a store in which nothing breaches up to a minute, the last of them readable in the one after it."""
    store = MetricStore({"Fleet": MINUTE})
    for key in _KEYS.values():
        store.hold(key, 0, 0.0)
        store.stop(key, until * MINUTE)
    return store


@pytest.mark.parametrize(("n", "m", "minutes"), [(5, 5, 4), (5, 4, 3), (5, 1, 0), (1, 1, 0)])
def test_rest_lasts_while_fewer_than_m_of_the_newest_n_can_breach(n: int, m: int, minutes: int) -> None:
    store, rest = _fine(), _rest(n, m)

    assert rest.renew(store, 20 * MINUTE)
    assert _rests_for(rest, store, 20 * MINUTE) == minutes


def test_rest_of_a_longer_period_is_found_for_wherever_a_slot_begins() -> None:
    store, rest = _fine(), _rest(3, 3, period=300)

    assert rest.renew(store, 20 * MINUTE)
    # The slots that end 0, 1, ... minutes ago are each among the last three for ten minutes more.
    assert _rests_for(rest, store, 20 * MINUTE) == 10


def test_no_rest_while_enough_points_breach_or_are_missing() -> None:
    store = _fine(until=15)
    store.hold(_KEYS["Waiting"], 15 * MINUTE, 3.0)
    store.hold(_KEYS["Running"], 15 * MINUTE, 0.0)

    assert not _rest(5, 5).renew(store, 20 * MINUTE)
    assert not _rest(5, 5).renew(_fine(until=15), 20 * MINUTE)
    assert not _rest(5, 5).renew(MetricStore({}), 20 * MINUTE)


def test_rest_is_over_when_something_is_stored_that_is_as_old_as_what_it_goes_by() -> None:
    store, rest = _fine(), _rest(5, 5)
    assert rest.renew(store, 20 * MINUTE)
    store.add(_KEYS["Waiting"], 19 * MINUTE, 3.0)

    assert not rest.lasts(store, 21 * MINUTE)


def _steady() -> MetricStore:
    """Return a store in which nothing breaches or changes; what is said of a minute is readable a minute after it."""
    store = MetricStore({"Fleet": 2 * MINUTE})
    for key in _KEYS.values():
        store.hold(key, 0, 0.0)
    return store


def test_rest_of_an_alarm_whose_metrics_do_not_change_is_found_without_looking_at_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, rest = _steady(), _rest(5, 4)
    assert rest.renew(store, 20 * MINUTE)
    monkeypatch.setattr(MetricStore, "series", None)

    # The minutes 26 to 28 can be read, and two of five have to be among them.
    assert rest.renew(store, 30 * MINUTE)
    assert _rests_for(rest, store, 30 * MINUTE) == 2


def test_change_ends_the_rest_of_a_steady_alarm_before_it_can_be_seen_in_m_slots() -> None:
    store, rest = _steady(), _rest(5, 4)
    assert rest.renew(store, 20 * MINUTE)
    store.hold(_KEYS["Waiting"], 21 * MINUTE, 3.0)

    # The minutes 21 to 24 can be read by then, and breach.
    assert not rest.renew(store, 26 * MINUTE)


def test_change_too_short_ago_is_no_steadiness() -> None:
    store, rest = _steady(), _rest(5, 4)
    store.hold(_KEYS["Waiting"], 10 * MINUTE, 3.0)
    store.hold(_KEYS["Waiting"], 17 * MINUTE, 0.0)

    # One minute that does not breach can be read, and two have to be among the last five.
    assert not rest.renew(store, 19 * MINUTE)
    assert rest.renew(store, 21 * MINUTE)


def test_rest_of_a_steady_alarm_is_over_when_something_is_stored_that_it_has_not_looked_at() -> None:
    store, rest = _steady(), _rest(5, 5)
    assert rest.renew(store, 20 * MINUTE)
    assert rest.renew(store, 30 * MINUTE)
    store.add(_KEYS["Waiting"], 28 * MINUTE, 3.0)

    assert not rest.lasts(store, 31 * MINUTE)


def test_expression_that_follows_the_clock_is_not_steady() -> None:
    properties = _properties(MINUTE, 2, 2, "missing", "IF(HOUR(waiting) > 3, 3, waiting)")
    alarm = Alarm.from_properties("Alarm", properties)
    slots = alarm.slots()
    assert slots is not None
    rest, store = Rest(alarm, slots, _READING), _steady()

    assert rest.renew(store, 2 * 60 * MINUTE)
    assert not rest.renew(store, 4 * 60 * MINUTE + 3 * MINUTE)


def test_alarm_that_sleeps_is_woken_by_what_was_published_late() -> None:
    store = _steady()
    watch = _watched(_properties(MINUTE, 8, 5, "missing", "running"), store)
    # It is looked at in minute 15, which is good until minute 18.
    for minute in range(10, 17):
        list(watch.tick(minute * MINUTE))
    for minute in range(11, 16):
        store.add(_KEYS["Running"], minute * MINUTE, 3.0)
    list(watch.tick(17 * MINUTE))

    assert watch.history == [(10 * MINUTE, "Watched", "OK"), (17 * MINUTE, "Watched", "ALARM")]


def test_what_is_open_is_asked_of_an_alarm_that_sleeps_as_well() -> None:
    in_flight: Key = ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", frozenset())
    store = MetricStore({"AWS/SQS": MINUTE})
    properties = {
        **{"Namespace": in_flight[0], "MetricName": in_flight[1], "Statistic": "Maximum", "Period": MINUTE},
        **{"EvaluationPeriods": 5, "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold"},
        **{"TreatMissingData": "breaching", "AlarmActions": ["Policy"]},
    }
    watch = _watched(properties, store)
    store.hold(in_flight, 0, 1.0)
    # It wakes every five minutes, and never in one in which what is open is asked.
    for minute in range(11, 60):
        if minute == 21:
            store.hold(in_flight, minute * MINUTE, 0.0)
        list(watch.tick(minute * MINUTE))

    assert watch.history == [(11 * MINUTE, "Watched", "OK")]
    assert watch.doubts == {"Watched: whether a queue reports that nothing is in flight or delayed"}


def test_metric_that_appears_while_the_alarm_rests_is_no_longer_told_as_missing() -> None:
    store = MetricStore({"Fleet": MINUTE})
    store.hold(_KEYS["Waiting"], 0, 0.0)
    watch = _watched(_properties(MINUTE, 5, 5, "missing", "waiting - running", AlarmActions=["Policy"]), store)
    for minute in range(1, 30):
        list(watch.tick(minute * MINUTE))
    assert [note.split(":")[0] for note in watch.notes] == ["Watched saw no data of Fleet Running (without dimensions)"]
    store.hold(_KEYS["Running"], 30 * MINUTE, 0.0)
    list(watch.tick(30 * MINUTE))

    assert watch.states["Watched"] == "OK"
    assert watch.notes == []
