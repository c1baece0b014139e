"""The example's worker, run in a real shell with stub tools."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.stacks import ROOT

INSTALLER = (ROOT / "examples" / "inference_queue" / "worker.sh").read_text(encoding="utf-8")
MARKS = "/run/accelerated-fleet/busy"
DRAINING = "/run/accelerated-fleet/draining"
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
_JOB = """#!/bin/bash
cat >"$RECORD/body"
[ -z "$SIGNAL" ] || for process in $$ $PPID; do kill -TERM "$process"; done
for mark in "$MARKS"/*; do
  [ ! -e "$mark" ] || flock -n "$mark" true || echo "$mark" >>"$RECORD/marks"
done
exit "$JOB_STATUS"
"""
# One message, and then the end of the whole process group: no test waits for anything.
_AWS = """#!/bin/bash
case $2 in
receive-message)
  [ ! -e "$RECORD/received" ] || kill -TERM 0
  : >"$RECORD/received"
  [ -z "$DRAINS_NOW" ] || : >"$DRAINING"
  echo '{"Messages": [{"ReceiptHandle": "receipt", "Body": "{\\"prompt\\": \\"hello\\"}"}]}'
  ;;
delete-message) echo "$*" >"$RECORD/deleted" ;;
change-message-visibility) echo "$*" >>"$RECORD/visibility" ;;
esac
"""


# What keeps a message hidden sleeps for good; a worker that pauses has nothing to do, and the test is over.
_SLEEP = """#!/bin/bash
[ "$1" != 5 ] || kill -TERM 0
exec /bin/sleep 1000
"""


class Worker:
    """The program that the installer writes, with the paths of this machine in place of the instance's."""

    def __init__(self, directory: Path, *, has_marks: bool = True) -> None:
        self.record = directory / "record"
        self.marks = directory / "busy"
        tools = directory / "bin"
        for each in (self.record, tools, *([self.marks] if has_marks else [])):
            each.mkdir()
        for name, text in {"aws": _AWS, "nvidia-smi": "#!/bin/bash\n", "job": _JOB, "sleep": _SLEEP}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        (tools / "python3").symlink_to(sys.executable)
        self.draining = directory / "draining"
        text = heredoc("/opt/inference/worker").replace(MARKS, str(self.marks)).replace(DRAINING, str(self.draining))
        self.script = directory / "worker"
        self.script.write_text(text.replace("/opt/inference/job", str(tools / "job")))
        self.tools = tools

    def run(self, *, job_status: int = 0, signal: bool = False, drains_now: bool = False) -> None:
        """Run until the second message would be asked for, or the worker pauses.

        ``signal``: the drain's signal comes while the job runs. ``drains_now``: the drain begins with the message.
        """
        environment: Mapping[str, str] = {
            "PATH": f"{self.tools}:/usr/local/bin:/usr/bin:/bin",
            "RECORD": str(self.record),
            "MARKS": str(self.marks),
            "JOB_STATUS": str(job_status),
            "SIGNAL": "yes" if signal else "",
            "DRAINS_NOW": "yes" if drains_now else "",
            "DRAINING": str(self.draining),
            "QUEUE_URL": "https://queue",
            "SLOTS": "1",
            "TMPDIR": str(self.record),
        }
        command = ["bash", str(self.script)]
        ended = subprocess.run(command, env=environment, start_new_session=True, capture_output=True, timeout=60)
        assert ended.returncode == -15, ended.stderr.decode()


def heredoc(path: str) -> str:
    """Return the file that the installer writes to this path."""
    match = re.search(rf"^cat >{path} <<'EOF'\n(.*?)^EOF$", INSTALLER, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_busy_mark_is_held_while_a_job_runs_and_gone_when_it_has_ended(tmp_path: Path) -> None:
    worker = Worker(tmp_path)

    worker.run()

    assert len((worker.record / "marks").read_text().splitlines()) == 1
    assert list(worker.marks.iterdir()) == []
    assert (worker.record / "body").read_text() == '{"prompt": "hello"}'
    assert "--receipt-handle receipt" in (worker.record / "deleted").read_text()


def test_job_that_fails_leaves_its_message_on_the_queue_and_no_mark(tmp_path: Path) -> None:
    worker = Worker(tmp_path)

    worker.run(job_status=1)

    assert not (worker.record / "deleted").exists()
    assert list(worker.marks.iterdir()) == []


def test_without_a_place_for_marks_the_work_is_done_all_the_same(tmp_path: Path) -> None:
    worker = Worker(tmp_path, has_marks=False)

    worker.run()

    assert (worker.record / "deleted").exists()
    assert not (worker.record / "marks").exists()


def test_case_65_no_job_is_taken_by_an_instance_that_drains(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    worker.draining.touch()

    worker.run()

    assert not (worker.record / "received").exists()


def test_case_65_the_job_at_hand_is_finished(tmp_path: Path) -> None:
    """The signal comes to all that hold the mark: `flock` and the job."""
    worker = Worker(tmp_path)

    worker.run(signal=True)

    assert (worker.record / "deleted").exists()
    assert list(worker.marks.iterdir()) == []


def test_case_12_a_message_that_came_with_the_drain_goes_back_to_the_queue(tmp_path: Path) -> None:
    worker = Worker(tmp_path)

    worker.run(drains_now=True)

    assert not (worker.record / "body").exists()
    assert not (worker.record / "deleted").exists()
    assert "--receipt-handle receipt --visibility-timeout 0" in (worker.record / "visibility").read_text()
    assert list(worker.marks.iterdir()) == []


@pytest.mark.parametrize("path", ["/opt/inference/job", "/opt/inference/worker"])
def test_shell_takes_what_is_installed(path: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(heredoc(path))
    found = subprocess.run([str(SHELLCHECK), "--shell=bash", str(script)], capture_output=True, text=True, check=False)
    assert (found.stdout, found.returncode) == ("", 0)
