"""How an app is pointed at tables that a refresh has written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.catalog import known_types, lookup, tables, use_tables
from constructs_lib.errors import ArgumentError

NEW_PRICE = "1.23"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables as a refresh writes them, with another price and one type more."""
    for name in tables.REFRESHED:
        shutil.copyfile(tables.SHIPPED / name, tmp_path / name)
    prices = (tmp_path / "prices.csv").read_text()
    (tmp_path / "prices.csv").write_text(
        prices.replace("g6.xlarge,us-east-1,0.8048,2026-07-20", f"g6.xlarge,us-east-1,{NEW_PRICE},2027-01-02")
    )
    types = (tmp_path / "instance_types.csv").read_text()
    (row,) = (line for line in types.splitlines() if line.startswith("g6.xlarge,"))
    (tmp_path / "instance_types.csv").write_text(f"{types}{row.replace('g6.xlarge', 'g9.xlarge')}\n")
    return tmp_path


def run(code: str) -> str:
    """What a fresh process prints: which tables are in use holds for a whole process."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_case_64_an_app_can_use_the_tables_of_a_refresh(folder: Path) -> None:
    code = f"""
from constructs_lib.catalog import lookup, price, use_tables
use_tables({str(folder)!r})
print(lookup("g9.xlarge").model, lookup("g6.xlarge").usd_per_hour, price("g6.xlarge", "us-east-1").date)
"""
    assert run(code) == f"L4 {NEW_PRICE} 2027-01-02"


def test_the_folder_may_be_named_relative_to_where_the_app_runs(folder: Path) -> None:
    code = f"""
import os
from pathlib import Path
from constructs_lib.catalog import lookup, use_tables
os.chdir({str(folder.parent)!r})
use_tables(Path({folder.name!r}))
os.chdir("/")
print(lookup("g9.xlarge").name)
"""
    assert run(code) == "g9.xlarge"


def test_tables_that_no_refresh_makes_come_with_the_library(folder: Path) -> None:
    (folder / "application_clocks.csv").write_text("family,memory_mhz,graphics_mhz\ng6,1,1\n")
    code = f"""
from constructs_lib.catalog import application_clocks, use_tables
use_tables({str(folder)!r})
print(application_clocks("g6"))
"""
    assert run(code) == "(6251, 2040)"


def test_the_same_folder_may_be_chosen_twice_and_no_other(folder: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(folder, other, dirs_exist_ok=True)
    code = f"""
from constructs_lib.catalog import lookup, use_tables
use_tables({str(folder)!r})
lookup("g6.xlarge")
use_tables({str(folder)!r})
try:
    use_tables({str(other)!r})
except ValueError as error:
    print(error)
"""
    assert "use_tables: folder must be chosen before the library is asked for the first fact" in run(code)


def test_it_is_too_late_when_a_fact_has_been_given_out(folder: Path) -> None:
    assert known_types()
    with pytest.raises(ArgumentError, match=r"must be chosen before .*; call it at the top of the app"):
        use_tables(folder)
    assert lookup("g6.xlarge").usd_per_hour == 0.8048


def test_importing_the_library_is_not_asking_it(folder: Path) -> None:
    code = f"""
import constructs_lib
for name in constructs_lib.__all__:
    getattr(constructs_lib, name)
from constructs_lib.catalog import lookup, use_tables
use_tables({str(folder)!r})
print(lookup("g9.xlarge").name)
"""
    assert run(code) == "g9.xlarge"


@pytest.mark.parametrize("name", sorted(tables.REFRESHED))
def test_a_folder_without_a_table_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ArgumentError, match=f"use_tables: folder must hold {name} with rows, got .*; run 'accel-fleet"):
        use_tables(folder)


def test_a_table_of_an_older_library_is_refused(folder: Path) -> None:
    (folder / "prices.csv").write_text("type,region,usd_per_hour\ng6.xlarge,us-east-1,1\n")
    with pytest.raises(ArgumentError, match=r"hold prices.csv with the columns date, estimated"):
        use_tables(folder)


def test_a_table_without_rows_is_refused(folder: Path) -> None:
    (folder / "prices.csv").write_text("type,region,usd_per_hour,date,estimated\n")
    with pytest.raises(ArgumentError, match=r"hold prices.csv with rows"):
        use_tables(folder)


@pytest.mark.parametrize("given", [None, 5, ["tables"]])
def test_what_is_no_folder_is_refused(given: Any) -> None:
    with pytest.raises(ArgumentError, match="use_tables: folder must be of type str or Path"):
        use_tables(given)
