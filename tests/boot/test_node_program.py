"""The node program's asset, the permission to fetch it, and its settings file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from constructs_lib.catalog import AcceleratedType, lookup
from constructs_lib.fleet import node_program
from constructs_lib.fleet.drain import Drain
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.node_program import NodeProgram, settings_json
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.node import names
from constructs_lib.node.settings import parse_settings
from constructs_lib.telemetry import kind_of
from tests.boot.machines import NODE
from tests.constructs.reading import plain
from tests.support.stacks import stack

BUCKET = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"


def test_an_instance_may_read_this_object_and_nothing_else() -> None:
    made = stack()
    program = NodeProgram(made, "NodeProgram")
    assumed_by = iam.ServicePrincipal("ec2.amazonaws.com")
    policy = iam.PolicyDocument(statements=[program.read_statement])
    iam.Role(made, "Role", assumed_by=assumed_by, inline_policies={"Read": policy})
    url = plain(made.resolve(program.url))
    key = url.removeprefix(f"s3://{BUCKET}/")
    assert key.endswith(".zip")
    (role,) = Template.from_stack(made).find_resources("AWS::IAM::Role").values()
    (statement,) = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    # No Region or account in the ARN of an object; the partition is not always "aws".
    assert plain(statement) == {
        "Action": "s3:GetObject",
        "Effect": "Allow",
        "Resource": f"arn:<AWS::Partition>:s3:::{BUCKET}/{key}",
    }


def asset_of(place: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The unpacked asset that a synthesis with this directory leaves."""
    monkeypatch.setattr(node_program, "_DIRECTORY", directory)
    app = App(outdir=str(place))
    NodeProgram(Stack(app, "Test"), "NodeProgram")
    app.synth()
    (asset,) = place.glob("asset.*")
    return asset


def test_case_71_caches_times_and_modes_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(NODE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "names.cpython-39.pyc").write_bytes(b"left by a run")
        (folder / ".DS_Store").write_bytes(b"left by a desktop")
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        path.chmod(0o755)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    one, other = asset_of(tmp_path / "one", NODE, monkeypatch), asset_of(tmp_path / "other", copy, monkeypatch)
    assert one.name == other.name
    left = [path for path in other.rglob("*") if path.suffix == ".pyc" or path.name in ("__pycache__", ".DS_Store")]
    assert left == []


@pytest.mark.parametrize("changed", ["cli.py", "install.sh", "units/accelerated-node.service"])
def test_case_71_any_changed_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(NODE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / changed).open("a") as file:
        file.write("\n")
    one, other = asset_of(tmp_path / "one", NODE, monkeypatch), asset_of(tmp_path / "other", copy, monkeypatch)
    assert one.name != other.name


def test_the_archive_holds_all_that_the_boot_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asset = asset_of(tmp_path, NODE, monkeypatch)
    brought = ("install.sh", "__main__.py", "setup/__init__.py", "readers/__init__.py", "drain/__init__.py")
    units = ("units/boot.sh", "units/driver.sh", "units/late-driver.sh", "units/agent-fallback.json")
    for name in (*brought, *units):
        assert (asset / name).is_file(), name


def test_a_stage_is_no_obstacle() -> None:
    app = App()
    made = Stack(Stage(app, "Stage"), "Test")
    NodeProgram(made, "NodeProgram")
    app.synth()


def settings(types: Sequence[AcceleratedType], **changes: Any) -> str:
    arguments: dict[str, Any] = {
        "kind": kind_of(types),
        "types": types,
        "interval_seconds": 60,
        "measurements": ["utilization", "power"],
        "use_threshold": 5,
        "setup": {},
        "drain": Drain().settings(),
        "network": False,
        **changes,
    }
    return settings_json(**arguments)


def test_settings_are_those_that_the_program_reads() -> None:
    types = [lookup("g6.xlarge"), lookup("g6.12xlarge"), lookup("g5.12xlarge")]
    machine = MachineSetup(persistence_mode=True, application_clocks=True, huge_pages=512, open_files=1_048_576)
    machine.check_types("Test/Fleet", types)
    storage = FleetStorage(instance_store_path="/mnt/data")
    storage.check_types("Test/Fleet", types)
    read = parse_settings(settings(types, setup={**machine.settings(types), **storage.settings()}), "node.json")
    assert read.kind == "nvidia"
    assert read.interval_seconds == 60
    assert ":".join(map(str, read.statsd)) == names.STATSD_ADDRESS
    assert read.use_threshold == 5.0
    assert read.measurements == ("utilization", "power")
    assert read.expected == {"g6.xlarge": 1, "g6.12xlarge": 4, "g5.12xlarge": 4}
    assert read.setup is not None
    assert vars(read.setup) == {
        "persistence_mode": True,
        # "Optimize GPU settings", EC2 User Guide
        "application_clocks": {"g6": (6251, 2040), "g5": (6250, 1710)},
        "instance_store": "/mnt/data",
        "lustre": None,
        "huge_pages": 512,
        "open_files": 1_048_576,
    }


def test_what_is_as_usual_takes_no_room_in_user_data() -> None:
    types = [lookup("g6.xlarge")]
    assert json.loads(settings(types, measurements=[])) == {
        "kind": "nvidia",
        "expected": {"g6.xlarge": 1},
        "drain": {"deadline_seconds": 1_800, "namespace": "AcceleratedFleet"},
    }
    changed = json.loads(settings(types, interval_seconds=10, use_threshold=2.5))
    assert (changed["interval_seconds"], changed["use_threshold"]) == (10, 2.5)


def test_traffic_is_published_only_where_a_policy_looks_at_it() -> None:
    types = [lookup("g6.xlarge")]
    assert parse_settings(settings(types), "node.json").network is False
    assert parse_settings(settings(types, network=True), "node.json").network is True


def test_nothing_asked_for_is_nothing_to_set_up() -> None:
    types = [lookup("g6.xlarge")]
    assert MachineSetup().settings(types) == {}
    assert FleetStorage().settings() == {}
    assert "setup" not in json.loads(settings(types))
    assert parse_settings(settings(types), "node.json").setup is None


def test_the_same_fleet_gives_the_same_text() -> None:
    types = [lookup("g6.xlarge"), lookup("g5.xlarge")]
    assert settings(types) == settings(types)
    assert settings(types, setup={"huge_pages": 1, "open_files": 2}) == settings(
        types, setup={"open_files": 2, "huge_pages": 1}
    )
    assert settings(types, use_threshold=5) == settings(types, use_threshold=5.0)
