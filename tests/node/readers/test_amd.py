"""AMD GPUs: the files of the driver amdgpu, as grep prints them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from constructs_lib.node.readers import amd
from constructs_lib.node.readings import FAILED, UNREADABLE, Device
from tests.node.readers.recorded import devices, recorded, refusal


def test_one_command_prints_the_files_of_all_gpus(tmp_path: Path) -> None:
    """The command is run on a copy of the directory tree: files that are not there are no error in its output."""
    for number in (0, 1):
        device = tmp_path / f"card{number}" / "device"
        (device / "hwmon" / "hwmon3").mkdir(parents=True)
        (device / "gpu_busy_percent").write_text(f"{number}\n")
        (device / "hwmon" / "hwmon3" / "temp1_input").write_text("38000\n")
    (tmp_path / "card0-HDMI-A-1").mkdir()
    (tmp_path / "card0-HDMI-A-1" / "device").symlink_to(tmp_path / "card0")
    (command,) = amd.commands(2)
    argv = [word.replace("/sys/class/drm", str(tmp_path)) for word in command.argv]

    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    output = done.stdout.replace(str(tmp_path), "/sys/class/drm")

    assert done.stderr == ""
    assert devices("amd", output, exit_status=done.returncode) == (
        Device(0, utilization=0.0, temperature_celsius=38.0),
        Device(1, utilization=1.0, temperature_celsius=38.0),
    )


def test_idle_gpus_say_zero() -> None:
    first, second = devices("amd", recorded("amd", "idle.txt"))

    assert first.utilization == second.utilization == 0.0
    assert first.memory_used_mib == pytest.approx(13.35, abs=0.01)
    assert first.memory_total_mib == 8176.0
    assert first.power_watts == 10.0
    assert first.temperature_celsius == 38.0


def test_busy_gpus_and_either_name_of_their_power() -> None:
    first, second = devices("amd", recorded("amd", "busy.txt"))

    assert first == Device(0, 99.0, None, 4096.0, 8176.0, 180.0, 71.0)
    assert second.utilization == 3.0
    assert second.power_watts == 10.0


def test_the_exit_status_of_grep_says_nothing_while_there_are_lines() -> None:
    text = recorded("amd", "without-sensors.txt")

    (device,) = devices("amd", text, exit_status=2)

    assert device.utilization == 7.0
    assert device.power_watts is None
    assert device.temperature_celsius is None


def test_a_gpu_whose_use_cannot_be_read_does_not_hide_the_other() -> None:
    good, failing = devices("amd", recorded("amd", "one-failing.txt"), exit_status=2)

    assert good.utilization == 40.0
    assert failing.utilization is None
    assert failing.fault == "gpu_busy_percent says nothing"
    assert failing.memory_total_mib == 8176.0


def test_values_that_are_not_available_are_unknown() -> None:
    assert devices("amd", recorded("amd", "unavailable.txt")) == (Device(0, fault="gpu_busy_percent says N/A"),)


def test_a_card_of_another_driver_is_no_gpu_of_this_kind() -> None:
    (device,) = devices("amd", recorded("amd", "foreign-card.txt"))

    assert device.index == 1
    assert device.utilization == 12.0


def test_a_gpu_that_is_gone_keeps_the_number_of_the_other() -> None:
    text = "".join(line for line in recorded("amd", "idle.txt").splitlines(True) if "/card0/" not in line)

    assert [device.index for device in devices("amd", text)] == [1]


@pytest.mark.parametrize("said", ["-1", "101", "NaN", "inf", "9" * 400, "0x1", "1 W", "busy"])
def test_a_use_that_is_no_percentage_is_a_fault_and_not_a_zero(said: str) -> None:
    (device,) = devices("amd", f"/sys/class/drm/card0/device/gpu_busy_percent:{said}\n")

    assert device.utilization is None
    assert device.fault is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [("power1_average", "-1"), ("power1_average", "6000000000"), ("temp1_input", "-60000"), ("temp1_input", "900000")],
)
def test_sensors_out_of_their_range_are_unknown(name: str, value: str) -> None:
    text = f"/sys/class/drm/card0/device/gpu_busy_percent:5\n/sys/class/drm/card0/device/hwmon/hwmon1/{name}:{value}\n"

    assert devices("amd", text) == (Device(0, utilization=5.0),)


def test_lines_of_other_programs_do_not_matter() -> None:
    text = "grep: Warnung\n" + recorded("amd", "without-sensors.txt") + "/sys/class/drm/card1/device/pp_od_clk:x\n"

    assert len(devices("amd", text)) == 1


@pytest.mark.parametrize("text", ["", "\n", "gpu_busy_percent:5\n", "/sys/class/drm/card/device/gpu_busy_percent:5\n"])
def test_nothing_readable(text: str) -> None:
    assert refusal("amd", text).cause == UNREADABLE
    assert refusal("amd", text, exit_status=2).cause == FAILED
