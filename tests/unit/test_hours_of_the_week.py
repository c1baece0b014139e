"""Hours as a user writes them, and as the handlers read them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from aws_cdk import TimeZone

from constructs_lib import ArgumentError, Hours, IdlePolicy, Weekday
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
