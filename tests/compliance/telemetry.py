"""What tests of telemetry are made of: agents, roles, alarms and policies of the group of ``cases.group``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.compliance.cases import group, template

GROUP_NAME = {"Name": "AutoScalingGroupName", "Value": {"Ref": "Group"}}
GPU = {"Namespace": "CWAgent", "MetricName": "nvidia_smi_utilization_gpu", "Dimensions": [GROUP_NAME]}
WAITING = {
    "Namespace": "AWS/SQS",
    "MetricName": "ApproximateNumberOfMessagesVisible",
    "Dimensions": [{"Name": "QueueName", "Value": "jobs"}],
}
IN_FLIGHT = {**WAITING, "MetricName": "ApproximateNumberOfMessagesNotVisible"}
AWS_IMAGE = "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"


def agent(sections: Mapping[str, Any] | None = None, **metrics: Any) -> dict[str, Any]:
    """A configuration of the agent that reads GPUs, with roll-ups by instance and by group.

    Args:
        sections: in place of the one for NVIDIA GPUs.
        metrics: entries of its chapter of metrics; None leaves one out.
    """
    chapter = {
        "append_dimensions": {
            "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
            "InstanceId": "${aws:InstanceId}",
        },
        "aggregation_dimensions": [["InstanceId"], ["AutoScalingGroupName"]],
        "metrics_collected": sections or {"nvidia_gpu": {"measurement": ["utilization_gpu", "memory_used"]}},
        **metrics,
    }
    return {"metrics": {name: value for name, value in chapter.items() if value is not None}}


def script(configuration: object, *, end: str = "'EOF'") -> str:
    """A boot script that writes a configuration into a file and starts the agent with it."""
    text = configuration if isinstance(configuration, str) else json.dumps(configuration, indent=1)
    return (
        "#!/bin/bash\n"
        f"cat >/opt/agent.json <<{end}\n{text}\nEOF\n"
        "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s "
        "-c file:/opt/agent.json\n"
    )


def role(*actions: str, condition: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A role of instances, and its profile."""
    statement: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    if condition is not None:
        statement["Condition"] = condition
    policies = [{"PolicyName": "own", "PolicyDocument": {"Statement": [statement]}}] if actions else []
    return {
        "Role": {"Type": "IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}, "Policies": policies, **more}},
        "Profile": {"Type": "IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    }


def measured(
    configuration: object,
    *types: str,
    launch: Mapping[str, Any] | None = None,
    properties: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The group, with this configuration of the agent in its boot script.

    Args:
        configuration: of the agent.
        types: instance types.
        launch: entries of ``LaunchTemplateData`` besides.
        properties: of the group.
        more: resources besides.
    """
    data = {"UserData": {"Fn::Base64": script(configuration)}, **(launch or {})}
    return group(*types, launch=data, properties=properties, **more)


def alarm(metric: Mapping[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    """An alarm on idle GPUs that acts on the policy ``In``.

    Args:
        metric: that it reads. Default: the use of the group's GPUs.
        properties: of the alarm; None leaves one out.
    """
    written = {
        **(metric or GPU),
        "Statistic": "Maximum",
        "Period": 300,
        "EvaluationPeriods": 3,
        "Threshold": 5,
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "notBreaching",
        "AlarmActions": [{"Ref": "In"}],
        **properties,
    }
    return {
        "Type": "CloudWatch::Alarm",
        "Properties": {name: value for name, value in written.items() if value is not None},
    }


def math(entries: Sequence[Mapping[str, Any]], **properties: Any) -> dict[str, Any]:
    """An alarm like ``alarm``, with expressions in place of one metric."""
    nothing = dict.fromkeys(("Namespace", "MetricName", "Dimensions", "Statistic", "Period"))
    return alarm(None, **{**nothing, "Metrics": list(entries), **properties})


def read(id: str, metric: Mapping[str, Any], *, stat: str = "Maximum", period: object = 300) -> dict[str, Any]:
    """An entry of ``Metrics`` that reads a metric."""
    return {"Id": id, "ReturnData": False, "MetricStat": {"Metric": metric, "Period": period, "Stat": stat}}


def worked_out(expression: str) -> dict[str, Any]:
    """An entry of ``Metrics`` that the alarm judges."""
    return {"Id": "judged", "Expression": expression, "ReturnData": True}


def steps(*adjustments: Mapping[str, Any], **properties: Any) -> dict[str, Any]:
    """A step scaling policy of the group. Default: one instance less below the threshold."""
    return {
        "Type": "AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": "Group"},
            "PolicyType": "StepScaling",
            "AdjustmentType": "ChangeInCapacity",
            "StepAdjustments": list(adjustments) or [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": -1}],
            **properties,
        },
    }


def raised(**properties: Any) -> dict[str, Any]:
    """A step scaling policy of the group that adds an instance above the threshold."""
    return steps({"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}, **properties)


def without_default(template: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The template with parameters of which nobody knows the values."""
    return {"Parameters": {name: {"Type": "String"} for name in names}, **template}


def watched_by(idle: dict[str, Any], *, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The group with a policy that lowers it, one that raises it, and this alarm ``Idle``."""
    return group(properties=properties, **template(In=steps(), Out=raised(), Idle=idle, **more)["Resources"])


def asks_for(name: str) -> dict[str, Any]:
    """The group, whose alarm has a parameter without default as this property."""
    return without_default(watched_by(alarm(None, **{name: {"Ref": "Asked"}})), "Asked")
