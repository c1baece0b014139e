"""Steps: "Step and simple scaling policies", Amazon EC2 Auto Scaling User Guide; field cases 3, 65 and 74."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import (
    GPU,
    GROUP_NAME,
    IN_FLIGHT,
    WAITING,
    alarm,
    math,
    raised,
    read,
    steps,
    without_default,
    worked_out,
)

_CPU = {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Dimensions": [GROUP_NAME]}
_ABOVE = {"ComparisonOperator": "GreaterThanThreshold", "AlarmActions": [{"Ref": "Out"}]}
_BELOW_ZERO = {"MetricIntervalUpperBound": 0, "ScalingAdjustment": -1}
_ABOVE_ZERO = {"MetricIntervalLowerBound": 0, "ScalingAdjustment": -1}


def _scaled(policy: dict[str, Any], **idle: Any) -> dict[str, Any]:
    return group(**template(In=policy, Idle=alarm(None, **idle))["Resources"])


def _woken(*signals: dict[str, Any], properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    alarms = {f"Busy{number}": alarm(signal, **_ABOVE) for number, signal in enumerate(signals)}
    return group(properties=properties, **template(Out=raised(), **alarms, **more)["Resources"])


def _tracking(**configuration: Any) -> dict[str, Any]:
    return group(
        **template(
            Follow={
                "Type": "AutoScaling::ScalingPolicy",
                "Properties": {
                    "AutoScalingGroupName": {"Ref": "Group"},
                    "PolicyType": "TargetTrackingScaling",
                    "TargetTrackingConfiguration": {"TargetValue": 60, **configuration},
                },
            }
        )["Resources"]
    )


def _queue(metrics: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return group(properties=properties, **template(In=steps(), Idle=metrics)["Resources"])


_EMPTY = {"Threshold": 1}
_HOOK = {"LifecycleHookName": "finish", "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"}

CASES = (
    Case(
        rule="steps-do-not-fit",
        breaks=(
            Breaks(
                template=_scaled(
                    steps(
                        {"MetricIntervalUpperBound": -20, "ScalingAdjustment": -2},
                        {"MetricIntervalLowerBound": -10, "MetricIntervalUpperBound": 0, "ScalingAdjustment": -1},
                    )
                ),
                resource="In",
                property="StepAdjustments[1]",
            ),
            Breaks(
                template=_scaled(
                    steps(
                        {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 20, "ScalingAdjustment": 1},
                        {"MetricIntervalLowerBound": 10, "ScalingAdjustment": 2},
                    )
                ),
                resource="In",
                property="StepAdjustments[1]",
            ),
        ),
        keeps=(
            _scaled(steps()),
            _scaled(
                steps(
                    {"MetricIntervalLowerBound": 10, "ScalingAdjustment": 2},
                    {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 10, "ScalingAdjustment": 1},
                )
            ),
        ),
        unknown=(without_default(_scaled(steps({"MetricIntervalUpperBound": {"Ref": "Asked"}})), "Asked"),),
    ),
    Case(
        rule="step-matches-nothing",
        breaks=(
            Breaks(template=_scaled(steps(_ABOVE_ZERO)), resource="In", property="StepAdjustments"),
            Breaks(
                template=_scaled(steps(_BELOW_ZERO), ComparisonOperator="GreaterThanThreshold"),
                resource="In",
                property="StepAdjustments",
            ),
            # When the alarm is over, the figure is on the other side.
            Breaks(
                template=_scaled(steps(_BELOW_ZERO), AlarmActions=[], OKActions=[{"Ref": "In"}]),
                resource="In",
                property="StepAdjustments",
            ),
            # Nothing for figures far above.
            Breaks(
                template=_scaled(
                    steps({"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 10, "ScalingAdjustment": 1}),
                    ComparisonOperator="GreaterThanThreshold",
                ),
                resource="In",
                property="StepAdjustments",
            ),
        ),
        keeps=(
            _scaled(steps(_BELOW_ZERO)),
            _scaled(
                steps(
                    {"MetricIntervalUpperBound": -3, "ScalingAdjustment": -2},
                    {"MetricIntervalLowerBound": -3, "MetricIntervalUpperBound": 0, "ScalingAdjustment": -1},
                )
            ),
            _scaled(steps(_ABOVE_ZERO), ComparisonOperator="GreaterThanOrEqualToThreshold"),
            _scaled(steps(_ABOVE_ZERO), AlarmActions=[], OKActions=[{"Ref": "In"}]),
        ),
        unknown=(without_default(_scaled(steps(), ComparisonOperator={"Ref": "Asked"}), "Asked"),),
    ),
    Case(
        rule="asleep-at-zero",
        breaks=(
            Breaks(template=_woken(GPU), resource="Group", property="MinSize", got="0"),
            Breaks(template=_woken(_CPU, GPU), resource="Group", property="MinSize"),
            Breaks(
                template=_tracking(PredefinedMetricSpecification={"PredefinedMetricType": "ASGAverageCPUUtilization"}),
                resource="Group",
                property="MinSize",
            ),
            Breaks(
                template=_tracking(CustomizedMetricSpecification={**GPU, "Statistic": "Average"}),
                resource="Group",
                property="MinSize",
            ),
        ),
        keeps=(
            _woken(GPU, WAITING),
            _woken(GPU, properties={"MinSize": 1}),
            # It begins with two, and nothing takes them.
            _woken(GPU, properties={"DesiredCapacity": 2}),
            _tracking(
                CustomizedMetricSpecification={
                    "Metrics": [worked_out("IF(n > 0, w / n, w)"), read("w", WAITING), read("n", GPU)]
                }
            ),
        ),
        unknown=(
            _woken(
                GPU,
                Daily={
                    "Type": "AutoScaling::ScheduledAction",
                    "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "DesiredCapacity": 1},
                },
            ),
            _woken(
                GPU,
                Wake={
                    "Type": "Lambda::Function",
                    "Properties": {"Code": {"ZipFile": "client.set_desired_capacity()"}, "Role": "arn"},
                },
                Role={
                    "Type": "IAM::Role",
                    "Properties": {
                        "Policies": [{"PolicyDocument": {"Statement": [{"Action": "autoscaling:SetDesiredCapacity"}]}}]
                    },
                },
            ),
            without_default(_woken(GPU, properties={"MinSize": {"Ref": "Asked"}}), "Asked"),
        ),
    ),
    Case(
        rule="in-flight-work-ignored",
        breaks=(
            Breaks(
                template=_queue(alarm(WAITING, **_EMPTY)),
                resource="Idle",
                property="MetricName",
                got="ApproximateNumberOfMessagesVisible",
            ),
        ),
        keeps=(
            _queue(math([worked_out("w + r"), read("w", WAITING), read("r", IN_FLIGHT)], **_EMPTY)),
            _queue(alarm(WAITING, **_EMPTY), NewInstancesProtectedFromScaleIn=True),
            _queue(alarm(WAITING, **_EMPTY), LifecycleHookSpecificationList=[_HOOK]),
            _queue(alarm(GPU)),
            # It follows the load.
            _queue(alarm(WAITING, Threshold=100)),
        ),
        unknown=(
            without_default(
                _queue(alarm(WAITING, **_EMPTY), NewInstancesProtectedFromScaleIn={"Ref": "Asked"}), "Asked"
            ),
        ),
    ),
)
