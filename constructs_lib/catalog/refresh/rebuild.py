"""Makes the tables anew from what AWS answered, the tables of before, and the corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from constructs_lib.catalog import tables
from constructs_lib.catalog.cells import is_type, wrong_cell
from constructs_lib.catalog.refresh.corrections import Correction, corrected, undescribed
from constructs_lib.catalog.refresh.records import Record, Row, accelerated_row, cpu_row, in_order, unknown_maker

Tables = Mapping[str, Sequence[Mapping[str, str]]]

# What a record of another form than the documented one brings about.
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What AWS said.

    Attributes:
        asked_on: the day, ISO.
        records: of DescribeInstanceTypes, by type.
        offerings: the types that each asked region offers.
        prices: USD for an hour, by type and region.
        images: image ids by SSM parameter and region; None for a parameter that a region does not have.
    """

    asked_on: str
    records: Mapping[str, Record]
    offerings: Mapping[str, frozenset[str]]
    prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    images: Mapping[tuple[str, str], str | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """The tables as they are now, and what somebody should look at.

    Attributes:
        tables: rows by name of the table.
        remarks: sentences; none if everything went as expected.
    """

    tables: Tables
    remarks: tuple[str, ...]


def rebuild(before: Tables, answers: Answers, corrections: Sequence[Correction], baselines: Iterable[str]) -> Rebuilt:
    """Make all tables.

    No row is lost: what the answers say nothing about stays as it was before.

    Args:
        before: the tables as they are, by name; a table that is not there yet counts as empty.
        answers: what AWS said.
        corrections: where it is wrong.
        baselines: the families without accelerator that the tables carry for comparison.
    """
    nameless = [
        f"{name!r}: left out, it is no name of an instance type" for name in answers.records if not is_type(name)
    ]
    answers = replace(answers, records={name: each for name, each in answers.records.items() if is_type(name)})
    types, remarks = _types(before.get("instance_types.csv", ()), answers, corrections)
    families = frozenset(baselines)
    cpus, unread = _cpus(before.get("cpu_types.csv", ()), answers, families)
    kept = {row["type"] for row in (*types, *cpus)}
    offerings, gone = _offerings(before.get("offerings.csv", ()), answers, kept)
    made = {
        "instance_types.csv": types,
        "cpu_types.csv": cpus,
        "cpu_families.csv": _cpu_families(before.get("cpu_families.csv", ()), answers, types),
        "offerings.csv": offerings,
        "regions.csv": _regions(before.get("regions.csv", ()), answers),
        "prices.csv": _prices(before.get("prices.csv", ()), answers, kept),
        "images.csv": _images(before.get("images.csv", ()), answers),
    }
    further = (*nameless, *remarks, *unread, *gone, *_missing_prices(answers), *_missing_images(answers))
    return Rebuilt(tables=made, remarks=further)


def _types(
    before: Sequence[Mapping[str, str]], answers: Answers, corrections: Sequence[Correction]
) -> tuple[list[Row], list[str]]:
    rows = {row["type"]: dict(row) for row in before}
    accelerated = {name.partition(".")[0] for name in rows}
    remarks: list[str] = []
    described = set()
    for name, record in answers.records.items():
        try:
            row, overtaken = corrected(accelerated_row(record), corrections)
            maker = unknown_maker(record)
        except _UNREADABLE as error:
            remarks.append(_unread(name, error))
            continue
        column = wrong_cell("instance_types.csv", row) if row["kind"] else None
        if column is not None:
            said = f"{row[column]!r} for {column}"
            remarks.append(f"{name}: what EC2 says of it, {said}, cannot be true; nothing was changed")
        elif row["kind"]:
            rows[name] = row
            described.add(name)
            remarks += overtaken
        elif maker is not None:
            remarks.append(f"{name}: left out, no kind is known for accelerators of {maker}")
        elif name.partition(".")[0] in accelerated:
            remarks.append(f"{name}: EC2 describes no accelerator, nor does a correction; nothing was changed")
    described |= _stated(rows, answers, corrections)
    for name in sorted(set(rows) - described, key=in_order):
        # What the library has learnt about such a type since is in the corrections.
        rows[name], _ = corrected(rows[name], corrections, recorded=False)
        if name not in answers.records and rows[name]["status"] != "retired":
            remarks.append(f"{name}: EC2 does not describe it; its row was kept")
    return [rows[name] for name in sorted(rows, key=in_order)], remarks


def _stated(rows: dict[str, Row], answers: Answers, corrections: Sequence[Correction]) -> set[str]:
    """Add the types of which only the corrections know, and return their names."""
    names = undescribed(corrections, answers.records)
    for name in names:
        blank = {**dict.fromkeys(tables.REFRESHED["instance_types.csv"], ""), "type": name}
        rows[name], _ = corrected(blank, corrections, recorded=False)
    return set(names)


def _unread(name: str, error: Exception) -> str:
    what = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be read ({error})"
    return f"{name}: what EC2 says of it {what}; nothing was changed"


def _cpus(
    before: Sequence[Mapping[str, str]], answers: Answers, families: frozenset[str]
) -> tuple[list[Row], list[str]]:
    rows = {row["type"]: dict(row) for row in before}
    remarks: list[str] = []
    for name, record in answers.records.items():
        if name.partition(".")[0] not in families or record.get("BareMetal", False):
            continue
        try:
            row = cpu_row(record)
        except _UNREADABLE as error:
            remarks.append(_unread(name, error))
            continue
        column = wrong_cell("cpu_types.csv", row)
        if column is None:
            rows[name] = row
        else:
            said = f"{row[column]!r} for {column}"
            remarks.append(f"{name}: what EC2 says of it, {said}, cannot be true; nothing was changed")
    return [rows[name] for name in sorted(rows, key=in_order)], remarks


def _cpu_families(
    before: Sequence[Mapping[str, str]], answers: Answers, types: Sequence[Mapping[str, str]]
) -> list[Row]:
    accelerated = {row["type"].partition(".")[0] for row in types}
    strange = {name.partition(".")[0] for name, record in answers.records.items() if _is_strange(record)}
    families = {row["family"] for row in before} | {name.partition(".")[0] for name in answers.records}
    return [{"family": family} for family in sorted(families - accelerated - strange)]


def _is_strange(record: Record) -> bool:
    """Whether it tells of an accelerator, or may do so, that no kind is known for."""
    try:
        return unknown_maker(record) is not None
    except _UNREADABLE:
        return True


def _offerings(before: Sequence[Mapping[str, str]], answers: Answers, names: set[str]) -> tuple[list[Row], list[str]]:
    """Regions by type, alike sizes of a family in one row; a region that was not asked keeps what it offered before."""
    earlier = {
        f"{row['family']}.{size}": set(row["regions"].split()) for row in before for size in row["sizes"].split()
    }
    now = {region: offered & names for region, offered in answers.offerings.items()}
    known = (set(earlier) | set(answers.records) | set().union(*now.values())) & names
    regions = {
        name: {region for region in earlier.get(name, set()) if region not in now}
        | {region for region, offered in now.items() if name in offered}
        for name in known
    }
    gone = [
        f"{name}: no region offers it any longer"
        for name in sorted(known, key=in_order)
        if earlier.get(name) and not regions[name]
    ]
    alike: dict[tuple[str, str], list[str]] = {}
    for name in sorted(known, key=in_order):
        family, _, size = name.partition(".")
        alike.setdefault((family, " ".join(sorted(regions[name]))), []).append(size)
    rows = [{"family": family, "sizes": " ".join(sizes), "regions": where} for (family, where), sizes in alike.items()]
    return rows, gone


def _regions(before: Sequence[Mapping[str, str]], answers: Answers) -> list[Row]:
    days = {row["region"]: row["asked_on"] for row in before} | dict.fromkeys(answers.offerings, answers.asked_on)
    return [{"region": region, "asked_on": days[region]} for region in sorted(days)]


def _prices(before: Sequence[Mapping[str, str]], answers: Answers, names: set[str]) -> list[Row]:
    """A price that the list does not have any more keeps its date."""
    rows = {(row["type"], row["region"]): dict(row) for row in before}
    for (name, region), usd in answers.prices.items():
        if name in names:
            rows[name, region] = {
                "type": name,
                "region": region,
                "usd_per_hour": f"{usd:.10f}".rstrip("0").rstrip("."),
                "date": answers.asked_on,
                "estimated": "no",
            }
    return [rows[key] for key in sorted(rows, key=lambda key: (in_order(key[0]), key[1]))]


def _images(before: Sequence[Mapping[str, str]], answers: Answers) -> list[Row]:
    rows = {(row["parameter"], row["region"]): dict(row) for row in before}
    for (parameter, region), image in answers.images.items():
        # The row that only names the parameter has done its duty.
        rows.pop((parameter, ""), None)
        rows[parameter, region] = {
            "parameter": parameter,
            "region": region,
            "image_id": image or "",
            "asked_on": answers.asked_on,
        }
    return [rows[key] for key in sorted(rows)]


def _missing_prices(answers: Answers) -> list[str]:
    priced = {region for _, region in answers.prices}
    return [
        f"{region}: the price list has no price there; those of before were kept"
        for region in sorted(set(answers.offerings) - priced)
        if priced
    ]


def _missing_images(answers: Answers) -> list[str]:
    return [
        f"{parameter}: Systems Manager has no such public parameter in {region}"
        for (parameter, region), image in sorted(answers.images.items())
        if image is None
    ]
