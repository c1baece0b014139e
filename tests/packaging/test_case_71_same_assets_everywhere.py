"""Field case 71: an asset's hash must not differ per machine, nor stay the same when the code has changed.

One fleet is synthesized from each place; that every example gives the same from the wheel, ``wheel_synth.py`` checks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.building import CHECKOUT, Assembly, build_editable, copy_sources, synthesize, unpack

_APP = """
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sqs as sqs

from constructs_lib import AcceleratedFleet, QueueDemand


def build(app):
    stack = Stack(app, "Stack")
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    demand = QueueDemand(sqs.Queue(stack, "Jobs"), messages_per_instance=4)
    AcceleratedFleet(stack, "Fleet", vpc=vpc, instance_types="g6.xlarge", max_capacity=8, demand=demand)
"""


def fleet_from(library: Path, place: Path) -> Assembly:
    """Synthesize the fleet with the library found at ``library``, in a folder of its own."""
    (place / "examples" / "fleet").mkdir(parents=True)
    (place / "examples" / "__init__.py").touch()
    (place / "examples" / "fleet" / "app.py").write_text(_APP)
    return synthesize(place / "examples", place / "out", site_directory=library)["fleet"]


@pytest.fixture(scope="module")
def from_checkout(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return fleet_from(CHECKOUT, tmp_path_factory.mktemp("checkout"))


def test_case_71_all_functions_share_one_asset(from_checkout: Assembly) -> None:
    functions = [
        resource["Properties"]["Code"]["S3Key"]
        for resource in json.loads(from_checkout.templates["Stack.template.json"])["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]

    assert len(functions) == 3
    assert len(set(functions)) == 1
    # The other asset is the program for the instances.
    assert len(from_checkout.assets) == 2
    assert f"asset.{functions[0].removesuffix('.zip')}" in from_checkout.assets


def test_case_71_other_path_times_modes_and_caches_change_nothing(from_checkout: Assembly, tmp_path: Path) -> None:
    copy = copy_sources(tmp_path / "elsewhere")
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        path.chmod(0o755 if path.suffix == ".py" else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    program = copy / "constructs_lib" / "node"
    for folder in [copy / "lambda_handlers", *(copy / "lambda_handlers").iterdir(), program, program / "readers"]:
        (folder / "__pycache__").mkdir(exist_ok=True)
        (folder / "__pycache__" / "index.cpython-310.pyc").write_bytes(b"left by a run of the tests")

    assert fleet_from(copy, tmp_path / "place") == from_checkout


def test_case_71_wheel_gives_the_same_bytes(from_checkout: Assembly, wheel: Path, tmp_path: Path) -> None:
    installed = unpack(wheel, tmp_path / "site-packages")

    assert fleet_from(installed, tmp_path / "place") == from_checkout


def test_case_71_editable_install_gives_the_same_bytes(from_checkout: Assembly, tmp_path: Path) -> None:
    sources = copy_sources(tmp_path / "sources")
    installed = unpack(build_editable(sources, tmp_path / "dist"), tmp_path / "site-packages")

    assert fleet_from(installed, tmp_path / "place") == from_checkout


def append_a_byte_to_a_handler(sources: Path) -> None:
    with (sources / "lambda_handlers" / "release_idle" / "decision.py").open("a") as file:
        file.write("\n")


def put_a_table_beside_a_handler(sources: Path) -> None:
    (sources / "lambda_handlers" / "release_idle" / "table.json").write_text("{}")


def append_a_byte_to_a_reader(sources: Path) -> None:
    with (sources / "constructs_lib" / "node" / "readers" / "fpga.py").open("a") as file:
        file.write("\n")


def append_a_byte_to_a_unit(sources: Path) -> None:
    with (sources / "constructs_lib" / "node" / "units" / "accelerated-node.service").open("a") as file:
        file.write("\n")


@pytest.mark.parametrize(
    "change",
    [append_a_byte_to_a_handler, put_a_table_beside_a_handler, append_a_byte_to_a_reader, append_a_byte_to_a_unit],
)
def test_case_71_a_change_of_one_program_changes_the_hash_of_its_asset_alone(
    from_checkout: Assembly, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    copy = copy_sources(tmp_path / "elsewhere")
    change(copy)

    changed = fleet_from(copy, tmp_path / "place")

    assert len(set(changed.assets) & set(from_checkout.assets)) == 1
    assert changed.templates != from_checkout.templates
