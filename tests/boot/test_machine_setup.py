"""What may be asked of a machine, and of which machines."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Aws

from constructs_lib.catalog import AcceleratedType, lookup
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.machine_setup import MachineSetup
from constructs_lib.fleet.storage import FleetStorage


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"persistence_mode": "yes"}, "MachineSetup: persistence_mode must be of type bool, got 'yes'; "),
        ({"application_clocks": 1}, "MachineSetup: application_clocks must be of type bool, got 1; "),
        ({"huge_pages": 0}, "MachineSetup: huge_pages must be a whole number at least 1 "),
        ({"huge_pages": 1.5}, "MachineSetup: huge_pages must be a whole number"),
        ({"huge_pages": True}, "MachineSetup: huge_pages must be a whole number"),
        ({"open_files": 1_023}, "MachineSetup: open_files must be a whole number at least 1024 and at most 1048576"),
        (
            {"open_files": 1_048_577},
            "MachineSetup: open_files must be a whole number at least 1024 and at most 1048576",
        ),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        MachineSetup(**given)
    assert str(caught.value).startswith(message)
    assert "; " in str(caught.value)


def test_the_bounds_belong_to_the_range() -> None:
    assert MachineSetup(huge_pages=1, open_files=1_024).settings([]) == {"huge_pages": 1, "open_files": 1_024}
    assert MachineSetup(open_files=1_048_576).open_files == 1_048_576


def test_nothing_is_changed_without_being_asked() -> None:
    """Application clocks cost power; the rest is the image's business."""
    assert MachineSetup().settings([lookup("g6.xlarge")]) == {}
    assert MachineSetup(persistence_mode=False, application_clocks=False) == MachineSetup()


@pytest.mark.parametrize("parameter", ["persistence_mode", "application_clocks"])
def test_gpu_settings_are_for_nvidia_alone(parameter: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        MachineSetup(**{parameter: True}).check_types("Stack/Fleet", [lookup("trn1.2xlarge")])
    assert str(caught.value) == (
        f"Stack/Fleet: machine.{parameter} must be left out for trn1.2xlarge, got True; "
        "remove it: only NVIDIA GPUs have it"
    )


def test_other_settings_are_for_every_kind() -> None:
    MachineSetup(huge_pages=8, open_files=65_536).check_types("Stack/Fleet", [lookup("trn1.2xlarge")])


def test_clocks_that_aws_does_not_publish_are_not_guessed() -> None:
    types = [lookup("g6.xlarge"), lookup("g5g.xlarge")]
    with pytest.raises(ArgumentError) as caught:
        MachineSetup(application_clocks=True).check_types("Stack/Fleet", types)
    assert str(caught.value).startswith("Stack/Fleet: machine.application_clocks must be left out for the families g5g")
    MachineSetup(persistence_mode=True).check_types("Stack/Fleet", types)


@pytest.mark.parametrize("path", ["/mnt/data", "/mnt", "/scratch", "/data/a.b_c-d", "/var/lib/docker", "/opt/models"])
def test_a_directory_of_ones_own(path: str) -> None:
    assert FleetStorage(instance_store_path=path).settings() == {"instance_store": path}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "/usr",
            "/usr/local/data",
            "/etc",
            "/etc/x",
            "/var",
            "/run",
            "/run/x",
            "/tmp",
            "/proc/x",
            "/sys",
            "/dev",
        ),
        *("/bin", "/sbin", "/lib", "/lib64", "/boot", "/root", "/home", "/opt", "/var/lib", "/var/log", "/var/tmp"),
        *("/opt/accelerated-node", "/opt/aws/x", "/var/lib/accelerated-fleet", "/var/run/x"),
    ],
)
def test_the_systems_own_directories_are_refused(path: str) -> None:
    with pytest.raises(ArgumentError, match=r"^FleetStorage: instance_store_path must be .*; write for example"):
        FleetStorage(instance_store_path=path)


@pytest.mark.parametrize(
    "path",
    ["", " ", "data", "./data", "/mnt/", "//mnt", "/mnt//data", "/mnt/../etc", "/mnt/.", "/mnt/.hidden", "/mnt/a b",
     "/mnt/a'b", "/mnt/$HOME", "/mnt/a\\b", "/mnt/ü", "/mnt/a\n", "/mnt/-a", "/mnt/%i", 5, True],
)  # fmt: skip
def test_a_path_that_a_mount_table_would_misread_is_refused(path: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^FleetStorage: instance_store_path must "):
        FleetStorage(instance_store_path=path)


def test_a_path_that_only_a_deploy_settles_cannot_be_checked() -> None:
    with pytest.raises(ArgumentError, match=r"be known at synth, since it is checked, got a token"):
        FleetStorage(instance_store_path=f"/mnt/{Aws.REGION}")


def test_types_without_an_instance_store_are_refused() -> None:
    storage = FleetStorage(instance_store_path="/mnt/data")
    storage.check_types("Stack/Fleet", [lookup("g6.xlarge")])
    with pytest.raises(ArgumentError) as caught:
        storage.check_types("Stack/Fleet", [lookup("g6.xlarge"), lookup("g5g.xlarge"), lookup("inf2.xlarge")])
    assert str(caught.value).startswith(
        "Stack/Fleet: storage.instance_store_path must be left out for g5g.xlarge, inf2.xlarge, got '/mnt/data'; "
    )
    FleetStorage().check_types("Stack/Fleet", [lookup("g5g.xlarge")])


def test_a_type_whose_disks_nobody_stated_is_taken() -> None:
    """Unknown is not none: the instance itself will say, in the setup's report."""
    newer = AcceleratedType(
        name="g9.xlarge", kind="nvidia", model="L9", accelerators=1, accelerator_memory_mib=1, architecture="x86_64"
    )
    FleetStorage(instance_store_path="/mnt/data").check_types("Stack/Fleet", [newer])
