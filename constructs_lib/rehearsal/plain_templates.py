"""Templates of the plain groups that a fleet is compared with: its instances, its largest size and its queue, no more.

What else the fleet's template has, its functions, rules, alarms, hooks and policies, is left out; each builder then
adds what its kind of group has. The results are what CloudFormation would take, so far as the simulation reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.template import Template
from constructs_lib.validation import complaint

Body = dict[str, Any]

_SHARED = ("AWS::EC2::LaunchTemplate", "AWS::SSM::Parameter")
_OWN_TO_THE_FLEET = (
    "DesiredCapacity",
    "InstanceLifecyclePolicy",
    "LifecycleHookSpecificationList",
    "NewInstancesProtectedFromScaleIn",
)
_QUEUE = "AWS::SQS::Queue"
_QUEUE_WITHOUT_FLEET = "Jobs"
_BY_NAME_ALONE = "AWS::CloudFormation::WaitConditionHandle"
"""What stands for resources that those which are kept refer to: it has no property, and does nothing."""
_STEPS = 20
"""As many as a step scaling policy may have."""
_MINUTE = 60
_IDLE_PERIOD = 300
_IDLE_PERIODS = 3
_IDLE_PERCENT = 5


def plain_group(template: Mapping[str, Any], fleet: str, *, minimum: int = 0, protected: bool = False) -> Body:
    """Return a template with the group of a fleet and nothing that scales it.

    Args:
        template: the fleet's.
        fleet: logical id of its group.
        minimum: how many instances are always there. Default: 0.
        protected: whether new instances are protected from scale-in, as those are whose owner ends them itself.
            Default: no.
    """
    resources = template["Resources"]
    group = resources[fleet]
    maximum = _maximum(template, fleet)
    if maximum < minimum:
        rule, cure = f"be at least {minimum} for a plain group to compare it with", "leave the comparison out"
        raise ArgumentError(complaint(fleet, "MaxSize", rule, maximum, cure))
    kept = {name: value for name, value in group["Properties"].items() if name not in _OWN_TO_THE_FLEET}
    sizes = {"MinSize": str(minimum), "MetricsCollection": [{"Granularity": "1Minute"}]}
    protection = {"NewInstancesProtectedFromScaleIn": True} if protected else {}
    shared = {name: resource for name, resource in resources.items() if resource["Type"] in _SHARED}
    alone = {
        **shared,
        queue_of(template, fleet): {"Type": _QUEUE},
        fleet: {"Type": group["Type"], "Properties": {**kept, **sizes, **protection}},
    }
    referred_to = Template(template, fleet=fleet).referred_to(list(alone.values()))
    names = {name: {"Type": _BY_NAME_ALONE} for name in resources if name in referred_to - alone.keys()}
    return {
        **{section: value for section, value in template.items() if section not in ("Resources", "Outputs", "Rules")},
        "Resources": {**names, **alone},
    }


def target_tracking(template: Mapping[str, Any], fleet: str, *, backlog: float) -> Body:
    """Return a plain group that keeps the backlog of each instance at a target, with one instance at least.

    The expression is that of the user guide of EC2 Auto Scaling for a queue: visible messages by instances in service.
    What the guide tells besides, to protect an instance from scale-in while it works, needs a program on the instance
    that does so; a plain group has none.
    """
    body = plain_group(template, fleet, minimum=1)
    metrics = [
        {"Id": "m1", "MetricStat": {"Metric": _waiting(template, fleet), "Stat": "Sum"}, "ReturnData": False},
        {"Id": "m2", "MetricStat": {"Metric": _in_service(fleet), "Stat": "Average"}, "ReturnData": False},
        {"Id": "e1", "Expression": "m1 / m2", "Label": "backlog of each instance", "ReturnData": True},
    ]
    tracking = {"CustomizedMetricSpecification": {"Metrics": metrics}, "TargetValue": backlog}
    body["Resources"]["BacklogPolicy"] = _policy(
        fleet, {"PolicyType": "TargetTrackingScaling", "TargetTrackingConfiguration": tracking}
    )
    return body


def group_idle_alarm(template: Mapping[str, Any], fleet: str, *, at_once: int) -> Body:
    """Return a plain group that steps out with the depth of the queue and goes to zero on an idle alarm of the group.

    One message asks for one instance, and each ``at_once`` more for another, in steps as fine as a policy can have.
    The alarm goes off when the group's average CPU use has been below 5 % for 15 minutes, whoever is at work.
    """
    body = plain_group(template, fleet)
    maximum = _maximum(template, fleet)
    body["Resources"] |= {
        "StepOut": _policy(
            fleet,
            {
                "PolicyType": "StepScaling",
                "AdjustmentType": "ChangeInCapacity",
                "StepAdjustments": _steps(maximum, at_once),
            },
        ),
        "QueueAlarm": _alarm(
            _waiting(template, fleet),
            "StepOut",
            Statistic="Maximum",
            Period=_MINUTE,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
        ),
        "ToZero": _policy(
            fleet,
            {
                "PolicyType": "StepScaling",
                "AdjustmentType": "ExactCapacity",
                "StepAdjustments": [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": 0}],
            },
        ),
        "IdleAlarm": _alarm(
            {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Dimensions": _of_group(fleet)},
            "ToZero",
            Statistic="Average",
            Period=_IDLE_PERIOD,
            EvaluationPeriods=_IDLE_PERIODS,
            Threshold=_IDLE_PERCENT,
            ComparisonOperator="LessThanThreshold",
        ),
    }
    return body


def queue_of(template: Mapping[str, Any], fleet: str) -> str:
    """Return the logical id of the queue that a fleet works on; a name for one if it has none in its template."""
    queues = [name for name, resource in template["Resources"].items() if resource["Type"] == _QUEUE]
    asked = [each["QUEUE_URL"] for each in _environments(template, fleet) if each.get("QUEUE_URL") in queues]
    return (asked or queues or [_QUEUE_WITHOUT_FLEET])[0]


def at_once(template: Mapping[str, Any], fleet: str) -> int | None:
    """Return how many messages an instance of a fleet works on at a time, if its template tells."""
    told = (each.get("MESSAGES_PER_INSTANCE") for each in _environments(template, fleet))
    return next((int(number) for number in told if number is not None), None)


def _maximum(template: Mapping[str, Any], fleet: str) -> int:
    return int(Template(template).group(fleet)[1]["MaxSize"])


def _environments(template: Mapping[str, Any], fleet: str) -> list[Mapping[str, str]]:
    """Return the settings of the functions that are about a fleet's group."""
    functions = Template(template).resources("AWS::Lambda::Function").values()
    settings = (each.get("Environment", {}).get("Variables", {}) for each in functions)
    return [each for each in settings if each.get("AUTO_SCALING_GROUP_NAME") == fleet]


def _steps(maximum: int, at_once: int) -> list[dict[str, int]]:
    """Return steps by the depth of the queue, offsets from a threshold of one message."""
    number = min(maximum, _STEPS)
    sizes = [-(-maximum * step // number) for step in range(1, number + 1)]
    steps = [
        {
            "MetricIntervalLowerBound": before * at_once,
            "MetricIntervalUpperBound": size * at_once,
            "ScalingAdjustment": size,
        }
        for before, size in zip([0, *sizes], sizes, strict=False)
    ]
    del steps[-1]["MetricIntervalUpperBound"]
    return steps


def _policy(fleet: str, properties: Mapping[str, Any]) -> Body:
    return {
        "Type": "AWS::AutoScaling::ScalingPolicy",
        "Properties": {"AutoScalingGroupName": {"Ref": fleet}, **properties},
    }


def _alarm(metric: Mapping[str, Any], policy: str, **properties: Any) -> Body:
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {**metric, **properties, "AlarmActions": [{"Ref": policy}]},
    }


def _waiting(template: Mapping[str, Any], fleet: str) -> Body:
    name = {"Fn::GetAtt": [queue_of(template, fleet), "QueueName"]}
    return {
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{"Name": "QueueName", "Value": name}],
    }


def _in_service(fleet: str) -> Body:
    return {
        "Namespace": "AWS/AutoScaling",
        "MetricName": "GroupInServiceInstances",
        "Dimensions": _of_group(fleet),
    }


def _of_group(fleet: str) -> list[Body]:
    return [{"Name": "AutoScalingGroupName", "Value": {"Ref": fleet}}]
