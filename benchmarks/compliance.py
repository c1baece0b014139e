"""What a check of templates takes: one without resources, and 500 and 10,000 of them, in JSON and in YAML.

    python -m benchmarks.compliance [--resources N ...] [--json]

The template is the fleet of the README as often as it takes, so that every rule has something to do. Plain is to start
Python and to parse the same file, with the json module or with PyYAML's C parser. Each run is a process of its own;
seconds are computing time of the whole process, its start and the output included. Bytecode is there, as pip leaves it
where it installs.

Exits with 1 when a run is beyond a bound: 0.5 s for a template without resources, 0.5 s for 500 resources and 5 s for
10,000, and no more time for a resource when there are more of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

RESOURCES = (500, 10_000)
FORMS = ("json", "yaml")

MOST_SECONDS = {0: 0.5, 500: 0.5, 10_000: 5.0}
MOST_GROWTH = 1.2
"""Seconds for a resource against those of the run with fewer: 1 is linear, less is what a run takes without any."""

_PLAIN = {
    "json": "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))",
    "yaml": "import sys, yaml; yaml.load(open(sys.argv[1], encoding='utf-8'), yaml.CSafeLoader)",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """So many resources, checked and parsed: seconds of computing."""

    form: str
    resources: int
    mebibytes: float
    ours: float
    plain: float

    @property
    def holds(self) -> bool:
        """Whether the check is within the bound."""
        return self.ours <= MOST_SECONDS.get(self.resources, 60.0)

    def __str__(self) -> str:
        ratio = self.ours / self.plain
        return (
            f"{self.resources:6,} resources, {self.mebibytes:5.1f} MiB of {self.form}: {self.ours:5.2f} s; "
            f"plain {self.plain:5.2f} s; {ratio:4.1f} x time: {'ok' if self.holds else 'BEYOND THE BOUND'}"
        )


def main() -> None:
    """Measure, print, and exit with 1 beyond a bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resources", type=int, nargs="+", default=RESOURCES, help="in each run; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    fleet = fleet_template()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            measured(form, repeated(fleet, RESOURCES[0]), Path(folder))  # writes bytecode
            for count in (0, *options.resources):
                rows.append(measured(form, repeated(fleet, count), Path(folder)))
                if not options.json:
                    print(rows[-1], flush=True)
    if options.json:
        print(json.dumps([{**asdict(row), "holds": row.holds} for row in rows], indent=2))
    sys.exit(0 if all(row.holds for row in rows) and all(is_linear(rows, form) for form in FORMS) else 1)


def is_linear(rows: Sequence[Row], form: str) -> bool:
    """Whether no resource takes longer for there being more of them."""
    some = sorted((row for row in rows if row.form == form and row.resources), key=lambda row: row.resources)
    return all(
        more.ours / more.resources <= MOST_GROWTH * fewer.ours / fewer.resources for fewer, more in pairwise(some)
    )


def measured(form: str, template: Mapping[str, Any], folder: Path) -> Row:
    """Check a template and parse it, each in a process of its own."""
    file = folder / f"template.{form}"
    text = json.dumps(template, indent=1) if form == "json" else yaml.dump(template, Dumper=yaml.CSafeDumper)
    file.write_text(text, encoding="utf-8")
    return Row(
        form=form,
        resources=len(template["Resources"]),
        mebibytes=len(text) / 2**20,
        ours=_seconds(folder, "-m", "constructs_lib.cli", "check", str(file), "--format", "json", "--fail-on", "none"),
        plain=_seconds(folder, "-c", _PLAIN[form], str(file)),
    )


def _seconds(folder: Path, *arguments: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fleet_template() -> dict[str, Any]:
    """The template of the fleet of the README."""
    from aws_cdk import App

    from benchmarks.ours import build

    app = App()
    build(app, "Fleet")
    template: dict[str, Any] = app.synth().stacks[0].template
    return template


def repeated(template: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A template with so many resources: those of a template again and again, each time under other names."""
    resources: dict[str, Any] = {}
    number = 0
    while len(resources) < count:
        names = {id: f"{id}{number}" for id in template["Resources"]}
        for id, each in template["Resources"].items():
            if len(resources) < count:
                resources[names[id]] = renamed(each, names)
        number += 1
    rest = {key: value for key, value in template.items() if key in ("Parameters", "Conditions", "Mappings")}
    return {**rest, "Resources": resources}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A value whose references are to other names."""
    if isinstance(value, dict):
        return {key: _referred(key, each, names) for key, each in value.items()}
    return [renamed(each, names) for each in value] if isinstance(value, list) else value


def _referred(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if key == "Ref" and isinstance(value, str):
        return names.get(value, value)
    if key == "Fn::GetAtt" and isinstance(value, list):
        return [names.get(value[0], value[0]), *value[1:]]
    return renamed(value, names)


if __name__ == "__main__":
    main()
