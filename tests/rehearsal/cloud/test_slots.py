"""What an alarm keeps of its slots changes nothing: it sees what one sees that asks for the first time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.metrics import Key, MetricStore

MINUTE = 60
_NAMES = ("Waiting", "Running")
_KEYS: dict[str, Key] = {name: ("Fleet", name, frozenset()) for name in _NAMES}

Event = tuple[str, str, float]
"""What happens to a series: it holds a value, stops, or gets a sample that is some minutes old."""

_EVENTS = st.lists(
    st.tuples(st.sampled_from(("hold", "stop", "late")), st.sampled_from(_NAMES), st.sampled_from((0.0, 1.0, 2.0))),
    max_size=2,
)


def _alarm(period: int, expression: str) -> Alarm:
    stats = [
        {
            "Id": name.lower(),
            "MetricStat": {"Metric": {"Namespace": "Fleet", "MetricName": name}, "Period": period, "Stat": statistic},
            "ReturnData": False,
        }
        for name, statistic in zip(_NAMES, ("Sum", "Maximum"), strict=True)
    ]
    properties: dict[str, Any] = {
        "Metrics": [*stats, {"Id": "result", "Expression": expression, "ReturnData": True}],
        "EvaluationPeriods": 3,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    return Alarm.from_properties("Alarm", properties)


def _tell(store: MetricStore, at: int, event: Event) -> None:
    what, name, value = event
    if what == "hold":
        store.hold(_KEYS[name], at, value, source="one")
    elif what == "stop":
        store.stop(_KEYS[name], at, source="one")
    else:
        store.add(_KEYS[name], at - 4 * MINUTE, value)


@pytest.mark.parametrize("period", [60, 120, 300])
@pytest.mark.parametrize("expression", ["waiting - running", "IF(running > 0, waiting / running)"])
@settings(max_examples=25)
@given(minutes=st.lists(_EVENTS, min_size=1, max_size=30))
def test_kept_slots_are_those_of_one_who_asks_for_the_first_time(
    period: int, expression: str, minutes: list[list[Event]]
) -> None:
    alarm = _alarm(period, expression)
    store, slots = MetricStore({"Fleet": 120}), alarm.slots()
    assert slots is not None
    told: list[tuple[int, Event]] = []
    for now, events in enumerate(minutes, start=20):
        for event in events:
            told.append((now * MINUTE, event))
            _tell(store, *told[-1])
        fresh = MetricStore({"Fleet": 120})
        for at, event in told:
            _tell(fresh, at, event)

        assert alarm.points(store, now * MINUTE, slots=slots) == alarm.points(fresh, now * MINUTE)


def test_slots_that_depend_on_each_other_are_not_kept() -> None:
    assert _alarm(60, "FILL(waiting, 0) - running").slots() is None
