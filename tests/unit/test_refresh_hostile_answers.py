"""Answers of AWS that no documentation promises: nothing that would break a later synthesis reaches a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES

from constructs_lib.catalog import tables
from constructs_lib.catalog.refresh import RefreshError, Report, refresh
from tests.unit.test_refresh import TODAY, World, product, row_of, rows

Change = Callable[[dict[str, Any]], object]


def gpu(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["GpuInfo"]["Gpus"][0]
    return found


def refreshed(world: World, folder: Path) -> Report:
    """A refresh whose tables can all be used afterwards."""
    report = refresh(world, folder, today=TODAY)
    for name in tables.REFRESHED:
        tables.checked("test", folder, name, cure="none")
    return report


def answered(name: str, change: Change) -> World:
    world = World()
    record = json.loads(json.dumps(INSTANCE_TYPES[name]))
    change(record)
    world.records[name] = record
    return world


UNREADABLE: dict[str, Change] = {
    "no accelerators": lambda record: record["GpuInfo"].update(Gpus=[]),
    "nothing about GPUs": lambda record: record.update(GpuInfo=None),
    "no maker": lambda record: gpu(record).pop("Manufacturer"),
    "none of them": lambda record: gpu(record).update(Count=0),
    "nobody knows how many": lambda record: gpu(record).update(Count=None),
    "a word for a number": lambda record: gpu(record).update(Count="one"),
    "no memory": lambda record: gpu(record)["MemoryInfo"].update(SizeInMiB=0),
    "no name": lambda record: gpu(record).update(Name=""),
    "a name of two lines": lambda record: gpu(record).update(Name='L4,"x"\n# y'),
    "a part without a count": lambda record: gpu(record).update(GpuPartitionSize=0.25, LogicalGpuCount=0),
    "a part of nothing": lambda record: gpu(record).update(GpuPartitionSize=0),
    "a part of nobody knows what": lambda record: gpu(record).update(GpuPartitionSize=None),
    "no architecture": lambda record: record["ProcessorInfo"].update(SupportedArchitectures=[]),
    "an unknown architecture": lambda record: record["ProcessorInfo"].update(SupportedArchitectures=["riscv64"]),
    "no cards": lambda record: record["NetworkInfo"].update(NetworkCards=None),
    "a card for nothing": lambda record: record["NetworkInfo"]["NetworkCards"][0].update(MaximumNetworkInterfaces=0),
    "adapters without cards": lambda record: record["NetworkInfo"].update(EfaInfo={"MaximumEfaInterfaces": 4}),
    "less than no disk": lambda record: record["InstanceStorageInfo"].update(TotalSizeInGB=-1),
}


@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_a_record_that_cannot_be_true_changes_nothing_and_is_reported(change: Change, tmp_path: Path) -> None:
    report = refreshed(answered("g6.xlarge", change), tmp_path)
    assert row_of(tmp_path, "g6.xlarge") == row_of(tables.SHIPPED, "g6.xlarge")
    assert [remark for remark in report.remarks if remark.startswith("g6.xlarge: ")]


@pytest.mark.parametrize("lost", ["MemoryInfo", "VCpuInfo", "ProcessorInfo"])
def test_a_cpu_record_that_cannot_be_true_changes_nothing_and_is_reported(lost: str, tmp_path: Path) -> None:
    report = refreshed(answered("c8i.4xlarge", lambda record: record.pop(lost)), tmp_path)
    (row,) = (each for each in rows(tmp_path, "cpu_types.csv") if each["type"] == "c8i.4xlarge")
    assert row in rows(tables.SHIPPED, "cpu_types.csv")
    assert [remark for remark in report.remarks if remark.startswith("c8i.4xlarge: ")]


def test_a_placement_strategy_of_next_year_is_left_out(tmp_path: Path) -> None:
    def further(record: dict[str, Any]) -> None:
        record["PlacementGroupInfo"]["SupportedStrategies"] = ["cluster", "galaxy"]

    refreshed(answered("g6.xlarge", further), tmp_path)
    assert row_of(tmp_path, "g6.xlarge")["placement"] == "cluster"


@pytest.mark.parametrize("name", ["", "g9", "g9.", ".xlarge", "G9.XLARGE", "#g9.xlarge", "g9.x large", "g9.2xl\n"])
def test_a_name_that_no_table_can_hold_is_left_out_and_reported(name: str, tmp_path: Path) -> None:
    world = World()
    world.records[name] = json.loads(json.dumps(INSTANCE_TYPES["g6.xlarge"])) | {"InstanceType": name}
    world.offered["eu-west-1"].add(name)
    world.products["eu-west-1"].append(product(name, "1"))
    report = refreshed(world, tmp_path)
    assert not report.new_types
    assert f"{name!r}: left out, it is no name of an instance type" in report.remarks
    assert len(rows(tmp_path, "cpu_families.csv")) == len(rows(tables.SHIPPED, "cpu_families.csv"))


@pytest.mark.parametrize("usd", ["nan", "inf", "1e400", "-1", "0", "1e-12", "0.00000000001"])
def test_a_price_that_cannot_be_true_is_none(usd: str, tmp_path: Path) -> None:
    world = World()
    world.products["eu-west-1"].append(product("g6.2xlarge", usd))
    refreshed(world, tmp_path)
    assert not [
        row for row in rows(tmp_path, "prices.csv") if (row["type"], row["region"]) == ("g6.2xlarge", "eu-west-1")
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "not json",
        "[]",
        "null",
        '{"product": null}',
        '{"product": {"attributes": null}}',
        '{"terms": {"OnDemand": {"a": {}}}}',
        '{"product": {"attributes": {"instanceType": "g6.xlarge"}}, "terms": {"OnDemand": {"a": {"priceDimensions": '
        '{"b": {}}}}}}',
        product("g6.2xlarge", "a dollar"),
        product("g6.2xlarge", ""),
        {"already": "read"},
    ],
    ids=lambda entry: str(entry)[:60],
)
def test_an_entry_of_the_price_list_that_cannot_be_read_stops_the_refresh(entry: Any, tmp_path: Path) -> None:
    world = World()
    world.products["eu-west-1"].append(entry)
    with pytest.raises(RefreshError, match=r"pricing:GetProducts in us-east-1 .*; nothing was written|nothing was wr"):
        refresh(world, tmp_path, today=TODAY)
    assert not list(tmp_path.iterdir())


def test_a_region_without_a_price_is_reported(tmp_path: Path) -> None:
    world = World()
    del world.products["us-east-2"]
    assert (
        "us-east-2: the price list has no price there; those of before were kept" in refreshed(world, tmp_path).remarks
    )


def test_a_region_that_is_named_twice_is_asked_once(tmp_path: Path) -> None:
    world = World()
    refresh(world, tmp_path, regions=["eu-west-1", "eu-west-1"], today=TODAY)
    assert [region for region, _ in world.described] == ["eu-west-1"]


def test_what_an_older_library_did_not_know_comes_from_this_one(tmp_path: Path) -> None:
    """No record of VT1 is in the answer: without its old columns nobody would know whether it is sold."""
    refresh(World(), tmp_path, today=TODAY)
    columns = list(tables.REFRESHED["instance_types.csv"])[:-3]
    old = [",".join(row[column] for column in columns) for row in rows(tmp_path, "instance_types.csv")]
    (tmp_path / "instance_types.csv").write_text("\n".join([",".join(columns), *old]))
    refreshed(World(), tmp_path)
    assert row_of(tmp_path, "vt1.3xlarge") == row_of(tables.SHIPPED, "vt1.3xlarge")


@pytest.mark.parametrize("value", ["ami 0123", "ami-01\n# ami-02", '{"image": "ami 0123"}'])
def test_nothing_is_written_that_could_not_be_used(value: str, tmp_path: Path) -> None:
    world = World()
    world.images = dict.fromkeys(world.images, value)
    with pytest.raises(RefreshError, match=r"images\.csv.* image_id .*; nothing was written"):
        refresh(world, tmp_path, today=TODAY)
    assert not list(tmp_path.iterdir())
