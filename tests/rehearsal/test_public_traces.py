"""Traces that companies have published, if they lie beside this checkout: what holds of any report holds of theirs."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from constructs_lib.rehearsal import Rehearsal, TraceOptions, read_trace, rehearse
from tests.rehearsal.fleets import SCENARIO, queue_fleet
from tests.support.stacks import ROOT

_TRACES = ROOT.parent / "shared" / "data" / "trace"
pytestmark = pytest.mark.skipif(not _TRACES.is_dir(), reason="the public traces are not beside this checkout")


class _Work(NamedTuple):
    file: str
    options: TraceOptions
    instance_type: str
    at_once: int


_WORK = {
    "chat": _Work("azure_llm_2023_conv.csv.gz", TraceOptions(merge_s=30, stretch=6), "g6.xlarge", 8),
    "code": _Work("azure_llm_2023_code.csv.gz", TraceOptions(merge_s=30, stretch=6), "g6.xlarge", 8),
    "reasoning": _Work("servegen_rate_10min.csv.gz", TraceOptions(model="deepseek-r1", scale=5e-4), "g6.xlarge", 8),
    "pods": _Work(
        "alibaba_openb_2023_gpu_pods.csv.gz", TraceOptions(from_s=11_605_761, limit_s=21_600), "p4d.24xlarge", 4
    ),
}


@pytest.fixture(scope="module", params=_WORK)
def found(request: pytest.FixtureRequest) -> Rehearsal:
    work = _WORK[request.param]
    template = queue_fleet(work.instance_type, at_once=work.at_once, most=8)
    return rehearse(template, read_trace(_TRACES / work.file, options=work.options), scenario=SCENARIO, compare=True)


def test_all_work_is_done_and_none_is_cut_off(found: Rehearsal) -> None:
    assert found.figures.unfinished == found.figures.interrupted == 0
    assert found.figures.done == len(found.trace)


def test_the_report_has_the_ratio_of_the_fleet_of_the_adaptive_policy_and_of_each_alternative(found: Rehearsal) -> None:
    ratios = {name: way.ratio for name, way in found.alternatives.items()}
    assert {"adaptive", "always_on", "target_tracking", "group_idle_alarm", "idle_10_min", "idle_5_min"} == set(ratios)
    assert found.ratio is not None
    assert min(found.ratio, *(ratio for ratio in ratios.values() if ratio is not None)) >= 1


def test_nobody_who_is_always_there_keeps_anybody_waiting_longer(found: Rehearsal) -> None:
    always = found.alternatives["always_on"].figures.waits.p95
    assert always is not None
    assert found.figures.waits.p95 is not None
    assert always <= found.figures.waits.p95
