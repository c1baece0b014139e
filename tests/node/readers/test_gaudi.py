"""Intel Gaudi: the CSV of hl-smi."""

from __future__ import annotations

import pytest

from constructs_lib.node.readers import gaudi
from constructs_lib.node.readings import FAILED, UNREADABLE, Command, Device
from tests.node.readers.recorded import devices, recorded, refusal


def test_one_command_asks_for_the_values_in_their_order_and_with_their_units() -> None:
    fields = "index,utilization.aip,memory.used,memory.total,power.draw,temperature.aip"

    assert gaudi.commands(8) == (Command(("hl-smi", f"--query-aip={fields}", "--format=csv,noheader")),)


def test_idle_devices_say_zero() -> None:
    readings = devices("gaudi", recorded("gaudi", "idle.csv"))

    assert [device.utilization for device in readings] == [0.0] * 8
    assert [device.index for device in readings] == list(range(8))
    assert readings[7] == Device(7, 0.0, None, 512.0, 32768.0, 104.0, 45.0)


@pytest.mark.parametrize("name", ["busy.csv", "without-units.csv"])
def test_busy_with_units_or_without(name: str) -> None:
    assert devices("gaudi", recorded("gaudi", name)) == (
        Device(0, 96.0, None, 31000.0, 32768.0, 330.0, 61.0),
        Device(1, 0.0, None, 512.0, 32768.0, 98.0, 39.0),
    )


def test_a_device_that_fails_does_not_hide_the_others() -> None:
    first, failing, last = devices("gaudi", recorded("gaudi", "one-failing.csv"), exit_status=1)

    assert first.utilization == 12.0
    assert failing == Device(1, fault="utilization.aip says N/A")
    assert last.utilization == 0.0


def test_a_header_and_messages_are_no_devices() -> None:
    text = "Warnung: alter Treiber, Index 7\n" + recorded("gaudi", "with-header.csv") + "Done.\n"

    assert [device.utilization for device in devices("gaudi", text)] == [5.0]


def test_a_device_that_is_gone_is_not_made_up() -> None:
    text = "".join(line for line in recorded("gaudi", "idle.csv").splitlines(True) if not line.startswith("3,"))

    assert [device.index for device in devices("gaudi", text)] == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("line", ["0, 45 %", "0, 45 %, 1 MiB, 2 MiB, 3 W, 4 C, 5", "0, ERROR: device is in reset"])
def test_a_line_with_another_number_of_values_is_a_fault(line: str) -> None:
    (device,) = devices("gaudi", f"{line}\n")

    assert device.utilization is None
    assert device.fault is not None


def test_a_line_that_is_cut_off_is_not_read() -> None:
    assert len(devices("gaudi", recorded("gaudi", "busy.csv").rstrip("\n"))) == 1


def test_a_device_that_is_listed_twice_is_unknown() -> None:
    (device,) = devices("gaudi", recorded("gaudi", "with-header.csv") + "0, 99 %, 1 MiB, 2 MiB, 3 W, 4 C\n")

    assert device == Device(0, fault="hl-smi lists it twice")


@pytest.mark.parametrize("said", ["-1 %", "101 %", "NaN", "inf", "9" * 100, "0.5.5", "45 W", "[Not Supported]", ""])
def test_a_use_that_is_no_percentage_is_a_fault_and_not_a_zero(said: str) -> None:
    (device,) = devices("gaudi", f"0, {said}, 512 MiB, 32768 MiB, 98 W, 39 C\n")

    assert device.utilization is None
    assert device.fault is not None
    assert device.power_watts == 98.0


def test_memory_in_another_unit_is_unknown() -> None:
    (device,) = devices("gaudi", "0, 1 %, 32 GiB, 805306368 B, 98000 mW, 310 K\n")

    assert device == Device(0, utilization=1.0)


@pytest.mark.parametrize("text", ["", "\n\n", "No devices found\n", "999999, 1, 2, 3, 4, 5\n", "\x00\x01\n"])
def test_nothing_readable(text: str) -> None:
    assert refusal("gaudi", text).cause == UNREADABLE
    assert refusal("gaudi", text, exit_status=1).cause == FAILED
