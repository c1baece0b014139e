"""A cure that somebody follows to the letter ends the finding, and brings none that it could have told of."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from constructs_lib.compliance import check_template
from tests.compliance.cases import group, template

_AGENT = """#!/bin/bash
cat > /opt/agent.json <<'END'
{"metrics": {
  "append_dimensions": {"AutoScalingGroupName": "${aws:AutoScalingGroupName}"},
  "aggregation_dimensions": [["AutoScalingGroupName"]],
  "metrics_collected": {"nvidia_gpu": {"measurement": ["utilization_gpu"]}}}}
END
amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c file:/opt/agent.json
"""
_ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"]},
}
_PROFILE = {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}}


def _found(template: dict[str, Any]) -> dict[str, str]:
    return {each.rule: each.fix for each in check_template(template).findings}


def test_an_agent_needs_a_role() -> None:
    before = group()
    fix = _found(before)["accelerators-not-measured"]
    assert "section nvidia_gpu" in fix
    assert "cloudwatch:PutMetricData" in fix

    after = deepcopy(before)
    after["Resources"] |= {"Role": _ROLE, "Profile": _PROFILE}
    launch = after["Resources"]["Launch"]["Properties"]["LaunchTemplateData"]
    launch |= {"UserData": {"Fn::Base64": _AGENT}, "IamInstanceProfile": {"Name": {"Ref": "Profile"}}}
    assert set(_found(after)) == set(_found(before)) - {"accelerators-not-measured"}


def test_the_figures_of_other_tools_need_a_role_too() -> None:
    assert "cloudwatch:PutMetricData" in _found(group("inf2.xlarge"))["accelerators-not-measured"]


def test_a_health_check_of_a_load_balancer_needs_one_and_time() -> None:
    before = group()
    fix = _found(before)["dead-accelerator-unnoticed"]
    assert all(each in fix for each in ("attach a load balancer", "HealthCheckType: ELB", "HealthCheckGracePeriod"))

    after = deepcopy(before)
    after["Resources"]["Group"]["Properties"] |= {
        "HealthCheckType": "ELB",
        "HealthCheckGracePeriod": 900,
        "TargetGroupARNs": ["arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/chat/0123456789abcdef"],
    }
    assert set(_found(after)) == set(_found(before)) - {"dead-accelerator-unnoticed"}


def test_a_release_by_an_alarm_is_told_to_need_an_alarm_on_silence() -> None:
    assert "silence" in _found(group(properties={"MinSize": "0"}))["no-idle-release"]


_TAGS = [{"Key": "CostCenter", "Value": "4711"}]


def test_a_tag_for_the_instances_needs_one_for_their_volumes() -> None:
    before = group()
    fix = _found(before)["cost-not-attributed"]
    assert "CostCenter" in fix
    assert "{ResourceType: volume, Tags: [...]} to TagSpecifications" in fix

    after = deepcopy(before)
    after["Resources"]["Group"]["Properties"]["Tags"] = [{**_TAGS[0], "PropagateAtLaunch": True}]
    launch = after["Resources"]["Launch"]["Properties"]["LaunchTemplateData"]
    launch["TagSpecifications"] = [{"ResourceType": "volume", "Tags": _TAGS}]
    assert set(_found(after)) == set(_found(before)) - {"cost-not-attributed"}


def test_a_tag_of_a_single_instance_has_to_reach_its_volumes() -> None:
    before = template(Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}})
    assert "PropagateTagsToVolumeOnCreation: true" in _found(before)["cost-not-attributed"]

    after = deepcopy(before)
    after["Resources"]["Box"]["Properties"] |= {"Tags": _TAGS, "PropagateTagsToVolumeOnCreation": True}
    assert set(_found(after)) == set(_found(before)) - {"cost-not-attributed"}


def test_a_tag_of_a_notebook_needs_nothing_else() -> None:
    before = template(Book={"Type": "SageMaker::NotebookInstance", "Properties": {"InstanceType": "ml.g5.xlarge"}})
    fix = _found(before)["cost-not-attributed"]
    assert fix == "add a cost allocation tag, for example CostCenter, or an AWS::Budgets::Budget"
