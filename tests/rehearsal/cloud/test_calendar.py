"""When schedules fire: cron expressions of Auto Scaling and EventBridge, in their time zones."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.calendar import moment, read_cron, read_schedule, seconds


def _at(text: str) -> int:
    return seconds(datetime.fromisoformat(text).replace(tzinfo=timezone.utc))


def _next(timing_text: str, after: str, count: int = 1, zone: str | None = None) -> list[str]:
    """The next moments of an expression, in UTC."""
    timing = read_schedule("S", timing_text, zone) if "(" in timing_text else read_cron("S", timing_text, zone)
    found, at = [], _at(after)
    for _ in range(count):
        coming = timing.next_after(at)
        assert coming is not None
        assert timing.is_due(coming)
        assert not timing.is_due(coming + 1)
        found.append(moment(coming).isoformat()[:16])
        at = coming
    return found


@pytest.mark.parametrize(
    ("expression", "after", "coming"),
    [
        ("0 8 * * 1-5", "2026-01-02T08:00", "2026-01-05T08:00"),
        ("0 8 * * MON-FRI", "2026-01-02T07:59", "2026-01-02T08:00"),
        ("30 22 * * 0", "2026-01-01T00:00", "2026-01-04T22:30"),
        ("30 22 * * 7", "2026-01-01T00:00", "2026-01-04T22:30"),
        ("*/15 * * * *", "2026-01-01T00:15", "2026-01-01T00:30"),
        ("5/20 3 * * *", "2026-01-01T03:26", "2026-01-01T03:45"),
        ("0 0 1 * *", "2026-01-01T00:00", "2026-02-01T00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("0 0 13 * 5", "2026-01-03T00:00", "2026-01-09T00:00"),
        ("0 6 * JAN,MAR *", "2026-01-31T06:00", "2026-03-01T06:00"),
        ("cron(0 18 ? * MON-FRI *)", "2026-01-02T18:00", "2026-01-05T18:00"),
        ("cron(0 10 ? * 2 *)", "2026-01-01T00:00", "2026-01-05T10:00"),
        ("cron(15 10 1 * ? 2027)", "2026-01-01T00:00", "2027-01-01T10:15"),
        ("rate(1 minute)", "2026-01-01T00:00", "2026-01-01T00:01"),
        ("rate(2 hours)", "2026-01-01T01:00", "2026-01-01T02:00"),
        ("at(2026-03-01T12:00:00)", "2026-01-01T00:00", "2026-03-01T12:00"),
    ],
)
def test_next_moment(expression: str, after: str, coming: str) -> None:
    assert _next(expression, after) == [coming]


def test_local_time_follows_the_clocks() -> None:
    """Germany puts its clocks forward on 29 March 2026."""
    assert _next("0 8 * * *", "2026-03-28T00:00", 2, "Europe/Berlin") == ["2026-03-28T07:00", "2026-03-29T06:00"]


def test_time_that_the_clocks_leave_out_is_skipped() -> None:
    assert _next("30 2 * * *", "2026-03-28T02:00", 1, "Europe/Berlin") == ["2026-03-30T00:30"]


def test_time_that_comes_twice_fires_once() -> None:
    """Clocks go back on 25 October 2026: half past two is at 00:30 and at 01:30 UTC."""
    assert _next("30 2 * * *", "2026-10-24T12:00", 2, "Europe/Berlin") == ["2026-10-25T00:30", "2026-10-26T01:30"]


def test_moment_in_a_zone() -> None:
    assert _next("at(2026-07-01T12:00:00)", "2026-01-01T00:00", 1, "America/New_York") == ["2026-07-01T16:00"]


def test_what_never_comes_again_has_no_next_moment() -> None:
    assert read_cron("S", "0 0 30 2 *").next_after(0) is None
    assert read_schedule("S", "at(2026-01-01T00:00:00)").next_after(0) is None
    assert read_schedule("S", "cron(0 0 1 1 ? 2026)").next_after(0) is None


@pytest.mark.parametrize(
    "expression",
    [
        *("cron(0 10 L * ? *)", "cron(0 10 ? * 2#1 *)", "cron(0 10 * *)", "rate(1 week)", "rate(0 minutes)"),
        *("every day", "cron(61 0 * * ? *)", "cron(5-1 0 * * ? *)"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_schedules_name(expression: str) -> None:
    with pytest.raises(ArgumentError, match="Nightly"):
        read_schedule("Nightly", expression)


def test_unknown_zone_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="Europe/Bielefeld"):
        read_cron("Nightly", "0 0 * * *", "Europe/Bielefeld")
