"""Whatever a file holds, it is a trace or an error that says what is wrong with it; nothing else comes out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.rehearsal.trace import Trace, TraceError
from constructs_lib.rehearsal.traces import FORMATS, TraceOptions, read_trace

_HEADERS = {
    "jobs": "arrival_s,service_s,accelerators",
    "azure-llm": "TIMESTAMP,ContextTokens,GeneratedTokens",
    "azure-llm-offsets": "offset_s,context_tokens,generated_tokens",
    "burstgpt": "Timestamp,Model,Request tokens,Response tokens",
    "servegen": "model,offset_s,rate_req_s,active_clients,rate_weighted_cv",
    "servegen-chunk": "0,1,1,Gamma,1,1",
    "philly": "[",
    "philly-run-times": "quantile,runtime_s",
    "openb": "num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time",
    "openb-reduced": "submit_s,queue_s,duration_s,num_gpu,gpu_milli",
}
_cells = st.one_of(
    st.integers(-5, 2000).map(str),
    st.floats().map(repr),
    st.sampled_from(["", '"', "m-mid", "2023-11-16 18:15:46.68", "1e400", "\0", "\u0661", "null", "[", "{}", "Gamma"]),
    st.text(max_size=6),
)
_rows = st.lists(st.lists(_cells, min_size=1, max_size=6).map(",".join), max_size=8).map("\n".join)


def _outcome(file: Path | io.StringIO, name: str = "", options: TraceOptions | None = None) -> Trace | str:
    try:
        return read_trace(file, trace_format=name, options=options)
    except TraceError as error:
        return str(error)


def test_every_format_is_tried() -> None:
    assert set(_HEADERS) == set(FORMATS)


@pytest.mark.parametrize("name", sorted(_HEADERS))
@pytest.mark.parametrize("skip_bad", [False, True], ids=["stop", "skip"])
@settings(max_examples=50)
@given(rows=_rows)
def test_any_rows(name: str, skip_bad: bool, rows: str) -> None:
    options = TraceOptions(skip_bad=skip_bad, limit_jobs=1000)
    trace = _outcome(io.StringIO(f"{_HEADERS[name]}\n{rows}\n"), name, options)
    if isinstance(trace, str):
        assert trace.strip()
        return
    assert trace.jobs
    assert all(job.arrival_s >= 0 <= job.service_s and job.accelerators > 0 for job in trace.jobs)
    assert skip_bad or not trace.skipped


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, written: bytes) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "anything"
    path.write_bytes(written)
    outcome = _outcome(path)
    assert not isinstance(outcome, str) or outcome.startswith(str(path))
