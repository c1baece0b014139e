"""docs/catalog.md: the tables that it names are there, and its code runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from constructs_lib.catalog import tables
from tests.support.stacks import ROOT

TEXT = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")


def test_every_table_of_the_catalog_is_named_but_those_of_other_subjects() -> None:
    named = set(re.findall(r"`(\w+\.csv)`", TEXT))
    there = {path.name for path in tables.SHIPPED.glob("*.csv")}
    elsewhere = {"application_clocks.csv", "efa_families.csv", "leftover_prices.csv", "time_zones.csv"}
    assert named == there - elsewhere - {"cpu_families.csv"}


def test_the_code_runs_as_it_stands(tmp_path: Path) -> None:
    stated, chosen = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    shutil.copytree(tables.SHIPPED, tmp_path / "catalog")
    code = f"{chosen}\n{stated}\nprint(future.family)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert done.stdout.strip() == "g9"
