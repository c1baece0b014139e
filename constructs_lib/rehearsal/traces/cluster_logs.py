"""Logs of jobs in clusters of accelerators: Microsoft's Philly and Alibaba's openb pods."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from constructs_lib.rehearsal.trace import Job, TraceError
from constructs_lib.rehearsal.traces import times
from constructs_lib.rehearsal.traces.arrivals import Window, arrivals
from constructs_lib.rehearsal.traces.options import TraceOptions
from constructs_lib.rehearsal.traces.plain import LONGEST_S
from constructs_lib.rehearsal.traces.quantiles import Quantiles
from constructs_lib.rehearsal.traces.rows import Findings, Rows, cell_of, number

OPENB = ("num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time")
OPENB_REDUCED = ("submit_s", "queue_s", "duration_s", "num_gpu", "gpu_milli")
PHILLY_RUN_TIMES = ("quantile", "runtime_s")

_PHILLY_A_DAY = 117_325 / 137
_WEEK_S = 7 * 86_400.0
_NONE = {"", "none", "null", "nan"}


def openb(rows: Rows, findings: Findings) -> Iterator[Job]:
    """Read a pod list of Alibaba's cluster-trace-gpu-v2023.

    A pod arrives when it was created and works from when it was scheduled until it was deleted. It holds ``num_gpu``
    accelerators, or ``gpu_milli`` thousandths of one. Left out: pods without a GPU, and those never scheduled, of which
    nobody knows how long they would have worked.
    """
    gpus_at, milli_at, created_at, deleted_at, scheduled_at = rows.columns(*OPENB)
    for row in rows:
        try:
            held = _held(cell_of(row, gpus_at, OPENB[0]), cell_of(row, milli_at, OPENB[1]))
            created = number(cell_of(row, created_at, OPENB[2]), OPENB[2], at_most=LONGEST_S)
            deleted = number(cell_of(row, deleted_at, OPENB[3]), OPENB[3], at_most=LONGEST_S)
            at = cell_of(row, scheduled_at, OPENB[4])
            scheduled = None if at.strip().lower() in _NONE else number(at, OPENB[4], at_most=LONGEST_S)
            if scheduled is not None and not created <= scheduled <= deleted:
                raise ValueError("is not created, scheduled and deleted in this order")
        except ValueError as error:
            findings.add(rows.line, str(error))
            continue
        if not held:
            findings.left_out["pods without a GPU"] += 1
        elif scheduled is None:
            findings.left_out["pods that were never scheduled"] += 1
        else:
            yield Job(created, deleted - scheduled, held)


def openb_reduced(rows: Rows, findings: Findings) -> Iterator[Job]:
    """Read the same with seconds of submission, of waiting and of work; waiting is empty if it was never scheduled."""
    submitted_at, queue_at, duration_at, gpus_at, milli_at = rows.columns(*OPENB_REDUCED)
    for row in rows:
        try:
            held = _held(cell_of(row, gpus_at, "num_gpu"), cell_of(row, milli_at, "gpu_milli"))
            submitted = number(cell_of(row, submitted_at, "submit_s"), "submit_s", at_most=LONGEST_S)
            duration = number(cell_of(row, duration_at, "duration_s"), "duration_s", at_most=LONGEST_S)
            waited = cell_of(row, queue_at, "queue_s")
            scheduled = waited.strip().lower() not in _NONE
            if scheduled:
                number(waited, "queue_s", at_most=LONGEST_S)
        except ValueError as error:
            findings.add(rows.line, str(error))
            continue
        if not held:
            findings.left_out["pods without a GPU"] += 1
        elif not scheduled:
            findings.left_out["pods that were never scheduled"] += 1
        else:
            yield Job(submitted, duration, held)


def philly(text: str, where: str, findings: Findings) -> Iterator[Job]:
    """Read ``cluster_job_log`` of the Philly traces, a list in JSON.

    A job arrives when it was submitted. Each of its attempts counts as work, so its seconds are their sum. Of a job on
    several servers each server's part becomes a job of its own, for a job here runs on one instance; that the parts
    wait for one another is not kept. Left out: jobs that never ran, and attempts of which a time is missing.
    """
    try:
        entries = json.loads(text.lstrip("\ufeff"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise TraceError(f"{where}: the log must be a list in JSON; {error}") from error
    if not isinstance(entries, list):
        raise TraceError(f"{where}: the log must be a list of jobs in JSON, got {type(entries).__name__}")
    found: list[Job] = []
    for place, entry in enumerate(entries, start=1):
        try:
            parts = _parts(entry, findings)
            if parts and found and abs(parts[0].arrival_s - found[0].arrival_s) > LONGEST_S:
                raise ValueError("submitted more than ten years from the first job")
            found.extend(parts)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            findings.add(place, f"is no job of this log: {error!r}")
    first = min((job.arrival_s for job in found), default=0.0)
    for job in found:
        yield job._replace(arrival_s=job.arrival_s - first)


def philly_run_times(rows: Rows, options: TraceOptions, findings: Findings) -> Iterator[Job]:
    """Read quantiles of run times, ``quantile,runtime_s``, and draw jobs of one accelerator from them.

    They arrive as a Poisson process at the mean rate of the Philly log, 117,325 jobs from 2017-08-07 to 2017-12-22
    (856 a day) times ``scale``, for ``limit_s`` seconds or a week. There is no beginning that ``from_s`` could cut off.

    Raises:
        TraceError: there are fewer than two quantiles, or they do not rise.
    """
    share_at, seconds_at = rows.columns(*PHILLY_RUN_TIMES)
    known: list[tuple[float, float]] = []
    for row in rows:
        try:
            share = number(cell_of(row, share_at, "quantile"), "quantile", at_most=1)
            known.append((share, number(cell_of(row, seconds_at, "runtime_s"), "runtime_s", at_most=LONGEST_S)))
        except ValueError as error:
            findings.add(rows.line, str(error))
    rising = all(left[0] < right[0] and left[1] <= right[1] for left, right in pairwise(known))
    if len(known) < 2 or not rising:
        raise TraceError(f"{rows.where}: the rows must be two quantiles or more, in rising order, got {len(known)}")
    run_times = Quantiles(known)
    dice = random.Random(f"{options.seed}:philly")
    span_s = _WEEK_S if options.limit_s is None else options.limit_s
    for time in arrivals(dice, [Window(span_s, _PHILLY_A_DAY / 86_400 * span_s * options.scale)]):
        yield Job(round(time, 3), round(run_times.draw(dice), 3), 1.0)


def _parts(entry: dict[str, Any], findings: Findings) -> list[Job]:
    submitted = times.seconds(entry["submitted_time"])
    parts: dict[int, list[float]] = {}
    for attempt in entry["attempts"]:
        started, ended = attempt["start_time"], attempt["end_time"]
        if str(started).lower() in _NONE or str(ended).lower() in _NONE:
            findings.left_out["attempts without a time"] += 1
            continue
        work_s = times.seconds(ended) - times.seconds(started)
        if not 0 <= work_s <= LONGEST_S:
            raise ValueError("an attempt ends before it starts, or more than ten years later")
        for place, server in enumerate(attempt["detail"]):
            if server["gpus"]:
                part = parts.setdefault(place, [0.0, 0.0])
                part[0] += work_s
                part[1] = max(part[1], float(len(server["gpus"])))
    if not parts:
        findings.left_out["jobs that never ran"] += 1
    return [Job(submitted, work_s, held) for work_s, held in parts.values()]


def _held(gpus: str, milli: str) -> float:
    count = number(gpus, "num_gpu", at_most=1024)
    thousandths = number(milli, "gpu_milli", at_most=1000)
    return count if count > 1 else count * thousandths / 1000
