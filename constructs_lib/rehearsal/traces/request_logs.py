"""Logs of requests to language models, one a row: Azure's traces and BurstGPT."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from constructs_lib.rehearsal.trace import Job
from constructs_lib.rehearsal.traces import times
from constructs_lib.rehearsal.traces.options import TraceOptions
from constructs_lib.rehearsal.traces.plain import LONGEST_S
from constructs_lib.rehearsal.traces.rows import Findings, Rows, cell_of, number

AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
AZURE_OFFSETS = ("offset_s", "context_tokens", "generated_tokens")
BURSTGPT = ("Timestamp", "Model", "Request tokens", "Response tokens")

_MOST_TOKENS = 1e9


def azure(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read an LLM inference trace of Azure, of 2023 or 2024: when a request came, tokens of its prompt and its answer.

    Seconds count from the first row.
    """
    yield from _requests(rows, options, findings, AZURE, times.seconds)


def azure_offsets(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read the same with seconds from the start instead of points in time."""
    yield from _requests(rows, options, findings, AZURE_OFFSETS, _offset)


def burstgpt(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read a file of BurstGPT, with the columns for sessions or without.

    Seconds count from the first row. A request without a token of answer failed, and is left out.
    """
    time, model, prompt, answer = BURSTGPT
    yield from _requests(rows, options, findings, (time, prompt, answer), _offset, model=model)


def _requests(
    rows: Rows,
    options: TraceOptions,
    findings: Findings,
    names: tuple[str, str, str],
    time_of: Callable[[str], float],
    *,
    model: str = "",
) -> Iterator[Job]:
    time_at, prompt_at, answer_at = rows.columns(*names)
    model_at = rows.columns(model)[0] if model else 0
    share = 1 / options.rates.at_once
    first: float | None = None
    for row in rows:
        try:
            time = time_of(cell_of(row, time_at, names[0]))
            prompt = number(cell_of(row, prompt_at, names[1]), names[1], at_most=_MOST_TOKENS)
            answer = number(cell_of(row, answer_at, names[2]), names[2], at_most=_MOST_TOKENS)
            of_model = cell_of(row, model_at, model) if model else ""
        except ValueError as error:
            findings.add(rows.line, str(error))
            continue
        if first is None:
            first = time
        if abs(time - first) > LONGEST_S:
            findings.add(rows.line, f"{names[0]} is more than ten years from the first row's")
        elif model and options.model and of_model != options.model:
            findings.left_out["requests to other models"] += 1
        elif model and answer == 0:
            findings.left_out["requests without an answer"] += 1
        else:
            yield Job(time - first, options.rates.service_s(prompt, answer), share)


def _offset(cell: str) -> float:
    return number(cell, "the time")
