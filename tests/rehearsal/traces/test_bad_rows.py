"""Rows that are no jobs: each is named with its line, they stop the run, and are skipped if asked."""

from __future__ import annotations

import io

import pytest

from constructs_lib.rehearsal.trace import BadRow, Job, TraceError
from constructs_lib.rehearsal.traces import TraceOptions, read_trace

_HEADER = "arrival_s,service_s,accelerators\n"
_SKIP = TraceOptions(skip_bad=True)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("abc,60,1", "arrival_s is 'abc', which is not a number"),
        ("0,abc,1", "service_s is 'abc', which is not a number"),
        ("0,60,many", "accelerators is 'many', which is not a number"),
        ("nan,60,1", "arrival_s is 'nan', which is not finite"),
        ("0,inf,1", "service_s is 'inf', which is not finite"),
        ("0,-Infinity,1", "service_s is '-Infinity', which is not finite"),
        ("0,60,nan", "accelerators is 'nan', which is not finite"),
        ("-1,60,1", "arrival_s is '-1', which is negative"),
        ("0,-60,1", "service_s is '-60', which is negative"),
        ("0,60,-1", "accelerators is '-1', which is negative"),
        ("0,60,0", "accelerators is '0', and must be above zero"),
        ("0,60,-0.0", "accelerators is '-0.0', and must be above zero"),
        ("0,60", "has 2 cells, and accelerators would be number 3"),
        ("0", "has 1 cell, and service_s would be number 2"),
        ("0,,1", "service_s is empty"),
        (",,", "arrival_s is empty"),
        ("0,60, ", "accelerators is empty"),
        ("1_000,60,1", "arrival_s is '1_000', which is not a number"),
        ("0,60,\u0661", "accelerators is '\u0661', which is not a number"),
        ("0,\u00bd,1", "service_s is '\u00bd', which is not a number"),
        ("0,6O,1", "service_s is '6O', which is not a number"),
        ("0x10,60,1", "arrival_s is '0x10', which is not a number"),
        ("1" + "0" * 400 + ",60,1", "arrival_s is '1" + "0" * 38 + "..., which is not finite"),
        ("1e400,60,1", "arrival_s is '1e400', which is not finite"),
        ("1764500000,60,1", "not from 1970"),
        ("0,1e300,1", "service_s is '1e300', more than 315,576,000"),
        ("0,60,1e9", "accelerators is '1e9', more than 1,000,000"),
        ("=1+1,60,1", "arrival_s is '=1+1', which is not a number"),
        ('"0"",60,1', "its last cell goes on over the end of the line: a quote is left open"),
        ("# 0,60,1", "arrival_s is '# 0', which is not a number"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_a_row_that_is_no_job(row: str, reason: str) -> None:
    text = f"{_HEADER}5,60,1\n{row}\n"
    with pytest.raises(TraceError) as error:
        read_trace(io.StringIO(text))
    assert "every row must be a job, got 1 that is not" in str(error.value)
    assert [bad.line for bad in error.value.bad_rows] == [3]
    assert reason in error.value.bad_rows[0].reason
    trace = read_trace(io.StringIO(text), options=_SKIP)
    assert trace.jobs == (Job(5, 60, 1),)
    assert trace.skipped == error.value.bad_rows


def test_a_nul_is_no_number() -> None:
    """Python 3.10 does not even take it for a row."""
    with pytest.raises(TraceError) as error:
        read_trace(io.StringIO(f"{_HEADER}5,60,1\n0\0,60,1\n9,60,1\n"))
    assert [bad.line for bad in error.value.bad_rows] == [3]


def test_a_quote_that_is_never_closed_is_named_where_it_opens() -> None:
    text = f'{_HEADER}5,60,1\n6,"60,1\n7,60,1\n8,60,1\n'
    trace = read_trace(io.StringIO(text), options=_SKIP)
    assert len(trace) == 1
    assert trace.skipped == (BadRow(3, "its last cell goes on over the end of the line: a quote is left open"),)


def test_a_quote_left_open_in_a_last_row_without_an_end_is_no_row() -> None:
    trace = read_trace(io.StringIO(f'{_HEADER}5,60,1\n"0","10","1'), options=_SKIP)
    assert trace.jobs == (Job(5, 60, 1),)
    assert trace.skipped == (BadRow(3, "accelerators goes on over the end of the line: a quote is left open"),)


def test_a_cell_beyond_every_limit_is_one_bad_row() -> None:
    text = f"{_HEADER}5,60,1\n6,{'7' * 200_000},1\n8,60,1\n"
    trace = read_trace(io.StringIO(text), options=_SKIP)
    assert [job.arrival_s for job in trace.jobs] == [5, 8]
    assert [bad.line for bad in trace.skipped] == [3]


def test_lines_are_those_of_the_file_whatever_stands_above() -> None:
    text = f'# a comment\n\n{_HEADER.strip()},note\n1,60,1,"two\nlines"\n\nx,60,1,\n'
    with pytest.raises(TraceError) as error:
        read_trace(io.StringIO(text))
    assert error.value.bad_rows == (BadRow(7, "arrival_s is 'x', which is not a number"),)
    assert str(error.value).endswith("with skip_bad:\n  line 7: arrival_s is 'x', which is not a number")


def test_all_bad_rows_are_reported_up_to_a_bound_with_the_number_of_the_rest() -> None:
    text = _HEADER + "1,60,1\n" + "x,60,1\n" * 3000
    with pytest.raises(TraceError) as error:
        read_trace(io.StringIO(text))
    message = str(error.value)
    assert "got 3000 that are not; correct them, or leave them out with skip_bad:" in message
    assert message.count("\n  line ") == 20
    assert message.endswith("and 2980 more")
    assert len(error.value.bad_rows) == 1000


def test_all_skipped_rows_are_kept() -> None:
    trace = read_trace(io.StringIO(_HEADER + "1,60,1\n" + "x,60,1\n" * 3000), options=_SKIP)
    assert len(trace) == 1
    assert len(trace.skipped) == 3000


def test_nothing_left_after_skipping_is_an_empty_trace() -> None:
    with pytest.raises(TraceError, match=r"at least one job, and it has none \(2 rows that are no jobs skipped\)"):
        read_trace(io.StringIO(_HEADER + "x,60,1\ny,60,1\n"), options=_SKIP)
