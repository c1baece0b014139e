"""Training with EFA: machines that reach each other, their input and their checkpoints, however they were bought."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from cfnlint import api  # type: ignore[import-untyped]

from examples.training_efa.app import build
from tests.constructs.reading import only, plain, properties, resources, text, user_data
from tests.support.stacks import ROOT, project_context

# The zone of a reservation is one that a person names.
LINT = {"regions": ["us-east-1"], "ignore_checks": ["W3005", "W3010"]}
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
WORKER = (ROOT / "examples" / "training_efa" / "worker.sh").read_text(encoding="utf-8")
RESERVED = {"reservation": "cr-0123456789abcdef0", "zone": "us-east-1b"}
BLOCK = {
    "capacity_block": "cr-0123456789abcdef0",
    "block_start": "2027-03-01T11:30:00Z",
    "block_end": "2027-03-08T11:30:00Z",
    "zone": "us-east-1b",
}
OWN = {"vpc_id": "vpc-0123456789abcdef0", "subnet_id": "subnet-0123456789abcdef0", "zone": "us-east-1b"}


def templates(**context: str) -> dict[str, dict[str, Any]]:
    app = App(context=context)
    build(app)
    return {stack.stack_name: stack.template for stack in app.synth().stacks_recursively}


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    return templates()


@pytest.fixture(scope="module")
def training(made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return made["TrainingEfa"]


def launch_data(template: Mapping[str, Any]) -> dict[str, Any]:
    return dict(only(template, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"])


def group(template: Mapping[str, Any]) -> dict[str, Any]:
    return dict(only(template, "AWS::AutoScaling::AutoScalingGroup"))


def test_two_machines_on_demand_close_together(training: dict[str, Any]) -> None:
    shown = group(training)["Properties"]
    assert (shown["MinSize"], shown["MaxSize"]) == ("0", "2")
    assert only(training, "AWS::EC2::PlacementGroup")["Properties"]["Strategy"] == "cluster"
    assert "PlacementGroup" in shown
    assert launch_data(training)["InstanceType"] == "p5.48xlarge"


def test_all_of_it_is_in_one_private_subnet(training: dict[str, Any]) -> None:
    (subnet,) = group(training)["Properties"]["VPCZoneIdentifier"]
    assert only(training, "AWS::FSx::FileSystem")["Properties"]["SubnetIds"] == [subnet]
    assert "PrivateSubnet" in json.dumps(subnet)


@pytest.mark.parametrize(
    ("family", "type_", "adapters", "processes"),
    [("p5", "p5.48xlarge", 32, 8), ("p4d", "p4d.24xlarge", 4, 8), ("trn1", "trn1.32xlarge", 8, 32)],
)
def test_case_10_every_network_card_has_its_adapter(family: str, type_: str, adapters: int, processes: int) -> None:
    found = templates(training_family=family)["TrainingEfa"]
    data = launch_data(found)
    assert data["InstanceType"] == type_
    assert len([each for each in data["NetworkInterfaces"] if "efa" in each["InterfaceType"]]) == adapters
    assert f"export NODES=2 PROCESSES={processes}" in user_data(found)


def test_case_18_a_block_is_bought_as_one() -> None:
    found = templates(**BLOCK, nodes="4")["TrainingEfa"]
    data = launch_data(found)
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationId": "cr-0123456789abcdef0"}
    actions = {
        each["Properties"]["StartTime"]: each["Properties"].get("DesiredCapacity")
        for each in resources(found, "AWS::AutoScaling::ScheduledAction").values()
    }
    # EC2 ends the machines from 30 minutes before the end on; each drains for 20 minutes before.
    assert actions == {"2027-03-01T11:30:00Z": 4, "2027-03-08T10:24:00Z": 0}


@pytest.mark.parametrize("context", [RESERVED, BLOCK], ids=["reservation", "block"])
def test_case_26_reserved_machines_are_in_no_new_placement_group(context: dict[str, str]) -> None:
    found = templates(**context)["TrainingEfa"]
    assert resources(found, "AWS::EC2::PlacementGroup") == {}
    assert "PlacementGroup" not in group(found)["Properties"]


def test_a_reservation_is_used_and_nothing_beside_it() -> None:
    shown = group(templates(**RESERVED)["TrainingEfa"])["Properties"]["CapacityReservationSpecification"]
    assert shown["CapacityReservationPreference"] == "capacity-reservations-only"
    assert shown["CapacityReservationTarget"] == {"CapacityReservationIds": ["cr-0123456789abcdef0"]}


def test_a_given_subnet_is_used_and_no_network_is_made() -> None:
    found = templates(**OWN)
    assert found.keys() == {"TrainingEfa"}
    assert group(found["TrainingEfa"])["Properties"]["VPCZoneIdentifier"] == ["subnet-0123456789abcdef0"]
    assert only(found["TrainingEfa"], "AWS::FSx::FileSystem")["Properties"]["SubnetIds"] == ["subnet-0123456789abcdef0"]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"training_family": "p9"}, "give one of p5, p4d, trn1"),
        ({**RESERVED, **BLOCK}, "give one of them"),
        ({"reservation": "cr-0123456789abcdef0"}, "give it, for example -c zone"),
        ({"capacity_block": "cr-0123456789abcdef0", "zone": "us-east-1b"}, "-c block_end="),
        ({"subnet_id": "subnet-0123456789abcdef0", "zone": "us-east-1b"}, "-c vpc_id="),
        ({"vpc_id": "vpc-0123456789abcdef0", "subnet_id": "subnet-0123456789abcdef0"}, "-c zone="),
    ],
)
def test_an_option_that_lacks_another_says_so(context: dict[str, str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        templates(**context)


@pytest.mark.parametrize("context", [RESERVED, BLOCK, OWN], ids=["reservation", "block", "own"])
def test_every_way_to_buy_it_is_valid(context: dict[str, str]) -> None:
    app = App(context={**project_context(), **context})
    build(app)
    for stack in app.synth().stacks_recursively:
        assert [str(each) for each in api.lint(json.dumps(stack.template), config=LINT)] == []
        ours = [str(each.entry.data) for each in stack.messages if "accelerated-fleet" in str(each.entry.data)]
        assert ours == []


def test_input_comes_from_the_bucket_and_checkpoints_go_there(training: dict[str, Any]) -> None:
    links = {
        each["Properties"]["FileSystemPath"]: each["Properties"]
        for each in resources(training, "AWS::FSx::DataRepositoryAssociation").values()
    }
    assert {path: text(link["DataRepositoryPath"]) for path, link in links.items()} == {
        "/input": "s3://<Files>/input",
        "/checkpoints": "s3://<Files>/checkpoints",
    }
    assert links["/input"]["S3"].keys() == {"AutoImportPolicy"}
    assert links["/checkpoints"]["S3"]["AutoExportPolicy"]["Events"] == ["NEW", "CHANGED"]
    # Old checkpoints are deleted in time, input never.
    bucket = properties(training, "Files", "AWS::S3::Bucket")
    expiring = [rule for rule in bucket["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule]
    assert [rule["Prefix"] for rule in expiring] == ["checkpoints/"]


def test_what_an_instance_needs_outlives_it(training: dict[str, Any]) -> None:
    """It saves a checkpoint when the stack is deleted."""
    links = resources(training, "AWS::FSx::DataRepositoryAssociation")
    assert links.keys() <= set(group(training)["DependsOn"])


def test_an_instance_mounts_the_file_system_and_saves_before_it_goes(training: dict[str, Any]) -> None:
    (line,) = [line for line in user_data(training).splitlines() if '"kind":"nvidia"' in line]
    told = json.loads(line)
    assert told["setup"]["lustre"]["/fsx"]["source"].endswith("@tcp:/<FileSystem.LustreMountName>")
    assert told["setup"]["instance_store"] == "/scratch"
    assert told["drain"]["checkpoint_command"] == "/opt/training/checkpoint"


def test_case_52_nothing_is_left_after_destroy(made: dict[str, dict[str, Any]]) -> None:
    for template in made.values():
        assert not [id for id, each in template["Resources"].items() if each.get("DeletionPolicy") == "Retain"]


def test_the_outputs_say_how_a_run_begins(training: dict[str, Any]) -> None:
    command = text(plain(training["Outputs"]["StartCommand"]["Value"]))
    assert command.startswith("aws autoscaling set-desired-capacity --auto-scaling-group-name <Training")
    assert command.endswith(" --desired-capacity 2")


# --- on the machine --------------------------------------------------------------------------------------------------

_TOOLS = {
    "systemctl": '#!/bin/bash\necho "$*" >>"$ROOT/systemctl"\n[ "$1" != is-active ] || [ -e "$ROOT/active" ]\n',
    "mountpoint": '#!/bin/bash\n[ -e "$ROOT/mounted" ]\n',
    "hostname": "#!/bin/bash\necho '10.0.1.7 172.17.0.1 '\n",
    "accelerated-node": '#!/bin/bash\necho "$LEADER $*" >"$ROOT/ran"\nshift 4\nexec "$@"\n',
    # The first pause is when somebody else writes the checkpoint, the third when the run ends.
    "sleep": """#!/bin/bash
echo pause >>"$ROOT/pauses"
case $(wc -l <"$ROOT/pauses") in
1) [ -z "$WRITES" ] || touch --date='+1 minute' "$ROOT/fsx/checkpoints/$WRITES" ;;
3) rm -f "$ROOT/active" ;;
9) kill -KILL 0 ;;
esac
""",
}
_JOB = """#!/bin/bash
echo "$NODES $PROCESSES" >"$ROOT/job"
flock --nonblock "$ROOT/fsx/meeting/lock" true || echo held >>"$ROOT/job"
"""


class Node:
    """One machine of a run, with its paths below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for place in ("bin", "opt", "etc/systemd/system", "run/accelerated-fleet", "fsx/input", "fsx/checkpoints"):
            (root / place).mkdir(parents=True)
        for name, content in _TOOLS.items():
            (root / "bin" / name).write_text(content)
            (root / "bin" / name).chmod(0o755)
        for name in ("mounted", "active"):
            (root / name).touch()
        (root / "fsx/input/job").write_text(_JOB)
        self.run("bash", "-c", self.here(WORKER), NODES="2", PROCESSES="8")

    def here(self, text: str) -> str:
        for place in ("/opt/training", "/etc/systemd", "/run/accelerated-fleet", "/fsx"):
            text = text.replace(place, f"{self.root}{place}")
        return text

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root), **environment}
        return subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=60, check=False, start_new_session=True
        )

    def start(self) -> subprocess.CompletedProcess[str]:
        """What the service does."""
        return self.run(str(self.root / "opt/training/node"), NODES="2", PROCESSES="8")

    def checkpoint(self, writes: str = "") -> subprocess.CompletedProcess[str]:
        """What the drain calls; ``writes`` is what the job writes meanwhile."""
        return self.run(str(self.root / "opt/training/checkpoint"), WRITES=writes)

    def said(self, name: str) -> str:
        path = self.root / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_it_is_installed_as_a_service(node: Node) -> None:
    assert node.said("systemctl").splitlines() == ["daemon-reload", "enable --now training"]
    assert (node.root / "opt/training/environment").read_text() == "NODES=2\nPROCESSES=8\nFI_PROVIDER=efa\n"
    unit = (node.root / "etc/systemd/system/training.service").read_text()
    # A job that fails for ever would keep machines busy for ever.
    assert {"Restart=on-failure", "StartLimitBurst=10"} <= set(unit.splitlines())
    # A service gets no limits of logins, where EFA's installer has raised this one.
    assert "LimitMEMLOCK=infinity" in unit.splitlines()


def test_shellcheck_has_no_complaint(node: Node) -> None:
    for name in ("node", "checkpoint"):
        done = node.run(str(SHELLCHECK), "--shell=bash", str(node.root / "opt/training" / name))
        assert done.stdout == ""


def test_the_first_machine_leads_and_holds_the_lock_while_its_job_runs(node: Node) -> None:
    assert node.start().returncode == 0
    assert node.said("ran") == f"10.0.1.7 busy --name training -- bash {node.root}/fsx/input/job\n"
    assert node.said("job").splitlines() == ["2 8", "held"]


def test_another_machine_follows(node: Node) -> None:
    meeting = node.root / "fsx/meeting"
    meeting.mkdir()
    (meeting / "leader").write_text("10.0.1.3\n")
    # The lock of this shell is that of another machine: the program opens the file anew.
    command = f"exec 7>>{meeting}/lock; flock --nonblock 7 && {node.root}/opt/training/node"
    done = node.run("bash", "-c", command, NODES="2", PROCESSES="8")
    assert done.returncode == 0, done.stderr
    assert node.said("ran").startswith("10.0.1.3 busy")
    assert (meeting / "leader").read_text() == "10.0.1.3\n"


def test_a_machine_that_is_to_go_begins_nothing(node: Node) -> None:
    (node.root / "run/accelerated-fleet/draining").touch()
    assert node.start().returncode == 0
    assert node.said("ran") == ""


@pytest.mark.parametrize(("missing", "said"), [("mounted", "is not mounted"), ("fsx/input/job", "there is no job yet")])
def test_what_is_missing_is_said_and_tried_again(node: Node, missing: str, said: str) -> None:
    (node.root / missing).unlink()
    done = node.start()
    assert done.returncode == 1
    assert said in done.stderr
    assert node.said("ran") == ""


def test_the_job_is_asked_for_a_checkpoint_and_waited_for(node: Node) -> None:
    (node.root / "fsx/meeting").mkdir()
    assert node.checkpoint(writes="100.pt").returncode == 0
    assert (node.root / "fsx/meeting/save").exists()
    assert node.said("pauses").splitlines() == ["pause"]


@pytest.mark.parametrize("writes", ["", "100.pt.partial"])
def test_half_a_checkpoint_is_none_and_a_run_that_ends_is_not_waited_for(node: Node, writes: str) -> None:
    (node.root / "fsx/meeting").mkdir()
    assert node.checkpoint(writes).returncode == 0
    assert len(node.said("pauses").splitlines()) == 3


def test_nobody_is_asked_where_nothing_runs(node: Node) -> None:
    (node.root / "active").unlink()
    assert node.checkpoint().returncode == 0
    assert not (node.root / "fsx/meeting/save").exists()
