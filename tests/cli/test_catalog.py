"""``accel-fleet catalog``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.catalog import describe, known_types, listing
from constructs_lib.catalog.refresh import Report
from tests.cli.running import Command, is_one_teaching_line
from tests.packaging.building import CHECKOUT


def test_list_has_every_type_that_can_be_launched(accel_fleet: Command) -> None:
    ran = accel_fleet("catalog list")

    shown = {line.split()[0] for line in ran.out.splitlines() if "." in line.partition(" ")[0]}
    assert shown == {each.name for each in known_types().values() if each.status != "retired"}


def test_list_document_is_that_of_the_catalog(accel_fleet: Command) -> None:
    ran = accel_fleet("catalog list --kind nvidia --region eu-west-1 --status current --json")

    types = listing(kind="nvidia", region="eu-west-1", status="current")
    assert ran.document == {"schema": "accel-fleet/catalog-list/1", "types": types}


def test_list_can_be_of_one_family(accel_fleet: Command) -> None:
    assert {each["type"] for each in accel_fleet("catalog list --family g6f --json").document["types"]} == {
        "g6f.large",
        "g6f.xlarge",
        "g6f.2xlarge",
        "g6f.4xlarge",
    }


def test_list_of_nothing_has_the_status_of_it(accel_fleet: Command) -> None:
    ran = accel_fleet("catalog list --family g6f --status retired")

    assert (ran.status, ran.out) == (1, "No type is like that.\n")


@pytest.mark.parametrize("name", ["g6.xlarge", "p5.48xlarge", "f2.6xlarge", "c7i.xlarge"])
def test_show_document_is_that_of_the_catalog(accel_fleet: Command, name: str) -> None:
    assert accel_fleet(f"catalog show {name} --json").document == {
        "schema": "accel-fleet/catalog-show/1",
        **describe(name),
    }


def test_show_says_what_a_retired_type_was_followed_by(accel_fleet: Command) -> None:
    out = accel_fleet("catalog show f1.2xlarge").out

    assert "retired on 2025-12-20; follow-up: f2.6xlarge" in out


@pytest.mark.parametrize("name", [*known_types()])
def test_show_can_say_every_type(accel_fleet: Command, name: str) -> None:
    ran = accel_fleet(f"catalog show {name}")

    assert (ran.status, ran.err) == (0, "")
    assert "None" not in ran.out


class Refreshing:
    """Stands for the refresh, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, object, object]] = []

    def __call__(self, session: Any, folder: str, *, regions: list[str] | None) -> Report:
        self.asked.append((session.region_name, folder, regions))
        return Report(
            folder=Path(folder),
            rows={"instance_types.csv": 100, "prices.csv": 900},
            new_types=("g9.xlarge",),
            changed_prices=3,
            remarks=("EC2 does not describe p2.xlarge any more.",),
        )


@pytest.fixture
def refreshing(monkeypatch: pytest.MonkeyPatch) -> Refreshing:
    stand_in = Refreshing()
    monkeypatch.setattr("constructs_lib.catalog.refresh.refresh", stand_in)
    return stand_in


def test_refresh_asks_for_the_regions_and_says_what_it_did(accel_fleet: Command, refreshing: Refreshing) -> None:
    ran = accel_fleet("catalog refresh --output tables --region eu-west-1 --region us-east-1")

    assert (ran.status, ran.err) == (0, "")
    assert refreshing.asked == [("eu-west-1", "tables", ["eu-west-1", "us-east-1"])]
    said = " ".join(ran.out.split())
    assert "New types: g9.xlarge. Changed prices: 3." in said
    assert "- EC2 does not describe p2.xlarge any more." in said
    assert "use_tables('tables')" in said


def test_refresh_has_a_document(accel_fleet: Command, refreshing: Refreshing) -> None:
    assert accel_fleet("catalog refresh --output tables --json").document == {
        "schema": "accel-fleet/catalog-refresh/1",
        "folder": "tables",
        "rows": {"instance_types.csv": 100, "prices.csv": 900},
        "new_types": ["g9.xlarge"],
        "changed_prices": 3,
        "remarks": ["EC2 does not describe p2.xlarge any more."],
    }
    assert refreshing.asked == [(None, "tables", None)]


def test_a_profile_that_is_not_there_is_told_with_the_closest(accel_fleet: Command, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile production]\nregion = eu-west-1\n")

    ran = accel_fleet("catalog refresh --output tables --profile prodution")

    assert is_one_teaching_line(ran)
    assert "did you mean 'production'?" in ran.err


def test_without_credentials_the_refresh_ends_in_one_line(accel_fleet: Command, tmp_path: Path) -> None:
    ran = accel_fleet("catalog", "refresh", "--output", str(tmp_path / "tables"), "--region", "eu-west-1")

    assert is_one_teaching_line(ran)
    assert not (tmp_path / "tables").exists()


def test_without_boto3_the_message_says_what_to_install(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    ran = accel_fleet("catalog refresh --output tables")

    assert is_one_teaching_line(ran)
    assert "pip install boto3 rich, or pip install '.[cli]' in a checkout" in ran.err


def test_tables_of_a_refresh_are_read_where_they_are_named(tmp_path: Path) -> None:
    """In a process of its own: which tables are used holds for a process."""
    for table in (CHECKOUT / "constructs_lib" / "catalog" / "data").glob("*.csv"):
        lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("g6.xlarge,")]
        (tmp_path / table.name).write_text("".join(kept), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "constructs_lib.cli", "catalog", "list", "--family", "g6", "--tables", str(tmp_path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "g6.2xlarge" in done.stdout
    assert "g6.xlarge" not in done.stdout
