"""FSx for Lustre is mounted at each boot, by a client that is installed if need be, and never holds a boot up."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from constructs_lib.node import names
from constructs_lib.node.places import Places
from constructs_lib.node.readings import FAILED, HUNG, Command, NoReading, Output
from constructs_lib.node.settings import LustreMount, MachineSetup
from constructs_lib.node.setup import Machine, Outcome, lustre, run
from constructs_lib.node.setup_report import not_in_force
from tests.node.setup.machines import Answer, Tools, fine, machine, refused

SOURCE = "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcdefgh"
MOUNTS = {"/fsx": LustreMount(SOURCE)}
KERNEL = "6.8.0-1021-aws"
PACKAGE = f"lustre-client-modules-{KERNEL}"


@dataclass
class Lustre:
    """A machine that may have a Lustre client, and file servers that answer. ``mounted`` is what is where."""

    tools: Tools
    root: Path
    system: str = "amazon-linux"
    client: bool = True
    published: bool = True
    """Whether the package source has a client for the kernel."""
    answers: list[Answer] = field(default_factory=list)
    """Of the next attempts to mount, before the servers answer."""
    mounted: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.module = self.client
        if self.client:
            self._put_helper()
        self.tools.programs.update(
            {
                "modprobe": lambda _: fine() if self.module else refused("modprobe: FATAL: Module lustre not found."),
                "uname": lambda _: fine(f"{KERNEL}\n"),
                "sleep": lambda _: fine(),
                "mount": self._mount,
                "findmnt": self._findmnt,
            }
        )
        release = self.root / "etc" / "os-release"
        release.parent.mkdir(exist_ok=True)
        if self.system == "amazon-linux":
            release.write_text('NAME="Amazon Linux"\nVERSION_ID="2023"\n')
            self.tools.programs["dnf"] = lambda argv: self._install(argv[-1] == "lustre-client")
        elif self.system == "ubuntu":
            release.write_text("NAME=Ubuntu\nUBUNTU_CODENAME=wrong\nVERSION_CODENAME=noble\n")
            self.tools.programs["curl"] = lambda _: fine()
            self.tools.programs["apt-get"] = lambda _: fine()
            self.tools.programs["env"] = lambda argv: self._install(argv[-1] == PACKAGE)

    def _put_helper(self) -> None:
        helper = self.root / lustre.HELPER.lstrip("/")
        helper.parent.mkdir(exist_ok=True)
        helper.write_text("")

    def _install(self, right: bool) -> Answer:
        if not right or not self.published:
            return refused("Unable to find a match: lustre-client")
        self._put_helper()
        self.module = True
        return fine()

    def _mount(self, argv: Sequence[str]) -> Answer:
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, NoReading) or answer.exit_status:
                return answer
        kind, options, (source, path) = argv[argv.index("-t") + 1], argv[argv.index("-o") + 1], argv[-2:]
        # The kernel shows the server by its address, and which way it is mounted.
        shown = f"10.0.1.7@tcp:/{source.partition(':/')[2]}"
        self.mounted[path] = (kind, shown, options if "ro" in options.split(",") else f"rw,{options}")
        return fine()

    def _findmnt(self, argv: Sequence[str]) -> Answer:
        found = self.mounted.get(argv[-1])
        if found is None:
            return refused("")
        entry = dict(zip(("fstype", "source", "options"), found, strict=True))
        return fine(json.dumps({"filesystems": [entry]}))


class Watch:
    """How long commands take together if each takes as long as it may."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.seconds = 0.0

    def run_one(self, command: Command) -> Answer:
        sleeps = command.argv[0] == "sleep"
        self.seconds += float(command.argv[1]) if sleeps else command.time_limit_seconds
        return self.tools.run_one(command)


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def apply(tools: Tools, tmp_path: Path) -> Callable[..., Outcome]:
    return lambda mounts=MOUNTS: lustre.apply(machine(tools, tmp_path), mounts)


def test_it_is_mounted_as_aws_mounts_it(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    """'Mounting from an Amazon EC2 instance', FSx for Lustre User Guide."""
    Lustre(tools, tmp_path)
    assert apply() == Outcome(True, "mounted at /fsx")
    assert tools.calls("mount") == [["mount", "-t", "lustre", "-o", "relatime,flock,_netdev", SOURCE, "/fsx"]]
    assert (tmp_path / "fsx").is_dir()


def test_the_machines_own_mount_table_is_left_alone(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]
) -> None:
    Lustre(tools, tmp_path)
    apply()
    assert sorted(path.name for path in (tmp_path / "etc").iterdir()) == ["os-release"]


def test_a_second_run_changes_nothing(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path)
    apply()
    tools.commands.clear()
    assert apply() == Outcome(True, "mounted at /fsx")
    assert tools.calls("mount", "dnf") == []


def test_what_shall_only_be_read(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path)
    assert apply({"/fsx": LustreMount(SOURCE, read_only=True)}).ok
    assert tools.calls("mount")[0][4] == "ro,relatime,flock,_netdev"


@pytest.mark.parametrize(
    ("options", "read_only", "detail"),
    [
        ("rw,flock", True, "/fsx is mounted read-write already"),
        ("ro,flock", False, "/fsx is mounted read-only already"),
    ],
)
def test_what_is_mounted_the_other_way_is_told(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome], options: str, read_only: bool, detail: str
) -> None:
    Lustre(tools, tmp_path, mounted={"/fsx": ("lustre", "10.0.1.7@tcp:/abcdefgh", options)})
    assert apply({"/fsx": LustreMount(SOURCE, read_only)}) == Outcome(False, detail)
    assert tools.calls("mount") == []


@pytest.mark.parametrize(
    ("kind", "source"), [("ext4", "/dev/nvme1n1"), ("lustre", "10.0.9.9@tcp:/another"), ("nfs4", "server:/abcdefgh")]
)
def test_what_somebody_else_has_mounted_there_stays(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome], kind: str, source: str
) -> None:
    Lustre(tools, tmp_path, mounted={"/fsx": (kind, source, "rw")})
    assert apply() == Outcome(False, f"/fsx has {kind} {source} mounted, not {SOURCE}")
    assert tools.calls("mount", "umount") == []


def test_the_client_of_amazon_linux(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path, client=False)
    assert apply().ok
    assert tools.calls("dnf", "apt-get", "env") == [["dnf", "install", "-y", "-q", "lustre-client"]]


def test_a_client_that_is_there_is_not_installed_again(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]
) -> None:
    Lustre(tools, tmp_path)
    apply()
    assert tools.calls("dnf") == []


def test_the_client_of_ubuntu_is_that_of_the_running_kernel(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]
) -> None:
    """'Installing the Lustre client', FSx for Lustre User Guide."""
    Lustre(tools, tmp_path, system="ubuntu", client=False)
    assert apply().ok
    (key,) = tools.calls("curl")
    assert key[-2:] == [
        "/usr/share/keyrings/fsx-ubuntu-public-key.asc",
        "https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc",
    ]
    source = tmp_path / "etc/apt/sources.list.d/fsxlustreclientrepo.list"
    assert source.read_text() == (
        "deb [signed-by=/usr/share/keyrings/fsx-ubuntu-public-key.asc] "
        "https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu noble main\n"
    )
    (update,) = tools.calls("apt-get")
    assert "update" in update
    (install,) = tools.calls("env")
    assert install[-1] == PACKAGE
    assert {"DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "install", "-y"} <= set(install)


def test_a_kernel_that_was_renewed_gets_its_client(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    """The tools are there from the boot before, and the module is that of the old kernel."""
    found = Lustre(tools, tmp_path, system="ubuntu")
    found.module = False
    assert apply().ok
    assert tools.calls("env")[0][-1] == PACKAGE


@pytest.mark.parametrize("system", ["amazon-linux", "ubuntu"])
def test_a_client_that_nobody_has_is_told(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome], system: str
) -> None:
    Lustre(tools, tmp_path, system=system, client=False, published=False)
    assert apply() == Outcome(
        False,
        "the Lustre client is missing: there is no /sbin/mount.lustre; it cannot be installed "
        "(exit status 1: Unable to find a match: lustre-client)",
    )
    assert tools.calls("mount") == []


def test_a_key_that_cannot_be_fetched_is_told(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path, system="ubuntu", client=False)
    tools.programs["curl"] = lambda _: refused("curl: (28) Connection timed out", 28)
    outcome = apply()
    assert outcome.ok is False
    assert outcome.detail.endswith("it cannot be installed (exit status 28: curl: (28) Connection timed out)")
    assert not (tmp_path / "etc/apt").exists()


def test_a_module_that_does_not_load_is_told(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path, client=False)
    tools.programs["modprobe"] = lambda _: refused("modprobe: ERROR: could not insert 'lustre': Key was rejected")
    assert apply() == Outcome(
        False,
        "the Lustre client is missing: the kernel has no module for it "
        "(exit status 1: modprobe: ERROR: could not insert 'lustre': Key was rejected)",
    )


def test_another_system_is_told(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    Lustre(tools, tmp_path, system="other", client=False)
    detail = "the Lustre client is missing, and this is neither Amazon Linux 2023 nor Ubuntu"
    assert apply() == Outcome(False, detail)


def test_a_name_that_is_not_known_yet_is_asked_for_again(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]
) -> None:
    early = refused("mount.lustre: Can't parse NID 'fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcdefgh'")
    Lustre(tools, tmp_path, answers=[early, early])
    assert apply().ok
    assert [argv[0] for argv in tools.calls("mount", "sleep")] == ["mount", "sleep", "mount", "sleep", "mount"]


def test_it_is_not_tried_for_ever(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    gone = refused(f"mount.lustre: mount {SOURCE} at /fsx failed: Input/output error", 5)
    Lustre(tools, tmp_path, answers=[gone] * 100)
    assert apply() == Outcome(
        False,
        f"{SOURCE} is not mounted at /fsx (exit status 5: mount.lustre: mount {SOURCE} at /fsx failed: "
        "Input/output error)",
    )
    assert len(tools.calls("mount")) == 3


def test_a_mount_that_hangs_is_not_waited_for_twice(
    tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]
) -> None:
    """A security group without Lustre's ports: nothing answers, and the process cannot always be ended."""
    Lustre(tools, tmp_path, answers=[NoReading(HUNG, "mount: no answer within 45 s")] * 2)
    assert apply() == Outcome(False, f"{SOURCE} is not mounted at /fsx (mount: no answer within 45 s)")
    assert len(tools.calls("mount")) == 1


def test_the_whole_takes_less_than_the_service_may_at_its_worst(tools: Tools, tmp_path: Path) -> None:
    """The four mounts that a fleet takes, each of which fails as late as it can, after a client that comes as late."""
    Lustre(tools, tmp_path, system="ubuntu", client=False, answers=[refused("")] * 100)
    watch = Watch(tools)
    lustre.apply(Machine(watch, None, Places(tmp_path)), {f"/fsx{number}": LustreMount(SOURCE) for number in range(4)})
    unit = Path(lustre.__file__).parents[1] / "units" / "accelerated-setup.service"
    assert "TimeoutStartSec=30min" in unit.read_text()
    assert watch.seconds < 25 * 60


def test_one_that_fails_stops_no_other(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    found = Lustre(tools, tmp_path, answers=[NoReading(FAILED, "mount: cannot be started: no memory")])
    outcome = apply({"/one": LustreMount(SOURCE), "/two": LustreMount(SOURCE)})
    assert outcome == Outcome(False, f"{SOURCE} is not mounted at /one (mount: cannot be started: no memory)")
    assert list(found.mounted) == ["/two"]


def test_a_path_that_cannot_be_made_stops_no_other(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    found = Lustre(tools, tmp_path)
    (tmp_path / "data").write_text("a file")
    outcome = apply({"/data/in": LustreMount(SOURCE), "/fsx": LustreMount(SOURCE)})
    assert outcome.ok is False
    assert outcome.detail.startswith("/data/in cannot be made (")
    assert list(found.mounted) == ["/fsx"]


def test_what_fails_is_in_the_report_and_not_in_force(tools: Tools, tmp_path: Path) -> None:
    """The count of these is the metric that the Degraded alarm looks at."""
    asked = MachineSetup(lustre=MOUNTS)
    Lustre(tools, tmp_path, answers=[NoReading(HUNG, "mount: no answer within 45 s")])
    run(asked, machine(tools, tmp_path))
    report = (tmp_path / names.SETUP_REPORT.lstrip("/")).read_text()
    assert not_in_force(asked, report) == {"lustre": f"{SOURCE} is not mounted at /fsx (mount: no answer within 45 s)"}


def test_the_columns_are_those_of_the_real_tool(tools: Tools, tmp_path: Path, apply: Callable[..., Outcome]) -> None:
    findmnt = shutil.which("findmnt")
    if findmnt is None:
        pytest.skip("findmnt is not on this machine")
    Lustre(tools, tmp_path)

    def real(argv: Sequence[str]) -> Answer:
        done = subprocess.run([findmnt, *argv], capture_output=True, text=True, check=False)
        return Output(done.returncode, done.stdout, done.stderr)

    tools.programs["findmnt"] = real
    assert apply({"/proc": LustreMount(SOURCE)}) == Outcome(False, f"/proc has proc proc mounted, not {SOURCE}")
