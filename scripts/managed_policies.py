"""Writes the tables of what AWS's managed policies give anew: ``python -m scripts.managed_policies``.

For when a rule of the check asks for another action, or moto, which has the policies from IAM, is a later one. The
policies are those that the tables name already, and new ones that give nothing of what rules ask for.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data

from constructs_lib.catalog import tables

_ROOT = Path(__file__).resolve().parents[1]
_ACTION = re.compile(r'"([a-z][a-z0-9-]+:[A-Z][A-Za-z]+)"')
_OF_SERVICES = ("/aws-service-role/", "/root-task/")
_GIVING, _ELSEWHERE = tables.SHIPPED / "managed_policies.csv", tables.SHIPPED / "managed_policies_elsewhere.csv"
_COLUMNS = ("policy", "version", "effect", "actions", "not_actions", "resources", "not_resources", "condition")


def asked_for() -> set[str]:
    """Every action that a module of the check names."""
    sources = (_ROOT / "constructs_lib" / "compliance").rglob("*.py")
    return {each for path in sources for each in _ACTION.findall(path.read_text(encoding="utf-8"))}


def statements(policy: Mapping[str, Any], asked: set[str]) -> list[list[str]]:
    """Rows of a policy: one for each limit, with the actions under it that are asked for."""
    given: dict[tuple[str, ...], list[str]] = {}
    for statement in _listed(policy["Document"]["Statement"]):
        is_negative = "NotAction" in statement
        actions = [str(each) for each in _listed(statement.get("NotAction" if is_negative else "Action"))]
        if not is_negative:
            actions = [each for each in actions if any(fnmatchcase(one.lower(), each.lower()) for one in asked)]
        limit = (
            "" if statement["Effect"] == "Allow" else statement["Effect"],
            "not" if is_negative else "",
            *(" ".join(map(str, _listed(statement.get(name)))) for name in ("Resource", "NotResource")),
            json.dumps(statement["Condition"], separators=(",", ":")) if "Condition" in statement else "",
        )
        known = given.setdefault(limit, []) if actions else []
        known += [each for each in dict.fromkeys(actions) if each not in known]
    return [
        [effect, *(("", " ".join(actions)) if negative else (" ".join(actions), "")), *limits]
        for (effect, negative, *limits), actions in given.items()
    ]


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _table(head: list[str], columns: tuple[str, ...], rows: list[list[str]]) -> str:
    text = io.StringIO()
    text.writelines(f"{line}\n" for line in head)
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def _head(file: Path, asked: set[str]) -> Iterator[str]:
    """The comments of a table, with the actions in the place of those of the former one."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            return
        if line.endswith("which are these:"):
            yield line
            yield from textwrap.wrap(
                " ".join(sorted(asked)), 118, initial_indent="#   ", subsequent_indent="#   ", break_on_hyphens=False
            )
        elif not re.match(r"#   [a-z0-9-]+:[A-Z]", line):
            yield line


def made() -> dict[Path, str]:
    """The texts of both tables."""
    asked = asked_for()
    chosen = {row["policy"] for row in tables.read(_GIVING.name)}
    giving: list[list[str]] = []
    elsewhere: list[list[str]] = []
    for name, policy in sorted(json.loads(aws_managed_policies_data).items()):
        if policy["Path"] in _OF_SERVICES:
            continue
        version, rows = policy["DefaultVersionId"].removeprefix("v"), statements(policy, asked)
        if not rows:
            elsewhere.append([name, version])
        elif name in chosen:
            giving += [[name, version, *row] for row in rows]
    return {
        _GIVING: _table([*_head(_GIVING, asked)], _COLUMNS, giving),
        _ELSEWHERE: _table([*_head(_ELSEWHERE, asked)], _COLUMNS[:2], elsewhere),
    }


def main() -> None:
    """Write both tables."""
    for file, text in made().items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
