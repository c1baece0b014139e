"""The tables, derived once more from what moto answers in EC2's place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws

from constructs_lib.catalog import known_types, lookup
from constructs_lib.errors import UnsupportedInstanceTypeError

Record = Mapping[str, Any]

_KIND_OF_MAKER = {
    "NVIDIA": "nvidia",
    "AMD": "amd",
    "Habana": "gaudi",
    "Qualcomm": "qualcomm",
    "AWS": "neuron",
}
# What the records get wrong or leave out; the tables say why.
_NO_RECORD = {"trn2u.48xlarge"}
_WRONG_MEMORY = {"trn2.3xlarge", "trn2.48xlarge"}
_NOT_IN_MOTO = {"dl1", "f1", "g3", "g3s", "g4ad", "p2", "p3", "p6e-gb200"}


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    with mock_aws():
        client = boto3.client(
            "ec2", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
        )
        pages = client.get_paginator("describe_instance_types").paginate()
        return {record["InstanceType"]: record for page in pages for record in page["InstanceTypes"]}


def _device(record: Record) -> tuple[str, Record] | None:
    """Kind and description of the accelerator, or None for a type without one."""
    for chapter, devices, kind in (
        ("GpuInfo", "Gpus", None),
        ("NeuronInfo", "NeuronDevices", "neuron"),
        ("InferenceAcceleratorInfo", "Accelerators", None),
        ("MediaAcceleratorInfo", "Accelerators", "media"),
        ("FpgaInfo", "Fpgas", "fpga"),
    ):
        if chapter in record:
            (device,) = record[chapter][devices]
            return kind or _KIND_OF_MAKER[device["Manufacturer"]], device
    return None


def test_every_accelerator_that_moto_knows_is_in_the_table_as_moto_says(records: Mapping[str, Record]) -> None:
    compared = 0
    for name, record in records.items():
        device = _device(record)
        if device is None:
            continue
        kind, facts = device
        ours = lookup(name)
        share = facts.get("GpuPartitionSize", 1)
        count = facts["LogicalGpuCount"] if share < 1 else facts["Count"]
        assert (ours.kind, ours.model, ours.accelerators) == (kind, facts["Name"], count), name
        assert ours.fraction == (share if share < 1 else None), name
        assert [ours.architecture] == record["ProcessorInfo"]["SupportedArchitectures"], name
        assert name in _WRONG_MEMORY or ours.accelerator_memory_mib == facts["MemoryInfo"]["SizeInMiB"], name
        assert ours.video_encoder == (kind == "media" or "graphics" in facts.get("Workloads", ())), name
        assert ours.instance_store_gb == record.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0), name
        assert ours.efa_interfaces == record["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 0), name
        assert ours.vcpus == record["VCpuInfo"]["DefaultVCpus"], name
        compared += 1
    assert compared >= 85


def test_whatever_else_is_in_the_table_is_a_stated_correction(records: Mapping[str, Record]) -> None:
    without_record = {name for name in known_types() if name not in records or _device(records[name]) is None}
    assert {name for name in without_record if name in records} == _NO_RECORD
    assert {known_types()[name].family for name in without_record - _NO_RECORD} == _NOT_IN_MOTO


def test_every_other_family_is_known_to_have_no_accelerator(records: Mapping[str, Record]) -> None:
    accelerated = {each.family for each in known_types().values()}
    others = {name for name in records if name.partition(".")[0] not in accelerated}
    assert len(others) > 1000
    for name in others:
        with pytest.raises(UnsupportedInstanceTypeError):
            lookup(name)
