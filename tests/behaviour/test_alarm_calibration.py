"""The alarm model against both published tables of missing data, row by row."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.alarms import State, verdict
from tests.rehearsal.cloud.missing_data import PUBLISHED, points

_SETTINGS = ("missing", "ignore", "breaching", "notBreaching")


@pytest.mark.parametrize(("m", "row", "expected"), PUBLISHED)
@pytest.mark.parametrize("state", ["OK", "ALARM", "INSUFFICIENT_DATA"])
def test_published_row(m: int, row: str, expected: tuple[str, ...], state: State) -> None:
    states = [verdict(points(row), n=3, m=m, missing=setting, state=state) for setting in _SETTINGS]

    assert states == [state if value == "keep" else value for value in expected]


@pytest.mark.parametrize("row", ["- - - - X", "- - - X -"])
def test_premature_rule_needs_a_point_as_old_as_m(row: str) -> None:
    assert verdict(points(row), n=3, m=3, missing="missing", state="OK") != "ALARM"


def test_old_good_point_delays_an_alarm_that_counts_silence_as_breaching() -> None:
    assert verdict([False, None, None, None, None], n=3, m=3, missing="breaching", state="OK") == "OK"
    assert verdict([None] * 5, n=3, m=3, missing="breaching", state="OK") == "ALARM"


def test_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="notbreaching"):
        verdict([True], n=1, m=1, missing="notbreaching", state="OK")
