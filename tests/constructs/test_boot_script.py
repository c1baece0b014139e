"""Case 20: the rendered boot script, run by bash with stubs in place of the machine's programs and of time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2

from tests.constructs.reading import user_data
from tests.support.stacks import fleet, fleet_template

BASH = "/bin/bash"
AGENT_CTL = "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"
ETC = "/etc/accelerated-fleet"
PARAMETER = "<FleetAgentConfiguration>"
# Time passes only when the script sleeps. A probe that hangs costs its whole limit; since it runs in a subshell, which
# has a clock of its own, the next sleep accounts for it.
CLOCK = """
pass() { SECONDS=$((SECONDS + $1)); echo "pass $1" >>"$RECORD"; }
sleep() {
  local hung
  while read -r hung; do pass "$hung"; done <"$TMPDIR/hung"
  : >"$TMPDIR/hung"
  pass "$1"
}
timeout() {
  local limit=$1 status
  shift
  "$@"
  status=$?
  [ $status -ne 124 ] || echo "$limit" >>"$TMPDIR/hung"
  return $status
}
: >"$TMPDIR/hung"
"""
WORKLOAD = '#!/bin/bash\necho "workload ACCELERATOR_READY=$ACCELERATOR_READY" >>"$RECORD"\nexit 3\n'

PROBE_STUBS = {
    "missing": None,
    "present but failing": "echo 'NVIDIA-SMI has failed because it could not communicate'; exit 9",
    "lists nothing": "exit 0",
    "hangs": "exit 124",
}


@pytest.fixture(scope="module")
def script() -> str:
    """The user data of a fleet with a workload."""
    return user_data(fleet_template(user_data=ec2.UserData.custom(WORKLOAD)))


@dataclass
class Machine:
    """A directory that stands for an instance; ``record`` is what its programs were called with, in order."""

    root: Path

    def __post_init__(self) -> None:
        (self.root / "bin").mkdir()
        for tool in ("cat", "chmod", "mkdir", "mktemp"):
            (self.root / "bin" / tool).symlink_to(str(shutil.which(tool)))
        self.program("logger", "true")
        self.program("systemctl", 'echo "systemctl $*" >>"$RECORD"')
        self.program("nvidia-smi", 'echo "GPU 0: NVIDIA L4"')

    def program(self, name: str, body: str) -> None:
        """Put a program on the path."""
        self.write(self.root / "bin" / name, body)

    def agent(self, body: str = "exit 0") -> None:
        """Install the CloudWatch agent."""
        self.write(self.root / "agent-ctl", f'echo "agent $*" >>"$RECORD"\n{body}')

    def write(self, path: Path, body: str) -> None:
        path.write_text(f"#!{BASH}\n{body}\n")
        path.chmod(0o755)

    def boot(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run the user data, with the paths of the instance moved into the directory."""
        moved = script.replace(AGENT_CTL, str(self.root / "agent-ctl")).replace(ETC, str(self.root / "etc"))
        moved = moved.replace("/usr/bin/nvidia-smi", str(self.root / "bin" / "nvidia-smi"))
        shebang, _, rest = moved.replace(PARAMETER, "/fleet/agent").partition("\n")
        assert shebang == "#!/bin/bash"
        environment = {"PATH": str(self.root / "bin"), "RECORD": str(self.root / "record"), "TMPDIR": str(self.root)}
        return subprocess.run(
            [BASH, "-c", CLOCK + rest], env=environment, capture_output=True, text=True, check=False, timeout=30
        )

    @property
    def record(self) -> list[str]:
        path = self.root / "record"
        return path.read_text().splitlines() if path.exists() else []

    def calls(self, program: str) -> list[str]:
        """The arguments of each call of a program."""
        return [line.partition(" ")[2] for line in self.record if line.split()[0] == program]

    @property
    def slept(self) -> int:
        return sum(int(seconds) for seconds in self.calls("pass"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.agent()
    return made


FULL = "-a fetch-config -m ec2 -s -c ssm:/fleet/agent"


def fallback(machine: Machine) -> str:
    return f"-a fetch-config -m ec2 -s -c file:{machine.root}/etc/agent-without-accelerator.json"


def test_case_20_driver_answers_at_once(machine: Machine, script: str) -> None:
    machine.boot(script)
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert machine.slept == 0


def test_case_20_driver_answers_at_the_third_call(machine: Machine, script: str) -> None:
    machine.program(
        "nvidia-smi", 'echo "probe $*" >>"$RECORD"; [ "$(grep -c ^probe "$RECORD")" -ge 3 ] && echo "GPU 0: NVIDIA L4"'
    )
    (machine.root / "bin" / "grep").symlink_to(str(shutil.which("grep")))
    machine.boot(script)
    assert machine.calls("probe") == ["-L", "-L", "-L"]
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]
    assert machine.slept == 10


@pytest.mark.parametrize("probe", PROBE_STUBS)
def test_case_20_driver_never_answers(machine: Machine, script: str, probe: str) -> None:
    body = PROBE_STUBS[probe]
    if body is None:
        (machine.root / "bin" / "nvidia-smi").unlink()
    else:
        machine.program("nvidia-smi", body)
    booted = machine.boot(script)
    assert machine.calls("agent") == [fallback(machine)]
    assert 300 <= machine.slept <= 335
    assert "the accelerator cannot be read: '" in booted.stdout
    assert "/nvidia-smi -L' gave nothing within 300 s" in booted.stdout
    # A team's own script may be what installs the driver.
    assert machine.calls("workload") == ["ACCELERATOR_READY=no"]


def test_case_20_fallback_file_is_the_agents_own_json(machine: Machine, script: str) -> None:
    (machine.root / "bin" / "nvidia-smi").unlink()
    machine.boot(script)
    written = json.loads((machine.root / "etc" / "agent-without-accelerator.json").read_text())
    assert "nvidia_gpu" not in written["metrics"]["metrics_collected"]
    assert written["metrics"]["append_dimensions"]["AutoScalingGroupName"] == "${aws:AutoScalingGroupName}"


def test_every_probe_is_limited_in_time(script: str) -> None:
    assert "timeout 30 $DRIVER_PROBE" in script


def test_agents_that_the_image_brings_are_stopped_first(machine: Machine, script: str) -> None:
    machine.boot(script)
    programs = [line.split()[0] for line in machine.record]
    assert programs == ["systemctl", "agent", "workload"]
    (stopped,) = machine.calls("systemctl")
    assert stopped.startswith("disable --now dlami-cloudwatch-agent@")


def _amazon_linux(machine: Machine) -> str:
    machine.program("dnf", f'echo "dnf $*" >>"$RECORD"; {_install(machine)}')
    return "dnf install -y -q amazon-cloudwatch-agent"


def _ubuntu(machine: Machine) -> str:
    machine.program("curl", 'echo "curl ${*: -1}" >>"$RECORD"')
    machine.program("dpkg", f'[ "$1" = -i ] || {{ echo arm64; exit; }}; {_install(machine)}')
    return "curl https://amazoncloudwatch-agent.s3.amazonaws.com/ubuntu/arm64/latest/amazon-cloudwatch-agent.deb"


def _install(machine: Machine) -> str:
    """Take the agent off the machine; the commands put it back."""
    (machine.root / "agent-ctl").rename(machine.root / "packed")
    (machine.root / "bin" / "mv").symlink_to(str(shutil.which("mv")))
    return f"mv {machine.root}/packed {machine.root}/agent-ctl"


@pytest.mark.parametrize("system", [_amazon_linux, _ubuntu])
def test_an_image_without_the_agent_gets_it(machine: Machine, script: str, system: Callable[[Machine], str]) -> None:
    fetched = system(machine)
    machine.boot(script)
    assert machine.record[0] == fetched
    assert machine.calls("agent") == [FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_agent_that_cannot_be_installed_does_not_stop_the_workload(machine: Machine, script: str) -> None:
    (machine.root / "agent-ctl").unlink()
    booted = machine.boot(script)
    assert "the CloudWatch agent cannot be installed" in booted.stdout
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_agent_that_refuses_is_asked_again_and_then_reported(machine: Machine, script: str) -> None:
    machine.agent("exit 1")
    booted = machine.boot(script)
    assert machine.calls("agent") == [FULL] * 5 + [fallback(machine)] * 5
    assert "the CloudWatch agent refuses ssm:/fleet/agent" in booted.stdout
    assert "the CloudWatch agent refuses file:" in booted.stdout
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_case_20_agent_that_refuses_the_accelerator_reports_the_host(machine: Machine, script: str) -> None:
    machine.agent('[[ "$*" == *file:* ]]')
    machine.boot(script)
    assert machine.calls("agent") == [FULL] * 5 + [fallback(machine)]


def test_the_probe_is_the_program_that_the_agent_itself_needs(script: str) -> None:
    """The agent checks this path, and no other, before it starts."""
    assert "DRIVER_PROBE='/usr/bin/nvidia-smi -L'" in script


def test_agent_is_not_started_again_once_it_runs(machine: Machine, script: str) -> None:
    machine.agent('[ -e "$TMPDIR/second" ] || { : >"$TMPDIR/second"; exit 1; }')
    machine.boot(script)
    assert machine.calls("agent") == [FULL, FULL]
    assert machine.calls("workload") == ["ACCELERATOR_READY=yes"]


def test_no_system_log_is_no_reason_to_stop(machine: Machine, script: str) -> None:
    (machine.root / "bin" / "logger").unlink()
    machine.boot(script)
    assert machine.calls("agent") == [FULL]


def test_the_workloads_own_exit_status_is_the_last_word(machine: Machine, script: str) -> None:
    assert machine.boot(script).returncode == 3


def test_without_a_workload_the_script_ends_well(machine: Machine) -> None:
    assert machine.boot(user_data(fleet_template())).returncode == 0
    assert machine.calls("agent") == [FULL]


def test_added_commands_run_after_the_agent_and_know_whether_the_accelerator_is_ready(machine: Machine) -> None:
    def build(*arguments: Any, **options: Any) -> Any:
        made = fleet(*arguments, **options)
        made.add_user_data('echo "added ACCELERATOR_READY=$ACCELERATOR_READY" >>"$RECORD"')
        return made

    machine.boot(user_data(fleet_template(build=build)))
    assert [line.split()[0] for line in machine.record] == ["systemctl", "agent", "added"]
    assert machine.calls("added") == ["ACCELERATOR_READY=yes"]


def test_the_script_has_no_syntax_error(script: str, tmp_path: Path) -> None:
    path = tmp_path / "user-data"
    path.write_text(script.replace(PARAMETER, "/fleet/agent"))
    checked = subprocess.run([BASH, "-n", str(path)], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (checked.returncode, checked.stderr) == (0, "")
