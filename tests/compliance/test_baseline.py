"""What an earlier run found does not count, new findings do, and what is gone is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.compliance.baseline import gone, read_baseline
from constructs_lib.compliance.formats.json import as_json
from constructs_lib.errors import ArgumentError
from tests.compliance.outcomes import GONE, RULE, checked, moved, outcome


def written(folder: Path, document: Any) -> Path:
    file = folder / "baseline.json"
    file.write_text(json.dumps(document))
    return file


def test_findings_and_known_ones_of_a_run_are_the_baseline_of_the_next(tmp_path: Path) -> None:
    first = outcome()
    baseline = read_baseline(written(tmp_path, as_json(first)))

    assert set(baseline) == {each.fingerprint for each in (*first.report.findings, *first.report.known)}
    assert checked(baseline).findings == ()


def test_a_finding_comes_back_as_it_was(tmp_path: Path) -> None:
    found = outcome().report.findings
    assert tuple(read_baseline(written(tmp_path, as_json(outcome()))).values())[: len(found)] == found


def test_lines_that_move_do_not_matter(tmp_path: Path) -> None:
    moved_down = {each.fingerprint for each in moved(checked(), 100).findings}
    assert moved_down == {each.fingerprint for each in checked().findings}


def test_what_is_gone_is_told_for_what_was_checked_alone() -> None:
    report = checked()
    baseline = {GONE.fingerprint: GONE, **{each.fingerprint: each for each in report.findings}}
    elsewhere = ("Other", *GONE.fingerprint[1:])

    assert gone(baseline, report, {RULE}) == (GONE,)
    assert gone(baseline, report, {"another-rule"}) == ()
    assert gone({elsewhere: GONE}, report, set()) == ()


def test_what_nobody_could_judge_this_time_is_not_gone() -> None:
    report = checked()
    (open_,) = report.not_judged
    was = GONE.fingerprint[0], open_.resource, open_.rule, "MetadataOptions.HttpTokens"
    assert gone({was: GONE}, report, {RULE}) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "be JSON"),
        ("[]", "be of schema accel-fleet/check/1"),
        ('{"schema": "accel-fleet/rehearse/1"}', "got 'accel-fleet/rehearse/1'"),
        ('{"schema": "accel-fleet/check/1", "findings": [1]}', "have findings as the check writes them"),
        ('{"schema": "accel-fleet/check/1", "findings": [{}]}', "have findings as the check writes them"),
        ("[" * 100_000, "be JSON"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(text)
    with pytest.raises(ArgumentError, match="check: baseline must") as caught:
        read_baseline(file)
    assert told in str(caught.value)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="a file that can be read"):
        read_baseline(tmp_path / "none.json")
