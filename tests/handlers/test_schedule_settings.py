"""What the schedule function is told: read completely, or refused with the variable's name; and the times in it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from fleet_schedule import index
from fleet_schedule.memory import Sizes
from fleet_schedule.settings import Settings, read_settings
from fleet_schedule.timetable import Timetable
from runtime.environment import SettingError
from tests.handlers.driving import GROUP, MANUAL
from tests.handlers.fake_aws import Context, FakeAws
from tests.handlers.scheduling import PARAMETER, hours, wake_up, work

REQUIRED = {"AUTO_SCALING_GROUP_NAME": GROUP, "STATE_PARAMETER": PARAMETER, "SCHEDULE": "{}"}


def read(document: object = None, **more: str) -> Settings:
    told = {} if document is None else {"SCHEDULE": json.dumps(document)}
    return read_settings({**REQUIRED, **told, **more})


def timetable(**document: Any) -> Timetable:
    return read(document).plan.timetable


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_setting_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=name):
        read_settings({key: value for key, value in REQUIRED.items() if key != name})


def test_sizes_of_the_template_may_be_left_out() -> None:
    assert read().plan.template is None
    assert read(TEMPLATE_MIN_SIZE="1", TEMPLATE_MAX_SIZE="8").plan.template == Sizes(min=1, max=8)


@pytest.mark.parametrize(
    ("low", "high", "named"), [("9", "8", "MIN"), ("x", "8", "MIN"), (None, "8", "MIN"), ("0", "-1", "MAX")]
)
def test_sizes_that_make_no_sense_are_refused(low: str | None, high: str, named: str) -> None:
    given = {} if low is None else {"TEMPLATE_MIN_SIZE": low}
    with pytest.raises(SettingError, match=f"TEMPLATE_{named}_SIZE"):
        read(TEMPLATE_MAX_SIZE=high, **given)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be an object"),
        ({"weekend": []}, "must be an object with 'office', 'wake_ups', both or neither"),
        ({"office": {}}, "'office' must be a list"),
        ({"office": [{}]}, "'from' must be"),
        ({"wake_ups": {}}, "'wake_ups' must be a list"),
        ({"wake_ups": [{}]}, "a wake-up must have"),
        ({"wake_ups": [8]}, "a wake-up must have"),
        ({"wake_ups": [{**wake_up("08:00", 1), "at": "08:00"}]}, "hours must be a JSON object"),
        ({"wake_ups": [{**wake_up("08:00", 1), "instances": 0}]}, "'instances' must be a whole number from 1"),
        ({"wake_ups": [{**wake_up("08:00", 1), "instances": True}]}, "'instances' must be"),
        ({"wake_ups": [{**wake_up("08:00", 1), "ahead_seconds": 0}]}, "'ahead_seconds' must be"),
        ({"wake_ups": [{**wake_up("08:00", 1), "ahead_seconds": 50_000}]}, "'ahead_seconds' must be"),
        ({"wake_ups": [{**wake_up("08:00", 1), "ahead_seconds": "60"}]}, "'ahead_seconds' must be"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(document: object, message: str) -> None:
    with pytest.raises(SettingError, match=f"SCHEDULE must be a schedule as JSON .*{message}"):
        read(document)


def test_a_schedule_that_is_no_json_is_refused() -> None:
    with pytest.raises(SettingError, match="SCHEDULE must be a schedule as JSON"):
        read(SCHEDULE="office")


def test_daylight_saving_time_moves_opening_and_wake_up_in_utc() -> None:
    berlin = hours("08:00", "18:00", zone="Europe/Berlin")
    call = {"at": hours("08:00", "18:00", zone="Europe/Berlin"), "instances": 1, "ahead_seconds": 1800}
    times = timetable(office=[berlin], wake_ups=[call])
    # Friday before and Monday after 2026-03-29.
    for day, hour in (("2026-03-27", 7), ("2026-03-30", 6)):
        opening = utc(day) + timedelta(hours=hour)
        (called,) = times.calls(opening - timedelta(minutes=30))
        assert called.due == opening
        assert not times.is_open(opening - timedelta(minutes=31))
        assert times.is_open(opening - timedelta(minutes=30))


def test_a_wake_up_at_a_time_that_clocks_skip_comes_when_they_jump() -> None:
    at = {**hours("02:30", "24:00", zone="Europe/Berlin"), "days": [6]}
    times = timetable(wake_ups=[{"at": at, "instances": 1, "ahead_seconds": 600}])
    (called,) = times.calls(utc("2026-03-29 00:55"))
    assert called.due == utc("2026-03-29 01:00")


def test_a_wake_up_at_a_time_that_clocks_show_twice_comes_once() -> None:
    at = {**hours("02:30", "24:00", zone="Europe/Berlin"), "days": [6]}
    times = timetable(wake_ups=[{"at": at, "instances": 1, "ahead_seconds": 600}])
    names = {
        call.name for minute in range(0, 24 * 60) for call in times.calls(utc("2026-10-25") + timedelta(minutes=minute))
    }
    assert names == {"2026-10-25T00:30Z 1"}


def test_the_next_opening_is_the_first_of_all() -> None:
    times = timetable(office=[hours("13:00", "18:00"), hours("08:00", "12:00")])
    assert times.next_opening(utc("2026-11-30 12:30")) == utc("2026-11-30 13:00")
    assert times.next_opening(utc("2026-11-30 20:00")) == utc("2026-12-01 08:00")


def test_office_hours_that_never_come_back_open_for_a_day() -> None:
    assert timetable(office=[]).next_opening(utc("2026-11-30 12:30")) == utc("2026-12-01 12:30")


def test_the_entry_point_finds_settings_and_clients_by_itself(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "make_client", aws.client)
    monkeypatch.setattr(index, "SystemClock", lambda: aws.clock)
    index.load_settings.cache_clear()
    index.make_clients.cache_clear()
    for name, value in {**REQUIRED, "SCHEDULE": json.dumps({"wake_ups": [wake_up("12:00", 3)]})}.items():
        monkeypatch.setenv(name, value)
    aws.add_parameter(PARAMETER)
    work(aws)
    try:
        assert index.handler(MANUAL, Context(aws.clock))["raised_to"] == 3
    finally:
        index.load_settings.cache_clear()
        index.make_clients.cache_clear()
