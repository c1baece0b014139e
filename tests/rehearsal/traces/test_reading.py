"""A file of jobs is read whatever its columns' order, its encoding's mark, its line ends or its packing."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from constructs_lib.errors import ArgumentError, FleetError
from constructs_lib.rehearsal.trace import Job, TraceError
from constructs_lib.rehearsal.traces import FORMATS, TraceOptions, read_trace

_FILE = "arrival_s,service_s,accelerators\n0,60,1\n30.5,120,0.25\n"
_JOBS = (Job(0, 60, 1), Job(30.5, 120, 0.25))


def _jobs(text: str) -> tuple[Job, ...]:
    return read_trace(io.StringIO(text)).jobs


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_FILE, id="plain"),
        pytest.param("\ufeff" + _FILE, id="byte-order-mark"),
        pytest.param(_FILE.replace("\n", "\r\n"), id="crlf"),
        pytest.param(_FILE.replace("\n", "\n\n"), id="empty-lines"),
        pytest.param("\n  \n" + _FILE, id="empty-lines-first"),
        pytest.param(_FILE.rstrip("\n"), id="no-last-line-end"),
        pytest.param("accelerators,arrival_s,service_s\n1,0,60\n0.25,30.5,120\n", id="another-order"),
        pytest.param("id,arrival_s,service_s,who,accelerators\na,0,60,x,1\nb,30.5,120,y,0.25\n", id="further-columns"),
        pytest.param('arrival_s,service_s,accelerators,note\n0,60,1,"a, b\nc"\n30.5,120,0.25,"x"\n', id="quoted-note"),
        pytest.param("Arrival_s, Service_s ,accelerators\n 0, 60 ,1\n30.5,120,.25\n", id="spaces-and-case"),
        pytest.param('"arrival_s","service_s","accelerators"\n"0","60","1"\n"3.05e1","120","0.25"\n', id="quoted"),
        pytest.param("# made up\n#\n" + _FILE, id="comment-lines-first"),
    ],
)
def test_the_same_jobs(text: str) -> None:
    assert _jobs(text) == _JOBS


def test_a_comment_at_the_top_is_the_source() -> None:
    assert read_trace(io.StringIO("# made up by hand\n" + _FILE)).source == "made up by hand"


@pytest.mark.parametrize("name", ["work.csv", "work.csv.gz", "work"])
def test_a_file_is_read_packed_or_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    packed = name.endswith(".gz")
    path.write_bytes(gzip.compress(_FILE.encode("utf-8-sig")) if packed else _FILE.encode("utf-8-sig"))
    for file in (path, str(path)):
        trace = read_trace(file)
        assert trace.jobs == _JOBS
        assert trace.name == "work"
        assert str(tmp_path) not in trace.source  # where it lies is nobody's business in a report


def test_a_pipe_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzip.compress(_FILE.encode()),))
    writer.start()
    assert read_trace(path).jobs == _JOBS
    writer.join()


def test_rows_in_no_order_are_sorted_and_ties_stay() -> None:
    text = "arrival_s,service_s,accelerators\n9,1,1\n3,2,1\n9,3,1\n3,4,1\n"
    assert [job.service_s for job in _jobs(text)] == [2, 4, 1, 3]


def test_a_job_that_was_over_at_once_is_one() -> None:
    assert _jobs("arrival_s,service_s,accelerators\n5,0,1\n") == (Job(5, 0, 1),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have at least one job, and it is empty"),
        ("\n\n", "must have at least one job, and it is empty"),
        ("# nothing but a comment\n", "must have at least one job, and it is empty"),
        ("arrival_s,service_s,accelerators\n", "must have at least one job, and it has none"),
        ("arrival_s,service_s\n0,1\n", "got 'arrival_s', 'service_s'; accelerators is missing"),
        ("arrival_s,x\n0,1\n", "service_s, accelerators are missing"),
        ("arrival_s;service_s;accelerators\n0;1;1\n", "separated by semicolons; write commas"),
        ("arrival_s\tservice_s\taccelerators\n", "separated by tabs; write commas"),
        ("arrival_s,arrival_s,service_s,accelerators\n0,0,1,1\n", "must name arrival_s once"),
        ("0,60,1\n30,60,1\n", "the header must be that of a known format, got '0', '60', '1'"),
        ('{"jobs": []}\n', "the header must be that of a known format"),
    ],
    ids=lambda value: value[:24].replace("\n", "_"),
)
def test_a_file_that_is_no_trace_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(TraceError) as error:
        _jobs(text)
    assert said in str(error.value)


def test_a_separator_hint_needs_no_known_header() -> None:
    with pytest.raises(TraceError, match="arrival_s,service_s,accelerators"):
        _jobs("when;how long\n1;2\n")


def test_every_format_is_named_where_none_fits() -> None:
    with pytest.raises(TraceError) as error:
        _jobs("a,b\n1,2\n")
    assert all(name in str(error.value) for name in FORMATS)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (_FILE.encode("utf-16"), "must be text in UTF-8"),
        (b"arrival_s,service_s,accelerators\n0,60,\xff\n", "must be text in UTF-8"),
        (gzip.compress(_FILE.encode())[:-12], "must be whole, and its gzip data breaks off"),
        (gzip.compress(_FILE.encode())[:10] + b"\xff" * 20, "must be whole, and its gzip data breaks off"),
    ],
    ids=["utf-16", "latin", "cut-off", "spoilt"],
)
def test_a_file_that_cannot_be_decoded_says_what_to_do(tmp_path: Path, written: bytes, said: str) -> None:
    path = tmp_path / "work.csv"
    path.write_bytes(written)
    with pytest.raises(TraceError, match=said):
        read_trace(path)


@pytest.mark.parametrize("name", ["missing.csv", "a\0b", "x" * 5000])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError, match="must be a file that can be read"):
        read_trace(tmp_path / name)


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="must be a file, or a folder with ServeGen's"):
        read_trace(tmp_path)


def test_a_format_that_is_not_known_names_the_closest() -> None:
    with pytest.raises(TraceError, match="did you mean 'burstgpt'"):
        read_trace(io.StringIO(_FILE), trace_format="burstgtp")


def test_a_format_that_is_asked_for_is_the_one_that_is_read() -> None:
    with pytest.raises(TraceError, match="TIMESTAMP, ContextTokens, GeneratedTokens are missing"):
        read_trace(io.StringIO(_FILE), trace_format="azure-llm")


def test_errors_are_the_librarys() -> None:
    with pytest.raises(FleetError):
        _jobs("")


_TEN = "arrival_s,service_s,accelerators\n" + "".join(f"{10 * place},5,1\n" for place in range(10))


def test_a_part_of_the_time_is_taken() -> None:
    trace = read_trace(io.StringIO(_TEN), options=TraceOptions(from_s=20, limit_s=30))
    assert [job.arrival_s for job in trace.jobs] == [0, 10, 20]


def test_the_first_jobs_are_taken() -> None:
    trace = read_trace(io.StringIO(_TEN), options=TraceOptions(limit_jobs=3))
    assert [job.arrival_s for job in trace.jobs] == [0, 10, 20]


def test_stretching_moves_arrivals_and_keeps_the_work() -> None:
    trace = read_trace(io.StringIO(_TEN), options=TraceOptions(stretch=24))
    assert trace.span_s == 90 * 24
    assert {job.service_s for job in trace.jobs} == {5}


def test_a_share_of_the_jobs_is_drawn_with_the_seed() -> None:
    many = "arrival_s,service_s,accelerators\n" + "".join(f"{place},5,1\n" for place in range(4000))
    one, again, other = (
        read_trace(io.StringIO(many), options=TraceOptions(scale=0.25, seed=seed)).jobs for seed in (1, 1, 2)
    )
    assert one == again != other
    assert 870 < len(one) < 1130  # 1,000 expected, standard deviation 27


def test_more_than_all_of_a_log_is_not_there() -> None:
    with pytest.raises(TraceError, match=r"at most 1 for a log of single jobs, got 2; .*stretch=0\.5"):
        read_trace(io.StringIO(_TEN), options=TraceOptions(scale=2))


def test_a_model_is_not_asked_for_where_there_are_none() -> None:
    with pytest.raises(TraceError, match="model must be left out, got 'm-large'; a file of jobs names none"):
        read_trace(io.StringIO(_TEN), options=TraceOptions(model="m-large"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": 1.5},
        {"scale": 0},
        {"scale": float("nan")},
        {"stretch": 0},
        {"merge_s": -1},
        {"from_s": -1},
        {"limit_s": 0},
        {"limit_jobs": 0},
        {"model": 7},
        {"rates": None},
        {"skip_bad": "yes"},
    ],
    ids=str,
)
def test_an_option_out_of_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match=f"TraceOptions: {next(iter(wrong))} must"):
        TraceOptions(**wrong)  # type: ignore[arg-type]
