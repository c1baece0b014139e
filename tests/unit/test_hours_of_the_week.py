"""Hours as a user writes them, and as the handlers read them."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from typing import Any

import pytest
from aws_cdk import TimeZone

from constructs_lib import ArgumentError, Hours, IdlePolicy, WakeUp, Weekday
from constructs_lib.catalog import tables
from runtime.hours import read_hours

ZONES = [row["name"] for row in tables.read("time_zones.csv")]
# A Monday.
NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


def test_all_that_can_be_said() -> None:
    hours = Hours(
        start="08:00",
        end="18:00",
        time_zone="Europe/Berlin",
        days=[Weekday.FRIDAY, Weekday.MONDAY],
        exceptions=["2026-12-25", "2026-05-01"],
    )
    assert hours.settings() == {
        "days": [0, 4],
        "from": "08:00",
        "to": "18:00",
        "zone": "Europe/Berlin",
        "except": ["2026-05-01", "2026-12-25"],
    }


def test_what_is_left_out() -> None:
    hours = Hours(start="22:00", end="06:00", time_zone="UTC", days=None, exceptions=None)
    assert hours == Hours(start="22:00", end="06:00", time_zone="UTC", days=list(Weekday))
    assert hours.settings() == {"days": [0, 1, 2, 3, 4, 5, 6], "from": "22:00", "to": "06:00", "zone": "UTC"}


@pytest.mark.parametrize(("end", "covers"), [("12:00", False), ("12:01", True), ("24:00", True), ("00:00", True)])
def test_the_handlers_read_them(end: str, covers: bool) -> None:
    assert read_hours(Hours(start="08:00", end=end, time_zone="UTC").settings()).covers(NOON) is covers


def test_an_exception_is_one_for_the_handlers_too() -> None:
    hours = Hours(start="08:00", end="18:00", time_zone="UTC", exceptions=["2026-11-30"])
    assert not read_hours(hours.settings()).covers(NOON)


def test_days_are_counted_alike_on_both_sides() -> None:
    for day in Weekday:
        hours = Hours(start="00:00", end="24:00", time_zone="UTC", days=[day])
        assert read_hours(hours.settings()).covers(NOON) is (day is Weekday.MONDAY)


@pytest.mark.parametrize("name", ZONES)
def test_the_handlers_know_every_zone_of_the_table(name: str) -> None:
    read_hours(Hours(start="08:00", end="18:00", time_zone=name).settings())


def test_the_table_has_the_cdks_zones() -> None:
    cdk = [getattr(TimeZone, name).timezone_name for name in dir(TimeZone) if name.isupper()]
    # Not a place, but what stands for a clock that nobody has set.
    assert set(cdk) - {"Factory"} <= set(ZONES)
    assert sorted(set(ZONES)) == ZONES


def test_a_slip_of_the_pen_is_answered_with_the_zone_that_was_meant() -> None:
    with pytest.raises(ArgumentError, match=r"got 'Europe/Berlim'; did you mean 'Europe/Berlin'\?"):
        Hours(start="08:00", end="18:00", time_zone="Europe/Berlim")


@pytest.mark.parametrize("wrong", ["CEST", "PST", "EDT", "UTC+1", "GMT+1", "Z", "utc"])
def test_an_abbreviation_is_not_answered_with_one_of_other_hours(wrong: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Hours(start="08:00", end="18:00", time_zone=wrong)
    assert str(caught.value).endswith(f"got '{wrong}'; write for example 'Europe/Berlin', or 'UTC'")


@pytest.mark.parametrize(("wrong", "meant"), [("Berlin", "Europe/Berlin"), ("New_York", "America/New_York")])
def test_a_city_alone_is_answered_with_its_zone(wrong: str, meant: str) -> None:
    with pytest.raises(ArgumentError, match=f"did you mean '{meant}'"):
        Hours(start="08:00", end="18:00", time_zone=wrong)


@pytest.mark.parametrize(("day", "way"), [(date(2026, 12, 25), ".isoformat()"), (NOON, ".date().isoformat()")])
def test_a_date_is_written_as_text(day: Any, way: str) -> None:
    for make in (
        lambda: Hours(start="08:00", end="18:00", time_zone="UTC", exceptions=["2026-12-24", day]),
        lambda: WakeUp(at="08:00", instances=1, time_zone="UTC", exceptions=[day]),
    ):
        with pytest.raises(ArgumentError, match=rf"exceptions must hold dates, .*; write {re.escape(way)} of it$"):
            make()


@pytest.mark.parametrize(
    ("days", "exceptions", "shown"),
    [
        (None, None, "Hours(08:00-18:00 Europe/Berlin)"),
        (list(Weekday)[:5], None, "Hours(08:00-18:00 Europe/Berlin Mon-Fri)"),
        (list(Weekday)[5:], None, "Hours(08:00-18:00 Europe/Berlin Sat,Sun)"),
        ([Weekday.SUNDAY, Weekday.MONDAY, Weekday.TUESDAY], None, "Hours(08:00-18:00 Europe/Berlin Mon,Tue,Sun)"),
        ([Weekday.FRIDAY], None, "Hours(08:00-18:00 Europe/Berlin Fri)"),
        (None, ["2026-12-25", "2026-12-26"], "Hours(08:00-18:00 Europe/Berlin but 2 dates)"),
    ],
)
def test_hours_are_shown_shortly(days: Any, exceptions: Any, shown: str) -> None:
    hours = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin", days=days, exceptions=exceptions)
    assert repr(hours) == shown


def test_a_message_shows_what_is_wrong_beside_right_hours() -> None:
    right = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin", days=list(Weekday)[:5])
    with pytest.raises(ArgumentError, match=r"got \[Hours\(.*Mon-Fri\), '09:00'\]; "):
        IdlePolicy(quiet_hours=[right, "09:00"])  # type: ignore[list-item]


WEEK = [Hours(start="06:00", end="22:00", time_zone="UTC"), Hours(start="22:00", end="06:00", time_zone="UTC")]


def test_quiet_hours_leave_time_to_release_something() -> None:
    with pytest.raises(ArgumentError, match="IdlePolicy: quiet_hours must leave time to release something"):
        IdlePolicy(quiet_hours=WEEK)
    for almost in (
        [WEEK[0], Hours(start="22:00", end="05:59", time_zone="UTC")],
        [WEEK[0], Hours(start="22:00", end="06:00", time_zone="UTC", days=list(Weekday)[:6])],
        [WEEK[0], Hours(start="22:00", end="06:00", time_zone="UTC", exceptions=["2026-12-25"])],
    ):
        assert IdlePolicy(quiet_hours=almost).quiet_hours == tuple(almost)
