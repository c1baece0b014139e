"""Every example can be rehearsed, and those that a queue wakes do all of the work and go back to zero."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from constructs_lib.rehearsal.alternatives import ALTERNATIVES
from constructs_lib.rehearsal.report import Rehearsal
from constructs_lib.rehearsal.run import rehearse
from constructs_lib.rehearsal.trace import Job, Trace
from tests.examples.example_templates import templates
from tests.support.stacks import ROOT

EXAMPLES = sorted(each.parent.name for each in (ROOT / "examples").glob("*/app.py"))
# Two bursts, hours apart: the second one finds the fleet at zero.
WORK = Trace(tuple(Job(at + n, 300) for at in (600, 12_000) for n in range(3)), "two bursts")


def _the_fleet(of: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    def has_group(template: Mapping[str, Any]) -> bool:
        return any(each["Type"] == "AWS::AutoScaling::AutoScalingGroup" for each in template["Resources"].values())

    (found,) = [each for each in of.values() if has_group(each)]
    return found


@cache
def rehearsed(example: str) -> tuple[Mapping[str, Any], Rehearsal]:
    template = _the_fleet(templates(example))
    return template, rehearse(template, WORK)


def _is_woken_by_a_queue(template: Mapping[str, Any]) -> bool:
    return "wake_on_demand.index.handler" in {
        each.get("Properties", {}).get("Handler") for each in template["Resources"].values()
    }


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_rehearsed(example: str) -> None:
    template, found = rehearsed(example)
    figures = found.figures

    assert figures.jobs == len(WORK)
    assert figures.interrupted == 0
    assert found.ratio is None or found.ratio >= 1
    if _is_woken_by_a_queue(template):
        assert figures.done == len(WORK)
        assert figures.time_to_zero_s is not None
        assert figures.releases == figures.launches > 0
        assert found.remarks == []
    else:
        assert found.remarks


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_compared_with_every_alternative(example: str) -> None:
    found = rehearse(_the_fleet(templates(example)), WORK, compare=True)

    assert found.alternatives.keys() >= {each.name for each in ALTERNATIVES}


def test_some_examples_are_woken_by_a_queue() -> None:
    assert sum(_is_woken_by_a_queue(rehearsed(each)[0]) for each in EXAMPLES) >= 3


def test_the_report_of_an_example_is_the_same_each_time() -> None:
    template, found = rehearsed("inference_queue")
    again = rehearse(template, WORK)

    assert again.as_json() == found.as_json()
    assert again.as_text() == found.as_text()
    assert again.as_html() == found.as_html()
