"""A directory that stands for an instance: a real bash runs its user data, with stubs for its programs and for time."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from constructs_lib.node import names

BASH = "/bin/bash"
NODE = Path(names.__file__).parent
AGENT_CTL = "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"
ETC = "/etc/accelerated-fleet"
UNITS = "/opt/accelerated-node/lib/accelerated_node/units"
NOW = 1_800_000_000
LATE_FULL = "-a fetch-config -m ec2 -c ssm:/fleet/agent"
FULL = LATE_FULL.replace(" -c", " -s -c")
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
"""
# A program named $HANGS ignores SIGTERM, and says its number to a pipe once it does. Real `timeout` sends SIGTERM, and
# SIGKILL if it was given -k, and waits for the end. A program that $UNKILLABLE names hangs within the kernel, where it
# ends by neither; a read that has a limit is over once its time would be. Pipes in place of time make this certain.
_HANGING = """
timeout() {
  local kill=no pid
  [ "$1" != -k ] || { kill=yes; shift 2; }
  shift
  if [[ "$*" != *"$HANGS"* ]]; then
    "$@"
    return
  fi
  LIMITED=yes "$@" &
  builtin read -r pid <"$TMPDIR/ready"
  if [ "$pid" = none ]; then
    [ -z "$UNKILLABLE" ] || echo "in time" >"$TMPDIR/asked"
    builtin wait $!
    return
  fi
  kill -TERM "$pid"
  if [ -n "$UNKILLABLE" ]; then
    echo over >"$TMPDIR/asked"
  elif [ $kill = yes ]; then
    kill -KILL "$pid"
    echo "killed ${HANGS##*/}" >>"$RECORD"
  fi
  builtin wait $!
}
read() {
  local over IFS=' '
  if [[ -z $UNKILLABLE || " $* " != *" -t "* ]]; then
    builtin read "$@"
    return
  fi
  builtin read -r over <"$TMPDIR/asked"
  if [ "$over" = "in time" ]; then
    IFS='' builtin read "$@"
    return
  fi
  pass 40
  return 142
}
wait() {
  echo wait >>"$RECORD"
  echo end >"$TMPDIR/never"
  builtin wait "$@"
}
exec 2>>"$TMPDIR/stderr"
"""
_HANG = """
trap '' TERM
echo hangs >>"$RECORD"
echo $$ >"$TMPDIR/ready"
read -r end <"$TMPDIR/never"
echo "hung program ends" >>"$RECORD"
exit 1
"""
_REAL = ("bash", "cat", "chmod", "cp", "dirname", "mkdir", "mktemp", "mv", "rm")


@dataclass
class Machine:
    """``record`` is what the programs of the instance were called with, in order."""

    root: Path
    hangs: str = ""
    unkillable: bool = False

    def __post_init__(self) -> None:
        self._start_clock()
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
        (self.root / "units").mkdir()
        for path in (NODE / "units").iterdir():
            (self.root / "units" / path.name).write_text(self._moved(path.read_text()))

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
        self._start_clock()
        return self._unit("driver.sh", "fleet_wait_for_driver")

    def look_for_late_driver(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What accelerated-setup.service runs last; with `wait`, what accelerated-late-driver.service runs."""
        return self._unit("late-driver.sh", "", *arguments)

    def _unit(self, script: str, then: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        text = self._moved((NODE / "units" / script).read_text())
        return self._run(f"set -- {shlex.join(arguments)}\n. {self.root}/etc/driver.env\n{text}\n{then}")

    def _start_clock(self) -> None:
        (self.root / "clock").write_text("0\n")
        (self.root / "hung").write_text("")

    @contextmanager
    def hanging(self, program: str, *, unkillable: bool = False, only: str = "true") -> Iterator[None]:
        """Make a program hang, if it is called so that the shell's test `only` is true, and ignore SIGTERM."""
        for pipe in ("ready", "asked", "never"):
            os.mkfifo(self.root / pipe)
        self.hangs, self.unkillable = program, unkillable
        there = self.root / ("agent-ctl" if program == "agent-ctl" else f"bin/{program}")
        before = there.read_text().partition("\n")[2] if there.exists() else "true"
        self.write(there, f'if {only}; then {_HANG}fi\n[ -z "$LIMITED" ] || echo none >"$TMPDIR/ready"\n{before}')
        # Whoever reads from this pipe waits until the test is over.
        never = os.open(self.root / "never", os.O_RDWR)
        try:
            yield
        finally:
            os.close(never)

    def _moved(self, script: str) -> str:
        for path, moved in (
            (AGENT_CTL, "agent-ctl"),
            (UNITS, "units"),
            (ETC, "etc"),
            (names.STATE_DIRECTORY, "run"),
            ("/usr/bin/nvidia-smi", "bin/nvidia-smi"),
        ):
            script = script.replace(path, str(self.root / moved))
        return script

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.root / "bin"), "RECORD": str(self.root / "record"), "TMPDIR": str(self.root)}
        environment.update(HANGS=self.hangs, UNKILLABLE="yes" if self.unkillable else "")
        stubs = _CLOCK + (_HANGING if self.hangs else "")
        return subprocess.run(
            [BASH, "-c", stubs + script], env=environment, capture_output=True, text=True, check=False, timeout=60
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
