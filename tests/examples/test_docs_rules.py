"""docs/rules.md: it is as its script writes it, and each rule stands under its practices."""

from __future__ import annotations

import re

from constructs_lib.compliance.explain import DESCRIBED
from constructs_lib.compliance.practices import PRACTICES
from scripts.rules_document import DOCUMENT, rules_document

TEXT = rules_document()


def test_it_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == TEXT, "python -m scripts.rules_document writes it"


def test_every_rule_stands_under_each_practice_that_it_serves() -> None:
    pages = re.split(r"^## \[([\w/-]+)\].*$", TEXT, flags=re.MULTILINE)[1:]
    written = {
        id: set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE))
        for id, page in zip(pages[::2], pages[1::2], strict=True)
    }
    served: dict[str, set[str]] = {}
    for rule in DESCRIBED.values():
        for id in rule.practices:
            served.setdefault(id, set()).add(rule.id)
    assert written == served


def test_no_practice_is_there_that_nobody_serves() -> None:
    assert set(PRACTICES) == {id for rule in DESCRIBED.values() for id in rule.practices}
