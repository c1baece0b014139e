"""Write docs/rules.md: the practices, and the rules that serve each of them.

python -m scripts.rules_document [--output FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from constructs_lib.compliance.explain import DESCRIBED
from constructs_lib.compliance.practices import PRACTICES
from constructs_lib.compliance.rule import Rule

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
_HEAD = """\
# Rules

What `accel-fleet check` asks of templates ([how](compliance.md)). This page is written by
`python -m scripts.rules_document`; `accel-fleet check --explain ID` says why a rule is there and how it is kept. An
*error* loses work or money, or makes a deploy or a launch fail; a *warning* works, and costs more, is less safe or
harder to run than it need be.

Practices are those of the AWS Well-Architected Framework. SUS05-BP04, "Optimize your use of hardware-based compute
accelerators", is taken apart into its steps: choose, measure, tune, release.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="default: the page of this checkout")
    parser.parse_args().output.write_text(rules_document(), encoding="utf-8", newline="\n")


def rules_document() -> str:
    """The page: a table for each practice."""
    parts = [_HEAD]
    for id, practice in PRACTICES.items():
        served = [rule for rule in DESCRIBED.values() if id in rule.practices]
        if served:
            parts += [f"## [{id}]({practice.url}) {practice.title}\n", "\n".join(_table(id, served)) + "\n"]
    return "\n".join(parts)


def _table(practice: str, rules: Iterable[Rule[Any]]) -> Iterator[str]:
    yield "| rule | severity | what must hold |"
    yield "| --- | --- | --- |"
    # Those that serve it first, and then those that serve it besides.
    for rule in sorted(rules, key=lambda each: each.practices.index(practice) > 0):
        yield f"| `{rule.id}` | {rule.severity} | {_cell(rule.title)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
