"""The whole loop on a machine of the test's: what is published in each interval, and what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.node import names
from constructs_lib.node.kernel_log import FaultLine, News
from constructs_lib.node.notify import Supervisor
from constructs_lib.node.readings import Device, Reading
from constructs_lib.node.settings import MachineSetup
from tests.node.core.machine import HUNG_TOOL, IDENTITY, LAUNCHED, Rig, devices

NO_READING = {"accelerators_missing": 1, "accelerators_unknown": 1, "busy_marks": 0, "interactive_sessions": 0}

NEED_THE_TYPE = {"accelerators_missing", "accelerators_unknown"}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_an_idle_machine_says_so_in_each_interval(rig: Rig) -> None:
    rig.read()
    assert rig.read() == {
        "accelerator_utilization#0": 0.0,
        "node_heartbeat": 1,
        "accelerators_present": 1,
        "accelerators_missing": 0,
        "accelerators_unknown": 0,
        "accelerator_idle_seconds": 60,
        "busy_marks": 0,
        "interactive_sessions": 0,
    }
    assert rig.log == []


class TestFieldCases:
    def test_case_45_a_hung_tool_publishes_nothing_old(self, rig: Rig) -> None:
        rig.answer = devices(97.0)
        assert rig.read()["accelerator_utilization#0"] == 97.0
        rig.answer = HUNG_TOOL
        for _ in range(3):
            assert rig.read() == NO_READING
        assert rig.status["answer"] == "hung"
        assert rig.status["devices"] == []
        assert [line["cause"] for line in rig.told("fails")] == ["hung"]
        rig.answer = devices(97.0)
        assert rig.read()["node_heartbeat"] == 1
        assert [line["part"] for line in rig.told("works again")] == ["accelerators"]

    def test_case_45_seven_good_cards_and_one_that_fails(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path)
        rig.identity = replace(IDENTITY, instance_type="trn1.32xlarge")
        rig.settings = replace(rig.settings, expected={"trn1.32xlarge": 8})
        rig.start()
        rig.answer = devices(*[50.0] * 7, None)
        arrived = rig.read()
        assert sum(name.startswith("accelerator_utilization#") for name in arrived) == 7
        assert arrived["accelerators_present"] == 8
        assert arrived["accelerators_missing"] == 1
        assert arrived["node_heartbeat"] == 1
        assert rig.status["problems"] == {"accelerator 7": "fault: lost"}

    def test_case_06_a_report_that_no_longer_has_the_use(self, rig: Rig) -> None:
        rig.read()
        rig.answer = devices(None)
        arrived = rig.read()
        assert arrived["accelerators_missing"] == 1
        assert not {"node_heartbeat", "accelerator_utilization#0", "accelerator_idle_seconds"} & arrived.keys()

    def test_case_07_marks_that_cannot_be_counted_are_not_idleness(self, rig: Rig) -> None:
        rig.read()
        rig.marks = None
        arrived = rig.read()
        assert not {"busy_marks", "accelerator_idle_seconds"} & arrived.keys()
        assert arrived["accelerator_utilization#0"] == 0.0
        (line,) = rig.told("fails")
        assert (line["part"], line["reason"]) == ("busy marks", "cannot be counted")
        rig.marks = 0
        assert rig.read()["accelerator_idle_seconds"] == 0

    def test_case_66_a_driver_that_never_comes_is_missing_from_the_first_interval(self, rig: Rig) -> None:
        rig.answer = replace(HUNG_TOOL, cause="missing")
        assert rig.read()["accelerators_missing"] == 1

    def test_case_05_only_names_that_others_know_are_published(self, rig: Rig) -> None:
        rig.set_up(MachineSetup(huge_pages=2))
        rig.leave(names.SETUP_REPORT, '{"settings": {"huge_pages": {"ok": true, "detail": ""}}}')
        for name in (names.DRIVER_READY, names.AGENT_READY):
            rig.leave(name, str(LAUNCHED + 60))
        device = Device(0, 50.0, None, 1.0, 2.0, 70.0, 30.0)
        rig.answer = Reading((device,))
        arrived = rig.read().keys() | rig.read().keys()
        assert arrived == {*names.INSTANCE_METRICS, "accelerator_utilization#0"}


class TestExpectedDevices:
    def test_they_are_those_of_the_instance_type(self, rig: Rig) -> None:
        rig.identity = replace(IDENTITY, instance_type="trn1.32xlarge")
        assert rig.read()["accelerators_missing"] == 15
        assert rig.asked_for == [16]

    def test_while_nobody_knows_the_type_nothing_is_missing_and_nothing_idle(self, rig: Rig) -> None:
        rig.identity = TimeoutError("timed out")
        arrived = rig.read() and rig.read()
        assert not {"accelerators_missing", "accelerator_idle_seconds"} & arrived.keys()
        assert arrived["accelerator_utilization#0"] == 0.0
        assert rig.asked_for == [None, None]
        rig.identity = IDENTITY
        assert rig.read()["accelerators_missing"] == 0
        assert [line["event"] for line in rig.log] == ["fails", "works again"]

    def test_a_type_that_the_settings_do_not_have_is_told_once(self, rig: Rig) -> None:
        rig.identity = replace(IDENTITY, instance_type="trn2.48xlarge")
        assert "accelerators_missing" not in rig.read()
        assert "accelerators_missing" not in rig.read()
        (line,) = rig.log
        assert "trn2.48xlarge" in line["reason"]

    def test_devices_that_the_tool_does_not_list_are_a_problem(self, rig: Rig) -> None:
        """One that fell off the bus is not in the list, so it has no fault of its own."""
        rig.identity = replace(IDENTITY, instance_type="trn1.32xlarge")
        rig.answer = devices(*[0.0] * 15)
        rig.read()
        assert rig.status["problems"] == {"accelerators": "not listed: 15 of 16 are there"}
        rig.answer = devices(*[0.0] * 16)
        rig.read()
        assert rig.status["problems"] == {}

    def test_one_type_needs_no_metadata(self, rig: Rig) -> None:
        rig.settings = replace(rig.settings, expected={"g6.12xlarge": 4, "g5.12xlarge": 4})
        rig.identity = TimeoutError("timed out")
        rig.start()
        assert rig.read()["accelerators_missing"] == 3


class TestBusyMarks:
    def test_each_interval_counts_those_since_the_last(self, rig: Rig) -> None:
        started = rig.now
        rig.read()
        rig.read()
        assert rig.marks_since == [started, started + 60]

    def test_a_mark_is_use(self, rig: Rig) -> None:
        rig.read()
        rig.marks = 2
        arrived = rig.read()
        assert (arrived["busy_marks"], arrived["accelerator_idle_seconds"]) == (2, 0)


class TestSetup:
    ASKED = MachineSetup(persistence_mode=True, huge_pages=512)

    def test_settings_that_are_not_in_force_are_counted(self, rig: Rig) -> None:
        rig.set_up(self.ASKED)
        report = '{"settings": {"persistence_mode": {"ok": false, "detail": "no driver"}, "huge_pages": {"ok": true}}}'
        rig.leave(names.SETUP_REPORT, report)
        assert rig.read()["setup_failures"] == 1
        assert rig.status["problems"] == {"setting persistence_mode": "not in force: no driver"}

    def test_settings_that_are_in_force_later_are_a_problem_no_more(self, rig: Rig) -> None:
        rig.set_up(MachineSetup(huge_pages=512))
        for ok, problems in (("false", {"setting huge_pages"}), ("false", {"setting huge_pages"}), ("true", set())):
            rig.leave(names.SETUP_REPORT, f'{{"settings": {{"huge_pages": {{"ok": {ok}, "detail": "too small"}}}}}}')
            rig.read()
            assert rig.status["problems"].keys() == problems
        assert [line["event"] for line in rig.log] == ["fails", "works again"]

    def test_a_setting_that_the_report_lacks_is_not_in_force(self, rig: Rig) -> None:
        rig.set_up(self.ASKED)
        rig.leave(names.SETUP_REPORT, '{"settings": {"huge_pages": {"ok": true}}}')
        assert rig.read()["setup_failures"] == 1

    def test_a_setting_that_nobody_can_verify_is_told_once_and_is_no_failure(self, rig: Rig) -> None:
        """Drivers that call application clocks deprecated set them and do not tell them."""
        rig.set_up(self.ASKED)
        report = '{"settings": {"persistence_mode": {"ok": null, "detail": "not told"}, "huge_pages": {"ok": true}}}'
        rig.leave(names.SETUP_REPORT, report)
        assert rig.read()["setup_failures"] == 0
        rig.read()
        (line,) = rig.log
        assert (line["event"], line["setting"], line["detail"]) == (
            "setting cannot be verified",
            "persistence_mode",
            "not told",
        )
        assert rig.status["unverified_settings"] == {"persistence_mode": "not told"}
        assert rig.status["problems"] == {}

    @pytest.mark.parametrize("report", [None, "", "[]", '{"settings": []}', "[" * 100_000])
    def test_without_a_report_nobody_knows_and_it_is_told_once(self, rig: Rig, report: str | None) -> None:
        rig.set_up(self.ASKED)
        if report is not None:
            rig.leave(names.SETUP_REPORT, report)
        assert "setup_failures" not in rig.read()
        assert "setup_failures" not in rig.read()
        assert [line["part"] for line in rig.told("fails")] == ["setup report"]

    def test_nothing_asked_for_is_nothing_published(self, rig: Rig) -> None:
        rig.leave(names.SETUP_REPORT, '{"settings": {"huge_pages": {"ok": false}}}')
        assert "setup_failures" not in rig.read()


class TestColdStart:
    @staticmethod
    def cold_start(arrived: dict[str, float]) -> dict[str, float]:
        return {name: value for name, value in arrived.items() if name.startswith("cold_start")}

    def test_each_is_published_once(self, rig: Rig) -> None:
        rig.leave(names.DRIVER_READY, f"{LAUNCHED + 95}\n")
        assert self.cold_start(rig.read()) == {"cold_start_driver_seconds": 95}
        rig.leave(names.AGENT_READY, f"{LAUNCHED + 130}\n")
        assert self.cold_start(rig.read()) == {"cold_start_agent_seconds": 130}
        rig.answer = devices(5.0)
        assert self.cold_start(rig.read()) == {"cold_start_first_use_seconds": 260}
        assert self.cold_start(rig.read()) == {}

    def test_a_restart_of_the_program_publishes_nothing_again(self, rig: Rig) -> None:
        rig.leave(names.DRIVER_READY, str(LAUNCHED + 95))
        rig.read()
        rig.start()
        assert self.cold_start(rig.read()) == {}

    def test_a_restart_of_the_machine_publishes_only_the_first_use(self, rig: Rig) -> None:
        rig.read()
        rig.reboot()
        for name in (names.DRIVER_READY, names.AGENT_READY):
            rig.leave(name, str(LAUNCHED + 86400))
        rig.answer = devices(100.0)
        assert self.cold_start(rig.read()) == {"cold_start_first_use_seconds": 200}

    def test_without_metadata_it_waits_and_the_first_use_is_not_forgotten(self, rig: Rig) -> None:
        rig.identity = TimeoutError("timed out")
        rig.answer = devices(100.0)
        assert self.cold_start(rig.read()) == {}
        rig.start()
        rig.read()
        rig.identity = IDENTITY
        assert self.cold_start(rig.read()) == {"cold_start_first_use_seconds": 140}

    def test_what_nobody_received_is_sent_again(self, rig: Rig) -> None:
        rig.leave(names.DRIVER_READY, str(LAUNCHED + 95))
        rig.statsd = ConnectionRefusedError("nobody listens")
        assert rig.read() == {}
        rig.statsd = None
        assert self.cold_start(rig.read()) == {"cold_start_driver_seconds": 95}

    def test_a_life_that_cannot_be_read_publishes_nothing(self, rig: Rig) -> None:
        rig.leave(f"{names.LIFE_DIRECTORY}/cold-start.json", "garbage")
        rig.leave(names.DRIVER_READY, str(LAUNCHED + 95))
        assert self.cold_start(rig.read()) == {}
        assert [line["part"] for line in rig.told("fails")] == ["life of the instance"]

    def test_garbage_of_one_does_not_cost_the_other(self, rig: Rig) -> None:
        rig.leave(names.DRIVER_READY, "soon")
        rig.leave(names.AGENT_READY, str(LAUNCHED + 130))
        assert self.cold_start(rig.read()) == {"cold_start_agent_seconds": 130}
        rig.read()
        assert [line["part"] for line in rig.told("fails")] == ["driver-ready"]

    def test_a_clock_that_was_wrong_is_told(self, rig: Rig) -> None:
        rig.leave(names.DRIVER_READY, str(LAUNCHED - 3600))
        assert self.cold_start(rig.read()) == {}
        assert "before the launch" in rig.told("fails")[0]["reason"]


class TestRestart:
    def test_idle_time_goes_on(self, rig: Rig) -> None:
        rig.read()
        rig.read()
        rig.start()
        assert rig.read()["accelerator_idle_seconds"] == 120

    def test_a_tool_that_could_not_be_ended_is_still_known(self, rig: Rig) -> None:
        stat = rig.root / "proc" / "7" / "stat"
        stat.parent.mkdir(parents=True)
        stat.write_text(f"7 (neuron-monitor) D {'0 ' * 18}99 0\n")
        rig.stuck.restore([[["neuron-monitor"], 7, 99]])
        rig.read()
        rig.start()
        assert rig.stuck.living(("neuron-monitor",)) == 7

    @pytest.mark.parametrize(
        "text", ["", "garbage", "[]", '{"state": {"transfers": {}}, "stuck": 5}', "\udcff", "[" * 100_000]
    )
    def test_a_memory_that_cannot_be_read_is_told_once_and_replaced(self, rig: Rig, text: str) -> None:
        path = rig.places.file("/run/accelerated-fleet/program.json")
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        rig.start()
        assert rig.read()["accelerator_idle_seconds"] == 0
        assert [line["part"] for line in rig.told("fails")] == ["memory"]
        rig.start()
        assert rig.read()["accelerator_idle_seconds"] == 60


class TestFaultsOfParts:
    """Each part may fail without holding the others up, and it is told once."""

    @pytest.mark.parametrize(
        ("attribute", "part", "lost"),
        [
            ("marks", "busy marks", {"busy_marks", "accelerator_idle_seconds"}),
            ("sessions", "sessions", {"interactive_sessions"}),
            ("news", "kernel log", set()),
            (
                "identity",
                "instance metadata",
                {"accelerators_missing", "accelerators_unknown", "accelerator_idle_seconds"},
            ),
        ],
    )
    @pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), RuntimeError("a slip")])
    def test_the_others_go_on(self, rig: Rig, attribute: str, part: str, lost: set[str], error: Exception) -> None:
        whole = Rig(rig.root / "whole").read().keys()
        setattr(rig, attribute, error)
        assert rig.read().keys() == whole - lost
        rig.read()
        assert [(line["event"], line["part"]) for line in rig.log] == [("fails", part)]
        assert rig.status["problems"].keys() == {part}

    def test_a_reader_that_fails_is_no_reading(self, rig: Rig) -> None:
        rig.answer = RuntimeError("a slip")
        assert rig.read() == NO_READING
        rig.read()
        assert [line["part"] for line in rig.told("fails")] == ["reader", "accelerators"]

    def test_nobody_listening_is_told_once(self, rig: Rig) -> None:
        rig.statsd = ConnectionRefusedError(111, "Connection refused")
        assert rig.read() == rig.read() == {}
        rig.statsd = None
        assert rig.read()["node_heartbeat"] == 1
        assert [line["event"] for line in rig.log] == ["fails", "works again"]

    def test_a_full_disk_does_not_stop_what_is_published(self, tmp_path: Path) -> None:
        """Where the directories should be is a file: nothing can be written below it, by root either."""
        (tmp_path / "run").write_text("")
        (tmp_path / "var").write_text("")
        rig = Rig(tmp_path)
        assert rig.read()["node_heartbeat"] == 1
        assert rig.read()["accelerator_idle_seconds"] == 60
        parts = [line["part"] for line in rig.log]
        assert len(parts) == len(set(parts))
        assert {"memory", "status file"} <= set(parts)

    def test_kernel_lines_are_passed_on(self, rig: Rig) -> None:
        rig.news = News((FaultLine("2026-11-30T12:00:00Z", "NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR", 2),), ())
        rig.read()
        line = "2026-11-30T12:00:00Z NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR (2 times)"
        assert [entry["line"] for entry in rig.told("accelerator fault")] == [line]

    def test_what_the_kernel_log_could_not_do_is_told_with_what_it_found(self, rig: Rig) -> None:
        rig.news = News((FaultLine("2026-11-30T12:00:00Z", "NVRM: Xid (PCI): 79", 1),), ("cannot keep faults: full",))
        rig.read()
        assert len(rig.told("accelerator fault")) == 1
        assert rig.told("fails")[0]["reason"] == "cannot keep faults: full"

    def test_a_device_that_is_split_by_design_is_told_and_no_problem(self, rig: Rig) -> None:
        rig.answer = Reading((Device(0, fault="MIG is on", use_unknown_by_design=True),))
        rig.read()
        rig.read()
        assert [(line["event"], line["reason"]) for line in rig.log] == [("use is not known", "MIG is on")]
        assert rig.status["problems"] == {}

    def test_a_device_that_recovers_is_told(self, rig: Rig) -> None:
        for use in (None, None, 0.0):
            rig.answer = devices(use)
            rig.read()
        assert [(line["event"], line["part"]) for line in rig.log] == [
            ("fails", "accelerator 0"),
            ("works again", "accelerator 0"),
        ]


class TestLoop:
    class Manager(Supervisor):
        def __init__(self) -> None:
            super().__init__(None)
            self.told: list[Any] = []

        def ready(self, watchdog_seconds: float) -> None:
            self.told.append(watchdog_seconds)

        def alive(self) -> None:
            self.told.append("alive")

        def stopping(self) -> None:
            self.told.append("stopping")

    def test_it_reads_in_each_interval_until_it_is_stopped(self, rig: Rig) -> None:
        manager = self.Manager()
        waits = rig.run(3, manager)
        # The machine's first second is 20 s into a minute, which is when readings are taken.
        assert waits == [60, 60, 60, 60]
        assert len(rig.packets) == 3
        assert manager.told == [180, "alive", "alive", "alive", "stopping"]
        assert [line["event"] for line in rig.log] == ["starts", "ends"]

    def test_a_manager_that_is_gone_does_not_stop_it(self, rig: Rig, tmp_path: Path) -> None:
        rig.run(2, Supervisor(str(tmp_path / "gone")))
        assert len(rig.packets) == 2
        assert [line["part"] for line in rig.told("fails")] == ["supervisor"]

    def test_the_kernels_log_is_looked_at_at_once(self, rig: Rig) -> None:
        """A fault that the driver found while it loaded must not wait for a whole interval."""
        rig.run(0, self.Manager())
        assert rig.looks_at_kernel_log == [(LAUNCHED + 80, 68.0)]

    def test_doors_that_cannot_be_opened_do_not_stop_it(self, rig: Rig) -> None:
        rig.doors = PermissionError(13, "Permission denied")
        rig.run(2, self.Manager())
        assert len(rig.packets) == 2

    def test_the_doors_themselves_are_no_mark(self, rig: Rig) -> None:
        rig.now += 10
        rig.run(1, self.Manager())
        assert rig.marks_since == [LAUNCHED + 90]
