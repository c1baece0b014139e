"""Each setting is made, read back, and reported as what was read back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from constructs_lib.node import names
from constructs_lib.node.places import Places
from constructs_lib.node.readings import HUNG, MISSING, Command, NoReading, Output
from constructs_lib.node.settings import MachineSetup
from constructs_lib.node.setup import Machine, Outcome, block_devices, run
from constructs_lib.node.setup import application_clocks as application_clocks_setting
from constructs_lib.node.setup import huge_pages as huge_pages_setting
from constructs_lib.node.setup import open_files as open_files_setting
from constructs_lib.node.setup import persistence_mode as persistence_mode_setting
from constructs_lib.node.setup_report import not_in_force
from tests.node.setup.machines import Answer, Storage, Tools, blank, fine, gpu_report, machine, refused

CLOCKS = {"g6": (6251, 2040), "g5": (6250, 1710)}
FIXTURES = Path(__file__).parents[1] / "readers" / "fixtures" / "nvidia"
NR_HUGEPAGES = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
SERVICES = "etc/systemd/system.conf.d/50-accelerated-fleet.conf"


class Gpus:
    """What `nvidia-smi` answers, in the order in which a setting asks."""

    def __init__(self, tools: Tools, change: Answer, report: Answer) -> None:
        self.change = change
        self.report = report
        tools.programs["nvidia-smi"] = lambda argv: self.report if argv[0] == "-q" else self.change


def persistence(*modes: str) -> Output:
    return fine(gpu_report(*({"persistence": mode} for mode in modes)))


def clocks(*pairs: tuple[str, str]) -> Output:
    return fine(gpu_report(*({"memory": memory, "graphics": graphics} for memory, graphics in pairs)))


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.mark.parametrize(
    ("change", "report", "expected"),
    [
        (fine(), persistence("Enabled", "Enabled"), Outcome(True, "on for all GPUs, 2")),
        # What counts is what is read back, not what the command said.
        (refused("already on"), persistence("Enabled"), Outcome(True, "on for all GPUs, 1")),
        (fine(), persistence("Enabled", "Disabled"), Outcome(False, "not on for GPU 1")),
        (fine(), persistence("Enabled", "N/A", "Disabled"), Outcome(False, "not on for GPU 2")),
        # Made, as it seems, and nobody can say whether it is in force.
        (fine(), persistence("Enabled", "N/A"), Outcome(None, "GPU 1 does not tell whether it is on")),
        (
            refused("not supported", 3),
            persistence("N/A"),
            Outcome(False, "GPU 0 does not tell whether it is on; the change failed: exit status 3: not supported"),
        ),
        (
            refused("no permission", 4),
            persistence("Disabled"),
            Outcome(False, "not on for GPU 0; the change failed: exit status 4: no permission"),
        ),
        (
            fine(),
            refused("driver not loaded", 9),
            Outcome(None, "no GPU can be read back (exit status 9: driver not loaded)"),
        ),
        (fine(), fine("garbage"), Outcome(None, "no GPU can be read back (exit status 0: garbage)")),
        (
            fine(),
            NoReading(HUNG, "nvidia-smi: no answer within 30 s"),
            Outcome(None, "no GPU can be read back (nvidia-smi: no answer within 30 s)"),
        ),
        (
            refused("no driver", 9),
            refused("not loaded", 9),
            Outcome(
                False,
                "no GPU can be read back (exit status 9: not loaded); the change failed: exit status 9: no driver",
            ),
        ),
    ],
)
def test_persistence_mode(tools: Tools, tmp_path: Path, change: Answer, report: Answer, expected: Outcome) -> None:
    Gpus(tools, change, report)
    assert persistence_mode_setting.apply(machine(tools, tmp_path), True) == expected
    assert tools.commands == [["nvidia-smi", "-pm", "1"], ["nvidia-smi", "-q", "-x"]]


SET = ("6251 MHz", "2040 MHz")
DEPRECATED = ("Requested functionality has been deprecated",) * 2


@pytest.mark.parametrize(
    ("change", "report", "expected"),
    [
        (fine(), clocks(SET, SET), Outcome(True, "memory 6251 MHz, graphics 2040 MHz on all GPUs, 2")),
        (
            fine(),
            clocks(SET, ("6251 MHz", "1590 MHz")),
            Outcome(False, "not memory 6251 MHz, graphics 2040 MHz on GPU 1 (memory 6251 MHz, graphics 1590 MHz)"),
        ),
        (
            refused("already so"),
            clocks(SET),
            Outcome(True, "memory 6251 MHz, graphics 2040 MHz on all GPUs, 1"),
        ),
        # Drivers that call application clocks deprecated tell none: nobody can say whether they are in force.
        (
            fine(),
            clocks(SET, DEPRECATED),
            Outcome(None, "GPU 1 does not tell its clocks, memory 6251 MHz, graphics 2040 MHz were asked for"),
        ),
        (
            fine(),
            clocks(("N/A", "N/A"), ("6251 MHz", "1590 MHz")),
            Outcome(False, "not memory 6251 MHz, graphics 2040 MHz on GPU 1 (memory 6251 MHz, graphics 1590 MHz)"),
        ),
        # What the tool says to a GPU that has none, and ends well.
        (
            fine(
                "Setting applications clocks is not supported for GPU 00000000:00:1E.0.\n"
                "Treating as warning and moving on.\nAll done.\n"
            ),
            clocks(DEPRECATED),
            Outcome(
                None,
                "GPU 0 does not tell its clocks, memory 6251 MHz, graphics 2040 MHz were asked for; nvidia-smi: "
                "Setting applications clocks is not supported for GPU 00000000:00:1E.0.",
            ),
        ),
        (
            refused("Setting applications clocks is not supported"),
            clocks(("N/A", "N/A")),
            Outcome(
                False,
                "GPU 0 does not tell its clocks, memory 6251 MHz, graphics 2040 MHz were asked for; the change failed: "
                "exit status 1: Setting applications clocks is not supported",
            ),
        ),
        (fine(), refused("no devices", 6), Outcome(None, "no GPU can be read back (exit status 6: no devices)")),
        (
            refused("no devices", 6),
            refused("no devices", 6),
            Outcome(
                False,
                "no GPU can be read back (exit status 6: no devices); the change failed: exit status 6: no devices",
            ),
        ),
    ],
)
def test_application_clocks(tools: Tools, tmp_path: Path, change: Answer, report: Answer, expected: Outcome) -> None:
    Gpus(tools, change, report)
    assert application_clocks_setting.apply(machine(tools, tmp_path), CLOCKS) == expected
    # "nvidia-smi -ac <memory>,<graphics>", Optimize GPU settings, EC2 User Guide
    assert tools.commands[0] == ["nvidia-smi", "-ac", "6251,2040"]


@pytest.mark.parametrize(
    ("instance_type", "detail"),
    [
        (None, "the instance type is not known, so neither are its clocks"),
        ("g5g.xlarge", "no clocks are given for the family g5g"),
    ],
)
def test_clocks_of_an_unknown_machine_are_not_guessed(
    tools: Tools, tmp_path: Path, instance_type: str | None, detail: str
) -> None:
    outcome = application_clocks_setting.apply(machine(tools, tmp_path, instance_type), CLOCKS)
    assert outcome == Outcome(False, detail)
    assert tools.commands == []


@pytest.mark.parametrize("name", ["idle-v13.xml", "fraction.xml"])
def test_recorded_reports_that_tell_no_clocks_are_no_failure(tools: Tools, tmp_path: Path, name: str) -> None:
    Gpus(tools, fine("All done.\n"), fine((FIXTURES / name).read_text()))
    assert application_clocks_setting.apply(machine(tools, tmp_path), CLOCKS).ok is None


def kernel_file(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("before", ["0\n", "512\n", "4096\n"])
def test_huge_pages(tools: Tools, tmp_path: Path, before: str) -> None:
    file = kernel_file(tmp_path, NR_HUGEPAGES, before)
    assert huge_pages_setting.apply(machine(tools, tmp_path), 512) == Outcome(True, "512 pages of 2 MiB")
    assert file.read_text() == "512\n"


class StubbornFile(type(Path())):  # type: ignore[misc]
    """The kernel's file when memory is short: it takes any number and keeps a smaller one."""

    def read_text(self, *args: object, **kwargs: object) -> str:
        text: str = super().read_text(*args, **kwargs)
        return str(min(int(text), 300)) if self.name == "nr_hugepages" else text


@pytest.mark.parametrize("before", ["0\n", "128\n"])
def test_too_little_memory_for_huge_pages_is_seen(tools: Tools, tmp_path: Path, before: str) -> None:
    """And given back: pages that are too few for the programs would only be missing for everything else."""
    file = kernel_file(tmp_path, NR_HUGEPAGES, before)
    compact = kernel_file(tmp_path, "proc/sys/vm/compact_memory", "")
    outcome = huge_pages_setting.apply(machine(tools, StubbornFile(tmp_path)), 512)
    assert outcome.ok is False
    assert outcome.detail == (
        "the kernel set 300 of 512 pages aside: memory is too small or too fragmented; "
        f"given back, {before.strip()} are set aside now"
    )
    assert compact.read_text() == "1\n"
    assert file.read_text() == before


def test_too_few_pages_are_given_back_also_if_memory_cannot_be_compacted(tools: Tools, tmp_path: Path) -> None:
    """A kernel without compaction has no such file."""
    file = kernel_file(tmp_path, NR_HUGEPAGES, "0\n")
    with pytest.raises(FileNotFoundError):
        huge_pages_setting.apply(machine(tools, StubbornFile(tmp_path)), 512)
    assert file.read_text() == "0\n"


class PinnedFile(type(Path())):  # type: ignore[misc]
    """The kernel's file when programs use 600 of the pages: these it cannot take away."""

    def read_text(self, *args: object, **kwargs: object) -> str:
        text: str = super().read_text(*args, **kwargs)
        return str(max(int(text), 600)) if self.name == "nr_hugepages" else text


def test_pages_that_programs_use_stay(tools: Tools, tmp_path: Path) -> None:
    file = kernel_file(tmp_path, NR_HUGEPAGES, "4096\n")
    outcome = huge_pages_setting.apply(machine(tools, PinnedFile(tmp_path)), 512)
    assert outcome == Outcome(False, "600 pages of 2 MiB are set aside, not 512: programs use them")
    assert file.read_text() == "512\n"


def test_a_kernel_without_pages_of_that_size(tools: Tools, tmp_path: Path) -> None:
    outcome = huge_pages_setting.apply(machine(tools, tmp_path), 512)
    assert outcome == Outcome(False, "this kernel has no huge pages of 2 MiB")


class Systemd:
    """Takes its file when it is told to, as the real one does."""

    def __init__(self, tools: Tools, root: Path, *, limit: str = "524288", deaf: bool = False) -> None:
        self.limit, self.root, self.deaf = limit, root, deaf
        tools.programs["systemctl"] = self.call

    def call(self, argv: Sequence[str]) -> Answer:
        if argv[0] == "daemon-reload" and not self.deaf:
            self.limit = (self.root / SERVICES).read_text().strip().rpartition("=")[2]
        return fine(f"DefaultLimitNOFILE={self.limit}\n" if argv[0] == "show" else "")


def test_open_files(tools: Tools, tmp_path: Path) -> None:
    Systemd(tools, tmp_path)
    outcome = open_files_setting.apply(machine(tools, tmp_path), 1_048_576)
    assert outcome == Outcome(True, "1048576 for services and logins")
    assert (tmp_path / SERVICES).read_text() == "[Manager]\nDefaultLimitNOFILE=1048576\n"
    logins = (tmp_path / "etc/security/limits.d/50-accelerated-fleet.conf").read_text()
    assert logins == "* - nofile 1048576\nroot - nofile 1048576\n"
    assert (tmp_path / names.OPEN_FILES.lstrip("/")).read_text() == "1048576\n"


def test_case_79_a_limit_that_is_in_force_needs_no_reload(tools: Tools, tmp_path: Path) -> None:
    """Containers lose the GPU after a daemon reload; on a restart systemd has read the file by itself."""
    Systemd(tools, tmp_path, limit="65536")
    assert open_files_setting.apply(machine(tools, tmp_path), 65_536).ok
    assert all("daemon-reload" not in argv for argv in tools.commands)


def test_a_systemd_that_does_not_take_the_limit_is_seen(tools: Tools, tmp_path: Path) -> None:
    Systemd(tools, tmp_path, deaf=True)
    outcome = open_files_setting.apply(machine(tools, tmp_path), 65_536)
    assert outcome == Outcome(False, "the limit for services is 524288, not 65536 (systemd has not taken the file)")


def test_a_machine_without_systemd(tools: Tools, tmp_path: Path) -> None:
    outcome = open_files_setting.apply(machine(tools, tmp_path), 65_536)
    assert outcome == Outcome(False, "the limit for services is unknown, not 65536 (systemctl: not on this machine)")


EVERYTHING = MachineSetup(
    persistence_mode=True, application_clocks=CLOCKS, instance_store="/mnt/data", huge_pages=8, open_files=65_536
)


def everything_works(tools: Tools, root: Path) -> None:
    Gpus(tools, fine(), fine(gpu_report({"memory": "6251 MHz", "graphics": "2040 MHz"})))
    Storage(tools, blank(1, 2))
    Systemd(tools, root)
    kernel_file(root, NR_HUGEPAGES, "0\n")


def report(root: Path) -> dict[str, dict[str, dict[str, object]]]:
    document: dict[str, dict[str, dict[str, object]]] = json.loads((root / names.SETUP_REPORT.lstrip("/")).read_text())
    return document


def test_everything_is_reported(tools: Tools, tmp_path: Path) -> None:
    everything_works(tools, tmp_path)
    outcomes = run(EVERYTHING, machine(tools, tmp_path))
    assert list(outcomes) == list(EVERYTHING.asked)
    assert all(outcome.ok for outcome in outcomes.values()), outcomes
    assert report(tmp_path) == {
        "settings": {name: {"ok": True, "detail": outcome.detail} for name, outcome in outcomes.items()}
    }


def test_what_cannot_be_verified_is_neither_in_the_report(tools: Tools, tmp_path: Path) -> None:
    everything_works(tools, tmp_path)
    Gpus(tools, fine(), fine(gpu_report({})))
    run(EVERYTHING, machine(tools, tmp_path))
    settings = report(tmp_path)["settings"]
    assert settings["application_clocks"]["ok"] is None
    assert not_in_force(EVERYTHING, json.dumps({"settings": settings})) == {}


def _no_nvidia(tools: Tools, root: Path) -> None:
    del tools.programs["nvidia-smi"]


def _no_disk(tools: Tools, root: Path) -> None:
    Storage(tools, [])


def _kernel_refuses(tools: Tools, root: Path) -> None:
    (root / NR_HUGEPAGES).write_text("no number")


def _directory_in_the_way(tools: Tools, root: Path) -> None:
    (root / "etc").write_text("not a directory")


@pytest.mark.parametrize(
    ("breaks", "failed"),
    [
        (_no_nvidia, {"persistence_mode", "application_clocks"}),
        (_no_disk, {"instance_store"}),
        (_kernel_refuses, {"huge_pages"}),
        (_directory_in_the_way, {"open_files"}),
    ],
)
def test_a_setting_that_fails_stops_no_other(tools: Tools, tmp_path: Path, breaks: object, failed: set[str]) -> None:
    everything_works(tools, tmp_path)
    assert callable(breaks)
    breaks(tools, tmp_path)
    run(EVERYTHING, machine(tools, tmp_path))
    settings = report(tmp_path)["settings"]
    assert list(settings) == list(EVERYTHING.asked)
    assert {name for name, outcome in settings.items() if not outcome["ok"]} == failed
    assert all(outcome["detail"] for outcome in settings.values())


def test_only_what_was_asked_for_is_done(tools: Tools, tmp_path: Path) -> None:
    everything_works(tools, tmp_path)
    assert list(run(MachineSetup(huge_pages=8), machine(tools, tmp_path))) == ["huge_pages"]
    assert tools.commands == []


def test_persistence_mode_can_be_turned_off(tools: Tools, tmp_path: Path) -> None:
    Gpus(tools, fine(), persistence("Disabled"))
    outcomes = run(MachineSetup(persistence_mode=False), machine(tools, tmp_path))
    assert outcomes == {"persistence_mode": Outcome(True, "off for all GPUs, 1")}
    assert tools.commands[0] == ["nvidia-smi", "-pm", "0"]


def test_nothing_asked_for_leaves_no_report(tools: Tools, tmp_path: Path) -> None:
    assert run(None, machine(tools, tmp_path)) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_gives_the_same_report(tools: Tools, tmp_path: Path) -> None:
    everything_works(tools, tmp_path)
    first = run(EVERYTHING, machine(tools, tmp_path))
    assert run(EVERYTHING, machine(tools, tmp_path)) == first


def test_how_a_gpu_is_split_is_left_as_found(tools: Tools, tmp_path: Path) -> None:
    everything_works(tools, tmp_path)
    run(EVERYTHING, machine(tools, tmp_path))
    words = [word for argv in tools.commands for word in argv]
    assert "nvidia-smi" in words
    assert [word for word in words if re.search(r"mig|reset|^-r$|^-i$", word, re.IGNORECASE)] == []


class RealTools:
    """The commands of the machine that runs the tests."""

    def run_one(self, command: Command) -> Answer:
        program = shutil.which(command.argv[0])
        if program is None:
            return NoReading(MISSING, f"{command.argv[0]}: not on this machine")
        done = subprocess.run([program, *command.argv[1:]], capture_output=True, text=True, check=False)
        return Output(done.returncode, done.stdout, done.stderr)


def test_the_columns_are_those_of_the_real_tool(tmp_path: Path) -> None:
    listed = RealTools().run_one(Command(("lsblk", "--json")))
    if not isinstance(listed, Output) or listed.exit_status != 0:
        pytest.skip("lsblk lists nothing on this machine")
    devices = block_devices.read(Machine(RealTools(), None, Places(tmp_path)))
    assert all(device.path.startswith("/dev/") for device in devices)
