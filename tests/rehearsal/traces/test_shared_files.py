"""The published traces, where they lie beside the checkout: they are read whole, and give the figures known of them."""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles

import pytest

from constructs_lib.rehearsal.traces import TraceOptions, read_trace

_TRACES = Path(__file__).resolve().parents[4] / "shared" / "data" / "trace"

pytestmark = pytest.mark.skipif(not _TRACES.is_dir(), reason="the published traces are not beside this checkout")


@pytest.mark.parametrize(("name", "requests", "a_minute"), [("code", 8819, 154), ("conv", 19366, 332)])
def test_azure(name: str, requests: int, a_minute: float) -> None:
    trace = read_trace(_TRACES / f"azure_llm_2023_{name}.csv.gz")
    assert len(trace) == requests
    assert len(trace) / trace.span_s * 60 == pytest.approx(a_minute, rel=0.01)
    assert trace.name == f"azure_llm_2023_{name}"


def test_azure_merged_has_the_same_work_in_an_eighth_of_the_jobs() -> None:
    path = _TRACES / "azure_llm_2023_conv.csv.gz"
    single, merged = read_trace(path), read_trace(path, options=TraceOptions(merge_s=60))
    assert merged.work_s == pytest.approx(single.work_s, rel=1e-9)
    assert len(merged) <= len(single) / 8 + 60
    assert merged.peak() == pytest.approx(single.peak(), rel=0.15)


@pytest.mark.parametrize(("model", "requests", "gaps"), [("m-mid", 2263e6, 84), ("m-small", 1433e6, 37)])
def test_servegen_of_two_weeks(model: str, requests: float, gaps: int) -> None:
    scale = 2e-5
    trace = read_trace(_TRACES / "servegen_rate_10min.csv.gz", options=TraceOptions(model=model, scale=scale))
    assert len(trace) == pytest.approx(requests * scale, rel=0.06)
    assert trace.span_s == pytest.approx(14 * 86_400, rel=0.01)
    assert f"neighbours: {gaps}" in trace.source


@pytest.mark.parametrize("model", ["deepseek-r1", "mm-image"])
def test_servegen_of_a_day(model: str) -> None:
    trace = read_trace(_TRACES / "servegen_rate_10min.csv.gz", options=TraceOptions(model=model, scale=0.005))
    assert trace.span_s == pytest.approx(86_400, rel=0.02)
    assert "neighbours" not in trace.source


def test_openb() -> None:
    """7,064 pods, 861 of them never scheduled; 50 thousandths of a GPU at least and 8 GPUs at most."""
    trace = read_trace(_TRACES / "alibaba_openb_2023_gpu_pods.csv.gz")
    assert len(trace) == 7064 - 861
    assert median(job.service_s for job in trace.jobs) == 655
    assert trace.largest_job == 8
    assert min(job.accelerators for job in trace.jobs) == 0.05
    last = read_trace(
        _TRACES / "alibaba_openb_2023_gpu_pods.csv.gz", options=TraceOptions(from_s=12_901_761 - 15 * 86_400)
    )
    assert last.span_s == pytest.approx(15 * 86_400, rel=0.01)
    assert 15 * 80 < len(last) < 15 * 660  # that many pods a day


def test_philly() -> None:
    options = TraceOptions(limit_s=20 * 86_400)
    trace = read_trace(_TRACES / "philly_runtime_quantiles.csv", options=options)
    assert len(trace) == pytest.approx(20 * 856, rel=0.04)
    cuts = quantiles([job.service_s for job in trace.jobs], n=10)
    assert cuts[4] == pytest.approx(1186, rel=0.06)
    assert cuts[8] == pytest.approx(12_859, rel=0.15)
