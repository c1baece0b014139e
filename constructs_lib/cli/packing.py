"""``accel-fleet pack``: many models on few accelerators."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.arguments import Commands, Parser, add_command, add_json, add_tables, take_tables
from constructs_lib.cli.catalog import devices
from constructs_lib.cli.output import amount, document, gib, heading, paragraph, point, table
from constructs_lib.cli.spelling import NEWER_TABLES, Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND
from constructs_lib.errors import ArgumentError
from constructs_lib.plain_text import several
from constructs_lib.validation import complaint

if TYPE_CHECKING:
    from constructs_lib.rightsizing.packing import PackableModel, Packing

_WHERE = "accel-fleet pack"
_COLUMNS = ("name", "memory_mib", "share", "replicas", "groups")
_REQUIRED = ("name", "memory_mib")
_FILE = """\
FILE has a line of names and a line for each model:

  name,memory_mib,share,replicas,groups
  reranker,3000,0.2,2,search
  embedder,2200,0.15,,search noisy

share is the part of an accelerator's computing time, groups are names separated
by blanks; members of a group and replicas of a model are kept apart. share,
replicas and groups may be left out. Measure memory with what the framework
keeps: nothing enforces it on an accelerator."""


_SPELLING = Spelling(
    command="pack",
    options={
        **options_of("apart", "reserve_mib", "effort"),
        "instance_type": "--type",
        "models": "the models of FILE",
        "replicas": "replicas",
        "folder": "--tables",
    },
    calls={"AcceleratedType": NEWER_TABLES},
)


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    added = add_command(commands, "pack", _pack, "pack many models on few accelerators", _FILE, spelling=_SPELLING)
    added.add_argument("file", metavar="FILE", help="CSV, - for the standard input")
    added.add_argument(
        "--type", action="append", required=True, help="for example g6e.xlarge; given again, the cheapest comes first"
    )
    added.add_argument(
        "--apart", help="what replicas and groups do not share: accelerator or instance; default: accelerator"
    )
    added.add_argument("--reserve-mib", type=int, help="memory of each accelerator that stays free; default: 0")
    added.add_argument("--effort", type=float, help="of the solver, about seconds; default: 3")
    add_tables(added)
    add_json(added)


def _pack(chosen: argparse.Namespace) -> int:
    take_tables(chosen)
    from constructs_lib.rightsizing.packing import DoesNotFitError, pack

    models = _models(_text(chosen.file))
    names = list(dict.fromkeys(chosen.type))
    _check_shares(models, names)
    packings, refused = [], []
    for name in names:
        try:
            packings.append(
                pack(
                    models,
                    instance_type=name,
                    apart=chosen.apart,
                    reserve_mib=chosen.reserve_mib,
                    effort=chosen.effort,
                )
            )
        except DoesNotFitError as error:
            refused.append((name, str(error)))
    packings.sort(key=lambda each: float("inf") if each.usd_per_hour is None else each.usd_per_hour)
    if chosen.json:
        content = {
            "packings": [each.document() for each in packings],
            "refused": [{"instance_type": name, "reason": reason} for name, reason in refused],
        }
        document("pack/1", content)
    else:
        _show(packings, refused)
    return FINE if packings else FOUND


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        cure = f"accel-fleet pack --help shows what it holds ({error})"
        raise ArgumentError(complaint(_WHERE, "FILE", "be a text that can be read", file, cure)) from error


def _models(text: str) -> list[PackableModel]:
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True, restkey="", strict=True)
    names = [name.strip() for name in rows.fieldnames or ()]
    if not set(_REQUIRED) <= set(names) <= set(_COLUMNS):
        cure = "the first line says for example 'name,memory_mib,share'"
        rule = f"have the columns {', '.join(_REQUIRED)} and, if wanted, {', '.join(_COLUMNS[2:])}"
        raise ArgumentError(complaint(_WHERE, "FILE", rule, ",".join(names), cure))
    rows.fieldnames = names
    try:
        models = [_model(row, rows.line_num) for row in rows]
    except csv.Error as error:
        raise ArgumentError(complaint(_WHERE, f"line {rows.line_num}", "be CSV", str(error), "see --help")) from error
    if not models:
        cure = "write a line for each model below the line of names"
        raise ArgumentError(complaint(_WHERE, "FILE", "hold at least one model", text[:40], cure))
    return models


def _model(row: dict[str, Any], line: int) -> PackableModel:
    from constructs_lib.rightsizing.packing import PackableModel

    where = f"line {line}"
    if "" in row or any(value is None for value in row.values()):
        cure = "a line has as many values as the first one has names; several groups are separated by blanks"
        raise ArgumentError(complaint(_WHERE, where, "have a value for each column", list(row.values()), cure))
    values = {name: value.strip() for name, value in row.items()}
    try:
        return PackableModel(
            name=values["name"],
            memory_mib=int(values["memory_mib"]),
            share=float(values["share"]) if values.get("share") else None,
            replicas=int(values["replicas"]) if values.get("replicas") else None,
            groups=values.get("groups", "").split(),
        )
    except ArgumentError as error:
        raise ArgumentError(f"{_WHERE}: {where}: {error}") from error
    except ValueError as error:
        cure = "write memory_mib and replicas as whole numbers, share as 0.25"
        raise ArgumentError(complaint(_WHERE, where, "hold numbers", ",".join(values.values()), cure)) from error


def _check_shares(models: Iterable[PackableModel], names: Sequence[str]) -> None:
    """A share of one accelerator says nothing about another one."""
    from constructs_lib.catalog import lookup

    accelerators = {lookup(name, where=_WHERE, parameter="--type").model for name in names}
    stated = next((each for each in models if each.share is not None), None)
    if len(accelerators) > 1 and stated is not None:
        rule = "have the same accelerators where models have a share"
        cure = "a share was measured on one of them: ask for each with the shares measured there"
        raise ArgumentError(complaint(_WHERE, "--type", rule, ", ".join(names), cure))


def _show(packings: Sequence[Packing], refused: Sequence[tuple[str, str]]) -> None:
    if len(packings) > 1:
        table(
            ("type", "instances", "accelerators", "USD/h"),
            [
                (
                    each.instance_type.name,
                    str(each.instances),
                    str(each.accelerators),
                    amount(each.usd_per_hour, digits=4),
                )
                for each in packings
            ],
            right="instances|accelerators|USD/h",
        )
        print()
    if packings:
        _show_one(packings[0])
    if refused:
        if packings:
            print()
        for _, reason in refused:
            point(reason)


def _show_one(packing: Packing) -> None:
    facts = packing.instance_type
    price = "" if packing.usd_per_hour is None else f", {amount(packing.usd_per_hour, digits=4)} USD/h in us-east-1"
    told = f"no packing needs fewer {packing.apart}s"
    if not packing.proven:
        least = several(packing.lower_bound, packing.apart)
        told = f"every packing needs at least {least}, this one {packing.over_bound:.1%} more"
    paragraph(
        f"{several(len(packing.placements), 'replica')} on {several(packing.accelerators, 'accelerator')} of "
        f"{packing.instances} x "
        f"{facts.name} ({devices(facts.accelerators, facts.fraction, facts.model)}){price}; {told}."
    )
    heading("Each accelerator with its GiB and share in use, and its models:")
    for place in packing.places:
        used = sum(each.memory_mib for each in place)
        share = sum(each.share or 0 for each in place)
        at = f"{place[0].instance}.{place[0].accelerator}"
        begins = f"{at:>6} {gib(used):>6} {share:>5.0%}  "
        paragraph(", ".join(_name(each.model, each.replica) for each in place), begins=begins, indent=" " * len(begins))


def _name(model: str, replica: int) -> str:
    return model if replica == 0 else f"{model}#{replica + 1}"
