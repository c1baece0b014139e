"""Many small requests as fewer jobs of the same work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constructs_lib.rehearsal.trace import Job

_DIGITS = 9
"""Shares are rounded to so many, so that eight eighths are one accelerator and not a little more."""


def merged(jobs: Iterable[Job], within_s: float) -> Iterator[Job]:
    """Put requests together that one accelerator serves as one batch.

    A request joins the batch before it if it comes within ``within_s`` seconds of the batch's first one and there is
    room on the accelerator: the shares of a batch sum up to one at most. So a job that needs a whole accelerator or
    more stays by itself. The batch arrives with its first request, holds the sum of the shares, and takes their mean
    time, weighted by share: accelerator-seconds are the same as without merging, exactly but for rounding. What is lost
    is less than ``within_s`` of a request's own arrival and how the lengths within a batch differ. The wait of the
    batch is that of the request that came first, the longest of its requests.

    Requests are taken in the order given, so that a file of any length is merged while it is read.
    """
    batch: list[Job] = []
    held = 0.0
    for job in jobs:
        fits = batch and abs(job.arrival_s - batch[0].arrival_s) <= within_s
        if fits and round(held + job.accelerators, _DIGITS) <= 1:
            batch.append(job)
            held += job.accelerators
            continue
        if batch:
            yield _one_of(batch)
        batch, held = [job], job.accelerators
    if batch:
        yield _one_of(batch)


def _one_of(batch: list[Job]) -> Job:
    if len(batch) == 1:
        return batch[0]
    total = sum(job.accelerators for job in batch)
    held = round(total, _DIGITS) or total
    work = sum(job.service_s * job.accelerators for job in batch)
    return Job(min(job.arrival_s for job in batch), work / held, held)
