"""What an instance of a fleet with a warm pool does at each boot: a real bash runs it, with stubs for AWS and time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from constructs_lib.fleet import warm_pool
from tests.boot.machines import BASH

SCRIPT = Path(warm_pool.__file__).with_name("warm_boot.sh")
# Each `sleep` is one step: the group then wants what the next line of the file says.
STUBS = """
RECORD=$HOME/record
sleep() {
  echo "sleep $1" >>"$RECORD"
  [ "$(wc -l <"$HOME/targets")" -lt 2 ] || sed -i 1d "$HOME/targets"
}
curl() {
  case "${*: -1}" in
    */latest/api/token) echo token ;;
    */instance-id) echo i-1 ;;
    */placement/region) echo eu-west-1 ;;
    */target-lifecycle-state) [ "$(head -n 1 "$HOME/targets")" != none ] && head -n 1 "$HOME/targets" ;;
    *) return 22 ;;
  esac
}
timeout() { [ "$1" != -k ] || shift 2; shift; "$@"; }
aws() {
  case "$*" in
    *describe-tags*) echo gpu-fleet ;;
    *complete-lifecycle-action*)
      echo "complete $*" >>"$RECORD"
      [ -s "$HOME/refusals" ] || return 0
      sed -i 1d "$HOME/refusals"
      return 255
      ;;
  esac
}
"""
COMPLETE = (
    "complete --region eu-west-1 autoscaling complete-lifecycle-action --lifecycle-hook-name Ready "
    "--auto-scaling-group-name gpu-fleet --instance-id i-1 --lifecycle-action-result CONTINUE"
)


def boot(
    place: Path, targets: list[str], *, refusals: int = 0, workload: bool = True, driver: bool = True
) -> list[str]:
    """Run one boot; return what was done, with what the group wanted written for the workload."""
    config = place / "etc"
    config.mkdir()
    probe = "echo GPU" if driver else "false"
    (config / "driver.env").write_text(f"DRIVER_PROBE='{probe}'\nDRIVER_TIMEOUT=0\n")
    if workload:
        (config / "workload").write_text('#!/bin/bash\necho "workload $ACCELERATOR_READY" >>"$HOME/record"\n')
        (config / "workload").chmod(0o755)
    (place / "targets").write_text("".join(f"{each}\n" for each in targets))
    (place / "refusals").write_text("no\n" * refusals)
    text = SCRIPT.read_text().replace("CONFIG=/etc/accelerated-fleet", f"CONFIG='{config}'")
    assert str(config) in text
    environment = {"HOME": str(place), "PATH": "/usr/bin:/bin"}
    subprocess.run([BASH, "-c", f"READY_HOOK=Ready\n{STUBS}{text}"], env=environment, check=True, timeout=60)
    record = place / "record"
    return record.read_text().splitlines() if record.exists() else []


def test_a_cold_start_completes_the_hook_and_then_starts_the_workload(tmp_path: Path) -> None:
    assert boot(tmp_path, ["InService"]) == [COMPLETE, "workload yes"]


@pytest.mark.parametrize("state", ["Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated"])
def test_in_the_pool_it_says_once_that_it_is_prepared_and_starts_no_work(tmp_path: Path, state: str) -> None:
    """One that runs or hibernates goes on with the same script when it is woken."""
    done = boot(tmp_path, [state, state, state, "InService"])
    assert done == [COMPLETE, "sleep 5", "sleep 5", "sleep 5", COMPLETE, "workload yes"]


def test_the_hook_of_the_pool_is_tried_until_it_is_there(tmp_path: Path) -> None:
    done = boot(tmp_path, ["Warmed:Stopped", "Warmed:Stopped", "Warmed:Stopped", "InService"], refusals=2)
    assert done.count(COMPLETE) == 4
    assert done[-1] == "workload yes"


def test_what_is_not_told_yet_is_waited_for(tmp_path: Path) -> None:
    assert boot(tmp_path, ["none", "none", "InService"]) == ["sleep 5", "sleep 5", COMPLETE, "workload yes"]


def test_one_that_is_ended_in_the_pool_starts_nothing(tmp_path: Path) -> None:
    done = boot(tmp_path, ["Warmed:Terminated", "Terminated", "InService"])
    assert COMPLETE not in done[:2]


def test_a_hook_that_is_over_keeps_no_work_waiting(tmp_path: Path) -> None:
    done = boot(tmp_path, ["InService"], refusals=99)
    assert done.count(COMPLETE) == 5
    assert done[-1] == "workload yes"


def test_without_a_workload_the_hook_is_completed_all_the_same(tmp_path: Path) -> None:
    assert boot(tmp_path, ["InService"], workload=False) == [COMPLETE]


def test_the_workload_hears_of_a_driver_that_does_not_answer(tmp_path: Path) -> None:
    assert boot(tmp_path, ["InService"], driver=False)[-1] == "workload no"
