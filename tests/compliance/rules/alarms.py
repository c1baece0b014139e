"""Alarms: "Configuring how CloudWatch alarms treat missing data"; field cases 6, 8, 30, 33, 61."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import (
    GPU,
    WAITING,
    alarm,
    math,
    raised,
    read,
    steps,
    without_default,
    worked_out,
)


def _with(idle: dict[str, Any], *, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return group(properties=properties, **template(In=steps(), Out=raised(), Idle=idle, **more)["Resources"])


def _asked(name: str) -> dict[str, Any]:
    return without_default(_with(alarm(None, **{name: {"Ref": "Asked"}})), "Asked")


def _averaged(policy: dict[str, Any], **properties: Any) -> dict[str, Any]:
    idle = alarm(None, Statistic="Average")
    return group(properties=properties, **template(In=policy, Idle=idle)["Resources"])


def _sliced(command: str) -> dict[str, Any]:
    launch = {"UserData": {"Fn::Base64": f"#!/bin/bash\n{command}\n"}}
    return group(launch=launch, **template(In=steps(), Idle=alarm())["Resources"])


def _function(*actions: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    resources: dict[str, Any] = template(
        Release={"Type": "Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["ReleaseRole", "Arn"]}}},
        ReleaseRole={
            "Type": "IAM::Role",
            "Properties": {"Policies": [{"PolicyName": "own", "PolicyDocument": {"Statement": [statement]}}]},
        },
        Topic={"Type": "SNS::Topic"},
        Subscribed={
            "Type": "SNS::Subscription",
            "Properties": {
                "TopicArn": {"Ref": "Topic"},
                "Protocol": "lambda",
                "Endpoint": {"Fn::GetAtt": ["Release", "Arn"]},
            },
        },
    )["Resources"]
    return resources


_SELF_PROTECTING = {
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "Policies": [
                {
                    "PolicyName": "own",
                    "PolicyDocument": {
                        "Statement": [
                            {"Effect": "Allow", "Action": "autoscaling:SetInstanceProtection", "Resource": "*"}
                        ]
                    },
                }
            ]
        },
    },
    "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
}
_ONE = {"Name": "InstanceId", "Value": "i-0123456789abcdef0"}
_ELSEWHERE = {"Namespace": "Shop", "MetricName": "orders", "Dimensions": [{"Name": "Shop", "Value": "books"}]}
_BOTH = [{"Ref": "In"}, {"Fn::GetAtt": ["Release", "Arn"]}]
_BY_TOPIC = [{"Ref": "In"}, {"Ref": "Topic"}]
_TO_ZERO = steps({"MetricIntervalUpperBound": 0, "ScalingAdjustment": 0}, AdjustmentType="ExactCapacity")
_GAP = math(
    [
        worked_out("in_service - samples"),
        read("in_service", {**GPU, "Namespace": "AWS/AutoScaling", "MetricName": "GroupInServiceInstances"}, period=60),
        read("samples", GPU, stat="SampleCount", period=60),
    ],
    ComparisonOperator="GreaterThanThreshold",
    AlarmActions=["arn:aws:sns:eu-west-1:123456789012:people"],
)


def _in_detail(*entries: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return _with(math(list(entries), **properties))


def _stopping(silence: str) -> dict[str, Any]:
    metric = {**GPU, "Dimensions": [{"Name": "InstanceId", "Value": {"Ref": "Box"}}]}
    stop = {"Fn::Sub": "arn:aws:automate:${AWS::Region}:ec2:stop"}
    return template(
        Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}},
        Idle=alarm(metric, TreatMissingData=silence, AlarmActions=[stop]),
    )


CASES = (
    Case(
        rule="missing-data-unsaid",
        breaks=(
            Breaks(template=_with(alarm(None, TreatMissingData=None)), resource="Idle", property="TreatMissingData"),
            # It moves nothing, and watches GPUs.
            Breaks(
                template=_with(alarm(None, TreatMissingData=None, AlarmActions=None)),
                resource="Idle",
                property="TreatMissingData",
            ),
        ),
        keeps=(_with(alarm()), _with(alarm(None, TreatMissingData="missing"))),
        unknown=(_asked("TreatMissingData"),),
    ),
    Case(
        rule="silence-read-as-idle",
        breaks=(
            Breaks(
                template=_with(alarm(None, TreatMissingData="breaching")),
                resource="Idle",
                property="TreatMissingData",
                got="breaching",
            ),
            Breaks(
                template=_in_detail(worked_out("FILL(gpu, 0)"), read("gpu", GPU)),
                resource="Idle",
                property="Metrics[0].Expression",
                got="FILL(gpu, 0)",
            ),
            # The alarm stops the instance itself.
            Breaks(template=_stopping("breaching"), resource="Idle", property="TreatMissingData", got="breaching"),
        ),
        keeps=(
            _with(alarm()),
            _with(alarm(None, TreatMissingData="ignore")),
            _stopping("notBreaching"),
            _in_detail(worked_out("FILL(gpu, 100)"), read("gpu", GPU)),
            # It acts when the alarm is over, and silence is none of that.
            _with(alarm(None, TreatMissingData="breaching", AlarmActions=[], OKActions=[{"Ref": "In"}])),
            # Figures of a program that are not those of the group's instances.
            _with(alarm(_ELSEWHERE, TreatMissingData="breaching")),
            _in_detail(worked_out("FILL(waiting, 0)"), read("waiting", WAITING)),
            # A queue that nobody has used for six hours is silent, and empty.
            _with(alarm(WAITING, TreatMissingData="breaching")),
        ),
        unknown=(_asked("TreatMissingData"),),
    ),
    Case(
        rule="one-figure-lowers-capacity",
        breaks=(
            # "- - X - -" is ALARM with "missing": the published table.
            Breaks(
                template=_with(alarm(None, TreatMissingData="missing")), resource="Idle", property="TreatMissingData"
            ),
        ),
        keeps=(_with(alarm()), _with(alarm(None, TreatMissingData="ignore"))),
        unknown=(_asked("TreatMissingData"),),
    ),
    Case(
        rule="idle-by-average",
        breaks=(
            Breaks(template=_averaged(steps()), resource="Idle", property="Statistic", got="Average"),
            Breaks(template=_averaged(_TO_ZERO, TargetGroupARNs=["arn"]), resource="Idle", property="Statistic"),
        ),
        keeps=(
            _with(alarm()),
            _averaged(steps(), MaxSize="1"),
            _averaged(steps(), NewInstancesProtectedFromScaleIn=True),
            # Behind a load balancer an instance with little load is drained.
            _averaged(steps(), TargetGroupARNs=["arn"]),
            # One instance less as the load goes down, with work on every instance.
            _with(alarm(None, Statistic="Average", Threshold=40)),
            # Each instance by its own figures.
            _with(alarm({**GPU, "Dimensions": [*GPU["Dimensions"], _ONE]}, Statistic="Average")),
            # Load, and not idleness, of something else.
            _with(alarm(WAITING, Statistic="Average")),
            # A sum below the threshold has no figure above it.
            _with(alarm(None, Statistic="Sum")),
            group(
                launch={"IamInstanceProfile": {"Name": {"Ref": "Profile"}}},
                **template(In=steps(), Idle=alarm(None, Statistic="Average"))["Resources"],
                **_SELF_PROTECTING,
            ),
        ),
        unknown=(
            _asked("Statistic"),
            group(
                launch={"IamInstanceProfile": {"Name": "made-elsewhere"}},
                **template(In=steps(), Idle=alarm(None, Statistic="Average"))["Resources"],
            ),
        ),
    ),
    Case(
        rule="use-unreadable-with-mig",
        breaks=(
            Breaks(
                template=_sliced("nvidia-smi -i 0 -mig 1"),
                resource="Idle",
                property="MetricName",
                got="nvidia_smi_utilization_gpu",
            ),
        ),
        keeps=(
            _sliced("nvidia-smi -L"),
            _sliced("nvidia-smi -i 0 -mig 0"),
            group(
                launch={"UserData": {"Fn::Base64": "nvidia-smi -mig 1"}},
                **template(
                    In=steps(),
                    Idle=math(
                        [
                            worked_out("use + memory"),
                            read("use", GPU),
                            read("memory", {**GPU, "MetricName": "nvidia_smi_memory_used"}),
                        ]
                    ),
                )["Resources"],
            ),
        ),
        unknown=(
            without_default(
                group(launch={"UserData": {"Ref": "Script"}}, **template(In=steps(), Idle=alarm())["Resources"]),
                "Script",
            ),
        ),
    ),
    Case(
        rule="two-actors-lower-capacity",
        breaks=(
            Breaks(
                template=_with(alarm(None, AlarmActions=_BOTH), **_function("autoscaling:SetDesiredCapacity")),
                resource="Idle",
                property="AlarmActions",
                got="Release",
            ),
            Breaks(
                template=_with(
                    alarm(None, AlarmActions=_BY_TOPIC),
                    **_function("autoscaling:TerminateInstanceInAutoScalingGroup"),
                ),
                resource="Idle",
                property="AlarmActions",
                got="Release",
            ),
        ),
        keeps=(
            _with(alarm()),
            _with(alarm(None, AlarmActions=_BOTH), **_function("sns:Publish")),
        ),
        unknown=(
            _with(
                alarm(None, AlarmActions=_BOTH),
                Release={"Type": "AWS::Lambda::Function", "Properties": {"Role": "arn:aws:iam::1:role/elsewhere"}},
            ),
        ),
    ),
    Case(
        rule="telemetry-gap-untold",
        breaks=(Breaks(template=_with(alarm()), resource="Idle", property="TreatMissingData", got="no such alarm"),),
        keeps=(
            _with(alarm(), Gap=_GAP),
            _with(alarm(), Gap=alarm(None, TreatMissingData="breaching", AlarmActions=None)),
            _with(alarm(None, InsufficientDataActions=["arn:aws:sns:eu-west-1:123456789012:people"])),
            _with(alarm(WAITING)),
        ),
        unknown=({"Transform": "House"} | _with(alarm()),),
    ),
)
