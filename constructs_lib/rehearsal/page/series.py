"""What a run had at each moment, and that summed up in columns of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from constructs_lib.rehearsal.figures import uses
from constructs_lib.rehearsal.record import Record

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_MOST_COLUMNS = 480
_WIDTHS = (
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    _DAY,
)

Steps = Sequence[tuple[float, float]]
"""From when on there was how much, in the order of time."""


@dataclass(frozen=True)
class Column:
    """What a stretch of time had on average, and at most."""

    mean: float
    peak: float


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A run in columns of ``width_s`` seconds each, the first of which begins with the trace.

    Attributes:
        width_s: of a column.
        wanted: accelerators that jobs wanted which had arrived and were not done.
        paid: accelerators of instances that were paid.
        used: accelerators at work.
    """

    width_s: float
    wanted: Sequence[Column]
    paid: Sequence[Column]
    used: Sequence[Column]

    @staticmethod
    def of(record: Record) -> Timeline:
        """The timeline of a run."""
        width = column_width(record.end_s)
        number = max(1, -int(-record.end_s // width))
        series = (
            in_columns(each, width_s=width, number=number, end_s=record.end_s)
            for each in (wanted(record), paid(record), used(record))
        )
        found = tuple(series)
        return Timeline(width_s=width, wanted=found[0], paid=found[1], used=found[2])


def column_width(seconds: float) -> float:
    """How long a column is, so that there are not too many: a usual length of time, or whole days."""
    for width in _WIDTHS:
        if seconds <= width * _MOST_COLUMNS:
            return width
    return -(-seconds // (_DAY * _MOST_COLUMNS)) * _DAY


def wanted(record: Record) -> Steps:
    """Accelerators that jobs want which have arrived and are not done."""
    return _added(
        change
        for job in record.jobs
        for change in _while(job.arrival_s, record.end_s if job.ended_s is None else job.ended_s, job.accelerators)
    )


def paid(record: Record) -> Steps:
    """Accelerators of the instances that are paid."""
    return _added(
        change
        for each in record.instances
        for change in _while(
            each.launched_s, record.end_s if each.ended_s is None else each.ended_s, record.accelerators
        )
    )


def used(record: Record) -> Steps:
    """Accelerators at work."""
    return _added(change for each in uses(record) for change in _while(each.begin_s, each.end_s, each.accelerators))


def in_columns(steps: Steps, *, width_s: float, number: int, end_s: float) -> list[Column]:
    """Sum up in columns; the last one ends with the run and may be shorter."""
    seconds = [0.0] * number
    peaks = [0.0] * number
    for (begin, level), (end, _) in pairwise([*steps, (end_s, 0.0)]):
        if level == 0 or end <= begin:
            continue
        at = begin
        column = min(int(begin // width_s), number - 1)
        while at < end and column < number:
            until = end if column == number - 1 else min(end, (column + 1) * width_s)
            seconds[column] += level * (until - at)
            peaks[column] = max(peaks[column], level)
            at, column = until, column + 1
    lengths = [min(width_s, end_s - number_ * width_s) for number_ in range(number)]
    return [
        Column(total / length if length > 0 else 0.0, peak)
        for total, length, peak in zip(seconds, lengths, peaks, strict=True)
    ]


def _while(begin: float, end: float, amount: float) -> tuple[tuple[float, float], tuple[float, float]]:
    return (begin, amount), (end, -amount)


def _added(changes: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The level after each change. What begins and ends at one moment is one change."""
    steps: list[tuple[float, float]] = []
    level = 0.0
    for at, change in sorted(changes):
        level += change
        if steps and steps[-1][0] == at:
            steps[-1] = (at, level)
        else:
            steps.append((at, level))
    # Shares of accelerators leave a remainder in the last digits.
    return [(at, round(each, 9)) for at, each in steps]
