"""Templates for preflight's tests: a group on two subnets that exist, and parts to change in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.preflight import Finding, Report, preflight
from constructs_lib.template.settling import Surroundings, Template
from tests.preflight.fake_account import NOW, REGION, FakeAccount

LAUNCH_TEMPLATE = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": {"Fn::GetAtt": ["Launch", "LatestVersionNumber"]}}


def template(
    *,
    group: Mapping[str, Any] | None = None,
    launch: Mapping[str, Any] | None = None,
    resources: Mapping[str, Any] | None = None,
    **sections: Any,
) -> dict[str, Any]:
    """A group of at most four ``g6.xlarge``; a property that is given as None is left out."""
    data = {
        "InstanceType": "g6.xlarge",
        "ImageId": "{{resolve:ssm:/images/gpu}}",
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True}}],
        **(launch or {}),
    }
    properties = {
        "MinSize": "0",
        "MaxSize": "4",
        "LaunchTemplate": LAUNCH_TEMPLATE,
        "VPCZoneIdentifier": ["subnet-a", "subnet-b"],
        **(group or {}),
    }
    return {
        "Resources": {
            "Launch": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": _without_none(data)}},
            "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": _without_none(properties)},
            **(resources or {}),
        },
        **sections,
    }


def mixed(*types: str, weights: Mapping[str, str] | None = None, **distribution: Any) -> dict[str, Any]:
    """Properties of a group with a mixed instances policy."""
    overrides: list[dict[str, Any]] = [{"InstanceType": name} for name in types]
    for each in overrides:
        if weights:
            each["WeightedCapacity"] = weights[each["InstanceType"]]
    policy = {
        "InstancesDistribution": distribution,
        "LaunchTemplate": {"LaunchTemplateSpecification": LAUNCH_TEMPLATE, "Overrides": overrides},
    }
    return {"LaunchTemplate": None, "MixedInstancesPolicy": policy}


def settle(value: Any, document: Mapping[str, Any] | None = None, **surroundings: Any) -> Any:
    """What a value of a template is."""
    return Template(document or {}, Surroundings(region=REGION, **surroundings)).settle(value)


def ask(account: FakeAccount | None = None, document: Any = None, **options: Any) -> Report:
    """Preflight's report about a template, the default one unless another is given."""
    chosen = FakeAccount() if account is None else account
    return preflight(template() if document is None else document, chosen, now=NOW, **options)


def found(report: Report, asked: str) -> list[Finding]:
    """Findings that answer one question."""
    return [finding for finding in report.findings if finding.asked == asked]


def only(report: Report, asked: str) -> Finding:
    """The one finding that answers a question."""
    (finding,) = found(report, asked)
    return finding


def _without_none(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value is not None}
