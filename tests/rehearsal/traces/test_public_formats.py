"""Public traces as they are published: a few rows of each, worked out by hand."""

from __future__ import annotations

import io
import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from constructs_lib.rehearsal.trace import BadRow, Job, TraceError
from constructs_lib.rehearsal.traces import ServingRates, TraceOptions, read_trace

_RATES = ServingRates(prefill_tokens_per_s=1000, decode_tokens_per_s=10, at_once=4)
_WITH_RATES = TraceOptions(rates=_RATES)


def _read(text: str, **options: Any) -> tuple[Job, ...]:
    return read_trace(io.StringIO(text), options=TraceOptions(rates=_RATES, **options)).jobs


AZURE_2023 = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:16:00.6805900,2000,0
"""


def test_azure_of_2023_with_seven_decimals() -> None:
    """374 / 1,000 + 44 / 10 seconds on a quarter of an accelerator."""
    jobs = _read(AZURE_2023)
    assert [round(job.arrival_s, 6) for job in jobs] == [0, 4.314579, 14]
    assert [job.service_s for job in jobs] == pytest.approx([4.774, 11.296, 2.0])
    assert {job.accelerators for job in jobs} == {0.25}


def test_azure_of_2024_with_an_offset_and_without_decimals() -> None:
    text = AZURE_2023.splitlines()[0] + "\n2024-05-12 23:59:59+00:00,1,1\n2024-05-13 00:00:00.500000+00:00,1,1\n"
    assert [job.arrival_s for job in _read(text)] == [0, 1.5]


def test_azure_in_other_zones_is_the_same_instant() -> None:
    text = AZURE_2023.splitlines()[0] + "\n2024-05-12T12:00:00Z,1,1\n2024-05-12T14:00:01+02:00,1,1\n"
    text += "2024-05-12T07:00:02-0500,1,1\n"
    assert [job.arrival_s for job in _read(text)] == [0, 1, 2]


def test_azure_rows_before_the_first_one_move_the_start() -> None:
    text = "offset_s,context_tokens,generated_tokens\n10,1,1\n7,1,1\n12,1,1\n"
    assert [job.arrival_s for job in _read(text)] == [0, 3, 5]


@pytest.mark.parametrize(
    "row",
    [
        "yesterday,1,1",
        "2023-13-16 18:15:46,1,1",
        "2023-11-16 18:15:61.5,1,1",
        "2023-11-16 18:15 46,1,1",
        "2023-11-16 18:15:46+0x:00,1,1",
        "2023-11-16 18:15:nan,1,1",
        "1999-11-16 18:15:46,1,1",
        "2023-11-16 18:15:46,-1,1",
        "2023-11-16 18:15:46,1,",
        "2023-11-16 18:15:46,1",
    ],
)
def test_azure_rows_that_are_no_requests(row: str) -> None:
    with pytest.raises(TraceError) as error:
        _read(AZURE_2023 + row + "\n")
    assert [bad.line for bad in error.value.bad_rows] == [5]


def test_azure_reduced_to_offsets() -> None:
    jobs = _read("offset_s,context_tokens,generated_tokens\n0.0,4808,10\n0.052,3180,8\n")
    assert jobs == (Job(0, 4.808 + 1, 0.25), Job(0.052, 3.18 + 0.8, 0.25))


BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,API log
118,GPT-4,417,276,693,Conversation log
120,GPT-4,300,0,300,API log
"""


def test_burstgpt_and_its_failures() -> None:
    trace = read_trace(io.StringIO(BURSTGPT), options=_WITH_RATES)
    assert [job.arrival_s for job in trace.jobs] == [0, 40, 113]
    assert [job.service_s for job in trace.jobs] == pytest.approx([2.272, 24.087, 28.017])
    assert "requests without an answer left out: 1" in trace.source


def test_burstgpt_with_columns_for_sessions() -> None:
    text = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    text += (
        "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n19440161.0,d5983bf9,2,ChatGPT,36,29,65,API log\n"
    )
    assert _read(text) == (Job(0, 0.906 + 44.6, 0.25), Job(51, 0.036 + 2.9, 0.25))


def test_burstgpt_of_one_model() -> None:
    assert [job.arrival_s for job in _read(BURSTGPT, model="GPT-4")] == [113]
    with pytest.raises(TraceError, match=r"it has none \(requests to other models left out: 4"):
        _read(BURSTGPT, model="GPT-5")


OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0
openb-pod-0001,6000,12288,1,460,,LS,Running,427061,12902960,427161
openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437497
openb-pod-0097,8000,30517,1,320,V100M16|V100M32,BE,Pending,10020010,10020025,
openb-pod-0200,8000,30517,0,0,,LS,Running,10020010,10020025,10020010
"""


def test_openb_pods() -> None:
    trace = read_trace(io.StringIO(OPENB))
    assert trace.jobs == (
        Job(0, 12537496, 1),
        Job(427061, 12902960 - 427161, 0.46),
        Job(9437497, 10769854 - 9437497, 8),
    )
    assert "pods that were never scheduled left out: 1" in trace.source
    assert "pods without a GPU left out: 1" in trace.source


def test_openb_pods_that_cannot_be() -> None:
    header = OPENB.splitlines()[0]
    text = f"{header}\np,1,1,1,1000,,LS,Running,100,90,95\np,1,1,1,2000,,LS,Running,1,90,95\n"
    text += "p,1,1,x,1000,,LS,Running,1,90,2\np,1,1,1,1000,,LS,Running,1,90,2\n"
    trace = read_trace(io.StringIO(text), options=TraceOptions(skip_bad=True))
    assert [bad.line for bad in trace.skipped] == [2, 3, 4]
    assert trace.skipped[0].reason == "is not created, scheduled and deleted in this order"
    assert trace.jobs == (Job(1, 88, 1),)


def test_openb_reduced() -> None:
    text = "submit_s,queue_s,duration_s,num_gpu,gpu_milli,cpu_milli\n"
    text += "5,1.0,30.0,1,590,3152\n6,,15.0,1,320,8000\n7,0,9,2,1000,1\n"
    assert read_trace(io.StringIO(text)).jobs == (Job(5, 30, 0.59), Job(7, 9, 2))


def _philly(*jobs: dict[str, Any]) -> str:
    return json.dumps(list(jobs), indent=4)


def _attempt(start: str | None, end: str | None, *servers: int) -> dict[str, Any]:
    gpus = [{"ip": f"m{place}", "gpus": [f"gpu{each}" for each in range(count)]} for place, count in enumerate(servers)]
    return {"start_time": start, "end_time": end, "detail": gpus}


def _job(submitted: str, *attempts: dict[str, Any]) -> dict[str, Any]:
    job = {"status": "Pass", "vc": "ee9e8c", "jobid": "a", "user": "u"}
    return {**job, "submitted_time": submitted, "attempts": list(attempts)}


def test_philly_attempts_add_up_and_servers_are_apart() -> None:
    """The example of the trace's description: 74 seconds, then over two days, on 8 GPUs."""
    first = _attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 8)
    second = _attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12", 8)
    other = _job("2017-10-07 02:11:39", _attempt("2017-10-07 02:11:49", "2017-10-07 02:12:09", 8, 4))
    trace = read_trace(io.StringIO(_philly(_job("2017-10-07 01:11:39", first, second), other)))
    assert trace.jobs == (Job(0, 74 + 2 * 86_400 + 5 * 3600 + 39 * 60 + 42, 8), Job(3600, 20, 8), Job(3600, 20, 4))


def test_philly_jobs_that_never_ran_and_attempts_without_a_time() -> None:
    ran = _job("2017-10-07 01:00:00", _attempt("2017-10-07 01:00:00", "2017-10-07 01:01:00", 1))
    never = _job("2017-10-07 00:00:00")
    unknown = _job("2017-10-07 00:00:00", _attempt("2017-10-07 01:00:00", None, 1), _attempt("None", "None", 1))
    trace = read_trace(io.StringIO(_philly(ran, never, unknown)))
    assert trace.jobs == (Job(0, 60, 1),)
    assert "attempts without a time left out: 2" in trace.source
    assert "jobs that never ran left out: 2" in trace.source


def test_philly_entries_that_are_no_jobs() -> None:
    ran = _job("2017-10-07 01:00:00", _attempt("2017-10-07 01:00:00", "2017-10-07 01:01:00", 1))
    back = _job("2017-10-07 01:00:00", _attempt("2017-10-07 01:01:00", "2017-10-07 01:00:00", 1))
    text = _philly(ran, {"jobid": "b"}, back, {**ran, "submitted_time": 7})
    with pytest.raises(TraceError, match="job 3: is no job of this log") as error:
        read_trace(io.StringIO(text))
    assert [bad.line for bad in error.value.bad_rows] == [2, 3, 4]
    assert read_trace(io.StringIO(text), options=TraceOptions(skip_bad=True)).jobs == (Job(0, 60, 1),)


@pytest.mark.parametrize("text", ["[{", "[" * 100_000, "[1] x"], ids=["broken", "deep", "more"])
def test_philly_that_is_no_json(text: str) -> None:
    with pytest.raises(TraceError, match="the log must be a list in JSON"):
        read_trace(io.StringIO(text))


def test_philly_run_times_are_drawn_at_phillys_rate() -> None:
    """856 jobs a day; half of them between 10 and 20 seconds, half between 20 and 100."""
    text = "quantile,runtime_s\n0,10\n0.5,20\n1,100\n"
    trace = read_trace(io.StringIO(text), options=TraceOptions(limit_s=10 * 86_400))
    assert len(trace) == pytest.approx(8564, abs=4 * 93)
    assert sum(job.service_s <= 20 for job in trace.jobs) / len(trace) == pytest.approx(0.5, abs=0.03)
    assert mean(job.service_s for job in trace.jobs) == pytest.approx((15 + 60) / 2, rel=0.03)
    assert trace.span_s < 10 * 86_400


def test_run_times_that_do_not_rise_are_refused() -> None:
    with pytest.raises(TraceError, match="in rising order"):
        read_trace(io.StringIO("quantile,runtime_s\n0,10\n0.5,5\n"))


RATES = """model,offset_s,rate_req_s,active_clients,rate_weighted_cv
m-mid,0,10,5,1.0
m-mid,600,0,0,
m-mid,1200,0.0,0,
m-mid,1800,40,5,2.0
m-small,0,1,2,1
"""


def test_servegen_gaps_are_filled_from_their_neighbours() -> None:
    """10, then 20 and 30 that are not in the file, then 40 requests a second."""
    trace = read_trace(io.StringIO(RATES), options=TraceOptions(model="m-mid", scale=0.1))
    windows = [sum(start <= job.arrival_s < start + 600 for job in trace.jobs) for start in (0, 600, 1200, 1800)]
    assert windows == pytest.approx([600, 1200, 1800, 2400], rel=0.2)
    assert trace.span_s <= 2400
    assert "windows without data filled from their neighbours: 2" in trace.source


def test_servegen_rates_are_scaled_and_cut() -> None:
    trace = read_trace(io.StringIO(RATES), options=TraceOptions(model="m-mid", scale=0.1, from_s=900, limit_s=300))
    assert len(trace) == pytest.approx(20 * 300 * 0.1, abs=4 * 25)
    assert trace.span_s <= 300


def test_servegen_needs_a_model_where_there_are_several() -> None:
    with pytest.raises(TraceError, match="must be one of those in the file, m-mid, m-small, got none; name one"):
        read_trace(io.StringIO(RATES))
    with pytest.raises(TraceError, match="got 'm-smal'; did you mean 'm-small'"):
        read_trace(io.StringIO(RATES), options=TraceOptions(model="m-smal"))


def test_servegen_of_a_model_without_known_lengths() -> None:
    with pytest.raises(TraceError, match=r"lengths of prompts and answers are known, m-large, .* got 'm-huge'"):
        read_trace(io.StringIO(RATES.replace("m-mid", "m-huge")), options=TraceOptions(model="m-huge"))


def test_servegen_of_more_requests_than_anybody_waits_for() -> None:
    with pytest.raises(TraceError, match=r"at most 5,000,000 requests, got 60,000,000; .*scale=80 or so"):
        read_trace(io.StringIO(RATES), options=TraceOptions(model="m-mid", scale=1000))


def test_servegen_lengths_have_the_published_mean() -> None:
    """Of m-mid: 306.7 tokens in, 50.8 out."""
    trace = read_trace(io.StringIO(RATES), options=TraceOptions(model="m-mid", rates=_RATES, scale=0.3))
    assert mean(job.service_s for job in trace.jobs) == pytest.approx(0.3067 + 5.08, rel=0.02)


CHUNK = """0,1.0,8.6,Weibull,0.3753486140101707,0.3967677807107179
600,0,0,,0,0
1200,2.0,1.0,Gamma,0.06,103.65
"""


def test_servegen_client_rests_where_its_rate_is_zero() -> None:
    trace = read_trace(io.StringIO(CHUNK), options=TraceOptions(model="m-small"))
    assert not [job for job in trace.jobs if 600 <= job.arrival_s < 1200]
    assert sum(job.arrival_s >= 1200 for job in trace.jobs) == pytest.approx(1200, abs=4 * 35)
    assert trace.span_s <= 1800


def test_servegen_folder_is_the_sum_of_its_clients(tmp_path: Path) -> None:
    folder = tmp_path / "m-small"
    folder.mkdir()
    for place in range(4):
        (folder / f"chunk-{place}-trace.csv").write_text("0,2.0,1.0,Gamma,1,1\n", encoding="utf-8")
    (folder / "chunk-0-dataset.json").write_text("{}", encoding="utf-8")
    trace = read_trace(folder)
    assert len(trace) == pytest.approx(4 * 1200, abs=4 * 70)
    assert len({job.arrival_s for job in trace.jobs}) > 0.99 * len(trace)  # clients do not come in step


def test_servegen_client_with_a_bad_row_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "m-small"
    folder.mkdir()
    (folder / "chunk-7-trace.csv").write_text("0,2.0,1.0,Gamma,1,1\n600,-1,1,Gamma,1,1\n", encoding="utf-8")
    with pytest.raises(TraceError) as error:
        read_trace(folder)
    assert error.value.bad_rows == (BadRow(2, "rate is '-1', which is negative", "chunk-7-trace.csv, line"),)


def test_the_same_seed_draws_the_same_requests() -> None:
    one, again, other = (
        read_trace(io.StringIO(CHUNK), options=TraceOptions(model="m-small", seed=seed)).jobs for seed in (3, 3, 4)
    )
    assert one == again != other


def test_default_rates_are_those_of_the_measurement() -> None:
    """Prompt of 1,024 and answer of 256 tokens: 461.87 ms to the first token, then 84.23 ms for each."""
    rates = ServingRates()
    assert rates.service_s(1024, 0) == pytest.approx(0.46187)
    assert rates.service_s(0, 256) == pytest.approx(256 * 0.08423)
