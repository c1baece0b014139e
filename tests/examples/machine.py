"""A machine for the workers of the examples: their installer and their programs run in a real shell, with fake tools.

Queue and buckets are files. There is one message; when the second would be asked for, or the worker pauses, its whole
group of processes is ended, so that no test waits for anything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.stacks import ROOT

SHELLCHECK = Path(sys.executable).with_name("shellcheck")

# Marks that somebody holds; and the drain's signal to whoever holds one, as the fleet's program sends it.
_PROBES = """
held() {
  for mark in "$ROOT"/run/accelerated-fleet/busy/*; do
    [ ! -e "$mark" ] || flock -n "$mark" true || echo "$mark"
  done
}
signal_holders() {
  for process in /proc/[0-9]*; do
    for file in "$process"/fd/*; do
      [[ $(readlink "$file") != "$ROOT"/run/accelerated-fleet/busy/* ]] || kill -TERM "${process#/proc/}"
    done
  done 2>/dev/null
}
"""
_AWS = (
    "#!/bin/bash\n"
    + _PROBES
    + """
case "$1 $2" in
"sqs receive-message")
  [ ! -e "$ROOT/received" ] || kill -KILL 0
  echo "$*" >"$ROOT/received"
  [ -z "$DRAINS_WITH_MESSAGE" ] || : >"$ROOT/run/accelerated-fleet/draining"
  cat "$ROOT/message"
  ;;
"sqs delete-message") echo "$*" >"$ROOT/deleted" && held >"$ROOT/held-at-the-end" ;;
"sqs change-message-visibility") echo "$*" >>"$ROOT/visibility" && held >"$ROOT/held-at-the-end" ;;
"s3 cp")
  from=${4/#s3:/$ROOT/s3} to=${5/#s3:/$ROOT/s3}
  mkdir -p "$(dirname "$to")" && cp "$from" "$to"
  ;;
*) exit 2 ;;
esac
"""
)
# What keeps a message hidden sleeps for good; short pauses are over at once.
_SLEEP = """#!/bin/bash
case " $PAUSES " in *" $1 "*) kill -KILL 0 ;; esac
[ "$1" -gt 20 ] || exit 0
exec /bin/sleep 1000
"""
_SYSTEMCTL = '#!/bin/bash\necho "$*" >>"$ROOT/systemctl"\n'


class Machine:
    """Where one example's worker is installed.

    Attributes:
        root: stands for ``/``.
    """

    def __init__(self, root: Path, example: str, *, pauses: str, files: Mapping[str, str] | None = None) -> None:
        """
        Args:
            pauses: for how many seconds the worker sleeps when it has nothing to do.
            files: other programs that the installer finds beside its own. Default: none.
        """
        self.root = root
        self._pauses = pauses
        self._constants: dict[str, str] = {}
        self._installer = (ROOT / "examples" / example / "worker.sh").read_text(encoding="utf-8")
        for place in ("bin", "etc/systemd/system", "run/accelerated-fleet/busy", "opt", "tmp"):
            (root / place).mkdir(parents=True)
        for name, text in {"aws": _AWS, "sleep": _SLEEP, "systemctl": _SYSTEMCTL}.items():
            self.tool(name, text)
        (root / "bin" / "python3").symlink_to(sys.executable)
        for path, text in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(self._here(text))

    def tool(self, name: str, text: str, place: str = "bin") -> None:
        """Put a program on the PATH, or elsewhere, with the functions of this module."""
        first, _, rest = text.partition("\n")
        path = self.root / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{first}\n{_PROBES}{rest}")
        path.chmod(0o755)

    def constant(self, name: str, usual: str, changed: str) -> None:
        """Give a constant of the worker another value, for the installation that follows."""
        assert f"{name}={usual}\n" in self._installer
        self._constants[f"{name}={usual}\n"] = f"{name}={changed}\n"

    def install(self, **environment: str) -> None:
        """Run the installer as the boot script does."""
        text = self._here(self._installer)
        for usual, changed in self._constants.items():
            text = text.replace(usual, changed)
        self.environment = environment
        done = subprocess.run(
            ["bash", "-c", text], env=self._environment(), capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")

    def installed(self) -> list[Path]:
        """The programs that the installer has written."""
        return sorted(path for path in (self.root / "opt").rglob("*") if path.is_file() and os.access(path, os.X_OK))

    def message(self, body: object, id: str = "0a1b") -> None:
        """Put the one message on the queue."""
        text = body if isinstance(body, str) else json.dumps(body)
        document = {"Messages": [{"ReceiptHandle": "receipt", "MessageId": id, "Body": text}]}
        (self.root / "message").write_text(json.dumps(document))

    def put(self, bucket: str, key: str, content: str) -> None:
        """Put an object into a bucket."""
        path = self.root / "s3" / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def objects(self, bucket: str) -> dict[str, str]:
        """What is in a bucket, by key."""
        place = self.root / "s3" / bucket
        return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}

    def drain(self) -> None:
        """Say that the instance drains."""
        (self.root / "run/accelerated-fleet/draining").touch()

    def work(self, program: str, **environment: str) -> None:
        """Run the worker until it would ask for a second message, or pauses."""
        done = subprocess.run(
            ["bash", str(self.root / program)],
            env=self._environment() | environment,
            start_new_session=True,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == -9, done.stderr

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the machine to its end."""
        return subprocess.run(
            [str(self.root / command[0]), *command[1:]],
            env=self._environment() | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def said(self, name: str) -> str:
        """What a fake tool has written down; empty if it was never called."""
        path = self.root / name
        return path.read_text() if path.exists() else ""

    def marks(self) -> list[Path]:
        """The files of busy marks that are left."""
        return list((self.root / "run/accelerated-fleet/busy").iterdir())

    def _here(self, text: str) -> str:
        for place in ("/opt/", "/etc/systemd/", "/run/accelerated-fleet/", "/run/neuron-inference"):
            text = text.replace(place, f"{self.root}{place}")
        return text

    def environment_of_a_unit(self) -> dict[str, str]:
        """What a service finds in its environment."""
        return self._environment()

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.root / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "ROOT": str(self.root),
            "TMPDIR": str(self.root / "tmp"),
            "PAUSES": self._pauses,
            **self.environment,
        }


def shell_complaints(program: Path) -> str:
    """What shellcheck has to say about a program; empty if nothing."""
    command = [str(SHELLCHECK), "--shell=bash", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
