"""Tables that somebody has broken by hand, by a merge or by half a copy: named at once, not at the first fleet."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.catalog import (
    CpuType,
    accelerator,
    application_clocks,
    cpu_types,
    offered_in,
    price,
    spot_saving,
    tables,
    use_tables,
)
from constructs_lib.catalog.refresh import refresh
from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing import Workload, recommend


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in tables.REFRESHED:
        shutil.copyfile(tables.SHIPPED / name, tmp_path / name)
    return tmp_path


def changed(folder: Path, name: str, change: Callable[[str], str]) -> None:
    file = folder / name
    before = file.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    file.write_text(after, encoding="utf-8")


def test_the_shipped_tables_are_believable(folder: Path) -> None:
    for name in tables.REFRESHED:
        assert tables.checked("use_tables", folder, name, cure="none") == tables.read_from(folder, name)


BROKEN: list[tuple[str, str, str, str]] = [
    ("instance_types.csv", "g6.xlarge,nvidia,L4,1,", "g6.xlarge,nvidia,L4,0,", "count"),
    ("instance_types.csv", "g6.xlarge,nvidia,L4,1,", "g6.xlarge,nvidia,L4,one,", "count"),
    ("instance_types.csv", "g6.xlarge,nvidia,L4,1,", "g6.xlarge,nvidia,,1,", "model"),
    ("instance_types.csv", "g6.xlarge,nvidia,", "G6.xlarge,nvidia,", "type"),
    ("instance_types.csv", "g6.xlarge,nvidia,L4,1,,22888,x86_64", "g6.xlarge,nvidia,L4,1,,22888,sparc", "architecture"),
    ("instance_types.csv", "g6.2xlarge,nvidia,", "g6.xlarge,nvidia,", "more than once"),
    ("prices.csv", "g6.xlarge,us-east-1,0.8048,", "g6.xlarge,us-east-1,0,", "usd_per_hour"),
    ("prices.csv", "g6.xlarge,us-east-1,0.8048,", "g6.xlarge,us-east-1,inf,", "usd_per_hour"),
    ("prices.csv", "g6.xlarge,us-east-1,0.8048,", "g6.xlarge,us-east-1,nan,", "usd_per_hour"),
    ("prices.csv", "g6.xlarge,us-east-1,0.8048,2026-07-20", "g6.xlarge,us-east-1,0.8048,today", "date"),
    ("prices.csv", "g6.xlarge,us-east-1,0.8048,2026-07-20,no", "g6.xlarge,us-east-1", "usd_per_hour"),
    (
        "prices.csv",
        "g6.xlarge,us-east-1,0.8048,2026-07-20,no",
        "g6.xlarge,us-east-1,0.8048,2026-07-20,no,9",
        "too many",
    ),
    ("prices.csv", "g6.xlarge,us-east-1", "=======\ng6.xlarge,us-east-1", "type"),
    ("regions.csv", "us-east-1,2026-10-27", "us-east-1,", "asked_on"),
    ("cpu_types.csv", "c8g.4xlarge,16,32768", "c8g.4xlarge,16,", "memory_mib"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "named"), BROKEN, ids=lambda value: value[:40])
def test_a_broken_table_is_refused_when_it_is_chosen(
    folder: Path, name: str, right: str, wrong: str, named: str
) -> None:
    changed(folder, name, lambda text: text.replace(right, wrong, 1))
    with pytest.raises(ArgumentError, match=rf"^use_tables: folder must hold {name} .*{named}"):
        use_tables(folder)


def test_facts_that_contradict_each_other_are_refused(folder: Path) -> None:
    def more_adapters(text: str) -> str:
        (row,) = (line for line in text.splitlines() if line.startswith("g6.48xlarge,"))
        cells = dict(zip(tables.REFRESHED["instance_types.csv"], row.split(","), strict=True))
        cells["efa_interfaces"] = "9"
        return text.replace(row, ",".join(cells.values()))

    changed(folder, "instance_types.csv", more_adapters)
    with pytest.raises(ArgumentError, match=r"hold instance_types.csv .*efa_interfaces .*g6\.48xlarge"):
        use_tables(folder)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"", b"# a head and nothing else\n", b"type\x00,region\n"])
def test_what_is_no_table_is_refused(folder: Path, content: bytes) -> None:
    (folder / "prices.csv").write_bytes(content)
    with pytest.raises(ArgumentError, match=r"^use_tables: folder must hold prices.csv "):
        use_tables(folder)


def test_a_folder_in_place_of_a_table_is_refused(folder: Path) -> None:
    (folder / "prices.csv").unlink()
    (folder / "prices.csv").mkdir()
    with pytest.raises(ArgumentError, match=r"^use_tables: folder must hold prices.csv "):
        use_tables(folder)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"], ids=["a zero byte", "half a character"])
def test_what_cannot_be_the_name_of_a_folder_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"^use_tables: folder must be "):
        use_tables(name)
    with pytest.raises(ArgumentError, match=r"^catalog refresh: folder must be "):
        refresh(_Nobody(), name)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"type,kind\nbla,nvidia\n", b"<<<<<<< HEAD\ntype,kind\n"])
def test_a_refresh_does_not_start_from_a_broken_table(folder: Path, content: bytes) -> None:
    (folder / "instance_types.csv").write_bytes(content)
    with pytest.raises(ArgumentError, match=r"^catalog refresh: folder must hold instance_types.csv .*; delete it"):
        refresh(_Nobody(), folder)


class _Nobody:
    """A session that must not be asked."""

    region_name: str | None = None

    def client(self, service_name: str, *, region_name: str, config: Any = None) -> Any:
        raise AssertionError(service_name)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"session": None}, "session"),
        ({"session": "default"}, "session"),
        ({"regions": [""]}, "regions"),
        ({"regions": ["eu west"]}, "regions"),
        ({"regions": ["EU-WEST-1"]}, "regions"),
        ({"regions": ["${Token[AWS.Region.4]}"]}, "regions"),
        ({"today": "2026-12-24"}, "today"),
    ],
    ids=str,
)
def test_arguments_of_a_refresh_are_checked_before_anybody_is_asked(
    tmp_path: Path, arguments: dict[str, Any], parameter: str
) -> None:
    with pytest.raises(ArgumentError, match=f"^catalog refresh: {parameter} must "):
        refresh(**{"session": _Nobody(), "folder": tmp_path, "today": date(2026, 12, 24), **arguments})


def test_a_refresh_and_its_tables_fit_into_one_process(tmp_path: Path) -> None:
    code = f"""
import datetime
from constructs_lib.catalog import lookup, tables, use_tables
from constructs_lib.catalog.refresh import refresh
from tests.unit.test_refresh import World
world = World()
tables._Choice.read_from = None  # what the world of the test itself has read does not count
refresh(world, {str(tmp_path)!r}, today=datetime.datetime(2026, 12, 24, 9, 30))
use_tables({str(tmp_path)!r})
print(lookup("g6.xlarge").model)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "L4"


# --- facts that users state, and questions -----------------------------------------------------------------------

TYPE = CpuType(name="c9.xlarge", vcpus=4, memory_mib=8192, architecture="x86_64", processor="Intel")


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("name", "c9"),
        ("name", ["c9.xlarge"]),
        ("vcpus", 0),
        ("vcpus", True),
        ("memory_mib", float("inf")),
        ("memory_mib", "8192"),
        ("memory_mib", 10**39),
        ("architecture", "sparc"),
        ("processor", ""),
        ("amx", "yes"),
        ("usd_per_hour", float("nan")),
        ("usd_per_hour", 0),
        ("regions", "eu-west-1"),
        ("regions", [3]),
    ],
)
def test_facts_about_a_cpu_type_are_checked(fact: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"^CpuType.*: {fact} must "):
        replace(TYPE, **{fact: value})


def test_a_cpu_type_of_next_year_can_be_stated() -> None:
    stated = replace(TYPE, usd_per_hour=0.2, regions=["eu-west-1"], amx=True)
    assert stated.regions == ("eu-west-1",)
    assert hash(stated) == hash(replace(stated))
    assert replace(TYPE, regions=[]).regions == ()
    found = recommend(Workload.inference(model="bert-base"), instance_types=[stated])
    assert found.unmeasured[0].instance_type == "c9.xlarge"
    assert cpu_types()["c8i.4xlarge"].processor == "Intel"


QUESTIONS: list[Callable[[Any], object]] = [
    lambda value: price(value, "us-east-1"),
    lambda value: price("g6.xlarge", value),
    lambda value: spot_saving(value, "us-east-1"),
    lambda value: spot_saving("g6.xlarge", value),
    lambda value: offered_in(value),
    lambda value: application_clocks(value),
    lambda value: accelerator(value),
]


@pytest.mark.parametrize("value", [None, 5, [], {}, ["g6.xlarge"], b"g6.xlarge"], ids=str)
@pytest.mark.parametrize("ask", QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_question_about_what_is_no_text_is_refused(ask: Callable[[Any], object], value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^catalog: \w+ must be a text"):
        ask(value)


@pytest.mark.parametrize("value", ["22888", [1], 1.5, True])
def test_a_size_of_memory_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^catalog: memory_mib must be a whole number"):
        accelerator("L4", memory_mib=value)
