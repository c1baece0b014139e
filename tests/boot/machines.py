"""A directory that stands for an instance: a real bash runs its user data, with stubs for its programs and for time."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from constructs_lib.node import names

BASH = "/bin/bash"
NODE = Path(names.__file__).parent
AGENT_CTL = "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"
ETC = "/etc/accelerated-fleet"
NOW = 1_800_000_000
FULL = "-a fetch-config -m ec2 -s -c ssm:/fleet/agent"
NODE_PROGRAM = "s3://bucket/node.zip"
WORKLOAD = '#!/bin/bash\necho "workload ACCELERATOR_READY=$ACCELERATOR_READY" >>"$RECORD"\nexit 3\n'

# Time passes only when the script sleeps; stubs find it in a file. A probe that hangs costs its whole limit; since it
# runs in a subshell, which has a clock of its own, the next sleep accounts for it.
_CLOCK = """
pass() {
  local total
  SECONDS=$((SECONDS + $1))
  total=$(<"$TMPDIR/clock")
  echo $((total + $1)) >"$TMPDIR/clock"
  echo "pass $1" >>"$RECORD"
}
sleep() {
  local hung
  while read -r hung; do pass "$hung"; done <"$TMPDIR/hung"
  : >"$TMPDIR/hung"
  pass "$1"
}
timeout() {
  local limit status
  [ "$1" != -k ] || shift 2
  limit=$1
  shift
  "$@"
  status=$?
  [ $status -ne 124 ] || echo "$limit" >>"$TMPDIR/hung"
  return $status
}
: >"$TMPDIR/hung"
echo 0 >"$TMPDIR/clock"
"""
_REAL = ("bash", "cat", "chmod", "cp", "dirname", "mkdir", "mktemp", "mv", "rm")


@dataclass
class Machine:
    """``record`` is what the programs of the instance were called with, in order."""

    root: Path

    def __post_init__(self) -> None:
        (self.root / "bin").mkdir()
        for tool in _REAL:
            (self.root / "bin" / tool).symlink_to(str(shutil.which(tool)))
        self.program("logger", "true")
        self.program("date", f"echo {NOW}")
        self.program("systemctl", 'echo "systemctl $*" >>"$RECORD"')
        self.program("nvidia-smi", 'echo "GPU 0: NVIDIA L4"')
        # The archive is one that puts its own installer to the record; the real one has tests of its own.
        self.program("aws", f'echo "aws $*" >>"$RECORD"; cp {shlex.quote(str(self.root / "bucket"))} "${{*: -1}}"')
        self.program("python3", 'mkdir "$5"; echo \'echo install >>"$RECORD"\' >"$5/install.sh"')
        (self.root / "bucket").write_text("archive")

    def program(self, name: str, body: str) -> None:
        """Put a program on the path."""
        self.write(self.root / "bin" / name, body)

    def remove(self, name: str) -> None:
        """Take a program off the path."""
        (self.root / "bin" / name).unlink()

    def agent(self, body: str = "exit 0") -> None:
        """Install the CloudWatch agent."""
        self.write(self.root / "agent-ctl", f'echo "agent $*" >>"$RECORD"\n{body}')

    def write(self, path: Path, body: str) -> None:
        """Write a script."""
        path.write_text(f"#!{BASH}\n{body}\n")
        path.chmod(0o755)

    def boot(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run the user data, with the paths of the instance moved into the directory."""
        shebang, _, rest = self._moved(script).partition("\n")
        assert shebang == "#!/bin/bash"
        return self._run(rest)

    def wait_for_driver_after_a_restart(self) -> subprocess.CompletedProcess[str]:
        """What accelerated-setup.service runs first, with the file that the first boot left for it."""
        shutil.rmtree(self.root / "run")
        wait = self._moved((NODE / "units" / "driver.sh").read_text())
        return self._run(f". {self.root}/etc/driver.env\n{wait}\nfleet_wait_for_driver")

    def _moved(self, script: str) -> str:
        for path, moved in (
            (AGENT_CTL, "agent-ctl"),
            (ETC, "etc"),
            (names.STATE_DIRECTORY, "run"),
            ("/usr/bin/nvidia-smi", "bin/nvidia-smi"),
        ):
            script = script.replace(path, str(self.root / moved))
        return script

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.root / "bin"), "RECORD": str(self.root / "record"), "TMPDIR": str(self.root)}
        return subprocess.run(
            [BASH, "-c", _CLOCK + script], env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    def file(self, path: str) -> Path:
        """Where a file of the instance lies."""
        return Path(self._moved(path))

    @property
    def record(self) -> list[str]:
        """Every call, in order."""
        path = self.root / "record"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def programs(self) -> list[str]:
        """Which programs were called, in order, without the passing of time."""
        return [line.split()[0] for line in self.record if not line.startswith("pass ")]

    def calls(self, program: str) -> list[str]:
        """The arguments of each call of a program."""
        return [line.partition(" ")[2] for line in self.record if line.split()[0] == program]

    @property
    def slept(self) -> int:
        """Seconds that have passed."""
        return sum(int(seconds) for seconds in self.calls("pass"))

    @property
    def fallback(self) -> str:
        """How the agent is offered the configuration of the host alone."""
        return f"-a fetch-config -m ec2 -s -c file:{self.root}/etc/agent-fallback.json"
