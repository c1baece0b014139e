"""The FPGA worker, run in a real shell with fake tools: designs that are loaded, and jobs that are not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.machine import Machine, shell_complaints
from tests.support.stacks import ROOT

WORKER = "opt/fpga-batch/worker"
AGFI = "agfi-0123456789abcdef0"
# As `fpga-describe-local-image` prints it (README of the FPGA management tools in aws/aws-fpga).
_DESCRIBE = """#!/bin/bash
[ "${TOOL_STATUS-0}" = 0 ] || exit "$TOOL_STATUS"
echo "$*" >>"$ROOT/described"
design=none status=cleared
[ ! -e "$ROOT/slot-$2" ] || { design=$(cat "$ROOT/slot-$2") status=loaded; }
echo "AFI          $2       $design  ${STATUS_NAME-$status}            0        ok               0       0x10212415"
echo "AFIDEVICE    $2       0x1d0f      0xf000      0000:34:00.0"
"""
# The first FAILS calls meet somebody else at the FPGA.
_LOAD = """#!/bin/bash
echo "$*" >>"$ROOT/loads"
[ "$(wc -l <"$ROOT/loads")" -gt "${FAILS-0}" ] || exit 1
echo "$4" >"$ROOT/slot-$2"
"""
_HOST = """#!/bin/bash
held >"$ROOT/held"
echo "$1" >"$ROOT/slot"
[ -z "$DRAINS" ] || : >"$ROOT/run/accelerated-fleet/draining"
[ "${STATUS-0}" = 0 ] || exit "$STATUS"
{ printf 'computed '; cat "$2"; } >"$3"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, "fpga_batch", pauses="5 30")
    made.tool("host", _HOST, "opt/fpga-batch")
    made.tool("fpga-describe-local-image", _DESCRIBE)
    made.tool("fpga-load-local-image", _LOAD)
    made.put("inputs", "a/b.bin", "bits")
    made.message({"agfi": AGFI, "input": "a/b.bin"})
    made.install(
        QUEUE_URL="https://queue",
        INPUT_BUCKET="inputs",
        RESULT_BUCKET="results",
        AWS_DEFAULT_REGION="eu-west-2",
        SLOTS="1",
    )
    return made


def test_the_design_is_loaded_and_the_job_done_under_a_mark(machine: Machine) -> None:
    machine.work(WORKER)

    assert machine.said("loads") == f"-S 0 -I {AGFI}\n"
    assert machine.said("described").splitlines()[-1] == "-S 0 -R"
    assert machine.objects("results") == {"a/b.bin": "computed bits"}
    assert "--receipt-handle receipt" in machine.said("deleted")
    assert len(machine.said("held").splitlines()) == 1
    assert machine.said("held-at-the-end") == machine.said("held")
    assert machine.marks() == []
    assert list((machine.root / "tmp").iterdir()) == []


def test_a_design_that_is_loaded_already_is_left_as_it_is(machine: Machine) -> None:
    (machine.root / "slot-0").write_text(AGFI)

    machine.work(WORKER)

    assert machine.said("loads") == ""
    assert machine.said("deleted")


def test_another_design_takes_its_place(machine: Machine) -> None:
    (machine.root / "slot-0").write_text("agfi-ffffffffffffffff0")

    machine.work(WORKER)

    assert (machine.root / "slot-0").read_text() == f"{AGFI}\n"


def test_a_load_that_meets_the_fleets_own_reading_is_tried_again(machine: Machine) -> None:
    machine.work(WORKER, FAILS="3")

    assert len(machine.said("loads").splitlines()) == 4
    assert machine.said("deleted")


@pytest.mark.parametrize("why", [{"FAILS": "9"}, {"STATUS_NAME": "load-failed"}])
def test_a_design_that_cannot_be_loaded_keeps_the_message(machine: Machine, why: dict[str, str]) -> None:
    machine.work(WORKER, **why)

    assert len(machine.said("loads").splitlines()) == 4
    assert machine.said("slot") == machine.said("deleted") == ""


def test_a_job_may_name_its_output(machine: Machine) -> None:
    machine.message({"agfi": AGFI, "input": "a/b.bin", "output": "c.bin"})

    machine.work(WORKER)

    assert machine.objects("results").keys() == {"c.bin"}


@pytest.mark.parametrize(
    "body",
    [
        "no JSON",
        '{"input": "a/b.bin"}',
        '{"agfi": "-S", "input": "a/b.bin"}',
        f'{{"agfi": "{AGFI}", "input": "none"}}',
    ],
)
def test_a_job_that_cannot_be_done_keeps_its_message_and_touches_no_fpga(machine: Machine, body: str) -> None:
    machine.message(body)

    machine.work(WORKER)

    assert machine.said("received")
    assert machine.said("loads") == machine.said("deleted") == machine.said("visibility") == ""
    assert machine.marks() == []


def test_a_job_that_fails_leaves_no_result(machine: Machine) -> None:
    machine.work(WORKER, STATUS="1")

    assert machine.objects("results") == {}
    assert machine.said("deleted") == ""
    assert machine.marks() == []


def test_a_job_that_hangs_is_ended(machine: Machine) -> None:
    machine.tool("timeout", '#!/bin/bash\necho "$*" >"$ROOT/timeout"\nexit 124\n')

    machine.work(WORKER)

    assert machine.said("timeout").startswith("-k 10 3300 ")
    assert machine.said("deleted") == ""


def test_a_machine_without_the_teams_program_or_an_fpga_takes_no_job(machine: Machine) -> None:
    machine.work(WORKER, TOOL_STATUS="1")
    (machine.root / "opt/fpga-batch/host").unlink()
    machine.work(WORKER)

    assert machine.said("received") == ""


def test_case_65_no_job_is_taken_by_an_instance_that_drains(machine: Machine) -> None:
    machine.drain()

    machine.work(WORKER)

    assert machine.said("received") == ""


def test_case_65_the_job_at_hand_is_finished(machine: Machine) -> None:
    machine.work(WORKER, DRAINS="yes")

    assert machine.said("deleted")
    assert machine.objects("results")


def test_case_12_a_message_that_came_with_the_drain_goes_back(machine: Machine) -> None:
    machine.work(WORKER, DRAINS_WITH_MESSAGE="yes")

    assert "--receipt-handle receipt --visibility-timeout 0" in machine.said("visibility")
    assert machine.said("slot") == ""


def test_shell_takes_what_is_installed(machine: Machine) -> None:
    programs = [path for path in machine.installed() if path.name != "host"]

    assert [path.name for path in programs] == ["load", "worker"]
    installer = ROOT / "examples/fpga_batch/worker.sh"
    assert [shell_complaints(path) for path in (installer, *programs)] == ["", "", ""]
