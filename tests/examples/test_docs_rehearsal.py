"""docs/rehearsal.md: the options, formats, shapes and figures that it names are there, and its code runs."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from constructs_lib.cli.command import main
from constructs_lib.rehearsal.figures import figures_of
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.traces import FORMATS, GENERATORS, read_trace
from constructs_lib.rightsizing.cold_start import IMAGE_GB
from constructs_lib.rightsizing.start_stages import start_stages
from tests.rehearsal.made_records import rehearsal, two_jobs
from tests.rehearsal.test_page import tuning
from tests.support.stacks import ROOT

TEXT = (ROOT / "docs" / "rehearsal.md").read_text(encoding="utf-8")


def _first_cells(head: str) -> set[str]:
    """The names in the first column of the table whose first head is this."""
    table = TEXT.partition(f"| {head} |")[2].partition("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`([\w-]+)`", line.split("|")[1])}


def test_every_option_is_one_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", TEXT))
    assert named <= known
    assert known - named == {"--help"}


def test_every_format_and_shape_is_named() -> None:
    assert _first_cells("format") == set(FORMATS)
    assert _first_cells("name") == set(GENERATORS)


def test_figures_have_the_keys_of_the_report() -> None:
    known = figures_of(Record(fleet="Fleet", accelerators=1, minimum=0, maximum=1), cost_usd=None).as_json()
    table = TEXT.partition("| figure |")[2].partition("\n\n")[0]
    named = {key for line in table.splitlines()[2:] for key in re.findall(r"`([a-z_]+_?[a-z]+)`", line.split("|")[2])}
    assert named - known.keys() == {"optimum", "ratio_to_optimum"}


def test_every_key_of_the_report_is_named() -> None:
    found = rehearsal(two_jobs(), goal_s=60)
    document = replace(found, tuning=tuning(found)).as_json()
    trials = document["tuning"]["trials"][0].keys() - document.keys()

    assert [key for key in (*document, "trials", *sorted(trials)) if f"`{key}`" not in TEXT] == []


def test_the_trace_is_one() -> None:
    (text,) = re.findall(r"```csv\n(.*?)```", TEXT, re.DOTALL)
    assert [tuple(job) for job in read_trace(io.StringIO(text)).jobs] == [(0, 600, 1), (42.5, 60, 0.5)]


def test_the_stages_are_those_of_the_table() -> None:
    stages = start_stages()
    boot, driver, image, server, weights = (
        stages[name].median for name in ("boot", "driver", "image", "server", "weights")
    )
    for said in (
        f"| boot | {boot:g} s |",
        f"| driver | {driver / 60:.0f} minutes, at most {stages['driver'].quantiles[-1][1] / 60:.0f} |",
        f"| image | {image:.1f} s a GB | a container image of {IMAGE_GB:g} GB",
        f"| server | {server:g} s |",
        f"| weights | {weights:.1f} s a GB | 16.06 GB",
        f"3 of {stages['capacity'].measured} launches waited 9 to 28 minutes",
        f"in {stages['stopped'].median:.0f} s and loads",
    ):
        assert said in TEXT


def test_the_code_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(code, "docs", "exec"), {})
    # 31 s of boot, 6 GB of 10.42 s and a server of 66 s.
    assert float(capsys.readouterr().out) == pytest.approx(31 + 6 * 10.42 + 66)
