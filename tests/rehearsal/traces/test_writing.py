"""A trace that is written and read is the same trace, to the last bit."""

from __future__ import annotations

import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.rehearsal.trace import Job, Trace
from constructs_lib.rehearsal.traces import read_trace, write_trace
from constructs_lib.rehearsal.traces.plain import LONGEST_S

seconds = st.floats(0, LONGEST_S)
traces = st.builds(
    lambda jobs, source: Trace(tuple(jobs), "trace", source),
    st.lists(
        st.builds(Job, seconds, seconds, st.floats(0, 1e6, exclude_min=True)),
        min_size=1,
        max_size=40,
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["C"])).map(lambda text: " ".join(text.split())),
)


def _written(trace: Trace) -> str:
    stream = io.StringIO()
    write_trace(trace, stream)
    return stream.getvalue()


@given(traces)
def test_round_trip(trace: Trace) -> None:
    back = read_trace(io.StringIO(_written(trace)))
    assert back.jobs == trace.jobs
    assert _written(back).splitlines()[-len(trace) :] == _written(trace).splitlines()[-len(trace) :]
    if trace.source:
        assert back.source == trace.source


def test_what_is_written() -> None:
    trace = Trace((Job(0, 60, 1), Job(0.1, 1e-7, 0.25)), "t", "made up\nby hand")
    assert _written(trace) == "# made up by hand\narrival_s,service_s,accelerators\n0,60,1\n0.1,1e-07,0.25\n"


def test_whole_numbers_stay_short() -> None:
    assert _written(Trace((Job(5.0, 7, 1.0),), "t")) == "arrival_s,service_s,accelerators\n5,7,1\n"


def test_a_file_that_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_trace(Trace((Job(1, 2, 3),), "t", "x"), stream)
    assert read_trace(path) == Trace((Job(1, 2, 3),), "t", "x")
