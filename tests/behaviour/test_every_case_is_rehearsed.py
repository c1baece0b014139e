"""Each field case that asks for a behaviour has a rehearsal of its own, found by its number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.stacks import ROOT

_CASES = ROOT.parent / "shared" / "field-cases.md"


def _behaviour_cases() -> set[int]:
    text = _CASES.read_text(encoding="utf-8").split("## Five faults")[0]
    cases = re.split(r"^### (?=\d)", text, flags=re.MULTILINE)[1:]
    return {int(each.split(".")[0]) for each in cases if re.search(r"\[(?:\w/)?B\]", each)}


def _rehearsed() -> set[int]:
    folder = Path(__file__).parent
    named = [each.name for each in folder.glob("test_case_*.py")]
    named += re.findall(r"def (test_case_\d+)", "".join(each.read_text() for each in folder.glob("test_*.py")))
    return {int(number) for name in named for number in re.findall(r"test_case_(\d+)", name)}


@pytest.mark.skipif(not _CASES.exists(), reason="the field cases are not beside this checkout")
def test_every_behaviour_case_has_a_rehearsal_that_bears_its_number() -> None:
    assert _behaviour_cases() - _rehearsed() == set()
