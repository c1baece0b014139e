"""Rates of requests to language models, as ServeGen publishes them, turned into requests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from heapq import merge
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from constructs_lib.rehearsal.trace import Job, TraceError
from constructs_lib.rehearsal.traces.arrivals import Window, arrivals
from constructs_lib.rehearsal.traces.options import TraceOptions
from constructs_lib.rehearsal.traces.plain import LONGEST_S
from constructs_lib.rehearsal.traces.quantiles import Quantiles
from constructs_lib.rehearsal.traces.rows import Findings, Rows, cell_of, decoding, number, opened
from constructs_lib.rehearsal.traces.tables import token_lengths
from constructs_lib.validation import closest

RATES = ("model", "offset_s", "rate_req_s", "active_clients", "rate_weighted_cv")
CHUNKS = "chunk-*-trace.csv"

_CHUNK = ("time", "rate", "cv", "pattern", "shape", "scale")
_PATTERNS = {"", "Gamma", "Weibull"}
_MOST_REQUESTS = 5_000_000
_NARROWEST, _WIDEST = 0.05, 5.0
"""How little and how much gaps may vary. What a file of all clients has is the mean of each client's, weighted by rate,
and a single client that sends everything at once brings it to 30."""


class _Rate(NamedTuple):
    offset_s: float
    rate: float
    variation: float


def rates(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read the rates of all clients together: ``model,offset_s,rate_req_s,active_clients,rate_weighted_cv``.

    Within a window requests come as a Gamma renewal process whose gaps vary as the file says, at most fivefold. A
    window of rate 0 among others is one of which the data are missing, for these services never rest: its rate is
    drawn on a straight line between its neighbours. Tokens are drawn from ServeGen's percentiles of the model.
    """
    columns = rows.columns(*RATES)
    by_model: dict[str, list[_Rate]] = {}
    for row in rows:
        try:
            model, time, rate, _, variation = (cell_of(row, at, name) for at, name in zip(columns, RATES, strict=True))
            offset_s = number(time, "offset_s", at_most=LONGEST_S)
            requests = number(rate, "rate_req_s", at_most=1e9)
            spread = number(variation, "rate_weighted_cv") if variation.strip() else 0.0
        except ValueError as error:
            findings.add(rows.line, str(error))
            continue
        by_model.setdefault(model.strip(), []).append(_Rate(offset_s, requests, _usable(spread)))
    chosen = _chosen(rows.where, by_model, options)
    read = sorted(by_model.get(chosen, []))
    filled, gaps = _filled(read)
    findings.filled += gaps
    yield from _requests(rows.where, {chosen: filled}, chosen, options)


def chunk(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read the rates of one client, ``chunk-N-trace.csv``: no header; time, rate, CV, and two parameters of a fit.

    A rate of 0 is a client at rest. Gaps are drawn from a Gamma distribution by their CV, also where the file has the
    parameters of a Weibull distribution. The model, which gives the lengths, is the option's or the folder's name.
    """
    where = Path(rows.where)
    model = _known(rows.where, options.model or where.parent.name)
    yield from _requests(rows.where, {where.name: _client(rows, findings)}, model, options)


def chunks(folder: Path, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read all clients of a model, the files ``chunk-*-trace.csv`` of a folder, each with gaps of its own.

    Raises:
        TraceError: the folder has none.
    """
    clients: dict[str, list[_Rate]] = {}
    for path in sorted(folder.glob(CHUNKS)):
        with decoding(str(path)), opened(path) as stream:
            findings.unit = f"{path.name}, line"
            clients[path.name] = _client(Rows(stream, str(path), findings), findings)
    if not clients:
        raise TraceError(f"{folder}: the trace must be a file, or a folder with ServeGen's {CHUNKS}, and it has none")
    model = _known(str(folder), options.model or folder.resolve().name)
    yield from _requests(str(folder), clients, model, options)


def is_chunk(cells: list[str]) -> bool:
    """Whether a first row is that of a client's rates."""
    try:
        return len(cells) == len(_CHUNK) and cells[3].strip() in _PATTERNS and float(cells[0]) >= 0
    except ValueError:
        return False


def _client(rows: Rows, findings: Findings) -> list[_Rate]:
    read = []
    for row in chain([rows.first], rows):
        try:
            offset_s = number(cell_of(row, 0, "time"), "time", at_most=LONGEST_S)
            rate = number(cell_of(row, 1, "rate"), "rate", at_most=1e9)
            variation = number(cell_of(row, 2, "cv"), "cv")
        except ValueError as error:
            findings.add(rows.line, str(error))
            continue
        read.append(_Rate(offset_s, rate, _usable(variation)))
    return sorted(read)


def _usable(variation: float) -> float:
    """Return how much the gaps vary. Where the file says 0 it does not know, and Poisson is taken."""
    return min(max(variation, _NARROWEST), _WIDEST) if variation else 1.0


def _chosen(where: str, by_model: dict[str, list[_Rate]], options: TraceOptions) -> str:
    if not by_model:
        return options.model
    if options.model in by_model:
        return _known(where, options.model)
    if not options.model and len(by_model) == 1:
        return _known(where, next(iter(by_model)))
    asked = f"got {options.model!r}" if options.model else "got none"
    meant = closest(options.model, by_model)
    raise TraceError(
        f"{where}: the model must be one of those in the file, {', '.join(by_model)}, {asked}; {meant}name one"
    )


def _known(where: str, model: str) -> str:
    if model in token_lengths():
        return model
    known = ", ".join(token_lengths())
    raise TraceError(
        f"{where}: the model must be one whose lengths of prompts and answers are known, {known}, got {model!r};"
        " name the one that is most like yours"
    )


def _filled(read: list[_Rate]) -> tuple[list[_Rate], int]:
    """Put a rate into each window without data, between those before and after it."""
    known = [place for place, each in enumerate(read) if each.rate > 0]
    filled = list(read)
    for before, after in pairwise(known):
        for place in range(before + 1, after):
            left, right = read[before], read[after]
            share = (place - before) / (after - before)
            rate = left.rate + (right.rate - left.rate) * share
            filled[place] = _Rate(read[place].offset_s, rate, left.variation)
    return filled, sum(each.rate > 0 for each in filled) - len(known)


def _requests(where: str, clients: dict[str, list[_Rate]], model: str, options: TraceOptions) -> Iterator[Job]:
    streams = {name: _windows(read, options) for name, read in clients.items()}
    expected = sum(window.expected for windows in streams.values() for window in windows)
    if expected > _MOST_REQUESTS:
        most = float(f"{options.scale * _MOST_REQUESTS / expected:.1g}")
        raise TraceError(
            f"{where}: the rates must add up to at most {_MOST_REQUESTS:,} requests, got {expected:,.0f};"
            f" take less of the load (scale={most:g} or so) or less of the time (limit_s)"
        )
    if not expected:
        return
    prompt, answer = token_lengths()[model]
    timed = [
        _one_stream(f"{options.seed}:{name}", windows, prompt, answer, options) for name, windows in streams.items()
    ]
    yield from merge(*timed) if len(timed) > 1 else timed[0]


def _one_stream(
    seed: str, windows: list[Window], prompt: tuple[Quantiles, ...], answer: Quantiles, options: TraceOptions
) -> Iterator[Job]:
    dice = random.Random(seed)
    share = 1 / options.rates.at_once
    for time in arrivals(dice, windows):
        service_s = options.rates.service_s(sum(each.draw(dice) for each in prompt), answer.draw(dice))
        yield Job(round(time, 3), round(service_s, 3), share)


def _windows(read: list[_Rate], options: TraceOptions) -> list[Window]:
    """Cut the windows to the part of the time that is taken, and scale their rates."""
    if not read:
        return []
    steps = [later.offset_s - earlier.offset_s for earlier, later in pairwise(read)]
    usual = min((step for step in steps if step > 0), default=600.0)
    first, last = options.from_s, options.from_s + options.limit_s if options.limit_s is not None else float("inf")
    windows: list[Window] = []
    at = first
    for each, step in zip(read, [*steps, usual], strict=True):
        begin, end = max(each.offset_s, first), min(each.offset_s + min(step, usual), last)
        if end > begin:
            if begin > at:
                windows.append(Window(begin - at, 0))
            windows.append(Window(end - begin, each.rate * options.scale * (end - begin), each.variation))
            at = end
    return windows
