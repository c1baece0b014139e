"""The door for application metrics: single values and lines of embedded metric format, sent on as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TextIO

from .application import TYPES, MetricError, application_metric, shown
from .embedded_format import LONGEST_LINE_BYTES, metrics_of
from .statsd import Metric

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")

Send = Callable[[Iterable[Metric]], None]
"""Sends metrics to the agent; raises OSError if it cannot."""


def is_number(text: str) -> bool:
    """Whether a text is a number as it may be given, which may be one below zero."""
    return _NUMBER.fullmatch(text) is not None


def emit_value(name: str, value: str, type_name: str, send: Send, errors: TextIO) -> int:
    """Send one value, a duration in milliseconds, and return the exit status: 0, or 1 after telling what is wrong."""
    try:
        if not is_number(value):
            raise MetricError(f"value must be a number, got {shown(value)}; write it like 12.5")
        send([application_metric(name, float(value), TYPES[type_name])])
    except (MetricError, OSError) as problem:
        _complain(errors, f"{problem}")
        return 1
    return 0


def emit_stream(stream: BinaryIO, send: Send, errors: TextIO) -> int:
    """Send what each line asks for as soon as it is read, until the stream ends, and return the exit status.

    It is 1 if anything could not be sent, which is told with the line's number; all else is sent nevertheless.
    """
    status = 0
    for number, line in enumerate(_lines(stream), 1):
        for problem in _emit_line(line, send):
            _complain(errors, f"line {number}: {problem}")
            status = 1
    return status


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; of one that is too long only the beginning, which is too long as well."""
    while True:
        line = stream.readline(LONGEST_LINE_BYTES + 1)
        if not line:
            return
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE_BYTES)
        yield line


def _emit_line(line: bytes, send: Send) -> list[str]:
    """Send a line's metrics and return what is wrong with the rest of it."""
    if not line.strip():
        return []
    try:
        metrics, problems = metrics_of(line)
        send(metrics)
    except MetricError as problem:
        return [f"{problem}"]
    except OSError as problem:
        return [f"not sent: {problem}"]
    return problems


def _complain(errors: TextIO, problem: str) -> None:
    print(f"accelerated-node emit: {problem}", file=errors, flush=True)
