"""The kernel's log, record by record as /dev/kmsg gives it (field cases 16 and 44)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.node import kernel_log
from constructs_lib.node.kernel_log import FaultLine, KernelLog, News, open_kernel_log
from constructs_lib.node.kernel_record import Record, parse_record

XID = "NVRM: Xid (PCI:0000:00:1e): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
NOW, UPTIME = 1_800_000_000.0, 1000.0  # 2027-01-15T08:00:00Z


class Ring:
    """The kernel's ring of records; each reader starts with the oldest one that is left."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    def write(self, text: str, priority: int = 3, at: float = UPTIME) -> None:
        self.records.append(f"{priority},{len(self.records)},{int(at * 1e6)},-;{text}\n".encode())

    def reader(self, *failures: OSError) -> Callable[[], bytes]:
        position, to_fail = 0, list(failures)

        def read() -> bytes:
            nonlocal position
            if to_fail:
                raise to_fail.pop(0)
            if position >= len(self.records):
                raise BlockingIOError
            position += 1
            return self.records[position - 1]

        return read


class Machine:
    """A program that is started and started again, with its files."""

    def __init__(self, directory: Path) -> None:
        self.ring = Ring()
        self.boot = "boot-1"
        self.state, self.log = directory / "run" / "kernel-log.json", directory / "log" / "faults.log"
        self.state.parent.mkdir()

    def start(self, *failures: OSError) -> KernelLog:
        return KernelLog(self.ring.reader(*failures), [r"NVRM: Xid", "NEURON_HW_ERR"], self.boot, self.state, self.log)

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def _look(program: KernelLog) -> News:
    return program.look(NOW, UPTIME)


def test_a_fault_is_kept_with_its_own_time_in_utc(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    machine.ring.write("usb 1-1: new device")
    machine.ring.write(XID, at=UPTIME - 30)

    assert _look(program) == News((FaultLine("2027-01-15T07:59:30Z", XID),))
    assert machine.logged() == [f"2027-01-15T07:59:30Z {XID}"]


def test_a_line_of_this_boot_from_before_the_first_start_is_passed_on_once(machine: Machine) -> None:
    """A driver finds faults while it loads, and it loads before the program starts."""
    machine.ring.write(XID, at=12)
    program = machine.start()

    assert _look(program) == News((FaultLine("2027-01-15T07:43:32Z", XID),))
    assert _look(program) == News()
    assert _look(machine.start()) == News()
    assert machine.logged() == [f"2027-01-15T07:43:32Z {XID}"]


def test_case_44_a_record_is_passed_on_once_whoever_starts_again(machine: Machine) -> None:
    _look(machine.start())
    machine.ring.write(XID)
    assert len(_look(machine.start()).faults) == 1

    assert _look(machine.start()) == News()
    machine.ring.write("NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR")
    assert [fault.text for fault in _look(machine.start()).faults] == ["NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR"]
    assert len(machine.logged()) == 2


def test_what_came_while_the_program_was_down_is_passed_on(machine: Machine) -> None:
    _look(machine.start())
    machine.ring.write(XID)

    assert len(_look(machine.start()).faults) == 1


def test_case_44_the_same_line_many_times_is_told_once_with_its_number(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    for _ in range(3):
        machine.ring.write(XID)
    machine.ring.write(XID.replace("79", "48"))

    assert [(fault.times, "79" in fault.text) for fault in _look(program).faults] == [(3, True), (1, False)]
    assert machine.logged()[0].endswith("(3 times)")
    machine.ring.write(XID)
    assert [fault.times for fault in _look(program).faults] == [1]  # a new fact


def test_case_44_the_state_and_the_faults_of_another_boot_are_not_this_ones(machine: Machine) -> None:
    """The kernel numbers the records of each boot from 0: the earlier boot's last number must not hide them."""
    for number in range(50):
        machine.ring.write(f"{XID} {number}")
    assert len(_look(machine.start()).faults) == 50
    machine.boot, machine.ring.records[:] = "boot-2", []
    machine.ring.write("NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR")

    assert [fault.text for fault in _look(machine.start()).faults] == ["NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR"]
    assert _look(machine.start()) == News()


def test_a_program_that_writes_to_the_kernels_log_reports_no_fault(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    machine.ring.write(f"systemd[1]: Started a unit called {XID}", priority=30)
    machine.ring.write(XID, priority=11)

    assert _look(program).faults == ()


def test_lines_overwritten_before_they_are_read_are_told_once_and_reading_goes_on(machine: Machine) -> None:
    _look(machine.start())
    machine.ring.write(XID)

    news = _look(machine.start(BrokenPipeError(), BrokenPipeError()))

    assert len(news.faults) == 1
    assert news.problems == ("lines of the kernel log were overwritten before they could be read",)
    assert _look(machine.start()).problems == ()


def test_a_log_that_cannot_be_read_is_told(machine: Machine) -> None:
    assert "Input/output error" in _look(machine.start(OSError(5, "Input/output error"))).problems[0]


def test_the_fault_log_is_bounded(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "LOG_LIMIT_BYTES", 500)
    program = machine.start()
    _look(program)
    for number in range(40):
        machine.ring.write(f"{XID} {number}")
        assert _look(program).problems == ()

    files = sorted(file.name for file in machine.log.parent.iterdir())
    assert files == ["faults.log", "faults.log.1"]
    assert all(file.stat().st_size < 500 + 150 for file in machine.log.parent.iterdir())
    assert machine.logged()[-1].endswith(" 39")


def test_a_storm_of_different_lines_is_cut_and_told(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    for number in range(1500):
        machine.ring.write(f"{XID} {number}")

    news = _look(program)

    assert len(news.faults) == 1000
    assert "rest is left out" in news.problems[0]


def test_records_that_never_end_do_not_keep_the_program(machine: Machine) -> None:
    program = KernelLog(lambda: b"6,7,8,-;always the same", ["same"], "b", machine.state, machine.log)

    assert [(fault.text, fault.times) for fault in _look(program).faults] == [("always the same", 1)]
    assert _look(program) == News()


def test_a_full_disk_is_told_and_the_fault_passed_on(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    machine.log.parent.write_text("a file where the directory should be")
    machine.ring.write(XID)

    news = _look(program)

    assert len(news.faults) == 1
    assert "cannot keep" in news.problems[0]


def test_a_state_that_cannot_be_written_is_told(machine: Machine) -> None:
    program = machine.start()
    machine.state.parent.rmdir()
    machine.state.parent.write_text("a file where the directory should be")

    assert "cannot remember" in _look(program).problems[0]


def _of_this_boot(sequence: object) -> str:
    return json.dumps({"boot": "boot-1", "sequence": sequence})


SPOILT = [
    *("", "{", "[]", "7", "{}", "\x00", "[" * 100_000, '{"boot": 1, "sequence": 7}', '{"boot": "boot-1"}'),
    *(_of_this_boot(sequence) for sequence in (None, True, "7", 1.5, -2, [7])),
]


@pytest.mark.parametrize("text", SPOILT)
def test_a_spoilt_state_means_lines_up_to_now_are_old_and_is_told_once(machine: Machine, text: str) -> None:
    """Nobody knows which of them were passed on; what comes later is news."""
    machine.state.write_text(text)
    machine.ring.write(XID)
    program = machine.start()
    first = _look(program)

    assert first.faults == ()
    assert "makes no sense" in first.problems[0]
    assert len(first.problems[0]) < 500
    machine.ring.write(f"{XID} again")
    later = _look(program)
    assert [fault.text for fault in later.faults] == [f"{XID} again"]
    assert later.problems == ()
    assert _look(machine.start()) == News()


def test_with_a_spoilt_state_lines_stay_old_until_the_log_can_be_read(machine: Machine) -> None:
    machine.state.write_text("{")
    machine.ring.write(XID)
    unreadable = OSError(5, "Input/output error")
    program = machine.start(unreadable)

    assert _look(program).faults == ()
    assert _look(machine.start(unreadable)).faults == ()  # it has not forgotten that the state was spoilt
    assert _look(program) == News()
    machine.ring.write(XID)
    assert len(_look(program).faults) == 1


def test_a_state_that_was_written_before_any_line_came_is_sound(machine: Machine) -> None:
    _look(machine.start())
    assert json.loads(machine.state.read_text()) == {"boot": "boot-1", "sequence": -1}
    machine.ring.write(XID)

    news = _look(machine.start())

    assert (len(news.faults), news.problems) == (1, ())


def test_a_time_that_lies_ahead_becomes_now(machine: Machine) -> None:
    program = machine.start()
    _look(program)
    machine.ring.write(XID, at=1e13)

    assert [fault.when for fault in _look(program).faults] == ["2027-01-15T08:00:00Z"]


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (
            b"6,339,5140900,-;NET: Registered protocol family 10\n",
            Record(6, 339, 5140900, "NET: Registered protocol family 10"),
        ),
        (b"4,1,0,-,caller=T1;a, b; c\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:1e.0\n", Record(4, 1, 0, "a, b; c")),
        (b"30,2,9,c;\\xc3\\x84 by a program", Record(30, 2, 9, "\\xc3\\x84 by a program")),
    ],
)
def test_records_as_the_kernel_documents_them(data: bytes, record: Record) -> None:
    assert parse_record(data) == record


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"no record", b"6,1;text", b"-6,1,2,-;text", b" SUBSYSTEM=pci", b"6,x,2,-;t"]
)
def test_what_is_no_record_is_none(data: bytes) -> None:
    assert parse_record(data) is None


@given(
    st.binary() | st.lists(st.sampled_from([b"6", b",", b"-", b";", b"\n", b" ", b"\xff", b"9" * 5000])).map(b"".join)
)
def test_no_bytes_are_too_strange(data: bytes) -> None:
    record = parse_record(data)

    assert record is None or (record.sequence >= 0 and "\n" not in record.text)


def test_the_real_log_of_this_machine_can_be_followed(tmp_path: Path) -> None:
    try:
        read = open_kernel_log()
    except OSError as problem:
        pytest.skip(f"the kernel's log is not ours to read: {problem}")
    (tmp_path / "run").mkdir()
    program = KernelLog(read, ["."], "this boot", tmp_path / "run" / "state.json", tmp_path / "faults.log")

    faults = program.look(NOW, UPTIME).faults

    assert all(fault.text.isprintable() for fault in faults)
    written = (tmp_path / "faults.log").read_text().splitlines() if faults else []
    assert written == [str(fault) for fault in faults]
    assert json.loads((tmp_path / "run" / "state.json").read_text())["sequence"] >= -1
