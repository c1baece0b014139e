"""What the tests of rules are made of: a template, and what a rule must say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.findings import Report
from constructs_lib.compliance.rules import RULES

Template = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Breaks:
    """A template that breaks a rule.

    Attributes:
        template: that breaks it.
        resource: logical id that the finding names.
        property: that it names. Empty: the resource as a whole.
        got: part of what the message shows as the value.
        region: that the check is told. None: none.
    """

    template: Template
    resource: str
    property: str = ""
    got: str = ""
    region: str | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One rule: templates that break it, that keep it, and of which it cannot know.

    Attributes:
        rule: id.
        breaks: each has to give the finding.
        keeps: each has to be judged and give no finding.
        unknown: each has to give no finding, and to be listed as not judged.
        region: that the checks of ``keeps`` and ``unknown`` are told. None: none.
    """

    rule: str
    breaks: tuple[Breaks, ...]
    keeps: tuple[Template, ...]
    unknown: tuple[Template, ...]
    region: str | None = None


def checked(template: Template, *rules: str, region: str | None = None) -> Report:
    """The report on a template, of some rules or of all."""
    chosen = [RULES[each] for each in rules] if rules else list(RULES.values())
    return check([Deployment([Source(name="template", content=template)], region=region)], chosen, all_ids=RULES)


def template(**resources: Mapping[str, Any]) -> dict[str, Any]:
    """A template with these resources; the ``AWS::`` before a type may be left out."""
    return {"Resources": {id: {**each, "Type": _whole(each["Type"])} for id, each in resources.items()}}


def _whole(kind: str) -> str:
    return kind if kind.startswith(("AWS::", "Custom::")) else f"AWS::{kind}"


def group(
    *types: str, launch: Mapping[str, Any] | None = None, properties: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A template with a group ``Group`` and its launch template ``Launch``.

    Args:
        types: instance types. Default: ``g6.xlarge``.
        launch: entries of ``LaunchTemplateData``.
        properties: of the group.
        more: resources besides.
    """
    names = types or ("g6.xlarge",)
    used = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": {"Fn::GetAtt": ["Launch", "LatestVersionNumber"]}}
    purchased: dict[str, Any] = (
        {"LaunchTemplate": used}
        if len(names) == 1
        else {
            "MixedInstancesPolicy": {
                "LaunchTemplate": {
                    "LaunchTemplateSpecification": used,
                    "Overrides": [{"InstanceType": each} for each in names],
                }
            }
        }
    )
    return template(
        Launch={
            "Type": "EC2::LaunchTemplate",
            "Properties": {"LaunchTemplateData": {"InstanceType": names[0], **(launch or {})}},
        },
        Group={
            "Type": "AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "4",
                "VPCZoneIdentifier": ["subnet-a", "subnet-b"],
                **purchased,
                **(properties or {}),
            },
        },
        **more,
    )


def role_for(action: str, on: object) -> dict[str, Any]:
    """A role that may call this action on these resources."""
    return {
        "Type": "IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {},
            "Policies": [
                {
                    "PolicyName": "Own",
                    "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": action, "Resource": on}]},
                }
            ],
        },
    }


def stating(resource: str, stated: dict[str, Any], **reasons: str) -> dict[str, Any]:
    """A template in which a resource gives reasons."""
    resources = stated["Resources"]
    return stated | {"Resources": resources | {resource: resources[resource] | {"Metadata": {"accel-fleet": reasons}}}}


def moving(kind: str = "TargetTrackingScaling", **configuration: Any) -> dict[str, Any]:
    """A policy of Application Auto Scaling that moves ``Target``."""
    settings = {
        "TargetTrackingScaling": {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1, **configuration}},
        "StepScaling": {"StepScalingPolicyConfiguration": configuration},
    }
    own = {"PolicyName": "p", "PolicyType": kind, "ScalingTargetId": {"Ref": "Target"}, **settings.get(kind, {})}
    return {"Type": "ApplicationAutoScaling::ScalingPolicy", "Properties": own}
