"""Qualcomm Cloud AI 100: the blocks of qaic-util, which differ a little from release to release."""

from __future__ import annotations

import pytest

from constructs_lib.node.readers import qualcomm
from constructs_lib.node.readings import FAILED, UNREADABLE, Command, Device
from tests.node.readers.recorded import devices, recorded, refusal


def test_one_command_describes_all_devices() -> None:
    assert qualcomm.commands(8) == (Command(("/opt/qti-aic/tools/qaic-util", "-q")),)


def test_devices_without_networks_are_idle_and_say_zero() -> None:
    readings = devices("qualcomm", recorded("qualcomm", "idle.txt"))

    assert [device.utilization for device in readings] == [0.0] * 8
    assert readings[5] == Device(5, 0.0, None, 0.0, 15624.0, 22.0, 45.0)


def test_the_use_is_the_share_of_processors_that_are_given_away() -> None:
    first, second = devices("qualcomm", recorded("qualcomm", "busy.txt"))

    assert first == Device(0, 100.0, None, 12000.0, 15624.0, 61.5, 66.25)
    assert second.utilization == 50.0
    assert second.memory_total_mib == pytest.approx(30565.94, abs=0.01)
    assert second.memory_used_mib == pytest.approx(475.31, abs=0.01)


def test_an_old_release_has_no_power_and_no_temperature() -> None:
    assert devices("qualcomm", recorded("qualcomm", "old.txt")) == (Device(0, 25.0, None, 0.0, 8116.0),)


def test_devices_that_fail_do_not_hide_the_others() -> None:
    good, in_error, refused = devices("qualcomm", recorded("qualcomm", "one-failing.txt"), exit_status=1)

    assert good.utilization == 100.0
    assert in_error.utilization is None
    assert in_error.fault == "Status is error"
    assert refused == Device(2, fault="qaic-util cannot query it")


def test_the_case_of_keys_and_blanks_do_not_matter() -> None:
    text = "QID 0 Status: READY\n NSP TOTAL : 16\n nsp free:4\n\tSOC Temperature(Degree C): 57.00\n"

    assert devices("qualcomm", text) == (Device(0, utilization=75.0, temperature_celsius=57.0),)


@pytest.mark.parametrize(
    ("total", "free"),
    [("N/A", "N/A"), ("14", ""), ("", "14"), ("0", "0"), ("14", "15"), ("14", "-1"), ("1e1", "0"), ("9" * 400, "0")],
)
def test_shares_that_make_no_sense_are_a_fault_and_not_a_zero(total: str, free: str) -> None:
    (device,) = devices("qualcomm", f"QID 0\n\tStatus:Ready\n\tNsp Total:{total}\n\tNsp Free:{free}\n")

    assert device.utilization is None
    assert device.fault is not None


def test_values_that_are_not_available_are_unknown() -> None:
    (device,) = devices("qualcomm", recorded("qualcomm", "unavailable.txt"))

    assert device == Device(0, fault="Nsp Total is N/A, Nsp Free is N/A")


def test_a_block_without_a_status_is_unknown() -> None:
    (device,) = devices("qualcomm", "QID 0\n\tNsp Total:14\n\tNsp Free:14\n")

    assert device.utilization is None


def test_two_values_that_contradict_each_other_are_unknown() -> None:
    text = recorded("qualcomm", "old.txt")

    (device,) = devices("qualcomm", text + text.replace("Nsp Free:6", "Nsp Free:8"))

    assert device.utilization is None


def test_a_line_that_is_cut_off_is_not_read() -> None:
    text = recorded("qualcomm", "idle.txt")
    end = text.index("Nsp Free:14") + len("Nsp Free:1")

    (device,) = devices("qualcomm", text[:end])

    assert device.utilization is None
    assert device.fault == "Nsp Total is 14, Nsp Free is nothing"


def test_a_device_that_is_gone_is_not_made_up() -> None:
    blocks = recorded("qualcomm", "idle.txt").split("QID ")

    assert [device.index for device in devices("qualcomm", "QID ".join(blocks[:4] + blocks[5:]))] == [
        0,
        1,
        2,
        4,
        5,
        6,
        7,
    ]


def test_values_before_the_first_block_belong_to_no_device() -> None:
    text = "Status:Ready\nNsp Total:14\nNsp Free:0\nQID 0\n\tBoard power(Watts):20.00\n"

    (device,) = devices("qualcomm", text)

    assert device.utilization is None
    assert device.power_watts == 20.0


@pytest.mark.parametrize("text", ["", "No devices found\n", "QID x\n", "QID\n", "Number of devices: 0\n"])
def test_nothing_readable(text: str) -> None:
    assert refusal("qualcomm", text).cause == UNREADABLE
    assert refusal("qualcomm", text, exit_status=1).cause == FAILED
