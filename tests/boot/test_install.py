"""The installer, the command that it makes and the units, run and checked with the tools of this machine."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from constructs_lib.node import names
from constructs_lib.node.busy import MOST_FILES
from tests.boot.machines import BASH, NODE

UNITS = NODE / "units"
SETUP, PROGRAM, TARGET = "accelerated-setup.service", "accelerated-node.service", "accelerated-fleet.target"
LATE, DRAIN = "accelerated-late-driver.service", "accelerated-drain.service"
AGENT = "amazon-cloudwatch-agent.service"
BUSY = r"run-accelerated\x2dfleet-busy.mount"
ALL = (SETUP, PROGRAM, LATE, DRAIN, TARGET, BUSY)
DROP_IN = f"{AGENT}.d/accelerated-fleet.conf"
LIBRARY = "opt/accelerated-node/lib/accelerated_node"
LAUNCHER = "usr/local/bin/accelerated-node"


def install(source: Path, root: Path, refused: str = "nothing", errors: str = "") -> list[str]:
    """Run the installer, with a systemd that refuses one command, and return what it told systemd."""
    stubs, record = root / "stubs", root / "record"
    stubs.mkdir(exist_ok=True)
    record.write_text("")
    systemctl = stubs / "systemctl"
    # What is enabled must be there before, and be known to systemd after.
    systemctl.write_text(
        f'#!{BASH}\necho "$* $(ls "$DESTDIR/etc/systemd/system" | wc -l)" >>{shlex.quote(str(record))}\n'
        f'[ "$1" != {refused} ]\n'
    )
    systemctl.chmod(0o755)
    environment = {"PATH": f"{stubs}:{os.environ['PATH']}", "DESTDIR": str(root / "machine")}
    done = subprocess.run(
        [BASH, str(source / "install.sh")], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", errors)
    return record.read_text().splitlines()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The asset as an instance unpacks it: without modes, by the same command as in the boot script."""
    place = tmp_path_factory.mktemp("asset")
    with ZipFile(place / "program.zip", "w") as archive:
        for path in sorted(NODE.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(NODE))
    unpack = [sys.executable, "-m", "zipfile", "-e", str(place / "program.zip"), str(place / "program")]
    subprocess.run(unpack, check=True, umask=0o077)
    return place / "program"


@pytest.fixture
def machine(unpacked: Path, tmp_path: Path) -> Path:
    install(unpacked, tmp_path)
    return tmp_path / "machine"


def test_everything_is_where_it_belongs(machine: Path) -> None:
    outside = {str(path.relative_to(machine)) for path in machine.rglob("*") if path.is_file()}
    outside = {path for path in outside if not path.startswith(LIBRARY)}
    assert outside == {LAUNCHER, *(f"etc/systemd/system/{name}" for name in (*ALL, DROP_IN))}
    assert (machine / LIBRARY / "__main__.py").is_file()
    assert (machine / LIBRARY / "units" / "driver.sh").is_file()


def test_case_79_one_reload_after_all_changes(unpacked: Path, tmp_path: Path) -> None:
    assert install(unpacked, tmp_path) == [
        f"--no-reload enable {BUSY} {SETUP} {PROGRAM} {DRAIN} {TARGET} 7",
        "daemon-reload 7",
        f"start {BUSY} 7",
    ]


def test_a_machine_that_cannot_mount_the_place_for_marks_gets_the_program(unpacked: Path, tmp_path: Path) -> None:
    install(unpacked, tmp_path, "start", "accelerated-node: busy marks have no file system of their own\n")


def test_others_may_read_it_whatever_the_mask_was(machine: Path) -> None:
    for path in (machine / "opt" / "accelerated-node").rglob("*"):
        assert path.stat().st_mode & 0o044 == 0o044, path
    assert (machine / LAUNCHER).stat().st_mode & 0o777 == 0o755


def test_a_second_run_leaves_the_same_and_nothing_of_an_older_version(unpacked: Path, tmp_path: Path) -> None:
    install(unpacked, tmp_path)
    first = contents(tmp_path / "machine")
    (tmp_path / "machine" / LIBRARY / "left_over.py").write_text("")
    (tmp_path / "machine" / LIBRARY / "cli.py").write_text("broken")
    install(unpacked, tmp_path)
    assert contents(tmp_path / "machine") == first


def contents(machine: Path) -> dict[str, bytes]:
    return {str(path.relative_to(machine)): path.read_bytes() for path in machine.rglob("*") if path.is_file()}


def test_a_directory_with_spaces_and_quotes(unpacked: Path, tmp_path: Path) -> None:
    root = tmp_path / "it's a $HOME"
    root.mkdir()
    shutil.copytree(unpacked, root / "program")
    install(root / "program", root)
    assert (root / "machine" / LAUNCHER).is_file()


def launch(machine: Path, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call the command as on an instance, its library being in the directory that stands for it."""
    launcher = machine / LAUNCHER
    moved = launcher.with_name("moved")
    moved.write_text(launcher.read_text().replace("/opt/accelerated-node", f"{machine}/opt/accelerated-node"))
    command = ["/bin/sh", str(moved), *arguments]
    return subprocess.run(
        command, cwd=cwd, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, check=False
    )


def test_the_command_runs_the_program(machine: Path, tmp_path: Path) -> None:
    helped = launch(machine, "--help", cwd=tmp_path)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "accelerated-node" in helped.stdout


def test_the_command_takes_no_module_from_where_it_is_called(machine: Path, tmp_path: Path) -> None:
    for name in ("json", "argparse", "signal", "accelerated_node"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the wrong place')\n")
    helped = launch(machine, "--help", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (helped.returncode, helped.stderr) == (0, "")


def test_a_program_that_the_command_starts_keeps_pythons_variables(machine: Path, tmp_path: Path) -> None:
    show = 'echo "[$PYTHONPATH]"'
    shown = launch(machine, "--root", str(tmp_path), "busy", "--", "sh", "-c", show, cwd=tmp_path, PYTHONPATH="mine")
    assert shown.stdout == "[mine]\n"
    assert shown.returncode == 0


def test_the_command_leaves_no_byte_code(machine: Path, tmp_path: Path) -> None:
    launch(machine, "--help", cwd=tmp_path)
    assert list((machine / LIBRARY).rglob("*.pyc")) == []


# --- units ---------------------------------------------------------------------------------------------------------


def unit(name: str) -> dict[str, list[str]]:
    """The assignments of a unit file, a key's values in order."""
    file = UNITS / ("amazon-cloudwatch-agent.conf" if name == AGENT else name)
    assignments: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            assignments.setdefault(key, []).append(value)
    return assignments


def words(name: str, key: str) -> set[str]:
    return {word for value in unit(name).get(key, []) for word in value.split()}


@pytest.mark.parametrize("name", [SETUP, PROGRAM, DRAIN, TARGET])
def test_every_unit_starts_with_the_machine(name: str) -> None:
    """After a restart no user data runs: what is enabled is all there is."""
    assert words(name, "WantedBy") == {"multi-user.target"}


def test_order_after_a_restart() -> None:
    """Driver and settings, agent, program, and then whoever comes after the target."""
    assert words(AGENT, "After") == {SETUP}
    assert words(PROGRAM, "After") == {SETUP, AGENT}
    assert words(TARGET, "After") == {SETUP, AGENT, PROGRAM}
    assert words(AGENT, "Wants") == words(PROGRAM, "Wants") == {SETUP}
    assert words(TARGET, "Wants") == {SETUP, PROGRAM, LATE, DRAIN}


@pytest.mark.parametrize("name", [SETUP, PROGRAM, LATE, DRAIN, TARGET, AGENT])
def test_nothing_waits_for_what_waits_for_the_user_data(name: str) -> None:
    """The user data starts the units and waits for them, and cloud-init's targets wait for the user data."""
    late = {"multi-user.target", "cloud-final.service", "cloud-init.target", "graphical.target", "default.target"}
    assert not words(name, "After") & late
    assert not unit(name).keys() & {"Requires", "Requisite", "BindsTo", "PartOf"}


def test_the_setup_waits_for_the_driver_as_the_boot_script_does() -> None:
    start = unit(SETUP)["ExecStart"]
    assert "fleet_wait_for_driver" in start[0]
    assert f"/{LIBRARY}/units/driver.sh" in start[0]
    assert start[1] == "-/usr/local/bin/accelerated-node setup"
    # A hyphen: what fails does not fail the unit.
    assert start[0].startswith("-/bin/bash -c ")
    assert unit(SETUP)["EnvironmentFile"] == [f"-{names.SETTINGS_FILE.rpartition('/')[0]}/driver.env"]
    assert unit(SETUP)["Type"] == ["oneshot"]
    assert unit(SETUP)["RemainAfterExit"] == ["yes"]
    assert "TimeoutStartSec" in unit(SETUP)


def test_a_late_driver_is_looked_for_before_the_agent_starts_and_after_what_it_must_not_hold_up() -> None:
    """The setup goes before the agent, and has a time limit as a whole."""
    assert unit(SETUP)["ExecStart"][2] == f"-/bin/bash /{LIBRARY}/units/late-driver.sh"


def test_nobody_waits_for_a_late_driver() -> None:
    """The boot script starts the target and is done; the output goes to the journal, not where cloud-init reads."""
    assert unit(LATE)["Type"] == ["simple"]
    assert unit(LATE)["ExecStart"] == [f"/bin/bash /{LIBRARY}/units/late-driver.sh wait"]
    assert unit(LATE)["EnvironmentFile"] == unit(SETUP)["EnvironmentFile"]
    assert words(LATE, "After") == {SETUP, AGENT}
    assert not unit(LATE).keys() & {"StandardOutput", "StandardError", "WantedBy", "Before"}


def test_what_the_setup_mounts_is_seen_by_everybody() -> None:
    """Any of these would give the unit a file system name space of its own."""
    hardening = (
        "Private",
        "Protect",
        "ReadOnly",
        "ReadWrite",
        "Inaccessible",
        "Bind",
        "TemporaryFileSystem",
        "Dynamic",
    )
    assert [key for key in unit(SETUP) if key.startswith(hardening)] == []


def test_the_program_is_restarted_however_often_it_ends() -> None:
    service = unit(PROGRAM)
    assert service["Type"] == ["notify"]
    assert service["Restart"] == ["always"]
    assert service["RestartSec"] == ["5"]
    assert service["StartLimitIntervalSec"] == ["0"]
    assert "WatchdogSec" in service
    assert service["MemoryMax"] == ["200M"]
    assert service["ExecStart"] == ["/usr/local/bin/accelerated-node run"]


def test_case_59_the_drain_lives_on_whatever_ends_and_waits_for_nothing() -> None:
    """A crash of the program that measures, a restart of the machine, a hang of its own."""
    service = unit(DRAIN)
    assert service["Type"] == ["notify"]
    assert (service["Restart"], service["RestartSec"], service["StartLimitIntervalSec"]) == (["always"], ["5"], ["0"])
    assert service["WatchdogSec"] == ["2min"]
    assert service["ExecStart"] == ["/usr/local/bin/accelerated-node drain"]
    assert not service.keys() & {"After", "Wants", "Requires", "BindsTo", "PartOf"}


def test_what_limits_the_program_does_not_limit_the_teams_commands() -> None:
    """They may need sudo, a home directory, control groups and memory. What they start ends with the service."""
    limits = ("NoNewPrivileges", "Protect", "Private", "ReadOnly", "RestrictSUIDSGID", "Memory", "KillMode", "Nice")
    assert [key for key in unit(DRAIN) if key.startswith(limits)] == []


def test_marks_can_be_held_from_early_boot_on() -> None:
    """Whatever starts with the machine comes after local-fs.target, before which a mount is unless it says nofail."""
    mount = unit("busy.mount")
    assert mount["Where"] == [names.BUSY_DIRECTORY]
    assert mount["WantedBy"] == ["local-fs.target"]
    assert "DefaultDependencies" not in mount
    assert not mount.keys() & {"Requires", "After"}
    options = set(mount["Options"][0].split(","))
    # A file system of its own, that holds little: no user can fill /run with marks.
    assert (mount["What"], mount["Type"]) == (["tmpfs"], ["tmpfs"])
    assert options == {"mode=1777", "size=1m", f"nr_inodes={MOST_FILES}", "nosuid", "nodev", "noexec"}


def test_no_mark_that_is_held_is_hidden() -> None:
    """Marks in the plain directory that the program makes would vanish below a file system mounted later."""
    assert unit("busy.mount")["ConditionDirectoryNotEmpty"] == [f"!{names.BUSY_DIRECTORY}"]
    for name in (SETUP, PROGRAM, DRAIN, TARGET):
        assert BUSY not in words(name, "Wants") | words(name, "Requires")


@pytest.mark.skipif(shutil.which("systemd-escape") is None, reason="systemd-escape is not on this machine")
def test_the_mount_is_called_after_its_place() -> None:
    command = ["systemd-escape", "--path", "--suffix=mount", names.BUSY_DIRECTORY]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{BUSY}\n"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare")
def test_the_mount_is_one_that_the_kernel_makes(tmp_path: Path) -> None:
    """And a place in which marks are made, are seen, and are never more than can be counted."""
    script = f"""
mount -t tmpfs -o {shlex.quote(unit("busy.mount")["Options"][0])} tmpfs "$1" || exit 77
cd "$1" && stat -c %a . && : >one && i=0
while : >"$i"; do i=$((i + 1)); done 2>/dev/null
ls | wc -l
"""
    command = ["unshare", "--mount", "/bin/bash", "-c", script, "bash", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 77 or not done.stdout:
        pytest.skip("nothing can be mounted here")
    assert done.stdout == f"1777\n{MOST_FILES - 1}\n"


def test_the_driver_script_and_the_program_speak_of_the_same_files() -> None:
    text = (UNITS / "driver.sh").read_text()
    assert f"state={names.STATE_DIRECTORY} " in text
    assert f"{names.STATE_DIRECTORY}/driver-ready" == names.DRIVER_READY


def verified(place: Path) -> str:
    """What systemd says about the units, the command and the agent being replaced by something that is here."""
    for name in (SETUP, PROGRAM, LATE, DRAIN, TARGET):
        text = (UNITS / name).read_text().replace(f"/{LAUNCHER}", "/bin/true")
        (place / name).write_text(text)
    shutil.copy(UNITS / "busy.mount", place / BUSY)
    (place / AGENT).write_text("[Unit]\nAfter=network.target\n[Service]\nExecStart=/bin/true\n")
    (place / DROP_IN).parent.mkdir()
    shutil.copy(UNITS / "amazon-cloudwatch-agent.conf", place / DROP_IN)
    checked = subprocess.run(
        ["systemd-analyze", "verify", *(str(place / name) for name in (*ALL, AGENT))],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{place}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{checked.returncode} {checked.stdout}{checked.stderr}".strip()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")
def test_systemd_has_nothing_to_say_about_the_units(tmp_path: Path) -> None:
    assert verified(tmp_path) == "0"


def test_unit_files_are_well_formed() -> None:
    for path in UNITS.glob("*.service"):
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.read(path)
        assert set(parser.sections()) == {"Unit", "Service"} | ({"Install"} if path.name != LATE else set())
