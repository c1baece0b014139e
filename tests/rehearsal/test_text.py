"""The report as a text: legible at 80 columns, whatever it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from constructs_lib.plain_text import several
from constructs_lib.rehearsal.energy import Energy
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.report import Way
from constructs_lib.rehearsal.text import power
from constructs_lib.rehearsal.wording import clock, duration, money, number, share
from tests.rehearsal.made_records import MONDAY, cut_off, instance, job, long_run, record, rehearsal, two_jobs
from tests.rehearsal.test_page import with_everything


@pytest.mark.parametrize("made", [two_jobs, cut_off, record, long_run], ids=lambda each: each.__name__)
def test_it_fits_into_80_columns_of_ascii(made: Callable[[], Record]) -> None:
    written = with_everything(made()).as_text()

    assert max(map(len, written.splitlines())) <= 80
    assert written.isascii()
    assert written.endswith("\n")


def test_it_tells_what_matters() -> None:
    written = rehearsal(cut_off(), goal_s=600).as_text()

    assert "0 done, 1 interrupted (1 of them done again, 0.111 accelerator-hours\n  lost), 1 unfinished" in written
    assert "1 launch failed" in written
    assert "At zero: not reached" in written
    assert "50% within 10 min" in written.replace("\n  ", " ")
    assert "Cost: 1.06 USD" in written


def test_energy_is_told_with_what_is_missing() -> None:
    known = Energy(kwh=12.345, kg_co2e=3.2, reasons=(), sources=("somebody, 2026",))
    found = replace(rehearsal(two_jobs()), energy=known)
    assert "Energy: 12.3 kWh, 3.2 kg CO2e, an estimate\n" in found.as_text()
    assert "somebody, 2026" in found.as_html()

    unknown = Energy(kwh=None, kg_co2e=None, reasons=("nobody has published it",), sources=())
    assert power(unknown) == "not told (nobody has published it)"
    assert "not told (nobody has published it)" in replace(found, energy=unknown).as_html()
    assert power(Energy(kwh=1.0, kg_co2e=None, reasons=("no grid",), sources=())).endswith("estimate (no grid)")


def test_what_matters_most_comes_first() -> None:
    nothing = rehearsal(record(jobs=[job(0, None, None, instance=None)]))
    assert nothing.remarks[0].endswith("the group's capacity for 1 job.")
    assert nothing.as_text().index("Attention: ") < nothing.as_text().index("Accelerator-hours")
    assert "Attention: No instance" in nothing.as_html()

    left = rehearsal(record(jobs=[job(0, 300, 900)], instances=[instance(0, 300, None, None)]))
    assert left.remarks == ["When all was over there was still 1 instance, and the minimum is 0."]
    left.record.minimum = 1
    assert left.remarks == []

    assert rehearsal(two_jobs()).remarks == []
    assert rehearsal(cut_off()).remarks[-1].startswith("Work was cut off or left undone")


def test_a_type_that_is_not_in_the_catalogue_is_remarked_on() -> None:
    """A name that is written wrongly is played all the same, and nobody reads notes."""
    run = two_jobs()
    for each in run.instances:
        each.instance_type = "g6.xlargo"
    (remark,) = rehearsal(run).remarks
    assert remark == (
        "The catalogue of accelerated types does not have g6.xlargo: an instance was played with one accelerator."
    )


def test_what_a_terminal_would_obey_is_written_out() -> None:
    run = two_jobs()
    run.fleet = "Fleet\x1b[2J"
    found = rehearsal(run, trace="a\x07b\rc")
    written = replace(found, alternatives={"x": Way(title="\x9b1m", figures=found.figures, ratio=None)}).as_text()

    assert not [each for each in written if each != "\n" and not each.isprintable()]
    assert "Fleet\\x1b[2J" in written


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "-"), (0, "0 s"), (9.25, "9.25 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (30 * 86_400, "30 d")],
)
def test_lengths_of_time(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"), [(None, "-"), (0, "0%"), (1, "100%"), (0.5, "50%"), (0.9999, ">99.9%"), (0.0001, "<0.1%")]
)
def test_only_all_is_100_percent_and_only_nothing_is_none(value: float | None, said: str) -> None:
    assert share(value) == said


def test_numbers_money_and_moments() -> None:
    assert [number(each) for each in (None, 0, 1234.5, 12.345, 0.00001)] == ["-", "0", "1,234", "12.3", "1.0e-05"]
    assert [money(each) for each in (None, 12.345, 12_345.6)] == ["not known", "12.35 USD", "12,346 USD"]
    assert [several(1, "job"), several(2_000, "job"), several(0, "launch", "launches")] == [
        "1 job",
        "2,000 jobs",
        "0 launches",
    ]
    assert clock(MONDAY, 90_000) == "Tue 6 Jan 01:00"
