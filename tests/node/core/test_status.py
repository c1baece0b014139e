"""The status file and the setup's report, whatever is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node.readings import Device, Reading
from constructs_lib.node.settings import MachineSetup
from constructs_lib.node.setup_report import not_in_force, unverified
from constructs_lib.node.status import at, describe, document, parse

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "epoch_seconds",
                    "interval_seconds",
                    "devices",
                    "index",
                    "power_watts",
                    "fault",
                    "metrics",
                    "settings",
                    "ok",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_FIGURE = st.none() | st.floats(0, 5000)
_DEVICES = st.lists(st.builds(Device, st.integers(0, 255), _FIGURE, st.none() | st.integers(0, 2**59), _FIGURE))


@given(_DEVICES)
def test_what_is_written_can_be_shown(devices: list[Device]) -> None:
    written = json.dumps(document("nvidia", 60, 1.8e9, Reading(tuple(devices)), (), {}, {}))
    assert len(list(describe(at(parse(written), 1.8e9)))) == 1 + len(devices)


@given(st.text() | _JSON.map(json.dumps))
def test_any_text_is_shown_or_refused(text: str) -> None:
    try:
        status = parse(text)
    except ValueError:
        return
    assert list(describe(at(status, 1.8e9)))


@pytest.mark.parametrize("result", [{}, {"ok": "yes"}, {"ok": 1}, "ok", None])
def test_only_what_is_said_to_be_in_force_is(result: object) -> None:
    report = json.dumps({"settings": {"huge_pages": result}})
    assert not_in_force(MachineSetup(huge_pages=2), report).keys() == {"huge_pages"}
    assert unverified(MachineSetup(huge_pages=2), report) == {}


def test_what_nobody_can_verify_is_no_failure_and_is_named() -> None:
    asked = MachineSetup(huge_pages=2, open_files=1024)
    report = json.dumps(
        {
            "settings": {
                "huge_pages": {"ok": None, "detail": "not told"},
                "open_files": {"ok": False, "detail": "systemd is deaf"},
                "other": {"ok": None},
            }
        }
    )
    assert not_in_force(asked, report) == {"open_files": "systemd is deaf"}
    assert not_in_force(asked, '{"settings": {}}') == dict.fromkeys(asked.asked, "the report does not say why")
    assert unverified(asked, report) == {"huge_pages": "not told"}
    assert unverified(asked, '{"settings": {"huge_pages": {"ok": null}}}') == {"huge_pages": ""}


def test_settings_that_nobody_can_verify_are_shown() -> None:
    written = json.dumps(document("nvidia", 60, 1.8e9, Reading(()), (), {}, {"application_clocks": "not told"}))
    assert list(describe(at(parse(written), 1.8e9)))[1:] == ["unverified settings:", "  application_clocks: not told"]


@given(st.text() | _JSON.map(json.dumps))
def test_any_report_counts_or_is_refused(text: str) -> None:
    try:
        failures = not_in_force(MachineSetup(huge_pages=2, open_files=1024), text)
    except ValueError:
        return
    assert len(failures) == 2, "nothing in it is about these settings"
