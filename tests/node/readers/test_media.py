"""Media accelerators of VT1: the list of xrmadm."""

from __future__ import annotations

import json

import pytest

from constructs_lib.node.readers import media
from constructs_lib.node.readings import FAILED, UNREADABLE, Command, Device
from tests.node.readers.recorded import answer, devices, recorded, refusal


def test_one_command_describes_all_devices() -> None:
    assert media.commands(2) == (Command(("/opt/xilinx/xrm/bin/xrmadm", str(media.REQUEST))),)
    assert json.loads(media.REQUEST.read_text(encoding="utf-8")) == {"request": {"name": "list", "requestId": 1}}


def test_devices_without_streams_say_zero() -> None:
    assert devices("media", recorded("media", "idle.json")) == (Device(0, utilization=0.0), Device(1, utilization=0.0))


def test_a_device_is_as_busy_as_its_busiest_unit() -> None:
    first, second = devices("media", recorded("media", "busy.json"))

    assert first.utilization == pytest.approx(83.1472)
    assert second.utilization == 0.0


def test_keys_without_blanks_are_read_as_well() -> None:
    text = recorded("media", "busy.json")
    trimmed = "\n".join(line.replace("usedLoad     ", "usedLoad") for line in text.split("\n"))

    assert answer("media", trimmed) == answer("media", text)


def test_lines_before_the_list_do_not_matter() -> None:
    assert devices("media", recorded("media", "with-header.txt")) == (Device(0, utilization=1.0),)


def test_a_device_without_a_program_is_unknown_and_hides_no_other() -> None:
    first, empty = devices("media", recorded("media", "one-failing.json"))

    assert first.utilization == 25.0
    assert empty == Device(1, fault="it has no compute units: no program (xclbin) is loaded")


def test_a_load_that_is_not_available_is_a_fault_though_another_is() -> None:
    (device,) = devices("media", recorded("media", "unavailable.json"))

    assert device == Device(0, fault="the usedLoad of a compute unit says N/A")


@pytest.mark.parametrize(
    "load",
    [
        "",
        "12",
        "1000001 of 1000000",
        "-1 of 1000000",
        "0 of 0",
        "NaN of 1000000",
        "1 von 1000000",
        831472,
        None,
        "1.5 of 2",
    ],
)
def test_a_load_that_makes_no_sense_is_unknown(load: object) -> None:
    list_ = {"response": {"data": {"device_0": {"cu_0": {"usedLoad ": load}}}}}

    (device,) = devices("media", json.dumps(list_))

    assert device.utilization is None
    assert device.fault is not None


def test_a_device_that_is_gone_is_not_made_up() -> None:
    list_ = json.loads(recorded("media", "idle.json"))
    del list_["response"]["data"]["device_0"]

    assert [device.index for device in devices("media", json.dumps(list_))] == [1]


def test_a_refusal_is_unreadable_and_quoted() -> None:
    reading = refusal("media", recorded("media", "refused.json"))

    assert reading.cause == UNREADABLE
    assert "xrmd is not ready" in reading.reason


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "Error: cannot connect\n", '{"response": {"data": []}}', '{"device_0": {}}']
)
def test_nothing_readable(text: str) -> None:
    assert refusal("media", text).cause == UNREADABLE


def test_a_tool_that_fails_is_quoted() -> None:
    reading = refusal("media", "", exit_status=1, stderr="connect: Connection refused")

    assert reading.cause == FAILED
    assert "Connection refused" in reading.reason
