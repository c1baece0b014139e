"""Alarms: "Configuring how CloudWatch alarms treat missing data"; field cases 6, 8, 30, 33, 61."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import (
    GPU,
    WAITING,
    alarm,
    asks_for,
    math,
    read,
    steps,
    watched_by,
    without_default,
    worked_out,
)


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


def _permitted(action: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    own = {"PolicyName": "own", "PolicyDocument": {"Statement": [statement]}}
    return {
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"Policies": [own]}},
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    }


def _permitted_group(action: str, script: str = "/opt/worker") -> dict[str, Any]:
    return group(
        launch={"IamInstanceProfile": {"Name": {"Ref": "Profile"}}, "UserData": {"Fn::Base64": script}},
        **template(In=steps(), Idle=alarm(None, Statistic="Average"))["Resources"],
        **_permitted(action),
    )


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
    return watched_by(math(list(entries), **properties))


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
            Breaks(
                template=watched_by(alarm(None, TreatMissingData=None)), resource="Idle", property="TreatMissingData"
            ),
            # It moves nothing, and watches GPUs.
            Breaks(
                template=watched_by(alarm(None, TreatMissingData=None, AlarmActions=None)),
                resource="Idle",
                property="TreatMissingData",
            ),
        ),
        keeps=(watched_by(alarm()), watched_by(alarm(None, TreatMissingData="missing"))),
        unknown=(asks_for("TreatMissingData"),),
    ),
    Case(
        rule="silence-read-as-idle",
        breaks=(
            Breaks(
                template=watched_by(alarm(None, TreatMissingData="breaching")),
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
            watched_by(alarm()),
            watched_by(alarm(None, TreatMissingData="ignore")),
            _stopping("notBreaching"),
            _in_detail(worked_out("FILL(gpu, 100)"), read("gpu", GPU)),
            # It acts when the alarm is over, and silence is none of that.
            watched_by(alarm(None, TreatMissingData="breaching", AlarmActions=[], OKActions=[{"Ref": "In"}])),
            # Figures of a program that are not those of the group's instances.
            watched_by(alarm(_ELSEWHERE, TreatMissingData="breaching")),
            _in_detail(worked_out("FILL(waiting, 0)"), read("waiting", WAITING)),
            # A queue that nobody has used for six hours is silent, and empty.
            watched_by(alarm(WAITING, TreatMissingData="breaching")),
        ),
        unknown=(asks_for("TreatMissingData"),),
    ),
    Case(
        rule="one-figure-lowers-capacity",
        breaks=(
            # "- - X - -" is ALARM with "missing": the published table.
            Breaks(
                template=watched_by(alarm(None, TreatMissingData="missing")),
                resource="Idle",
                property="TreatMissingData",
            ),
        ),
        keeps=(watched_by(alarm()), watched_by(alarm(None, TreatMissingData="ignore"))),
        unknown=(asks_for("TreatMissingData"),),
    ),
    Case(
        rule="idle-by-average",
        breaks=(
            Breaks(template=_averaged(steps()), resource="Idle", property="Statistic", got="Average"),
            Breaks(template=_averaged(_TO_ZERO, TargetGroupARNs=["arn"]), resource="Idle", property="Statistic"),
        ),
        keeps=(
            watched_by(alarm()),
            _averaged(steps(), MaxSize="1"),
            _averaged(steps(), NewInstancesProtectedFromScaleIn=True),
            # Behind a load balancer an instance with little load is drained.
            _averaged(steps(), TargetGroupARNs=["arn"]),
            # One instance less as the load goes down, with work on every instance.
            watched_by(alarm(None, Statistic="Average", Threshold=40)),
            # Each instance by its own figures.
            watched_by(alarm({**GPU, "Dimensions": [*GPU["Dimensions"], _ONE]}, Statistic="Average")),
            # Load, and not idleness, of something else.
            watched_by(alarm(WAITING, Statistic="Average")),
            # A sum below the threshold has no figure above it.
            watched_by(alarm(None, Statistic="Sum")),
            _permitted_group("autoscaling:SetInstanceProtection"),
            _permitted_group("autoscaling:*", "aws autoscaling set-instance-protection --protected-from-scale-in"),
        ),
        unknown=(
            # What a wildcard lets it do, it need not do.
            _permitted_group("autoscaling:*"),
            asks_for("Statistic"),
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
                template=watched_by(alarm(None, AlarmActions=_BOTH), **_function("autoscaling:SetDesiredCapacity")),
                resource="Idle",
                property="AlarmActions",
                got="Release",
            ),
            Breaks(
                template=watched_by(
                    alarm(None, AlarmActions=_BY_TOPIC),
                    **_function("autoscaling:TerminateInstanceInAutoScalingGroup"),
                ),
                resource="Idle",
                property="AlarmActions",
                got="Release",
            ),
        ),
        keeps=(
            watched_by(alarm()),
            watched_by(alarm(None, AlarmActions=_BOTH), **_function("sns:Publish")),
        ),
        unknown=(
            watched_by(
                alarm(None, AlarmActions=_BOTH),
                Release={"Type": "AWS::Lambda::Function", "Properties": {"Role": "arn:aws:iam::1:role/elsewhere"}},
            ),
        ),
    ),
    Case(
        rule="telemetry-gap-untold",
        breaks=(
            Breaks(template=watched_by(alarm()), resource="Idle", property="TreatMissingData", got="no such alarm"),
        ),
        keeps=(
            watched_by(alarm(), Gap=_GAP),
            watched_by(alarm(), Gap=alarm(None, TreatMissingData="breaching", AlarmActions=None)),
            watched_by(alarm(None, InsufficientDataActions=["arn:aws:sns:eu-west-1:123456789012:people"])),
            watched_by(alarm(WAITING)),
        ),
        unknown=({"Transform": "House"} | watched_by(alarm()),),
    ),
)
