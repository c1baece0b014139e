"""Asks AWS anew for what the tables of the catalog hold, and writes them into a folder.

The library goes on with the tables that it came with until :func:`constructs_lib.catalog.use_tables` points an app at
that folder: synthesis never asks AWS and gives the same template everywhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from constructs_lib.catalog import tables
from constructs_lib.catalog.cells import is_region, key, wrong_cell
from constructs_lib.catalog.refresh.asking import WHERE, RefreshError, Session, ask
from constructs_lib.catalog.refresh.corrections import Correction, shipped
from constructs_lib.catalog.refresh.files import write_all
from constructs_lib.catalog.refresh.heads import HEADS
from constructs_lib.catalog.refresh.rebuild import Answers, Rebuilt, Tables, rebuild
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of, list_of

__all__ = [
    "Answers",
    "Correction",
    "Rebuilt",
    "RefreshError",
    "Report",
    "Session",
    "make_tables",
    "rebuild",
    "refresh",
    "refreshed_texts",
    "shipped_texts",
]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a refresh has done.

    Attributes:
        folder: where the tables are.
        rows: of each table.
        new_types: accelerated types that the tables did not have before.
        changed_prices: how many prices are not what they were, by the count of type and region.
        remarks: sentences that somebody should read, for example on types that EC2 does not describe any more.
    """

    folder: Path
    rows: Mapping[str, int]
    new_types: tuple[str, ...]
    changed_prices: int
    remarks: tuple[str, ...]


def refresh(
    session: Session,
    folder: str | Path,
    *,
    regions: Sequence[str] | None = None,
    today: date | None = None,
) -> Report:
    """Ask EC2, the Price List and Systems Manager, and write the tables.

    No row and no correction is lost: what AWS says nothing about stays as the folder has it, or as the library came
    with it. Spot savings and the facts about accelerators stay as they are: none of these APIs has them.

    Args:
        session: a ``boto3.Session`` with the credentials to use.
        folder: that gets the tables; made if it is not there. ``constructs_lib.catalog.tables.SHIPPED`` rewrites the
            tables of the installed library itself.
        regions: to ask for. Default: all that the account has enabled.
        today: the day that the tables carry. Default: that of the clock.

    Raises:
        ArgumentError: the folder or the regions are not what they should be.
        RefreshError: AWS did not answer, or the folder could not be written. All tables are as they were.
    """
    where = WHERE
    target = tables.folder_named(where, folder, cure="name the folder that gets the tables")
    if not callable(getattr(session, "client", None)):
        cure = "write boto3.Session(), with the profile and region to use"
        raise ArgumentError(complaint(where, "session", "be a boto3.Session", session, cure))
    if regions is not None:
        cure = "name for example ['eu-west-1'], or leave it out"
        regions = list_of(where, "regions", regions, str, cure=cure)
        for region in regions:
            if not is_region(region):
                raise ArgumentError(complaint(where, "regions", "hold names of regions", region, cure))
    if today is not None:
        instance_of(where, "today", today, date, cure="write a date, or leave it out for that of the clock")
    before = _before(target)
    parameters = {row["parameter"] for row in (*before["images.csv"], *tables.read_from(tables.SHIPPED, "images.csv"))}
    asked_on = (today or date.today()).strftime("%Y-%m-%d")  # a datetime is a date, too
    answers = ask(session, regions=regions, parameters=parameters, asked_on=asked_on)
    made = make_tables(before, answers)
    _check(made.tables)
    try:
        write_all(target, refreshed_texts(made.tables, answers))
    except OSError as error:
        cure = "see to space and permissions; all tables are as they were"
        raise RefreshError(complaint(where, "folder", "be writable", str(error), cure)) from error
    return Report(
        folder=target,
        rows={name: len(rows) for name, rows in made.tables.items()},
        new_types=_new(before, made.tables),
        changed_prices=_changed_prices(before, made.tables),
        remarks=made.remarks,
    )


def make_tables(before: Tables, answers: Answers) -> Rebuilt:
    """Make the tables from answers, with the corrections and the CPU families that come with the library."""
    baselines = [row["family"] for row in tables.read("cpu_baselines.csv")]
    return rebuild(before, answers, shipped(), baselines)


def refreshed_texts(made: Tables, answers: Answers) -> Mapping[str, str]:
    """The files of a refresh, by name."""
    regions = tuple(sorted(answers.offerings))
    return {name: _text(name, HEADS[name].refreshed(answers.asked_on, regions), rows) for name, rows in made.items()}


def shipped_texts(made: Tables) -> Mapping[str, str]:
    """The files that come with the library, by name."""
    return {name: _text(name, HEADS[name].shipped(), rows) for name, rows in made.items()}


def _before(folder: Path) -> Tables:
    """The tables that the folder has from an earlier refresh, and those of the library in place of the others."""
    cure = "delete it, and the refresh starts from that of the library"
    found = {}
    for name, columns in tables.REFRESHED.items():
        rows = shipped = tables.read_from(tables.SHIPPED, name)
        if (folder / name).is_file():
            rows = tables.checked(WHERE, folder, name, cure=cure, older=True)
        # An older library may have written it, without a column that has been added since.
        ours = {key(name, row): row for row in shipped}
        found[name] = [
            {column: row.get(column, ours.get(key(name, row), {}).get(column, "")) for column in columns}
            for row in rows
        ]
    return found


def _check(made: Tables) -> None:
    """A table that could not be used afterwards is none to write, whatever AWS answered."""
    for name, rows in made.items():
        for row in rows:
            column = wrong_cell(name, row)
            if column is not None:
                rule = f"make rows of {name} whose {column} can be true"
                cure = "see what AWS answers for it; nothing was written"
                raise RefreshError(complaint(WHERE, "answers", rule, row[column], cure))


def _new(before: Tables, made: Tables) -> tuple[str, ...]:
    known = {row["type"] for row in before["instance_types.csv"]}
    return tuple(row["type"] for row in made["instance_types.csv"] if row["type"] not in known)


def _changed_prices(before: Tables, made: Tables) -> int:
    earlier = {(row["type"], row["region"]): row["usd_per_hour"] for row in before["prices.csv"]}
    return sum(
        earlier.get((row["type"], row["region"]), row["usd_per_hour"]) != row["usd_per_hour"]
        for row in made["prices.csv"]
    )


def _text(name: str, head: str, rows: Sequence[Mapping[str, str]]) -> str:
    text = io.StringIO()
    text.write(head)
    writer = csv.DictWriter(text, tables.REFRESHED[name], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
