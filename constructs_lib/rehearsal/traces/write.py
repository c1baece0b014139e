"""A trace to a file that reads back as the same trace."""

from __future__ import annotations

from itertools import islice
from typing import TextIO

from constructs_lib.rehearsal.trace import Trace
from constructs_lib.rehearsal.traces.plain import COLUMNS

_ROWS_AT_ONCE = 10_000


def write_trace(trace: Trace, stream: TextIO) -> None:
    """Write a trace in the format of this library. What is read back has the same jobs, to the last bit, and source.

    The source goes into a line that begins with ``#``, above the header. Open the stream with ``newline=""``.
    """
    source = " ".join(trace.source.split())
    if source:
        stream.write(f"# {source}\n")
    stream.write(",".join(COLUMNS) + "\n")
    jobs = iter(trace.jobs)
    while rows := list(islice(jobs, _ROWS_AT_ONCE)):
        stream.write("".join(f"{_cell(job[0])},{_cell(job[1])},{_cell(job[2])}\n" for job in rows))


def _cell(value: float) -> str:
    return repr(value).removesuffix(".0")
