"""The format of this library: seconds of arrival, seconds of work, accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.rehearsal.trace import Job
from constructs_lib.rehearsal.traces.rows import Findings, Rows, cell_of, number

COLUMNS = ("arrival_s", "service_s", "accelerators")
LONGEST_S = 10 * 365.25 * 86_400
"""Ten years: what lies later is a date in seconds since 1970, or counted in milliseconds."""

MOST_ACCELERATORS = 1e6
_EPOCH_HINT = "; count seconds from the start of the trace, not from 1970, and not milliseconds"


def jobs(rows: Rows, findings: Findings) -> Iterator[Job]:
    """Read one job a row. The columns may stand in any order, others are ignored.

    An arrival and a time of work are from 0 seconds to ten years, accelerators above 0. A job of 0 seconds is one that
    was over at once.
    """
    arrival_at, service_at, accelerators_at = rows.columns(*COLUMNS)
    for row in rows:
        try:
            cells = row[arrival_at], row[service_at], row[accelerators_at]
            spelled = "".join(cells)
            job = Job(float(cells[0]), float(cells[1]), float(cells[2]))
        except (IndexError, ValueError):
            findings.add(rows.line, _reason(row, arrival_at, service_at, accelerators_at))
            continue
        usual = 0 <= job[0] <= LONGEST_S and 0 <= job[1] <= LONGEST_S and 0 < job[2] <= MOST_ACCELERATORS
        if usual and spelled.isascii() and "_" not in spelled and "\n" not in spelled:
            yield job
        else:
            findings.add(rows.line, _reason(row, arrival_at, service_at, accelerators_at))


def _reason(row: list[str], *places: int) -> str:
    try:
        cells = [cell_of(row, at, name) for at, name in zip(places, COLUMNS, strict=True)]
        for cell, name in zip(cells[:2], COLUMNS, strict=False):
            number(cell, name, at_most=LONGEST_S)
        number(cells[2], COLUMNS[2], above_zero=True, at_most=MOST_ACCELERATORS)
    except ValueError as error:
        return f"{error}{_EPOCH_HINT}" if f"more than {LONGEST_S:,.0f}" in str(error) else str(error)
    raise AssertionError(row)
