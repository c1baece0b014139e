"""Field cases 3, 4, 14 and 59; "Use instance scale-in protection", Amazon EC2 Auto Scaling User Guide."""

from __future__ import annotations

from typing import Any

from tests.compliance.cases import Breaks, Case, group

_PROTECTED = {"NewInstancesProtectedFromScaleIn": True}
_OPAQUE = {"Type": "Custom::Cleaner", "Properties": {"ServiceToken": "arn:x", "Group": {"Ref": "Group"}}}
_PARAMETER = {"Parameters": {"Choice": {"Type": "String"}}}
_CHOICE = {"Ref": "Choice"}
_IN_FLIGHT = "ApproximateNumberOfMessagesNotVisible"
_BEHIND_BALANCER = {"TargetGroupARNs": ["arn:x"]}


def _down(kind: str = "StepScaling") -> dict[str, Any]:
    return {
        "Type": "AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": "Group"},
            "PolicyType": kind,
            **(
                {"TargetTrackingConfiguration": {"TargetValue": 50}}
                if kind == "TargetTrackingScaling"
                else {
                    "AdjustmentType": "ChangeInCapacity",
                    "StepAdjustments": [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": -1}],
                }
            ),
        },
    }


def _alarm(statistic: object, **more: object) -> dict[str, Any]:
    return {
        "Type": "CloudWatch::Alarm",
        "Properties": {
            "AlarmActions": [{"Ref": "Down"}],
            "Namespace": "CWAgent",
            "MetricName": "nvidia_smi_utilization_gpu",
            "Statistic": statistic,
            **more,
        },
    }


def _computed(*metrics: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "CloudWatch::Alarm", "Properties": {"AlarmActions": [{"Ref": "Down"}], "Metrics": [*metrics]}}


def _beside(**properties: object) -> dict[str, Any]:
    (hook,) = _hook(**properties)["LifecycleHookSpecificationList"]
    return {"Type": "AutoScaling::LifecycleHook", "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, **hook}}


def _hook(**properties: object) -> dict[str, Any]:
    return {
        "LifecycleHookSpecificationList": [
            {
                "LifecycleHookName": "Drain",
                "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
                "HeartbeatTimeout": 900,
                "DefaultResult": "CONTINUE",
                **properties,
            }
        ]
    }


def _hook_without(*names: str) -> dict[str, Any]:
    (hook,) = _hook()["LifecycleHookSpecificationList"]
    return {"LifecycleHookSpecificationList": [{name: each for name, each in hook.items() if name not in names}]}


def _role(action: str) -> dict[str, Any]:
    return {
        "Type": "IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {},
            "Policies": [
                {
                    "PolicyName": "Own",
                    "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]},
                }
            ],
        },
    }


def _subnet(zone: int) -> dict[str, Any]:
    return {
        "Type": "EC2::Subnet",
        "Properties": {"AvailabilityZone": {"Fn::Select": [zone, {"Fn::GetAZs": ""}]}, "CidrBlock": "10.0.0.0/24"},
    }


def _in_zones(*zones: int, **more: Any) -> dict[str, Any]:
    subnets = {f"Subnet{number}": _subnet(zone) for number, zone in enumerate(zones)}
    properties = {"VPCZoneIdentifier": [{"Ref": each} for each in subnets], **more.pop("properties", {})}
    return group(properties=properties, **subnets, **more)


def _updated(update: dict[str, Any], **properties: Any) -> dict[str, Any]:
    made = group(properties=properties)
    made["Resources"]["Group"]["UpdatePolicy"] = update
    return made


def _pool(state: object, *, reason: str | None = None) -> dict[str, Any]:
    stated = {} if reason is None else {"Metadata": {"accel-fleet": {"running": reason}}}
    pool = {
        "Type": "AutoScaling::WarmPool",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "MinSize": 1, "PoolState": state},
        **stated,
    }
    return group(Pool=pool)


CASES = (
    Case(
        rule="busy-instances-unprotected",
        breaks=(
            Breaks(
                template=group(Down=_down(), Idle=_alarm("Average")),
                resource="Group",
                property="NewInstancesProtectedFromScaleIn",
                got="nothing",
            ),
            Breaks(
                template=group(Down=_down("TargetTrackingScaling")),
                resource="Group",
                property="NewInstancesProtectedFromScaleIn",
            ),
            # A hook at the start gives nobody time to end.
            Breaks(
                template=group(
                    Down=_down("TargetTrackingScaling"),
                    properties=_hook(LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING"),
                ),
                resource="Group",
                property="NewInstancesProtectedFromScaleIn",
            ),
            # The built-in orders do not look at work.
            Breaks(
                template=group(
                    Down=_down("TargetTrackingScaling"), properties={"TerminationPolicies": ["OldestInstance"]}
                ),
                resource="Group",
                property="NewInstancesProtectedFromScaleIn",
            ),
        ),
        keeps=(
            group(Down=_down(), properties=_PROTECTED),
            group(Down=_down(), Drain=_beside()),
            group(Down=_down(), Idle=_alarm("Sum", Namespace="AWS/SQS", MetricName=_IN_FLIGHT)),
            group(
                Down=_down(),
                Idle=_computed({"Id": "most", "Expression": "MAX(SEARCH('{CWAgent} utilization', 'Average'))"}),
            ),
            # A function, or each instance, protects those at work.
            group(Down=_down(), Role=_role("autoscaling:SetInstanceProtection")),
            group("m7i.large", Down=_down("TargetTrackingScaling")),
            group(Down=_down(), properties=_hook()),
            group(Down=_down(), properties=_BEHIND_BALANCER),
            group(Down=_down(), Idle=_alarm("Maximum")),
            group(Down=_down(), properties={"MaxSize": 1}),
            group(Down=_down(), properties={"TerminationPolicies": ["arn:aws:lambda:eu-west-1:1:function:choose"]}),
        ),
        unknown=(
            # What a wildcard lets somebody do, nobody need do.
            group(Down=_down(), Role=_role("autoscaling:*")),
            _PARAMETER | group(Down=_down(), properties={"NewInstancesProtectedFromScaleIn": _CHOICE}),
            {**group(Down=_down(), Idle=_alarm("Average")), "Transform": "Scaler"},
            group(Down=_down()),
            _PARAMETER | group(Down=_down(), Idle=_alarm(_CHOICE)),
            # It may be the number of jobs that run.
            group(Down=_down(), Idle=_alarm("Sum", Namespace="Queue", MetricName="RunningJobs")),
            group(Down=_down(), Idle=_computed({"Id": "mean", "Expression": 'SELECT AVG(utilization) FROM "GPU"'})),
            _PARAMETER | group(Down=_down(), Drain=_beside(LifecycleTransition=_CHOICE)),
        ),
    ),
    Case(
        rule="rebalancing-ends-busy-instances",
        breaks=(
            Breaks(template=_in_zones(0, 1), resource="Group", property="VPCZoneIdentifier", got="2 zones"),
            Breaks(
                template=group(
                    properties={"VPCZoneIdentifier": {"Ref": "AWS::NoValue"}, "AvailabilityZones": ["a", "b"]}
                ),
                resource="Group",
                property="AvailabilityZones",
                got="2 zones",
            ),
        ),
        keeps=(
            _in_zones(0),
            _in_zones(0, 0),
            _in_zones(0, 1, properties=_PROTECTED),
            _in_zones(0, 1, properties=_hook()),
            _in_zones(0, 1, properties={"MaxSize": "1"}),
            _in_zones(0, 1, Role=_role("autoscaling:SuspendProcesses")),
        ),
        unknown=(
            # Two subnets may be of one zone.
            group(),
            _in_zones(0, 1, Else=_OPAQUE),
            _PARAMETER
            | group(properties={"VPCZoneIdentifier": {"Ref": "AWS::NoValue"}, "AvailabilityZones": [_CHOICE, "b"]}),
        ),
    ),
    Case(
        rule="deploy-replaces-busy-instances",
        breaks=(
            Breaks(
                template=_updated({"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}, **_PROTECTED),
                resource="Group",
                property="<UpdatePolicy>.AutoScalingRollingUpdate",
                got="replaces",
            ),
            Breaks(
                template=_updated({"AutoScalingReplacingUpdate": {"WillReplace": True}}),
                resource="Group",
                property="<UpdatePolicy>.AutoScalingReplacingUpdate",
            ),
        ),
        keeps=(
            _updated({"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}, **_hook()),
            _updated({"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}, **_BEHIND_BALANCER),
            _updated({"AutoScalingReplacingUpdate": {"WillReplace": False}}),
            _updated({"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}}),
        ),
        unknown=(
            _PARAMETER | _updated({"AutoScalingReplacingUpdate": {"WillReplace": _CHOICE}}),
            _PARAMETER
            | {"Conditions": {"Rolls": {"Fn::Equals": [_CHOICE, "yes"]}}}
            | _updated({"Fn::If": ["Rolls", {"AutoScalingRollingUpdate": {}}, {"Ref": "AWS::NoValue"}]}),
            # A macro may add a hook.
            {**_updated({"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}), "Transform": "Drains"},
        ),
    ),
    Case(
        rule="protection-blocks-deletion",
        breaks=(
            Breaks(
                template=group(properties=_PROTECTED),
                resource="Group",
                property="NewInstancesProtectedFromScaleIn",
                got="true",
            ),
        ),
        keeps=(
            group(properties={"NewInstancesProtectedFromScaleIn": False}),
            group(properties=_PROTECTED, Else=_OPAQUE),
            group(properties=_PROTECTED, Role=_role("autoscaling:SetInstanceProtection")),
        ),
        unknown=(
            group(properties=_PROTECTED, Role=_role("autoscaling:*")),
            _PARAMETER | group(properties={"NewInstancesProtectedFromScaleIn": _CHOICE}),
            {**group(properties=_PROTECTED), "Transform": "Cleaner"},
        ),
    ),
    Case(
        rule="hook-limits-unstated",
        breaks=(
            Breaks(
                template=group(properties=_hook_without("HeartbeatTimeout")),
                resource="Group",
                property="LifecycleHookSpecificationList[0].HeartbeatTimeout",
                got="nothing",
            ),
            Breaks(
                template=group(
                    Hook={
                        "Type": "AutoScaling::LifecycleHook",
                        "Properties": {
                            "AutoScalingGroupName": {"Ref": "Group"},
                            "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
                            "HeartbeatTimeout": 600,
                        },
                    }
                ),
                resource="Hook",
                property="DefaultResult",
                got="nothing",
            ),
        ),
        keeps=(group(properties=_hook()), group()),
        unknown=(_PARAMETER | group(properties={"LifecycleHookSpecificationList": _CHOICE}),),
    ),
    Case(
        rule="drain-outlasts-deletion",
        breaks=(
            Breaks(
                template=group(properties=_hook(HeartbeatTimeout=7200)),
                resource="Group",
                property="LifecycleHookSpecificationList[0].HeartbeatTimeout",
                got="7200",
            ),
        ),
        keeps=(
            group(properties=_hook(HeartbeatTimeout=3600)),
            group(properties=_hook(HeartbeatTimeout=7200), Role=_role("autoscaling:DeleteLifecycleHook")),
            group(properties=_hook(HeartbeatTimeout=7200, LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING")),
        ),
        unknown=(
            _PARAMETER | group(properties=_hook(HeartbeatTimeout=_CHOICE)),
            group(
                properties=_hook(HeartbeatTimeout=7200), Else={**_OPAQUE, "Type": "AWS::CloudFormation::CustomResource"}
            ),
        ),
    ),
    Case(
        rule="warm-pool-running",
        breaks=(Breaks(template=_pool("Running"), resource="Pool", property="PoolState", got="'Running'"),),
        keeps=(
            _pool("Hibernated"),
            _pool("Stopped"),
            _pool({"Ref": "AWS::NoValue"}),
            _pool("Running", reason="starts within a second"),
        ),
        unknown=(_PARAMETER | _pool(_CHOICE),),
    ),
)
