"""Traces that are made: as much work as asked for, in a shape that published figures give.

Every generator takes the same parameters; a seed makes the same trace wherever it runs. Hours of the day count from the
start of the trace. What a shape is made to agree with stands with it, and the figures in the tables of ``data/``, with
source and licence. What no source gives is an assumption, and said to be one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from math import ceil, exp, sqrt
from types import MappingProxyType

from constructs_lib import validation
from constructs_lib.collecting import without_collecting
from constructs_lib.rehearsal.trace import Job, Trace
from constructs_lib.rehearsal.traces import tables
from constructs_lib.rehearsal.traces.arrivals import Window, spread
from constructs_lib.rehearsal.traces.plain import MOST_ACCELERATORS
from constructs_lib.rehearsal.traces.quantiles import Quantiles

_WHERE = "generate"
_DAY_S = 86_400.0
_WINDOW_S = 600.0
_WINDOWS_A_DAY = 144
_MOST_JOBS = 10_000_000

_NIGHT_FROM_S, _NIGHT_SPREAD_S = 3600.0, 1800.0
_NIGHT_SHARE = 0.8
_LONGEST_BATCH_JOB_S = 4 * 3600.0
_ACTIVE_S = 2 * 3600.0
_LONGEST_MEAN_S = 30 * _DAY_S
_MIXED = {"diurnal": 0.7, "bursty": 0.2, "batch-nights": 0.09, "rare-long": 0.01}


@dataclass(frozen=True)
class Shape:
    """One shape of work.

    Attributes:
        description: one line for people.
        jobs_per_day: unless asked for otherwise.
        windows: when jobs are expected, given the dice and the length in seconds; relative to one another.
        service_s: how long a job takes.
        variation: of the gaps between jobs: their standard deviation over their mean. Default: 1, that of chance.
    """

    description: str
    jobs_per_day: float
    windows: Callable[[random.Random, float], list[Window]]
    service_s: Callable[[], Quantiles]
    variation: Callable[[], float] = lambda: 1.0


def generate(
    name: str,
    *,
    days: float = 7.0,
    jobs_per_day: float | None = None,
    seed: int = 0,
    accelerators: float = 1.0,
    mean_service_s: float | None = None,
) -> Trace:
    """Make a trace.

    Args:
        name: one of :data:`GENERATORS`.
        days: how long work comes. Default: 7.
        jobs_per_day: on average; the trace has this number times the days, rounded, and at least one. Default: 1,000;
            200 for batch-nights, 50 for silence, 8 for rare-long.
        seed: of everything that is drawn. Default: 0.
        accelerators: that each job holds. Default: 1.
        mean_service_s: seconds that a job takes on average; the shape of the distribution stays. Default: 180 for work
            that people wait for, which is an assumption; what the source has for batches and long jobs.

    Returns:
        The trace. Times are whole milliseconds.

    Raises:
        ArgumentError: an argument has the wrong type or is out of range.
    """
    cure = "see GENERATORS for what each is"
    validation.one_of(_WHERE, "name", name, GENERATORS, cure=cure)
    validation.number(_WHERE, "days", days, above=0, maximum=3660, cure="write 7 for a week")
    validation.integer(_WHERE, "seed", seed, cure="write a whole number")
    most = MOST_ACCELERATORS
    validation.number(
        _WHERE, "accelerators", accelerators, above=0, maximum=most, cure="write 0.25 for a quarter of one"
    )
    if jobs_per_day is not None:
        validation.number(_WHERE, "jobs_per_day", jobs_per_day, above=0, cure="leave it out for the usual number")
    if mean_service_s is not None:
        cure = "leave it out for what the source has"
        validation.number(_WHERE, "mean_service_s", mean_service_s, above=0, maximum=_LONGEST_MEAN_S, cure=cure)
    a_day = _usual(name) if jobs_per_day is None else jobs_per_day
    most = _MOST_JOBS / days
    validation.number(_WHERE, "jobs_per_day", a_day, maximum=most, cure=f"at most {_MOST_JOBS:,} jobs are made")
    counts = _mixed(round(a_day * days)) if name == _MIX else {name: max(round(a_day * days), 1)}
    streams = [_jobs(part, days, count, seed, accelerators, mean_service_s) for part, count in counts.items()]
    with without_collecting():
        jobs = tuple(merge(*streams))
    source = (
        f"made by generate({name!r}, days={days:g}, jobs_per_day={a_day:g}, seed={seed}, accelerators={accelerators:g}"
    )
    mean = "" if mean_service_s is None else f", mean_service_s={mean_service_s:g}"
    return Trace(jobs, name, f"{source}{mean}): {GENERATORS[name]}")


def _jobs(
    name: str, days: float, count: int, seed: int, accelerators: float, mean_service_s: float | None
) -> Iterator[Job]:
    """Draw the jobs of one shape, in the order of arrival.

    What is drawn about the days does not depend on how many jobs come, so that more jobs are the same days with more.
    """
    shape = _SHAPES[name]
    service = shape.service_s()
    if mean_service_s is not None:
        service = service.scaled_to(mean_service_s)
    windows = shape.windows(random.Random(f"{seed}:{name}:days"), days * _DAY_S)
    dice = random.Random(f"{seed}:{name}:jobs")
    for time in spread(dice, windows, count, shape.variation()):
        yield Job(round(time, 3), round(service.draw(dice), 3), accelerators)


def _days(dice: random.Random, span_s: float, hours: tuple[float, ...]) -> list[Window]:
    """Windows of ten minutes: the hours of the day, days that differ, and a rate that wanders within the hour."""
    figures = tables.figures()
    memory, wander = figures["window_memory"], figures["window_to_window"]
    off = dice.gauss(0, wander)
    windows = []
    for place in range(ceil(span_s / _WINDOW_S)):
        if place % _WINDOWS_A_DAY == 0:
            day = dice.gauss(0, figures["day_to_day"])
        seconds = min(_WINDOW_S, span_s - place * _WINDOW_S)
        hour = hours[int(place * _WINDOW_S // 3600) % 24]
        windows.append(Window(seconds, seconds * hour * exp(day + off)))
        off = memory * off + sqrt(1 - memory**2) * dice.gauss(0, wander)
    return windows


def _diurnal(dice: random.Random, span_s: float) -> list[Window]:
    return _days(dice, span_s, tables.hours("m-small"))


def _bursty(dice: random.Random, span_s: float) -> list[Window]:
    return _days(dice, span_s, tables.hours("m-large"))


def _nights(dice: random.Random, span_s: float) -> list[Window]:
    """Each night from one o'clock for half an hour, four fifths of the day's jobs; the others at any time."""
    at_night = _NIGHT_SHARE / _NIGHT_SPREAD_S * _DAY_S + (1 - _NIGHT_SHARE)
    at_day = 1 - _NIGHT_SHARE
    after_s = _DAY_S - _NIGHT_FROM_S - _NIGHT_SPREAD_S
    day = [(_NIGHT_FROM_S, at_day), (_NIGHT_SPREAD_S, at_night), (after_s, at_day)]
    return _cut([each for _ in range(ceil(span_s / _DAY_S)) for each in day], span_s)


def _evenly(dice: random.Random, span_s: float) -> list[Window]:
    return [Window(span_s, span_s)]


def _silence(dice: random.Random, span_s: float) -> list[Window]:
    """Times of work and longer ones without, both of random length."""
    share = tables.figures()["silent_share"]
    silent_s = _ACTIVE_S * share / (1 - share)
    periods: list[tuple[float, float]] = []
    at = 0.0
    while at < span_s:
        for mean_s, rate in ((silent_s, 0.0), (_ACTIVE_S, 1.0)):
            length_s = dice.expovariate(1 / mean_s)
            periods.append((length_s, rate))
            at += length_s
    windows = _cut(periods, span_s)
    return windows if any(window.expected for window in windows) else _evenly(dice, span_s)


def _cut(periods: list[tuple[float, float]], span_s: float) -> list[Window]:
    windows = []
    at = 0.0
    for length_s, rate in periods:
        seconds = min(length_s, span_s - at)
        if seconds <= 0:
            break
        windows.append(Window(seconds, seconds * rate))
        at += seconds
    return windows


def _answers() -> Quantiles:
    return tables.azure_answers().scaled_to(180)


def _pods() -> Quantiles:
    figures = tables.figures()
    return Quantiles.lognormal(figures["pod_median_s"], figures["pod_p90_s"], longest=_LONGEST_BATCH_JOB_S)


_SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "diurnal": Shape(
            "people at work by day: hours, days and ten minutes vary as requests to ServeGen's m-small do,"
            " lengths as answers of Azure's conversation service (2023)",
            1000,
            _diurnal,
            _answers,
        ),
        "bursty": Shape(
            "bursts: gaps vary as those of Azure's code service (2023), 13 times their mean, hours as requests to"
            " ServeGen's m-large, lengths as answers of Azure's conversation service (2023)",
            1000,
            _bursty,
            _answers,
            lambda: tables.figures()["gap_variation"],
        ),
        "batch-nights": Shape(
            "four fifths of the jobs between 01:00 and 01:30 (assumed), lengths as GPU pods in Alibaba's openb (2023),"
            " up to four hours",
            200,
            _nights,
            _pods,
        ),
        "rare-long": Shape(
            "a few jobs at any time, lengths as on Microsoft's Philly (2017): median 20 minutes, the longest for days",
            8,
            _evenly,
            tables.philly_run_times,
        ),
        "silence": Shape(
            "nothing for 67 % of the time, as GPUs in Alibaba's gentd26, and work for two hours on average (assumed)"
            " in between",
            50,
            _silence,
            _answers,
        ),
    }
)
_MIX = "mix"

GENERATORS: Mapping[str, str] = MappingProxyType(
    {
        **{name: each.description for name, each in _SHAPES.items()},
        _MIX: "of the jobs 70 % diurnal, 20 % bursty, 9 % batch-nights and 1 % rare-long (shares assumed)",
    }
)
"""What each generator makes, in a line, by name."""


def _mixed(count: int) -> dict[str, int]:
    """Share jobs out. What rounding leaves is the first one's."""
    counts = {name: round(count * share) for name, share in _MIXED.items()}
    first = next(iter(counts))
    counts[first] += max(count, 1) - sum(counts.values())
    return counts


def _usual(name: str) -> float:
    return 1000.0 if name == _MIX else _SHAPES[name].jobs_per_day
