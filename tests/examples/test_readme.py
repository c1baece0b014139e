"""The README's own code and figures."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Annotations, Match

from constructs_lib.catalog import lookup
from constructs_lib.node.names import PASS_METRICS
from constructs_lib.telemetry import Telemetry, billed_metrics, kind_of
from tests.support.stacks import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    """The template of the README's first Python block, run as it stands."""
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    app, stack = names["app"], names["stack"]
    assert isinstance(app, App)
    assert Annotations.from_stack(stack).find_warning("/Inference/Fleet", Match.any_value()) == []
    made: dict[str, Any] = app.synth().get_stack_by_name("Inference").template
    return made


def count(template: dict[str, Any], type_name: str) -> int:
    return sum(resource["Type"] == type_name for resource in template["Resources"].values())


def test_ten_lines_cost_nothing_at_zero(template: dict[str, Any]) -> None:
    for billed in ("AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::VPCEndpoint", "AWS::KMS::Key"):
        assert count(template, billed) == 0


def test_alarms_and_their_metrics_are_as_many_as_the_costs_say(template: dict[str, Any]) -> None:
    alarms = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::CloudWatch::Alarm"]
    metrics = sum(len([m for m in a.get("Metrics", [{"MetricStat": 1}]) if "MetricStat" in m]) for a in alarms)
    assert (len(alarms), metrics) == (8, 16)
    assert "eight alarms over 16 metrics, 0.10 each | 1.60" in README


def test_the_series_of_a_g6_xlarge_are_as_many_as_the_costs_say() -> None:
    types = [lookup("g6.xlarge")]
    of_its_own = [
        billed_metrics(kind_of(types), types, telemetry, 2, with_setup=False)
        - billed_metrics(kind_of(types), types, telemetry, 1, with_setup=False)
        for telemetry in (Telemetry(), Telemetry(per_accelerator_series=False))
    ]
    said = re.search(r"\((\d+) series of its own; `Telemetry\(per_accelerator_series=False\)` drops (\w+) of", README)
    assert said is not None
    numbers = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    assert [int(said[1]), int(said[1]) - numbers.index(said[2])] == of_its_own


def test_the_release_costs_what_it_says(template: dict[str, Any]) -> None:
    """GetMetricData costs 0.01 USD for 1,000 metrics, a published metric 0.30 a month ("Amazon CloudWatch pricing")."""
    variables = [r["Properties"]["Environment"]["Variables"] for r in template["Resources"].values() if _is_release(r)]
    signals = len(json.loads(variables[0]["SIGNALS"]))
    passes = 730 * 60 // 5
    said = re.search(r"release costs ([\d.]+) USD a month for each\s+instance at work, up to ([\d.]+)", README)
    assert said is not None
    assert [float(each) for each in said.groups()] == [round(passes * n * 0.01 / 1000, 2) for n in (1, signals)]
    assert f"{0.30 * len(PASS_METRICS):.2f}\nfor the nine metrics of its passes" in README


def _is_release(resource: dict[str, Any]) -> bool:
    return str(resource.get("Properties", {}).get("Handler")) == "release_idle.index.handler"


def test_every_warning_id_of_the_library_is_listed() -> None:
    used = {
        found
        for path in (ROOT / "constructs_lib").rglob("*.py")
        for found in re.findall(r"@cdk-accelerated-fleet/[a-z]+:[A-Za-z]+", path.read_text(encoding="utf-8"))
    }
    listed = set(re.findall(r"@cdk-accelerated-fleet/[a-z]+:[A-Za-z]+", README))
    assert used == listed
