"""A driver that answers only after the boot script has waited for it, in the same boot or after a restart.

The agent's own command reloads systemd when it is given -s (packaging/dependencies/amazon-cloudwatch-agent-ctl of the
agent's repository, agent_start), which cuts running containers off from their GPU (field case 79).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from constructs_lib.node import names
from constructs_lib.telemetry.names import LOG_GROUP_PLACEHOLDER
from tests.boot.machines import FULL, LATE_FULL, NODE, NOW, Machine
from tests.boot.scripts import script
from tests.boot.test_boot_script import NASTY, probed
from tests.constructs.reading import user_data
from tests.support.stacks import fleet_template

DRIVER = 'echo "GPU 0: NVIDIA L4"'
LEFT = "/etc/accelerated-fleet/late"
RESTART = "--no-block try-restart amazon-cloudwatch-agent.service"
LATE_ESSENTIAL = LATE_FULL.replace("/fleet/agent", "/fleet/essential")
BOTH = ("ssm:/fleet/agent", "ssm:/fleet/essential")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An instance whose driver does not answer, with an agent whose command reloads systemd as the real one does."""
    made = Machine(tmp_path)
    made.agent('[[ " $* " != *" -s "* ]] || systemctl daemon-reload')
    probed(made, "exit 9")
    return made


def after_the_workload(machine: Machine) -> list[str]:
    """What was called since the workload started, without the passing of time and the probes."""
    lines = [line for line in machine.record if line.split()[0] not in ("pass", "probe", "wait")]
    return lines[lines.index("workload ACCELERATOR_READY=no") + 1 :]


def test_case_20_a_driver_that_answers_after_400_seconds(machine: Machine) -> None:
    probed(machine, f'[ "$(<"$TMPDIR/clock")" -ge 400 ] && {DRIVER}')
    machine.boot(script())
    assert machine.calls("agent") == [machine.fallback]
    assert machine.calls("workload") == ["ACCELERATOR_READY=no"]
    assert machine.slept == 300

    late = machine.look_for_late_driver("wait")

    assert late.returncode == 0
    assert 400 <= machine.slept <= 430
    assert machine.calls("agent") == [machine.fallback, LATE_FULL]
    assert machine.calls("systemctl")[-1] == RESTART
    assert machine.record[-1] == f"systemctl {RESTART}"
    assert machine.file(names.DRIVER_READY).read_text() == f"{NOW}\n"
    assert "the driver answers" in late.stdout


def test_a_restart_with_the_driver_there(machine: Machine) -> None:
    machine.boot(script())
    probed(machine, DRIVER)
    assert machine.wait_for_driver_after_a_restart().returncode == 0
    assert machine.look_for_late_driver().returncode == 0
    # The agent has not started yet: nothing may wait for a job of its own, which waits for the setup.
    assert after_the_workload(machine) == [f"agent {LATE_FULL}", f"systemctl {RESTART}"]


def test_a_restart_without_the_driver_and_then_with_it(machine: Machine) -> None:
    machine.boot(script())
    assert machine.wait_for_driver_after_a_restart().returncode == 1
    slept = machine.slept
    assert machine.look_for_late_driver().returncode == 0
    assert machine.slept == slept
    assert after_the_workload(machine) == []

    probed(machine, f'[ "$(<"$TMPDIR/clock")" -ge 400 ] && {DRIVER}')
    assert machine.look_for_late_driver("wait").returncode == 0
    assert after_the_workload(machine) == [f"agent {LATE_FULL}", f"systemctl {RESTART}"]


@pytest.mark.parametrize("arguments", [(), ("wait",)])
def test_nothing_is_done_when_the_full_configuration_is_loaded(machine: Machine, arguments: tuple[str, ...]) -> None:
    probed(machine, DRIVER)
    machine.boot(script())
    record = machine.record
    assert machine.calls("agent") == [FULL]
    assert machine.look_for_late_driver(*arguments).returncode == 0
    assert machine.record == record


@pytest.mark.parametrize("arguments", [(), ("wait",)])
def test_nothing_is_done_a_second_time(machine: Machine, arguments: tuple[str, ...]) -> None:
    machine.boot(script())
    probed(machine, DRIVER)
    machine.look_for_late_driver("wait")
    record = machine.record
    assert machine.look_for_late_driver(*arguments).returncode == 0
    assert machine.record == record


def test_what_an_image_brings_of_another_fleet_is_removed(machine: Machine) -> None:
    machine.boot(script())
    probed(machine, DRIVER)
    machine.boot(script(sources=["ssm:/other/agent"]))
    assert not machine.file(LEFT).exists()


@pytest.mark.parametrize("installer", ["dnf", "snap"])
def test_case_79_no_reload_and_no_package_once_the_workload_runs(machine: Machine, installer: str) -> None:
    machine.boot(script(sources=["s3://bucket/agent.json", "ssm:/fleet/agent"]))
    assert "daemon-reload" in machine.calls("systemctl")
    machine.remove("aws")
    machine.program(installer, 'echo "install $*" >>"$RECORD"')
    probed(machine, DRIVER)
    machine.look_for_late_driver("wait")
    assert after_the_workload(machine) == [f"agent {LATE_FULL}", f"systemctl {RESTART}"]


def test_an_older_agent_gets_the_essential_configuration(machine: Machine) -> None:
    machine.boot(script(sources=BOTH))
    probed(machine, DRIVER)
    machine.agent('[[ "$*" == *essential* ]]')
    assert machine.look_for_late_driver("wait").returncode == 0
    assert machine.calls("agent") == [machine.fallback, *[LATE_FULL] * 5, LATE_ESSENTIAL]


def test_an_agent_that_refuses_keeps_the_fallback_and_is_asked_again_after_a_restart(machine: Machine) -> None:
    machine.boot(script())
    probed(machine, DRIVER)
    machine.agent('[[ "$*" == *file:* ]]')
    refused = machine.look_for_late_driver("wait")
    assert refused.returncode == 1
    assert "the agent refuses ssm:/fleet/agent" in refused.stdout
    again = machine.fallback.replace(" -s", "")
    assert after_the_workload(machine) == [*[f"agent {LATE_FULL}"] * 5, f"agent {again}"]

    machine.agent()
    assert machine.wait_for_driver_after_a_restart().returncode == 0
    machine.look_for_late_driver()
    assert after_the_workload(machine)[-2:] == [f"agent {LATE_FULL}", f"systemctl {RESTART}"]


def test_an_agent_that_refuses_keeps_the_usual_fallback_too(machine: Machine) -> None:
    machine.boot(user_data(fleet_template()))
    probed(machine, DRIVER)
    machine.agent('[[ "$*" == *file:* ]]')
    assert machine.look_for_late_driver("wait").returncode == 1
    assert machine.calls("agent")[-1] == f"-a fetch-config -m ec2 -c file:{machine.root}/units/agent-fallback.json"


def test_a_full_configuration_that_could_not_be_loaded_at_boot_is_loaded_after_a_restart(machine: Machine) -> None:
    probed(machine, DRIVER)
    machine.agent('[[ "$*" == *file:* ]]')
    machine.boot(script())
    machine.agent()
    machine.look_for_late_driver()
    assert machine.calls("agent") == [*[FULL] * 5, machine.fallback, LATE_FULL]


def test_a_configuration_in_a_bucket_gets_the_name_of_the_log_group(machine: Machine) -> None:
    """Whatever is in a name: nothing of it is read by a shell when the variables come back."""
    machine.boot(script(sources=["s3://bucket/agent.json"], log_group_name=NASTY))
    (machine.root / "bucket").write_text(LOG_GROUP_PLACEHOLDER)
    probed(machine, DRIVER)
    machine.look_for_late_driver("wait")
    assert (machine.root / "etc" / "agent.json").read_text() == NASTY
    assert machine.calls("agent")[-1] == f"-a fetch-config -m ec2 -c file:{machine.root}/etc/agent.json"


def test_a_source_with_any_character_comes_back_as_it_was(machine: Machine) -> None:
    machine.boot(script(sources=[f"ssm:{NASTY}"]))
    probed(machine, DRIVER)
    machine.look_for_late_driver("wait")
    assert machine.calls("agent")[-1] == f"-a fetch-config -m ec2 -c ssm:{NASTY}"


def test_only_root_may_change_what_root_runs(machine: Machine) -> None:
    machine.boot(script())
    assert machine.file(LEFT).stat().st_mode & 0o777 == 0o600


def test_no_second_probe_is_started_beside_one_that_hangs_in_the_driver(machine: Machine) -> None:
    probed(machine, f'[ -e "$TMPDIR/has-hung" ] && {DRIVER}')
    next_one = 'mv "$TMPDIR/to-hang" "$TMPDIR/has-hung" 2>/dev/null'
    with machine.hanging("nvidia-smi", unkillable=True, only=next_one):
        machine.boot(script())
        before = len(machine.record)
        (machine.root / "to-hang").touch()
        machine.look_for_late_driver("wait")
    assert machine.record[before : before + 5] == ["hangs", "pass 40", "wait", "hung program ends", "pass 30"]
    assert machine.calls("agent")[-1] == LATE_FULL


def test_the_units_look_for_the_file_that_the_boot_script_leaves() -> None:
    assert f"left={LEFT}\n" in (NODE / "units" / "late-driver.sh").read_text()
    assert f"ConditionPathExists={LEFT}\n" in (NODE / "units" / "accelerated-late-driver.service").read_text()
