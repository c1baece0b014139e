"""What one cure mends is told once, however many groups it would mend; an answer on one is for that one."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.findings import Report
from constructs_lib.compliance.rules import RULES
from tests.compliance.cases import group, template
from tests.compliance.telemetry import raised

BOTH = ("dead-accelerator-unnoticed", "launch-failure-untold")


def _report(rule: str, *, answered: tuple[str, ...] = (), noticed: tuple[str, ...] = ()) -> Report:
    given: dict[str, Any] = {}
    for name in ("First", "Second", "Third"):
        resources = group(**template(Out=raised())["Resources"])["Resources"]
        one = resources["Group"]
        one["Properties"]["LaunchTemplate"] = {"LaunchTemplateId": {"Ref": f"{name}Launch"}, "Version": "1"}
        if name in answered:
            one["Metadata"] = {"accel-fleet": {"suppress": [{"rule": rule, "reason": "a person looks at it"}]}}
        if name in noticed:
            one["Properties"]["HealthCheckType"] = "ELB"
            one["Properties"]["TargetGroupARNs"] = ["arn:x"]
            one["Properties"]["NotificationConfigurations"] = [
                {"TopicARN": "arn", "NotificationTypes": ["autoscaling:EC2_INSTANCE_LAUNCH_ERROR"]}
            ]
        policy = resources["Out"]
        policy["Properties"]["AutoScalingGroupName"] = {"Ref": name}
        given |= {name: one, f"{name}Launch": resources["Launch"], f"{name}Out": policy}
    deployment = Deployment([Source(name="template", content={"Resources": given})])
    return check([deployment], [RULES[rule]], all_ids=RULES)


@pytest.mark.parametrize("rule", BOTH)
def test_all_groups_are_told_of_once(rule: str) -> None:
    report = _report(rule)
    (found,) = report.findings
    assert found.resource == "First"
    assert "Second, Third" in found.message
    assert report.kept == ()


@pytest.mark.parametrize("rule", BOTH)
def test_a_group_that_keeps_the_rule_is_none_of_them(rule: str) -> None:
    report = _report(rule, noticed=("First",))
    (found,) = report.findings
    assert found.resource == "Second"
    assert "Third" in found.message
    assert [each.resource for each in report.kept] == ["First"]


@pytest.mark.parametrize("rule", BOTH)
def test_an_answer_on_one_group_is_none_for_the_others(rule: str) -> None:
    report = _report(rule, answered=("First",))
    (found,), (suppressed,) = report.findings, report.suppressed
    assert suppressed.finding.resource == "First"
    assert found.resource == "Second"
    assert "Third" in found.message
    assert "First" not in found.message
