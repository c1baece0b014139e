"""The tables that traces are made from say where they come from; the example's trace can be made again."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from pathlib import Path
from statistics import mean

import pytest

from constructs_lib.rehearsal.traces import generate, read_trace, tables
from constructs_lib.rehearsal.traces.quantiles import Quantiles

_DATA = files("constructs_lib.rehearsal.traces") / "data"
_TABLES = sorted(entry.name for entry in _DATA.iterdir() if entry.name.endswith(".csv"))
_EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "inference_queue" / "trace.csv"
_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "trace"


@pytest.mark.parametrize("name", _TABLES)
def test_a_table_says_where_it_comes_from(name: str) -> None:
    header = [line for line in (_DATA / name).read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    text = " ".join(header)
    assert "Source:" in text
    assert re.search(r"20\d\d", text)
    assert all(len(line) <= 130 for line in header)


@pytest.mark.parametrize("name", ["azure_answers.csv", "philly_run_times.csv"])
def test_adapted_tables_carry_their_licence_and_what_was_changed(name: str) -> None:
    text = (_DATA / name).read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert "Changes:" in text


def test_hours_are_shares_of_their_mean() -> None:
    for model in ("m-large", "m-small"):
        hours = tables.hours(model)
        assert len(hours) == 24
        assert mean(hours) == pytest.approx(1, abs=0.01)


def test_lengths_have_the_published_means() -> None:
    """m-large 914.3 tokens in and 155.1 out; deepseek-r1 1,268.2 and 1,527.4; mm-image 572.1 and 649.8 in."""
    lengths = tables.token_lengths()
    means = {model: [*(each.mean for each in prompt), answer.mean] for model, (prompt, answer) in lengths.items()}
    assert means["m-large"] == pytest.approx([914.3, 155.1])
    assert means["deepseek-r1"] == pytest.approx([1268.2, 1527.4])
    assert means["mm-image"] == pytest.approx([572.1, 649.8, 129.7])


@pytest.mark.skipif(not _SHARED.is_dir(), reason="the published traces are not beside this checkout")
def test_run_times_are_the_published_quantiles() -> None:
    with (_SHARED / "philly_runtime_quantiles.csv").open(encoding="utf-8") as stream:
        published = {row["quantile"]: float(row["runtime_s"]) for row in csv.DictReader(stream)}
    with (_DATA / "philly_run_times.csv").open(encoding="utf-8") as stream:
        ours = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    assert len(ours) == 28
    for row in ours:
        assert float(row["seconds"]) == pytest.approx(published[str(float(row["quantile"]))], abs=0.05)


def test_values_lie_on_straight_lines_between_the_known_ones() -> None:
    known = Quantiles([(0, 10), (0.5, 20), (1, 100)])
    assert [known.at(share) for share in (0, 0.25, 0.5, 0.75, 1)] == [10, 15, 20, 60, 100]
    assert known.mean == 37.5
    assert known.scaled_to(75).at(0.5) == 40


def test_the_ends_are_chosen_so_that_the_mean_is_right() -> None:
    """Half of the values are at most 10 and 5 on average; so the others are 35 on average, and 60 at most."""
    assert Quantiles.with_mean([(0.5, 10)], 20).at(1) == pytest.approx(60)
    assert Quantiles.with_mean([(0.5, 10), (0.9, 100)], 20).mean == pytest.approx(20)


def test_a_lognormal_distribution_has_its_two_quantiles() -> None:
    made = Quantiles.lognormal(100, 400, longest=1e9)
    assert made.at(0.5) == pytest.approx(100, rel=0.01)
    assert made.at(0.9) == pytest.approx(400, rel=0.01)


def test_the_examples_trace_can_be_made_again() -> None:
    """Two nights of jobs, four at a time on the accelerator of an instance."""
    made = generate("batch-nights", days=2, jobs_per_day=700, seed=11, accelerators=0.25, mean_service_s=100)
    example = read_trace(_EXAMPLE)
    assert example.jobs == made.jobs
    assert example.source == made.source


def test_the_examples_jobs_end_before_their_messages_come_back() -> None:
    example = read_trace(_EXAMPLE)
    assert len(example) == 1_400
    assert example.longest_job_s < 15 * 60
    assert example.peak() > 8  # more than the fleet of eight instances has
