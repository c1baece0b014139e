"""Hours of the week: over midnight, in zones whose clocks change, with exceptions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hours import Hours, read_hours

BERLIN = "Europe/Berlin"
ALL_DAYS = list(range(7))


def hours(
    start: str, end: str, *, zone: str = "UTC", days: list[int] = ALL_DAYS, but: list[str] | None = None
) -> Hours:
    document: dict[str, Any] = {"days": days, "from": start, "to": end, "zone": zone}
    return read_hours(document if but is None else {**document, "except": but})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def covered(hours: Hours, *moments: str) -> list[bool]:
    return [hours.covers(utc(moment)) for moment in moments]


def span(hours: Hours, after: str) -> tuple[str, str]:
    """Return the next beginning after a moment, and the end that follows it, to the minute."""
    begin = hours.next_start(utc(after))
    assert begin is not None
    assert not hours.covers(begin - timedelta(seconds=1)), "begins only now"
    end = begin
    while hours.covers(end):
        end += timedelta(minutes=1)
    return begin.strftime("%d. %H:%M"), end.strftime("%d. %H:%M")


def test_the_beginning_belongs_to_them_and_the_end_does_not() -> None:
    office = hours("08:00", "18:00")
    moments = ("2026-11-30 07:59:59.999", "2026-11-30 08:00", "2026-11-30 17:59:59.999", "2026-11-30 18:00")
    assert covered(office, *moments) == [False, True, True, False]


def test_the_zone_decides_and_not_utc() -> None:
    office = hours("08:00", "18:00", zone=BERLIN)
    assert covered(office, "2026-11-30 06:59", "2026-11-30 07:00", "2026-11-30 17:00") == [False, True, False]
    assert covered(office, "2026-07-01 05:59", "2026-07-01 06:00", "2026-07-01 16:00") == [False, True, False]


def test_the_moment_may_be_told_in_any_zone() -> None:
    office = hours("08:00", "18:00", zone=BERLIN)
    tokyo = timezone(timedelta(hours=9))
    assert office.covers(datetime(2026, 11, 30, 16, 0, tzinfo=tokyo))
    assert not office.covers(datetime(2026, 11, 30, 15, 59, tzinfo=tokyo))


def test_over_midnight_the_day_is_that_of_the_beginning() -> None:
    night = hours("22:00", "06:00", days=[4])  # Friday, 2026-12-04
    moments = ("2026-12-04 05:00", "2026-12-04 21:59", "2026-12-04 22:00", "2026-12-05 05:59", "2026-12-05 06:00")
    assert covered(night, *moments) == [False, False, True, True, False]
    assert covered(night, "2026-12-05 22:00") == [False]


def test_an_exception_is_the_day_of_the_beginning() -> None:
    night = hours("22:00", "06:00", but=["2026-12-24"])
    assert covered(night, "2026-12-24 05:59", "2026-12-24 22:00", "2026-12-25 05:59", "2026-12-25 22:00") == [
        True,
        False,
        False,
        True,
    ]


def test_the_whole_day_ends_at_24() -> None:
    sunday = hours("00:00", "24:00", days=[6])  # 2026-12-06
    assert covered(sunday, "2026-12-05 23:59", "2026-12-06 00:00", "2026-12-06 23:59:59", "2026-12-07 00:00") == [
        False,
        True,
        True,
        False,
    ]


def test_the_same_time_twice_is_a_whole_day() -> None:
    assert span(hours("08:00", "08:00", days=[0]), "2026-11-29 00:00") == ("30. 08:00", "01. 08:00")


def test_midnight_as_the_end_is_the_coming_one() -> None:
    assert span(hours("18:00", "00:00", days=[0]), "2026-11-29 00:00") == ("30. 18:00", "01. 00:00")


# Berlin: at 2026-03-29 01:00 UTC 02:00 becomes 03:00, at 2026-10-25 01:00 UTC 03:00 becomes 02:00.
@pytest.mark.parametrize(
    ("start", "end", "begins", "ends"),
    [
        ("01:00", "04:00", "29. 00:00", "29. 02:00"),
        ("02:30", "08:00", "29. 01:00", "29. 06:00"),
        ("00:00", "02:30", "28. 23:00", "29. 01:00"),
        ("02:30", "03:10", "29. 01:00", "29. 01:10"),
        ("02:00", "03:00", "30. 00:00", "30. 01:00"),
        # Wholly within the hour that is skipped: not on that day, and no error either.
        ("02:10", "02:50", "30. 00:10", "30. 00:50"),
    ],
)
def test_in_spring_a_skipped_time_is_the_jump(start: str, end: str, begins: str, ends: str) -> None:
    assert span(hours(start, end, zone=BERLIN), "2026-03-28 22:00") == (begins, ends)


@pytest.mark.parametrize(
    ("start", "end", "begins", "ends"),
    [
        ("01:00", "04:00", "24. 23:00", "25. 03:00"),
        ("02:30", "08:00", "25. 00:30", "25. 07:00"),
        ("01:00", "02:30", "24. 23:00", "25. 01:30"),
        ("02:10", "02:50", "25. 00:10", "25. 01:50"),
    ],
)
def test_in_autumn_hours_begin_once_and_end_once(start: str, end: str, begins: str, ends: str) -> None:
    assert span(hours(start, end, zone=BERLIN), "2026-10-24 22:00") == (begins, ends)


def test_a_zone_that_skips_midnight() -> None:
    # Beirut puts its clocks forward from 00:00 to 01:00 on 2026-03-29.
    assert span(hours("00:00", "06:00", zone="Asia/Beirut"), "2026-03-28 12:00") == ("28. 22:00", "29. 03:00")


def test_a_zone_that_shows_midnight_twice() -> None:
    # Havana puts its clocks back from 01:00 to 00:00 on 2026-11-01.
    havana = "America/Havana"
    assert span(hours("00:00", "06:00", zone=havana, days=[6]), "2026-10-31 12:00") == ("01. 04:00", "01. 11:00")
    assert span(hours("20:00", "24:00", zone=havana, days=[5]), "2026-10-31 12:00") == ("01. 00:00", "01. 05:00")


def test_a_zone_whose_clocks_move_by_half_an_hour() -> None:
    # Lord Howe: 02:00 becomes 02:30 on 2026-10-04, at 2026-10-03 15:30 UTC.
    assert span(hours("02:15", "04:00", zone="Australia/Lord_Howe"), "2026-10-03 12:00") == ("03. 15:30", "03. 17:00")


def test_the_next_beginning_is_later_than_now() -> None:
    office = hours("08:00", "18:00", days=[0, 1], but=["2026-12-01"])
    assert office.next_start(utc("2026-11-30 07:59:59")) == utc("2026-11-30 08:00")
    assert office.next_start(utc("2026-11-30 08:00")) == utc("2026-12-07 08:00")


def test_the_next_beginning_may_be_none() -> None:
    every_monday = [(utc("2026-11-30") + timedelta(weeks=week)).date().isoformat() for week in range(60)]
    assert hours("08:00", "18:00", days=[0], but=every_monday).next_start(utc("2026-11-30")) is None


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "Asia/Kathmandu", "EST5EDT"])
def test_zones_by_their_iana_name(zone: str) -> None:
    assert hours("00:00", "24:00", zone=zone).covers(utc("2026-11-30"))


@pytest.mark.parametrize(
    "zone", [None, "", " ", 1, "Europe/Nowhere", "UTC+3", "UTC0", "JST-9", "/usr/share/zoneinfo/UTC", "../UTC", ":UTC"]
)
def test_an_unknown_zone_is_refused(zone: object) -> None:
    with pytest.raises(ValueError, match="'zone' must be a time zone's IANA name"):
        read_hours({"days": [0], "from": "08:00", "to": "18:00", "zone": zone})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": "24:00"}, "'from' must be a time from 00:00 to 23:59, got '24:00'"),
        ({"from": "8:00"}, "'from' must be"),
        ({"from": None}, "'from' must be"),
        ({"from": "08:00\n"}, "'from' must be"),
        ({"to": "24:01"}, "'to' must be a time from 00:00 to 24:00, got '24:01'"),
        ({"to": "12:60"}, "'to' must be"),
        ({"to": 8}, "'to' must be"),
        ({"days": []}, "'days' must be"),
        ({"days": [7]}, "'days' must be"),
        ({"days": [True]}, "'days' must be"),
        ({"days": "0"}, "'days' must be"),
        ({"days": None}, "'days' must be"),
        ({"except": "2026-12-25"}, "'except' must be"),
        ({"except": ["25.12.2026"]}, "'except' must be"),
        ({"except": ["2026-02-30"]}, "'except' must be"),
        ({"except": ["20261225"]}, "'except' must be"),
        ({"except": [20261225]}, "'except' must be"),
        ({"until": "18:00"}, "hours know days, except, from, to, zone, got 'until'"),
    ],
)
def test_nonsense_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_hours({"days": [0], "from": "08:00", "to": "18:00", "zone": "UTC", **change})


@pytest.mark.parametrize("document", [None, [], "08:00", 8])
def test_hours_are_an_object(document: object) -> None:
    with pytest.raises(ValueError, match="hours must be a JSON object"):
        read_hours(document)


ZONES = ["UTC", BERLIN, "America/Havana", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "America/New_York"]
CLOCKS = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))


@given(
    start=CLOCKS,
    end=CLOCKS,
    zone=st.sampled_from(ZONES),
    days=st.sets(st.integers(0, 6), min_size=1),
    minute=st.integers(0, 365 * 24 * 60),
)
def test_they_begin_exactly_where_they_are_said_to(
    start: str, end: str, zone: str, days: set[int], minute: int
) -> None:
    some = hours(start, end, zone=zone, days=sorted(days))
    now = utc("2026-01-01") + timedelta(minutes=minute)
    begin = some.next_start(now)
    assert begin is not None
    assert begin > now
    assert some.covers(begin)
    # Within one day two spans can meet or overlap only if they are as long as a day.
    if not some.covers(now):
        earlier = [now + (begin - now) * share / 7 for share in range(7)]
        assert not any(some.covers(moment) for moment in earlier)
