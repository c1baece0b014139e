"""Case 20: the rendered boot script, run by bash with stubs in place of the machine's programs and of time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from aws_cdk import Duration

from constructs_lib.node import names
from constructs_lib.telemetry import AgentConfiguration, Telemetry
from constructs_lib.telemetry.names import LOG_GROUP_PLACEHOLDER
from tests.boot.machines import BASH, FULL, NODE, NODE_PROGRAM, NOW, WORKLOAD, Machine
from tests.boot.scripts import FALLBACK, script
from tests.constructs.reading import user_data
from tests.support.stacks import fleet, fleet_template

PROBE_STUBS = {
    "missing": None,
    "present but failing": "echo 'NVIDIA-SMI has failed because it could not communicate'; exit 9",
    "lists nothing": "exit 0",
    "lists nothing but an empty line": "echo",
    "hangs": "exit 124",
}
BUSY = r"run-accelerated\x2dfleet-busy.mount"
UNITS = "accelerated-setup.service accelerated-node.service accelerated-drain.service accelerated-fleet.target"
# What a first boot does, in this order, when all goes well.
ORDER = [
    "aws s3 cp",
    "install",
    "systemctl --no-block start accelerated-drain.service",
    "probe",
    "systemctl start accelerated-setup.service",
    "systemctl disable --now",
    "agent",
    "systemctl start accelerated-node.service accelerated-fleet.target",
    "workload",
]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.agent()
    return made


def events(machine: Machine) -> list[str]:
    """The record in the words of ``ORDER``."""
    lines = [line.replace("--region eu-west-1 ", "") for line in machine.record if not line.startswith("pass ")]
    return [next((event for event in ORDER if line.startswith(event)), line) for line in lines]


def probed(machine: Machine, body: str = 'echo "GPU 0: NVIDIA L4"') -> None:
    machine.program("nvidia-smi", f'echo "probe $*" >>"$RECORD"\n{body}')


# --- order ---------------------------------------------------------------------------------------------------------


def test_everything_happens_in_order(machine: Machine) -> None:
    probed(machine)
    machine.boot(script())
    assert events(machine) == ORDER
    assert machine.calls("aws")[0].startswith(f"--region eu-west-1 s3 cp --only-show-errors {NODE_PROGRAM} ")


def test_the_driver_and_the_agent_leave_the_time_at_which_they_were_ready(machine: Machine) -> None:
    machine.boot(script())
    assert machine.file(names.DRIVER_READY).read_text() == f"{NOW}\n"
    assert machine.file(names.AGENT_READY).read_text() == f"{NOW}\n"


def test_case_79_nothing_reloads_systemd_or_installs_once_the_workload_runs(machine: Machine) -> None:
    machine.boot(script())
    assert machine.programs[-1] == "workload"
    assert machine.programs.count("workload") == 1


def test_the_settings_of_the_program_are_there_before_the_program(machine: Machine) -> None:
    machine.program("aws", f'[ -s {machine.root}/etc/node.json ] && echo "settings there" >>"$RECORD"; exit 1')
    machine.boot(script(node_settings='{"kind":"fpga"}'))
    assert machine.record[0] == "settings there"
    assert machine.file(names.SETTINGS_FILE).read_text() == '{"kind":"fpga"}\n'


def test_the_drain_is_watched_for_before_anything_is_waited_for(machine: Machine) -> None:
    """An instance can be told to go while it waits for its driver."""
    probed(machine, '[ "$(<"$TMPDIR/clock")" -ge 60 ] && echo "GPU 0: NVIDIA L4"')
    machine.boot(script())
    assert machine.programs.index("systemctl") < machine.programs.index("probe")
    assert machine.calls("systemctl")[0] == "--no-block start accelerated-drain.service"


def test_the_workload_gets_the_limit_of_open_files_that_the_setup_made(machine: Machine) -> None:
    set_limit = f'[ "$2" != accelerated-setup.service ] || echo 200 >{machine.file(names.OPEN_FILES)}'
    machine.program("systemctl", set_limit)
    machine.boot(script(workload=f'#!{BASH}\necho "workload $(ulimit -n)" >>"$RECORD"\n'))
    assert machine.calls("workload") == ["200"]


# --- driver --------------------------------------------------------------------------------------------------------


def test_case_20_driver_answers_at_once(machine: Machine) -> None:
    machine.boot(script())
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert machine.slept == 0


def test_case_20_driver_answers_after_60_seconds(machine: Machine) -> None:
    probed(machine, '[ "$(<"$TMPDIR/clock")" -ge 60 ] && echo "GPU 0: NVIDIA L4"')
    machine.boot(script())
    assert machine.calls("probe") == ["-L"] * 13
    assert machine.slept == 60
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert events(machine)[:2] == ORDER[:2]
    assert events(machine)[-5:] == ORDER[-5:]


@pytest.mark.parametrize("probe", PROBE_STUBS)
def test_case_20_driver_never_answers(machine: Machine, probe: str) -> None:
    body = PROBE_STUBS[probe]
    if body is None:
        machine.remove("nvidia-smi")
    else:
        machine.program("nvidia-smi", body)
    booted = machine.boot(script())
    assert machine.calls("agent") == [machine.fallback]
    assert 300 <= machine.slept <= 335
    assert "the accelerator cannot be read: '" in booted.stdout
    assert "/nvidia-smi -L' gave nothing within 300 s" in booted.stdout
    # A team's own script may be what installs the driver.
    assert machine.calls("workload") == ["ACCELERATOR_READY=no"]
    assert not machine.file(names.DRIVER_READY).exists()
    assert machine.file(names.AGENT_READY).exists()


def host_alone(written: str) -> bool:
    """Whether a configuration measures the host, under the group's name, and no accelerator."""
    metrics = json.loads(written)["metrics"]
    named = metrics["append_dimensions"]["AutoScalingGroupName"] == "${aws:AutoScalingGroupName}"
    return named and "cpu" in metrics["metrics_collected"] and "nvidia_gpu" not in metrics["metrics_collected"]


def test_case_20_the_usual_fallback_is_the_node_programs(machine: Machine) -> None:
    """It is the same for all that measure no more than usual, and no template is longer for it."""
    usual = (NODE / "units" / "agent-fallback.json").read_text()
    assert usual == AgentConfiguration.fallback(Telemetry()).to_json() + "\n"
    assert host_alone(usual)
    machine.remove("nvidia-smi")
    machine.boot(user_data(fleet_template()))
    assert machine.calls("agent") == [f"-a fetch-config -m ec2 -s -c file:{machine.root}/units/agent-fallback.json"]
    assert not (machine.root / "etc" / "agent-fallback.json").exists()


def test_case_20_another_fallback_file_is_the_agents_own_json(machine: Machine) -> None:
    machine.remove("nvidia-smi")
    machine.boot(user_data(fleet_template(telemetry=Telemetry(resolution=Duration.seconds(10)))))
    assert machine.calls("agent") == [machine.fallback]
    written = (machine.root / "etc" / "agent-fallback.json").read_text()
    assert host_alone(written)
    assert json.loads(written)["agent"]["metrics_collection_interval"] == 10


def test_a_fallback_that_an_image_brings_of_another_fleet_is_not_taken(machine: Machine) -> None:
    (machine.root / "etc").mkdir()
    (machine.root / "etc" / "agent-fallback.json").write_text("{}")
    machine.remove("nvidia-smi")
    machine.boot(user_data(fleet_template()))
    assert machine.calls("agent") == [f"-a fetch-config -m ec2 -s -c file:{machine.root}/units/agent-fallback.json"]


def test_a_probe_that_cannot_be_killed_is_not_waited_for(machine: Machine) -> None:
    """`timeout` waits for a child that hangs in the driver; the boot does not."""
    with machine.hanging("nvidia-smi", unkillable=True):
        machine.boot(script())
        assert machine.calls("workload") == ["ACCELERATOR_READY=no"]
        assert "hung program ends" not in machine.record
    assert machine.record.count("hangs") > 1
    assert 300 <= machine.slept <= 345
    assert machine.calls("agent") == [machine.fallback]


def test_the_probe_is_the_program_that_the_agent_itself_needs() -> None:
    """The agent checks this path, and no other, before it starts."""
    assert "DRIVER_PROBE='/usr/bin/nvidia-smi -L'" in user_data(fleet_template())


@pytest.mark.parametrize(("files", "ready"), [(["card0", "card1"], "yes"), ([], "no")])
def test_a_probe_may_name_files_by_a_pattern(machine: Machine, files: list[str], ready: str) -> None:
    """What AMD's driver shows are files; without the driver the pattern matches none."""
    for name in files:
        (machine.root / name).write_text("0\n")
    machine.boot(script(driver_probe=f"cat {machine.root}/card*"))
    assert machine.calls("workload") == [f"ACCELERATOR_READY={ready}"]


QUOTED_PROBE = """echo 'it is' "$(echo there)" >>"$RECORD"; echo yes"""


def test_a_probe_with_quotes_arrives_as_it_was(machine: Machine) -> None:
    machine.boot(script(driver_probe=QUOTED_PROBE))
    assert "it is there" in machine.record
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_the_driver_script_reads_the_same_probe_after_a_restart(machine: Machine) -> None:
    machine.boot(script(driver_probe=QUOTED_PROBE))
    assert machine.wait_for_driver_after_a_restart().returncode == 0
    assert machine.record.count("it is there") == 2


def test_the_real_archive_is_unpacked_and_installed(machine: Machine) -> None:
    """Everything but the download and systemd: the archive, Python's unpacking, the installer, the driver script."""
    with ZipFile(machine.root / "bucket", "w") as archive:
        for path in sorted(NODE.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(NODE))
    machine.remove("python3")
    machine.program("python3", f'exec "{sys.executable}" "$@"')
    booted = machine.boot(f"#!{BASH}\nexport DESTDIR={machine.root}/disk\n" + script())
    assert booted.stderr == ""
    installed = [f"systemctl --no-reload enable {BUSY} {UNITS}", "systemctl daemon-reload", f"systemctl start {BUSY}"]
    assert events(machine) == ["aws s3 cp", *installed, ORDER[2], *ORDER[4:]]
    assert (machine.root / "disk/opt/accelerated-node/lib/accelerated_node/__main__.py").is_file()


# --- after a restart -----------------------------------------------------------------------------------------------


def test_a_restart_waits_for_the_driver_again(machine: Machine) -> None:
    machine.boot(script())
    probed(machine, '[ "$(<"$TMPDIR/clock")" -ge 20 ] && echo "GPU 0: NVIDIA L4"')
    assert machine.wait_for_driver_after_a_restart().returncode == 0
    assert machine.calls("probe") == ["-L"] * 5
    assert machine.file(names.DRIVER_READY).read_text() == f"{NOW}\n"


def test_a_restart_waits_no_longer_than_the_first_boot(machine: Machine) -> None:
    machine.boot(script())
    machine.remove("nvidia-smi")
    assert machine.wait_for_driver_after_a_restart().returncode == 1
    assert machine.slept == 300


def test_who_waits_second_does_not_wait_again(machine: Machine) -> None:
    """The first boot waits, then starts the service, which would wait for as long again."""
    machine.remove("nvidia-smi")
    machine.boot(script())
    slept = machine.slept
    (machine.root / "run").rename(machine.root / "kept")
    (machine.root / "run").mkdir()
    (machine.root / "etc" / "driver.env").write_text(
        (machine.root / "etc" / "driver.env").read_text()
        + f"\nmkdir -p {machine.root}/run\ncp {machine.root}/kept/* {machine.root}/run\n"
    )
    assert machine.wait_for_driver_after_a_restart().returncode == 1
    assert machine.slept == slept


# --- node program --------------------------------------------------------------------------------------------------


def test_a_node_program_that_cannot_be_fetched_stops_nothing_else(machine: Machine) -> None:
    machine.program("aws", 'echo "aws $*" >>"$RECORD"; exit 1')
    booted = machine.boot(script())
    assert len(machine.calls("aws")) == 5
    assert machine.slept == 75
    assert f"cannot fetch {NODE_PROGRAM}" in booted.stdout
    assert "the node program cannot be installed" in booted.stdout
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert [call for call in machine.calls("systemctl") if call.startswith("start")] == []


def without_archive(machine: Machine) -> None:
    machine.program("aws", "exit 1")


def test_without_the_node_program_the_workload_learns_of_the_accelerator(machine: Machine) -> None:
    without_archive(machine)
    probed(machine, '[ "$(<"$TMPDIR/clock")" -ge 135 ] && echo "GPU 0: NVIDIA L4"')
    machine.boot(script(sources=BOTH))
    assert machine.slept == 75 + 60
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


@pytest.mark.parametrize("probe", PROBE_STUBS)
def test_case_20_without_the_node_program_and_without_the_driver(machine: Machine, probe: str) -> None:
    without_archive(machine)
    body = PROBE_STUBS[probe]
    if body is None:
        machine.remove("nvidia-smi")
    else:
        machine.program("nvidia-smi", body)
    booted = machine.boot(script(sources=BOTH))
    assert "the node program cannot be installed" in booted.stdout
    # The agent refuses the accelerator's section while there is no driver.
    assert machine.calls("agent") == [machine.fallback]
    assert machine.calls("workload") == ["ACCELERATOR_READY=no"]
    assert 75 + 300 <= machine.slept <= 75 + 335


def test_without_the_node_program_an_older_agent_gets_the_essential_configuration(machine: Machine) -> None:
    without_archive(machine)
    machine.agent('[[ "$*" == *essential* ]]')
    machine.boot(script(sources=BOTH))
    assert machine.calls("agent") == [FULL] * 5 + [ESSENTIAL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_without_the_node_program_and_an_agent_the_workload_starts(machine: Machine) -> None:
    without_archive(machine)
    (machine.root / "agent-ctl").unlink()
    machine.boot(user_data(fleet_template()) + "\n" + WORKLOAD.partition("\n")[2])
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_without_the_node_program_a_probe_that_hangs_is_killed(machine: Machine) -> None:
    without_archive(machine)
    with machine.hanging("nvidia-smi"):
        machine.boot(script())
        assert machine.programs.count("hangs") == machine.calls("killed").count("nvidia-smi") >= 1
    assert machine.calls("workload") == ["ACCELERATOR_READY=no"]


def test_a_node_program_that_comes_at_the_third_try(machine: Machine) -> None:
    machine.program("aws", 'echo "aws $*" >>"$RECORD"; [ "$(<"$TMPDIR/clock")" -ge 15 ] && cat >"${*: -1}" </dev/null')
    machine.boot(script())
    assert len(machine.calls("aws")) == 3
    assert machine.calls("install") == [""]


@pytest.mark.parametrize("program", ["python3", "bash"])
def test_an_archive_that_cannot_be_installed_stops_nothing_else(machine: Machine, program: str) -> None:
    if program == "python3":
        machine.program("python3", "echo 'not a zip file' >&2; exit 1")
    else:
        machine.program("python3", 'mkdir "$5"; echo exit 1 >"$5/install.sh"')
    booted = machine.boot(script())
    assert "the node program cannot be installed" in booted.stdout
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


@pytest.mark.parametrize(
    ("installer", "call"), [("dnf", "install -y -q awscli-2"), ("snap", "install aws-cli --classic")]
)
def test_an_image_without_the_aws_command_line_gets_it(machine: Machine, installer: str, call: str) -> None:
    (machine.root / "bin" / "aws").rename(machine.root / "packed")
    (machine.root / "bin" / "touch").symlink_to(str(shutil.which("touch")))
    machine.program(installer, f'echo "{installer} $*" >>"$RECORD"; mv "$TMPDIR/packed" "$TMPDIR/bin/aws"')
    machine.boot(script())
    assert machine.record[0] == f"{installer} {call}"
    assert machine.programs[1:3] == ["aws", "install"]


def test_an_aws_command_line_that_cannot_be_installed_is_told_once_each_time(machine: Machine) -> None:
    machine.remove("aws")
    booted = machine.boot(script())
    assert "the AWS command line cannot be installed" in booted.stdout
    assert machine.slept == 0
    assert machine.calls("agent") == [FULL]


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ("accelerated-setup.service", "the machine cannot be set up"),
        ("accelerated-node.service", "the node program does not start; systemd tries on"),
    ],
)
def test_a_unit_that_does_not_start_stops_nothing_else(machine: Machine, fails: str, told: str) -> None:
    machine.program("systemctl", f'echo "systemctl $*" >>"$RECORD"; [ "$2" != {fails} ]')
    booted = machine.boot(script())
    assert told in booted.stdout
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


# --- agent ---------------------------------------------------------------------------------------------------------


def test_agents_that_the_image_brings_are_stopped_first(machine: Machine) -> None:
    machine.boot(script())
    assert machine.programs.index("agent") == 5
    assert machine.record[4].startswith("systemctl disable --now dlami-cloudwatch-agent@")


def _amazon_linux(machine: Machine) -> str:
    machine.program("dnf", f'echo "dnf $*" >>"$RECORD"; {_install(machine)}')
    return "dnf install -y -q amazon-cloudwatch-agent"


def _ubuntu(machine: Machine) -> str:
    machine.program("curl", 'echo "curl ${*: -1}" >>"$RECORD"')
    machine.program("dpkg", '[ "$*" = --print-architecture ] && echo arm64')
    machine.program("apt-get", _install(machine))
    return "curl https://amazoncloudwatch-agent.s3.amazonaws.com/ubuntu/arm64/latest/amazon-cloudwatch-agent.deb"


def _install(machine: Machine) -> str:
    """Take the agent off the machine; the commands put it back."""
    (machine.root / "agent-ctl").rename(machine.root / "packed")
    return f"mv {machine.root}/packed {machine.root}/agent-ctl"


@pytest.mark.parametrize("system", [_amazon_linux, _ubuntu])
def test_an_image_without_the_agent_gets_it(machine: Machine, system: Callable[[Machine], str]) -> None:
    fetched = system(machine)
    machine.boot(script())
    assert machine.record[4] == fetched
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_a_package_lock_that_somebody_holds_goes_by(machine: Machine) -> None:
    """Ubuntu installs updates of its own while an instance boots: apt-get waits for the lock, dpkg would not."""
    put_back = _install(machine)
    machine.program("curl", "exit 0")
    machine.program("dpkg", "echo amd64")
    called = 'echo "apt-get $DEBIAN_FRONTEND $NEEDRESTART_SUSPEND $*" >>"$RECORD"'
    locked = '[ "$(<"$TMPDIR/clock")" -ge 15 ] || exit 100'
    machine.program("apt-get", f"{called}; {locked}; {put_back}")
    machine.boot(script())
    calls = machine.calls("apt-get")
    assert len(calls) == 3
    for call in calls:
        # An absolute path: apt-get takes any other word for the name of a package.
        assert re.fullmatch(
            r"noninteractive 1 -o DPkg::Lock::Timeout=240 install -y /\S+/amazon-cloudwatch-agent\.deb", call
        )
    assert machine.calls("agent") == [FULL]


def test_the_wait_for_the_package_lock_ends_within_the_steps_own_limit() -> None:
    text = (NODE / "units" / "boot.sh").read_text()
    (limit, wait) = re.findall(r"fleet_try (\d+) \\\n +apt-get -o DPkg::Lock::Timeout=(\d+) ", text)[0]
    assert int(wait) + 60 <= int(limit), "the rest is for the installation itself"


@pytest.mark.parametrize(
    ("program", "missing", "call"),
    [
        ("aws", None, "$3 = s3"),
        ("dnf", "aws", "$1 = install"),
        ("dnf", "agent", "$1 = install"),
        ("snap", "aws", "$1 = install"),
        ("curl", "agent", "$1 = -sSf"),
        ("apt-get", "agent", "$3 = install"),
        ("agent-ctl", None, "$2 = fetch-config"),
        ("nvidia-smi", None, "$1 = -L"),
    ],
)
def test_a_step_that_hangs_and_ignores_to_be_asked_to_end_is_killed(
    machine: Machine, program: str, missing: str | None, call: str
) -> None:
    if missing == "aws":
        machine.remove("aws")
    elif missing == "agent":
        (machine.root / "agent-ctl").unlink()
    if program in ("curl", "apt-get"):
        machine.program("curl", "true")
        machine.program("dpkg", "echo amd64")
        machine.program("apt-get", "true")
    with machine.hanging(program, only=f"[ {call} ]"):
        machine.boot(script())
        assert machine.programs.count("hangs") == machine.calls("killed").count(program) >= 1
        assert "hung program ends" not in machine.record
    assert machine.programs[-1] == "workload"


def test_agent_that_cannot_be_installed_does_not_stop_the_workload(machine: Machine) -> None:
    (machine.root / "agent-ctl").unlink()
    booted = machine.boot(script())
    assert "the agent cannot be installed" in booted.stdout
    assert events(machine)[-2:] == ORDER[-2:]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert not machine.file(names.AGENT_READY).exists()


def test_agent_that_refuses_is_asked_again_and_then_reported(machine: Machine) -> None:
    machine.agent("exit 1")
    booted = machine.boot(script())
    assert machine.calls("agent") == [FULL] * 5 + [machine.fallback] * 5
    assert "the agent refuses ssm:/fleet/agent" in booted.stdout
    assert "the agent refuses file:" in booted.stdout
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert not machine.file(names.AGENT_READY).exists()


ESSENTIAL = FULL.replace("/fleet/agent", "/fleet/essential")
BOTH = ("ssm:/fleet/agent", "ssm:/fleet/essential")


def test_an_older_agent_gets_the_essential_configuration(machine: Machine) -> None:
    machine.agent('[[ "$*" == *essential* ]]')
    machine.boot(script(sources=BOTH))
    assert machine.calls("agent") == [FULL] * 5 + [ESSENTIAL]


def test_case_20_agent_that_refuses_the_accelerator_reports_the_host(machine: Machine) -> None:
    machine.agent('[[ "$*" == *file:* ]]')
    machine.boot(script(sources=BOTH))
    assert machine.calls("agent") == [FULL] * 5 + [ESSENTIAL] * 5 + [machine.fallback]


def test_agent_is_not_started_again_once_it_runs(machine: Machine) -> None:
    machine.agent('[ -e "$TMPDIR/second" ] || { : >"$TMPDIR/second"; exit 1; }')
    machine.boot(script(sources=BOTH))
    assert machine.calls("agent") == [FULL, FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_a_configuration_in_a_bucket_gets_the_name_of_the_log_group(machine: Machine) -> None:
    configuration = (
        f'{{"group":"{LOG_GROUP_PLACEHOLDER}","again":"{LOG_GROUP_PLACEHOLDER}","kept":"$HOME `id` \\\\ ü"}}'
    )
    (machine.root / "bucket").write_text(configuration)
    machine.boot(script(sources=["s3://bucket/agent.json"]))
    assert machine.calls("agent") == [f"-a fetch-config -m ec2 -s -c file:{machine.root}/etc/agent.json"]
    written = (machine.root / "etc" / "agent.json").read_text()
    assert written == configuration.replace(LOG_GROUP_PLACEHOLDER, "/fleet/logs")


def test_a_configuration_that_cannot_be_fetched_leaves_the_next(machine: Machine) -> None:
    machine.program("aws", 'echo "aws $*" >>"$RECORD"; [[ "$*" == *node.zip* ]] && cat >"${*: -1}" </dev/null')
    booted = machine.boot(script(sources=["s3://bucket/agent.json"]))
    assert "cannot fetch s3://bucket/agent.json" in booted.stdout
    assert machine.calls("agent") == [machine.fallback]


def test_the_fallback_names_the_log_group(machine: Machine) -> None:
    machine.boot(script(fallback_config=FALLBACK.replace("metrics", LOG_GROUP_PLACEHOLDER)))
    written = (machine.root / "etc" / "agent-fallback.json").read_text()
    assert written.strip() == FALLBACK.replace("metrics", "/fleet/logs")


# --- workload ------------------------------------------------------------------------------------------------------


def test_no_system_log_is_no_reason_to_stop(machine: Machine) -> None:
    machine.remove("logger")
    machine.boot(script())
    assert machine.calls("agent") == [FULL]


def test_the_workloads_own_exit_status_is_the_last_word(machine: Machine) -> None:
    assert machine.boot(script()).returncode == 3


def test_without_a_workload_the_script_ends_well(machine: Machine) -> None:
    assert machine.boot(script(workload=None)).returncode == 0
    assert machine.calls("agent") == [FULL]


def test_added_commands_run_last_and_know_whether_the_accelerator_is_ready(machine: Machine) -> None:
    def build(*arguments: Any, **options: Any) -> Any:
        made = fleet(*arguments, **options)
        made.add_user_data('echo "added ACCELERATOR_READY=$ACCELERATOR_READY" >>"$RECORD"')
        return made

    machine.boot(user_data(fleet_template(build=build)))
    assert machine.programs[-1] == "added"
    assert machine.calls("added") == ["ACCELERATOR_READY=yes"]


NASTY = """it's "quoted" $HOME ${PATH} $(id) `id` \\ back\\\\slash ünïcödé 試験 !history ; & | > * ? [a] {b,c} ~ #"""


def test_text_with_any_character_arrives_as_it_was(machine: Machine) -> None:
    """Nothing that a name can contain is read by a shell, in a file or in a variable."""
    machine.boot(
        script(
            node_settings=json.dumps({"name": NASTY}, ensure_ascii=False),
            fallback_config=json.dumps({"name": NASTY}, ensure_ascii=False),
            log_group_name=NASTY,
            sources=[f"ssm:{NASTY}"],
            node_program=f"s3://bucket/{NASTY}",
            workload=f"#!{BASH}\ncat >>\"$RECORD\" <<'EOF'\nworkload {NASTY}\nEOF\n",
        )
    )
    assert json.loads((machine.root / "etc" / "node.json").read_text()) == {"name": NASTY}
    assert json.loads((machine.root / "etc" / "agent-fallback.json").read_text()) == {"name": NASTY}
    assert machine.calls("agent") == [f"-a fetch-config -m ec2 -s -c ssm:{NASTY}"]
    assert f" s3://bucket/{NASTY} " in machine.calls("aws")[0]
    assert machine.calls("workload") == [NASTY]


def test_a_configuration_in_a_bucket_takes_any_name_of_a_log_group(machine: Machine) -> None:
    (machine.root / "bucket").write_text(LOG_GROUP_PLACEHOLDER)
    machine.boot(script(sources=["s3://bucket/agent.json"], log_group_name=NASTY))
    assert (machine.root / "etc" / "agent.json").read_text() == NASTY


def test_the_script_has_no_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "user-data"
    path.write_text(user_data(fleet_template()))
    checked = subprocess.run([BASH, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
