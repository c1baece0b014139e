"""NVIDIA: reports of nvidia-smi from four generations of its format."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from constructs_lib.node.readers import nvidia
from constructs_lib.node.readings import FAILED, UNREADABLE, Command, Device
from tests.node.readers.recorded import devices, recorded, refusal

_REPORTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "nvidia_smi"

# Read off the reports by eye: use, memory used and total, power, temperature of each GPU; its persistence and clocks.
_RECORDED = {
    "a100-sxm4-mig.xml": [(None, 50.0, 81920.0, 67.03, 27.0)],
    "g4dn.12xlarge.xml": [
        (0.0, 0.0, 15360.0, 12.13, 29.0),
        (0.0, 0.0, 15360.0, 15.23, 29.0),
        (0.0, 0.0, 15360.0, 10.12, 29.0),
        (0.0, 0.0, 15360.0, 14.13, 28.0),
    ],
    "g4dn.xlarge.xml": [(0.0, 0.0, 15360.0, 13.07, 23.0)],
    "g5.12xlarge.xml": [
        (0.0, 0.0, 23028.0, 11.58, 26.0),
        (0.0, 0.0, 23028.0, 11.08, 26.0),
        (0.0, 0.0, 23028.0, 11.60, 27.0),
        (0.0, 0.0, 23028.0, 10.99, 26.0),
    ],
    "g5.xlarge.xml": [(0.0, 0.0, 23028.0, 10.85, 26.0)],
    "g5g.xlarge.xml": [(0.0, 0.0, 15360.0, 14.52, 60.0)],
    "g6.xlarge.xml": [(0.0, 0.0, 23034.0, 12.54, 31.0)],
    "g6e.xlarge.xml": [(0.0, 0.0, 46068.0, 23.47, 26.0)],
    "g6f.large.xml": [(0.0, 0.0, 3072.0, None, None)],
    "g7e.2xlarge.xml": [(0.0, 0.0, 97887.0, 27.54, 22.0)],
    "gr6.4xlarge.xml": [(0.0, 0.0, 23034.0, 12.39, 27.0)],
    "p2.xlarge.xml": [(85.0, 0.0, 11441.0, 59.11, 38.0)],
    "p3.2xlarge.xml": [(0.0, 0.0, 16384.0, 23.15, 24.0)],
    "p4d.24xlarge.xml": [
        (0.0, 0.0, 40960.0, power, temperature)
        for power, temperature in (
            (45.16, 42.0),
            (51.18, 39.0),
            (49.27, 41.0),
            (49.08, 38.0),
            (49.96, 40.0),
            (50.02, 39.0),
            (51.94, 41.0),
            (51.24, 39.0),
        )
    ],
}
_WITH_CLOCKS = {"a100-sxm4-mig.xml": (1593, 1275), "p2.xlarge.xml": (2505, 562), "p3.2xlarge.xml": (877, 1312)}
_WITH_CLOCKS["p4d.24xlarge.xml"] = (1215, 1095)
_WITHOUT_PERSISTENCE = ("a100-sxm4-mig.xml", "p2.xlarge.xml", "p4d.24xlarge.xml")

needs_reports = pytest.mark.skipif(not _REPORTS.is_dir(), reason="the reports of real instances are not here")


def _figures(gpu: Device) -> tuple[float | None, ...]:
    return (gpu.utilization, gpu.memory_used_mib, gpu.memory_total_mib, gpu.power_watts, gpu.temperature_celsius)


@needs_reports
def test_every_report_of_a_real_instance_is_known() -> None:
    assert {path.name for path in _REPORTS.glob("*.xml")} == set(_RECORDED)


@needs_reports
@pytest.mark.parametrize("name", _RECORDED)
def test_a_report_of_a_real_instance(name: str) -> None:
    report = (_REPORTS / name).read_text(encoding="utf-8")

    gpus = devices("nvidia", report)

    assert [_figures(gpu) for gpu in gpus] == _RECORDED[name]
    assert [gpu.index for gpu in gpus] == list(range(len(gpus)))
    assert all(gpu.use_unknown_by_design == (name == "a100-sxm4-mig.xml") for gpu in gpus)
    assert nvidia.persistence_modes(report) == (name not in _WITHOUT_PERSISTENCE,) * len(gpus)
    assert nvidia.application_clocks(report) == (_WITH_CLOCKS.get(name),) * len(gpus)


def test_one_command_describes_all_gpus() -> None:
    assert nvidia.commands(8) == nvidia.commands(1) == (Command(("nvidia-smi", "-q", "-x")),)


def test_idle_gpus_say_zero_and_power_is_the_instant_one_of_the_gpu_not_of_its_module() -> None:
    gpus = devices("nvidia", recorded("nvidia", "idle-v13.xml"))

    assert [_figures(gpu) for gpu in gpus] == [(0.0, 0.0, 23028.0, 11.58, 26.0), (0.0, 0.0, 23028.0, 12.58, 27.0)]
    assert [gpu.fault for gpu in gpus] == [None, None]


def test_busy_gpus() -> None:
    assert [_figures(gpu) for gpu in devices("nvidia", recorded("nvidia", "busy-v12.xml"))] == [
        (97.0, 30123.0, 40960.0, 398.20, 71.0),
        (3.0, 12.0, 40960.0, 61.05, 40.0),
    ]


def test_the_format_before_driver_525() -> None:
    (gpu,) = devices("nvidia", recorded("nvidia", "busy-v11.xml"))

    assert _figures(gpu) == (85.0, 640.0, 11441.0, 59.11, 38.0)


def test_power_falls_back_to_the_average() -> None:
    report = recorded("nvidia", "idle-v13.xml").replace("11.58 W", "N/A")

    assert devices("nvidia", report)[0].power_watts == 11.74


def test_a_fractional_gpu_has_use_and_memory_only() -> None:
    (gpu,) = devices("nvidia", recorded("nvidia", "fraction.xml"))

    assert _figures(gpu) == (0.0, 0.0, 3072.0, None, None)
    assert gpu.fault is None


def test_mig_is_unknown_by_design_and_keeps_its_other_figures() -> None:
    (gpu,) = devices("nvidia", recorded("nvidia", "mig-v12.xml"))

    assert _figures(gpu) == (None, 50.0, 81920.0, 67.03, 27.0)
    assert gpu.use_unknown_by_design
    assert gpu.fault is not None
    assert gpu.fault.startswith("MIG")


def test_mig_stays_unknown_if_a_driver_gives_a_number() -> None:
    report = recorded("nvidia", "mig-v12.xml").replace("<gpu_util>N/A", "<gpu_util>0 %")

    assert devices("nvidia", report)[0].utilization is None


def test_one_gpu_that_is_lost_does_not_hide_the_others() -> None:
    good, lost, idle = devices("nvidia", recorded("nvidia", "one-failing.xml"), exit_status=15)

    assert _figures(good) == (50.0, 512.0, 23028.0, 60.0, 40.0)
    assert lost == Device(1, fault="gpu_util says GPU is lost")
    assert idle.utilization == 0.0


def test_case_45_seven_cards_and_an_error_for_one_are_seven_values() -> None:
    gpus = devices("nvidia", recorded("nvidia", "seven-of-eight.txt"), exit_status=1)

    assert [gpu.utilization for gpu in gpus] == [0.0, 10.0, 20.0, 30.0, 50.0, 60.0, 70.0]


def test_case_45_a_report_that_breaks_off_gives_what_came_before() -> None:
    report = recorded("nvidia", "one-failing.xml")
    end = report.index("GPU is lost")

    good, broken = devices("nvidia", report[:end], exit_status=1)

    assert good.utilization == 50.0
    assert broken == Device(1, fault="nvidia-smi breaks off in the description of this GPU")


def test_an_error_in_the_middle_of_the_report_costs_the_rest_only() -> None:
    report = recorded("nvidia", "busy-v12.xml").replace("3 %", "Error: <unknown> & more")

    busy, broken = devices("nvidia", report, exit_status=1)

    assert busy.utilization == 97.0
    assert broken.utilization is None
    assert broken.fault is not None


@pytest.mark.parametrize(
    "said", ["N/A", "[N/A]", "", "-1 %", "101 %", "NaN %", "Infinity", "9" * 400, "50 MiB", "½ %", "8<a/>5 %"]
)
def test_a_use_that_is_no_percentage_is_a_fault_and_not_a_zero(said: str) -> None:
    report = recorded("nvidia", "fraction.xml").replace("<gpu_util>0 %", f"<gpu_util>{said}")

    (gpu,) = devices("nvidia", report)

    assert gpu.utilization is None
    assert gpu.fault is not None
    assert gpu.memory_total_mib == 3072.0
    assert not gpu.use_unknown_by_design


def test_no_devices_is_a_failure_with_what_the_tool_said() -> None:
    reading = refusal("nvidia", recorded("nvidia", "no-devices.txt"), exit_status=6)

    assert reading.cause == FAILED
    assert "No devices were found" in reading.reason


def test_a_report_without_gpus_is_unreadable() -> None:
    report = "<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"

    assert refusal("nvidia", report).cause == UNREADABLE


def test_an_element_gpu_elsewhere_is_no_gpu() -> None:
    assert refusal("nvidia", "<html><gpu><utilization/></gpu></html>").cause == UNREADABLE
    report = "<nvidia_smi_log><note><gpu><a/></gpu></note></nvidia_smi_log>"
    assert refusal("nvidia", report).cause == UNREADABLE


def test_entities_are_refused_in_bounded_time() -> None:
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(30))
    bomb = recorded("nvidia", "fraction.xml").replace(
        '"nvsmi_device_v13.dtd">', f'"nvsmi_device_v13.dtd" [<!ENTITY l0 "ha">{laughs}]>'
    )

    assert refusal("nvidia", bomb.replace("NVIDIA L4-3Q", "&l30;")).cause == UNREADABLE


def test_an_entity_without_a_declaration_is_an_error_and_not_left_out() -> None:
    report = recorded("nvidia", "busy-v11.xml").replace("85 %", "8&x;5 %")

    (gpu,) = devices("nvidia", report)

    assert gpu.utilization is None


def test_a_dtd_from_elsewhere_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the reader asked the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    outside = '<!DOCTYPE nvidia_smi_log SYSTEM "{}"><nvidia_smi_log><gpu/></nvidia_smi_log>'

    for address in ("http://192.0.2.1/x.dtd", (tmp_path / "x.dtd").as_uri(), "/etc/passwd"):
        assert nvidia.persistence_modes(outside.format(address)) == (None,)


def test_deep_and_long_reports_are_bounded() -> None:
    assert refusal("nvidia", "<nvidia_smi_log>" + "<a>" * 300_000).cause == UNREADABLE
    deep = "<nvidia_smi_log><gpu>" + "<a>" * 100_000 + "</a>" * 100_000 + "</gpu></nvidia_smi_log>"
    assert devices("nvidia", deep)[0].utilization is None
    long = recorded("nvidia", "busy-v11.xml") + " " * 5_000_000
    assert refusal("nvidia", long).cause == UNREADABLE


def test_what_machine_setup_asks() -> None:
    report = recorded("nvidia", "busy-v12.xml")
    assert nvidia.persistence_modes(report) == (False, False)
    assert nvidia.application_clocks(report) == ((1215, 1410), (1215, 1410))
    assert nvidia.persistence_modes(recorded("nvidia", "idle-v13.xml")) == (True, True)
    assert nvidia.application_clocks(recorded("nvidia", "idle-v13.xml")) == (None, None)
    assert nvidia.application_clocks(recorded("nvidia", "fraction.xml")) == (None,)
    assert nvidia.persistence_modes("garbage") == ()
    assert nvidia.application_clocks("") == ()
