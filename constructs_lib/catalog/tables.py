"""Reads the tables: CSV whose leading comment lines give source, date and licence.

They come with the library, under ``data/``. A refresh (:mod:`constructs_lib.catalog.refresh`) makes newer ones, and
:func:`use_tables` points the library at them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from constructs_lib.catalog.cells import key, wrong_cell
from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint, instance_of

SHIPPED = Path(__file__).resolve().parent / "data"
"""The folder of the tables that come with the library."""

REFRESHED: Mapping[str, tuple[str, ...]] = {
    "instance_types.csv": (
        "type",
        "kind",
        "model",
        "count",
        "fraction",
        "memory_mib",
        "architecture",
        "driver",
        "video_encoder",
        "instance_store_gb",
        "efa_interfaces",
        "vcpus",
        "host_memory_mib",
        "network_cards",
        "spot",
        "on_demand",
        "capacity_block",
        "hibernation",
        "placement",
        "bare_metal",
        "status",
        "retired_on",
        "successor",
    ),
    "cpu_types.csv": ("type", "vcpus", "memory_mib", "architecture", "processor"),
    "cpu_families.csv": ("family",),
    "offerings.csv": ("family", "sizes", "regions"),
    "regions.csv": ("region", "asked_on"),
    "prices.csv": ("type", "region", "usd_per_hour", "date", "estimated"),
    "images.csv": ("parameter", "region", "image_id", "asked_on"),
}
"""The tables that a refresh makes, and their columns. The others are written by hand and come with the library."""


class _Choice:
    """Which tables are in use in this process."""

    folder = SHIPPED
    read_from: Path | None = None


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table that is in use; every value is text as it stands in the file."""
    if name not in REFRESHED:
        return read_from(SHIPPED, name)
    _Choice.read_from = _Choice.folder
    return read_from(_Choice.folder, name)


def read_from(folder: Path, name: str) -> list[dict[str, str]]:
    """Return the rows of a table in a folder."""
    return rows_of((folder / name).read_text(encoding="utf-8").splitlines())


def rows_of(lines: Iterable[str]) -> list[dict[str, str]]:
    """Return the rows of a table from its lines."""
    import csv  # the tables are read at the first question, not at import

    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def folder_named(where: str, folder: object, *, cure: str) -> Path:
    """Return the folder as a path, if it can be the name of one."""
    named = str(instance_of(where, "folder", folder, (str, Path), cure=cure))
    try:
        fits = b"\0" not in os.fsencode(named)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ArgumentError(complaint(where, "folder", "be a name that the file system takes", named, cure))
    return Path(named)


def checked(where: str, folder: Path, name: str, *, cure: str, older: bool = False) -> list[dict[str, str]]:
    """Return the rows of a table in a folder, if it is one that can be used.

    Args:
        where: for messages.
        folder: that holds it.
        name: of the table.
        cure: for messages.
        older: whether an older library may have written it, which did not know all columns. Default: no.

    Raises:
        ArgumentError: it cannot be read, lacks rows or columns, or has a cell that cannot be true.
    """

    def wrong(rule: str, value: object) -> ArgumentError:
        return ArgumentError(complaint(where, "folder", f"hold {name} {rule}", value, cure))

    import csv

    try:
        rows = read_from(folder, name)
    except FileNotFoundError:
        rows = []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise wrong("that can be read", str(error)) from error
    missing = [column for column in REFRESHED[name] if rows and column not in rows[0]]
    if rows and missing and not (older and next(iter(REFRESHED[name])) in rows[0]):
        raise wrong(f"with the columns {', '.join(missing)}", str(folder))
    if not rows:
        raise wrong("with rows", str(folder))
    known: set[tuple[str, ...]] = set()
    for row in rows:
        this = key(name, row)
        if None in row:
            raise wrong("without too many cells in a row", " ".join(this))
        column = wrong_cell(name, row)
        if column is not None:
            raise wrong(f"with a {column} that can be true in the row of {' '.join(this)}", row[column])
        if this in known:
            raise wrong("without a row that is there more than once", " ".join(this))
        known.add(this)
    return rows


def use_tables(folder: str | Path) -> None:
    """Take what a refresh has written in place of the tables that come with the library, for the rest of the process.

    Call it at the top of the app, before anything else of the library is made. Keep the folder in the app's repository:
    then everybody synthesizes from the same tables, and what a refresh has changed is seen in review.

    Args:
        folder: that ``accel-fleet catalog refresh`` has written.

    Raises:
        ArgumentError: the folder lacks a table, a row or a column, or has a cell that cannot be true; or the library
            has answered from other tables before.
    """
    where = "use_tables"
    cure = "run 'accel-fleet catalog refresh --output FOLDER' with this version of the library"
    chosen = folder_named(where, folder, cure=cure).resolve()
    for name in REFRESHED:
        checked(where, chosen, name, cure=cure)
    if _Choice.read_from not in (None, chosen):
        rule = "be chosen before the library is asked for the first fact"
        raise ArgumentError(complaint(where, "folder", rule, str(folder), "call it at the top of the app"))
    _Choice.folder = chosen
