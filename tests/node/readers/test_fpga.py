"""FPGAs of F2: counters of fpga-describe-local-image, one answer for each slot."""

from __future__ import annotations

import pytest

from constructs_lib.node.readers import fpga
from constructs_lib.node.readings import FAILED, UNREADABLE, Device, Output, Reading
from tests.node.readers.recorded import devices, recorded, refusal


@pytest.mark.parametrize(("expected", "slots"), [(0, 1), (1, 1), (8, 8)])
def test_one_command_for_each_slot(expected: int, slots: int) -> None:
    assert [command.argv for command in fpga.commands(expected)] == [
        ("fpga-describe-local-image", "-S", str(slot), "-M") for slot in range(slots)
    ]


def test_all_slots_can_be_read_within_a_minute() -> None:
    assert sum(command.time_limit_seconds for command in fpga.commands(8)) < 60


def test_the_counters_are_left_as_they_are() -> None:
    assert all("-C" not in command.argv for command in fpga.commands(8))


@pytest.mark.parametrize("name", ["idle.txt", "cleared.txt"])
def test_an_idle_fpga_has_moved_nothing(name: str) -> None:
    assert devices("fpga", recorded("fpga", name)) == (Device(0, transfers=0, power_watts=9.0),)


def test_transfers_are_the_sum_of_the_reads_and_writes_and_not_of_the_errors() -> None:
    first, second = devices("fpga", recorded("fpga", "busy.txt"), recorded("fpga", "busy-slot-1.txt"))

    assert first == Device(0, transfers=1000 + 200 + 29797854199 + 4, power_watts=61.0)
    assert second.transfers == 1 + 2 + 3 + 4 + 5 + 6
    assert second.utilization is None


def test_a_slot_that_fails_does_not_hide_the_others() -> None:
    reading = fpga.parse([Output(0, recorded("fpga", "busy.txt")), Output(3, recorded("fpga", "error.txt"))])

    assert isinstance(reading, Reading)
    assert reading.devices == (
        Device(0, transfers=29797855403, power_watts=61.0),
        Device(1, fault="fpga-describe-local-image ended with exit status 3 and said: Error: (3) internal-error"),
    )


def test_an_error_after_the_figures_is_not_overheard() -> None:
    (device,) = devices("fpga", recorded("fpga", "busy.txt") + recorded("fpga", "error.txt"), exit_status=3)

    assert device.transfers is None
    assert device.power_watts == 61.0


def test_all_slots_failing_is_no_reading() -> None:
    error = recorded("fpga", "error.txt")

    reading = refusal("fpga", error, error, exit_status=3)

    assert reading.cause == FAILED
    assert "internal-error" in reading.reason


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("power-violation.txt", "the image is load-failed: afi-power-violation"),
        ("loading.txt", "the image is busy: ok"),
    ],
)
def test_an_image_that_does_not_run_is_unknown_and_not_idle(name: str, fault: str) -> None:
    (device,) = devices("fpga", recorded("fpga", name))

    assert device.transfers is None
    assert device.fault == fault


def test_headers_and_further_lines_do_not_matter() -> None:
    text = "Type  FpgaImageSlot  FpgaImageId  StatusName\n" + recorded("fpga", "busy.txt").replace(
        "pcim-write", "Metrics\npcim-write"
    )

    assert devices("fpga", text) == devices("fpga", recorded("fpga", "busy.txt"))


def test_an_answer_for_another_slot_is_a_fault() -> None:
    (device,) = devices("fpga", recorded("fpga", "busy-slot-1.txt"))

    assert device.fault == "fpga-describe-local-image answered for slot 1"


@pytest.mark.parametrize("said", ["N/A", "", "-1", "1.5", "NaN", str(2**64), "9" * 400, "0x10", "12 watts"])
def test_a_counter_that_is_no_count_makes_the_use_unknown(said: str) -> None:
    (device,) = devices("fpga", recorded("fpga", "busy.txt").replace("pcim-read-count=200", f"pcim-read-count={said}"))

    assert device.transfers is None
    assert device.fault == "the counters of its transfers are not all there"


def test_counters_that_break_off_are_not_summed() -> None:
    text = recorded("fpga", "busy.txt")

    (device,) = devices("fpga", text[: text.index("DDR0")])

    assert device.transfers is None


@pytest.mark.parametrize("said", ["N/A", "-9 watts", "9000 watts", "9 mW", ""])
def test_a_power_that_is_no_power_is_unknown(said: str) -> None:
    (device,) = devices("fpga", recorded("fpga", "busy.txt").replace("measured: 61 watts", f"measured: {said}", 1))

    assert device.power_watts is None
    assert device.transfers is not None


@pytest.mark.parametrize("text", ["", "Error: permission denied\n", "AFI\n", "AFI 0 none cleared\n"])
def test_nothing_readable(text: str) -> None:
    assert refusal("fpga", text).cause == UNREADABLE
    assert refusal("fpga", text, exit_status=1).cause == FAILED
