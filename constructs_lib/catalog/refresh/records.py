"""What a record of DescribeInstanceTypes says, as a row of the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from constructs_lib.catalog import tables
from constructs_lib.catalog.instance_types import PLACEMENTS
from constructs_lib.catalog.network_cards import NetworkCard, write_cards

Record = Mapping[str, Any]
Row = dict[str, str]

_CHAPTERS = (
    ("GpuInfo", "Gpus", None),
    ("NeuronInfo", "NeuronDevices", "neuron"),
    ("InferenceAcceleratorInfo", "Accelerators", None),
    ("MediaAcceleratorInfo", "Accelerators", "media"),
    ("FpgaInfo", "Fpgas", "fpga"),
)
_KIND_OF_MAKER = {"NVIDIA": "nvidia", "AMD": "amd", "Habana": "gaudi", "Qualcomm": "qualcomm", "AWS": "neuron"}
_SIZES = ("nano", "micro", "small", "medium", "large", "xlarge")


def accelerated_row(record: Record) -> Row:
    """One row of ``instance_types.csv``, without kind, model and count for a type that has no accelerator on record."""
    network = record.get("NetworkInfo", {})
    sold = record.get("SupportedUsageClasses", ())
    placed = record.get("PlacementGroupInfo", {}).get("SupportedStrategies", ())
    row = {
        "type": record["InstanceType"],
        "architecture": record["ProcessorInfo"]["SupportedArchitectures"][-1],
        "instance_store_gb": str(record.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)),
        "efa_interfaces": str(network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)),
        "vcpus": str(record["VCpuInfo"]["DefaultVCpus"]),
        "host_memory_mib": str(record["MemoryInfo"]["SizeInMiB"]),
        "network_cards": write_cards([_card(card) for card in network.get("NetworkCards", ())]),
        "spot": _word("spot" in sold),
        "on_demand": _word("on-demand" in sold),
        "capacity_block": _word("capacity-block" in sold),
        "hibernation": _word(record.get("HibernationSupported", False)),
        "placement": " ".join(each for each in PLACEMENTS if each in placed),
        "bare_metal": _word(record.get("BareMetal", False)),
        "status": "current",
    }
    row |= _accelerator(record)
    return {column: row.get(column, "") for column in tables.REFRESHED["instance_types.csv"]}


def cpu_row(record: Record) -> Row:
    """One row of ``cpu_types.csv``."""
    return {
        "type": record["InstanceType"],
        "vcpus": str(record["VCpuInfo"]["DefaultVCpus"]),
        "memory_mib": str(record["MemoryInfo"]["SizeInMiB"]),
        "architecture": record["ProcessorInfo"]["SupportedArchitectures"][-1],
        "processor": record["ProcessorInfo"].get("Manufacturer", ""),
    }


def unknown_maker(record: Record) -> str | None:
    """Who makes the type's accelerator, if it is somebody for whom no kind is known."""
    found = _device(record)
    return found[1]["Manufacturer"] if found is not None and found[0] is None else None


def in_order(name: str) -> tuple[str, float, str]:
    """The place of a type in the tables: by family, then by size, bare metal last."""
    family, _, size = name.partition(".")
    times, plain = re.fullmatch(r"(\d*)(.*)", size).groups()  # type: ignore[union-attr]
    return family, _SIZES.index(plain) + float(times or 1) if plain in _SIZES else 1000.0, size


def _device(record: Record) -> tuple[str | None, Mapping[str, Any]] | None:
    """Kind and description of the accelerator; the kind is None where the maker is unknown."""
    for chapter, devices, kind in _CHAPTERS:
        described = record.get(chapter, {}).get(devices)
        if described:
            return kind or _KIND_OF_MAKER.get(described[0]["Manufacturer"]), described[0]
    return None


def _accelerator(record: Record) -> Row:
    found = _device(record)
    if found is None or found[0] is None:
        return {"video_encoder": "no"}
    kind, device = found
    # A type with a part of a GPU counts none; the operating system sees a logical one.
    share = device.get("GpuPartitionSize", 1)
    return {
        "kind": kind,
        "model": device["Name"],
        "count": str(device["LogicalGpuCount"] if share < 1 else device["Count"]),
        "fraction": f"{share:g}" if share < 1 else "",
        "memory_mib": str(device["MemoryInfo"]["SizeInMiB"]),
        "driver": "open" if kind == "nvidia" else "",
        "video_encoder": _word(kind == "media" or "graphics" in device.get("Workloads", ())),
    }


def _card(card: Mapping[str, Any]) -> NetworkCard:
    return NetworkCard(
        interfaces=card["MaximumNetworkInterfaces"],
        efa=bool({"efa", "efa-only"} & set(card.get("InterfaceTypes", ()))),
    )


def _word(fact: bool) -> str:
    return "yes" if fact else "no"
