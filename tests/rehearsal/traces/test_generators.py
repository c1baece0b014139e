"""Traces that are made agree with the figures that were published, and with what was asked for."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import sqrt
from statistics import mean, median, pstdev, quantiles

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.traces import GENERATORS, generate

_DAY = 86_400
_NAMES = sorted(GENERATORS)


def _counts(trace: Trace, seconds: int, days: float) -> list[int]:
    counted = Counter(int(job.arrival_s // seconds) for job in trace.jobs)
    return [counted[place] for place in range(round(days * _DAY / seconds))]


def _gap_variation(trace: Trace) -> float:
    gaps = [later.arrival_s - earlier.arrival_s for earlier, later in pairwise(trace.jobs)]
    return pstdev(gaps) / mean(gaps)


@pytest.mark.parametrize("name", _NAMES)
def test_the_number_of_jobs_is_the_one_asked_for(name: str) -> None:
    trace = generate(name, days=3, jobs_per_day=400, seed=5)
    assert len(trace) == 1200
    assert 0 <= trace.jobs[0].arrival_s <= trace.span_s <= 3 * _DAY


@pytest.mark.parametrize("name", _NAMES)
def test_the_same_seed_makes_the_same_trace(name: str) -> None:
    one, again, other = (generate(name, days=2, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.jobs != other.jobs


@pytest.mark.parametrize("name", _NAMES)
def test_what_each_job_holds_and_how_long_it_takes_can_be_set(name: str) -> None:
    trace = generate(name, days=20, jobs_per_day=200, seed=1, accelerators=0.25, mean_service_s=90)
    assert {job.accelerators for job in trace.jobs} == {0.25}
    assert mean(job.service_s for job in trace.jobs) == pytest.approx(90, rel=0.2)


@pytest.mark.parametrize("name", _NAMES)
def test_a_trace_says_how_it_was_made(name: str) -> None:
    source = generate(name, days=0.5, jobs_per_day=10, seed=3).source
    assert source.startswith(f"made by generate('{name}', days=0.5, jobs_per_day=10, seed=3, accelerators=1): ")
    assert source.endswith(GENERATORS[name])


@settings(max_examples=30)
@given(st.sampled_from(_NAMES), st.floats(0.001, 5), st.floats(0.001, 300), st.integers(0, 2**40))
def test_jobs_are_in_order_and_within_the_days(name: str, days: float, jobs_per_day: float, seed: int) -> None:
    trace = generate(name, days=days, jobs_per_day=jobs_per_day, seed=seed)
    assert len(trace) == max(round(days * jobs_per_day), 1)
    arrivals = [job.arrival_s for job in trace.jobs]
    assert arrivals == sorted(arrivals)
    assert all(0 <= at <= days * _DAY + 0.001 for at in arrivals)
    assert all(job.service_s >= 0 for job in trace.jobs)


@pytest.mark.parametrize("seed", [0, 1])
def test_diurnal_has_servegens_day(seed: int) -> None:
    """m-small over 14 days: peak over mean of ten minutes 1.9 to 3.3 among the models; the quietest hour of a day 0.38
    to 0.66 of its busiest; in the mean day hour 20 has most, 1.43 times the mean, and the hours 1 to 6 least."""
    trace = generate("diurnal", days=14, jobs_per_day=7200, seed=seed)
    windows = _counts(trace, 600, 14)
    assert 1.8 < max(windows) / mean(windows) < 3.3
    hours = _counts(trace, 3600, 14)
    days = [hours[24 * day : 24 * day + 24] for day in range(14)]
    assert 0.33 < median(min(day) / max(day) for day in days) < 0.5
    usual = [mean(day[hour] for day in days) / mean(hours) for hour in range(24)]
    assert usual[20] == pytest.approx(1.4288, rel=0.15)
    assert usual.index(min(usual)) in range(1, 7)
    assert mean(usual[1:7]) == pytest.approx(0.724, rel=0.1)
    daily = [sum(day) for day in days]
    assert 0.05 < pstdev(daily) / mean(daily) < 0.3


@pytest.mark.parametrize("seed", [0, 1])
def test_bursts_have_azures_gaps(seed: int) -> None:
    """The code service, 8,819 requests in an hour: the gaps vary 13.15 times their mean, and the requests of a minute
    have a variance of 164 times their mean."""
    trace = generate("bursty", days=1 / 24, jobs_per_day=8819 * 24 * 10, seed=seed)
    assert _gap_variation(trace) == pytest.approx(13.15, rel=0.15)
    seconds = _counts(trace, 1, 1 / 24)
    sixes = [sum(seconds[place : place + 6]) for place in range(0, 3600, 6)]  # as many requests as in its minute
    assert pstdev(sixes) ** 2 / mean(sixes) == pytest.approx(164, rel=0.35)


def test_few_jobs_in_bursts_still_come_in_bursts() -> None:
    trace = generate("bursty", days=7, jobs_per_day=100, seed=1)
    assert 5 < _gap_variation(trace) <= sqrt(700)


@pytest.mark.parametrize("name", ["diurnal", "bursty", "silence"])
def test_lengths_are_those_of_azures_answers(name: str) -> None:
    """19,366 answers of 211 tokens on average: the median 129, the ninth decile 424 tokens."""
    lengths = [job.service_s for job in generate(name, days=20, jobs_per_day=500, seed=2).jobs]
    assert mean(lengths) == pytest.approx(180, rel=0.02)
    assert median(lengths) == pytest.approx(180 * 129 / 211, rel=0.05)
    assert quantiles(lengths, n=10)[8] == pytest.approx(180 * 424 / 211, rel=0.03)


def test_batches_come_at_night_with_the_lengths_of_pods() -> None:
    """Scheduled GPU pods of openb ran 655 s in the median and 7,389 s at the ninth decile, cut here at four hours."""
    trace = generate("batch-nights", days=20, jobs_per_day=500, seed=2)
    at_night = [job for job in trace.jobs if 3600 <= job.arrival_s % _DAY < 5400]
    assert len(at_night) / len(trace) == pytest.approx(0.8, abs=0.02)
    nights = Counter(int(job.arrival_s // _DAY) for job in at_night)
    assert len(nights) == 20
    lengths = [job.service_s for job in trace.jobs]
    assert max(lengths) <= 4 * 3600
    within = 0.5 / 0.948  # of the pods 5.2 % ran longer than four hours
    assert quantiles(lengths, n=1000)[round(1000 * within) - 1] == pytest.approx(655, rel=0.1)


def test_rare_jobs_are_as_long_as_phillys() -> None:
    """83,154 run times: median 1,186 s, ninth decile 12,859 s, and one in a hundred beyond 287,283 s."""
    trace = generate("rare-long", days=1000, seed=2)
    lengths = sorted(job.service_s for job in trace.jobs)
    assert len(trace) == 8000
    assert lengths[round(0.5 / 0.99 * 8000)] == pytest.approx(1186, rel=0.08)
    assert lengths[round(0.9 / 0.99 * 8000)] == pytest.approx(12_859, rel=0.2)
    assert lengths[-1] <= 287_283.2
    assert _gap_variation(trace) == pytest.approx(1, abs=0.06)


def test_silence_is_two_thirds_of_the_time() -> None:
    """GPUs of gentd26 did nothing in 67 % of the samples."""
    trace = generate("silence", days=150, jobs_per_day=500, seed=2)
    silent = [count == 0 for count in _counts(trace, 600, 150)]
    assert mean(silent) == pytest.approx(0.67, abs=0.05)


def test_the_mix_is_made_of_the_others() -> None:
    trace = generate("mix", days=10, jobs_per_day=1000, seed=4)
    for name, count in {"diurnal": 7000, "bursty": 2000, "batch-nights": 900, "rare-long": 100}.items():
        part = generate(name, days=10, jobs_per_day=count / 10, seed=4)
        assert set(part.jobs) <= set(trace.jobs)
        assert len(part) == count


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "diurnl"}, "name must be one of .* did you mean 'diurnal'"),
        ({"days": 0}, "days must be a number at most 3660 and above 0"),
        ({"days": 1e9}, "days must be"),
        ({"jobs_per_day": -1}, "jobs_per_day must be a number above 0"),
        ({"jobs_per_day": 1e7}, "jobs_per_day must be a number at most 1428571.4.*at most 10,000,000 jobs are made"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"accelerators": 0}, "accelerators must be a number at most 1000000.0 and above 0"),
        ({"mean_service_s": float("inf")}, "mean_service_s must be a number at most 2592000.0 and above 0"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_cannot_be_made_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        generate(**{"name": "diurnal", **wrong})  # type: ignore[arg-type]
