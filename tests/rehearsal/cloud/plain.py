"""Small templates written by hand, as people write them without this library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Body = dict[str, Any]


def resource(kind: str, **properties: Any) -> Body:
    """Return a resource."""
    return {"Type": f"AWS::{kind}", "Properties": properties}


def plain_template(more: Mapping[str, Body] | None = None, **group: Any) -> Body:
    """Return a template with a group of one type, and with more resources."""
    launch = resource("EC2::LaunchTemplate", LaunchTemplateData={"InstanceType": "g6.xlarge", "ImageId": "ami-1"})
    reference = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}
    fleet = resource("AutoScaling::AutoScalingGroup", LaunchTemplate=reference, MinSize="0", MaxSize="10")
    fleet["Properties"].update(group)
    return {"Resources": {"Launch": launch, "Workers": fleet, **(more or {})}}


def policy(kind: str, **properties: Any) -> Body:
    """Return a scaling policy of the group."""
    return resource(
        "AutoScaling::ScalingPolicy", AutoScalingGroupName={"Ref": "Workers"}, PolicyType=kind, **properties
    )


def tracking(target: float, *, group: str = "Workers", **configuration: Any) -> Body:
    """Return a target-tracking policy on a metric of its own."""
    custom = {"Namespace": "App", "MetricName": "Backlog", "Statistic": "Average"}
    given = {"CustomizedMetricSpecification": custom, "TargetValue": target, **configuration}
    given = {name: value for name, value in given.items() if value is not None}
    return resource(
        "AutoScaling::ScalingPolicy",
        AutoScalingGroupName={"Ref": group},
        PolicyType="TargetTrackingScaling",
        TargetTrackingConfiguration=given,
    )
