"""Field cases 1 to 3 and 33; "Choose your scaling method", Amazon EC2 Auto Scaling User Guide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.compliance.cases import Breaks, Case, group, moving, template

_SUBNETS = {"VPCZoneIdentifier": ["subnet-a"]}


def _policy(adjustment: str = "ChangeInCapacity", step: int = -1) -> dict[str, Any]:
    return {
        "Type": "AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": "Group"},
            "PolicyType": "StepScaling",
            "AdjustmentType": adjustment,
            "StepAdjustments": [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": step}],
        },
    }


def _tracking(**more: object) -> dict[str, Any]:
    return {
        "Type": "AutoScaling::ScalingPolicy",
        "Properties": {
            "AutoScalingGroupName": {"Ref": "Group"},
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingConfiguration": {"TargetValue": 50, **more},
        },
    }


def _at_night(**sizes: object) -> dict[str, Any]:
    return {
        "Type": "AutoScaling::ScheduledAction",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "Recurrence": "0 20 * * *", **sizes},
    }


def _function(*actions: str, on: object = "*", told: object = None, service: str = "lambda") -> dict[str, Any]:
    environment = {} if told is None else {"Environment": {"Variables": {"TARGET": told}}}
    return {
        "Role": {
            "Type": "IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Action": "sts:AssumeRole",
                            "Principal": {"Service": f"{service}.amazonaws.com"},
                        }
                    ]
                },
                "Policies": [
                    {
                        "PolicyName": "Own",
                        "PolicyDocument": {
                            "Statement": [{"Effect": "Allow", "Action": [*actions], "Resource": on}],
                        },
                    }
                ],
            },
        },
        "Function": {
            "Type": "Lambda::Function",
            "Properties": {"Role": {"Fn::GetAtt": ["Role", "Arn"]}, **environment},
        },
    }


def _managed(policy: str) -> dict[str, Any]:
    return {"Type": "IAM::Role", "Properties": {"ManagedPolicyArns": [f"arn:aws:iam::aws:policy/{policy}"]}}


def _unrelated(policy: str) -> dict[str, Any]:
    function = {"Type": "Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["Role", "Arn"]}}}
    return {"Role": _managed(policy), "Function": function}


def _for_the_service(policy: str) -> dict[str, Any]:
    properties = {"Type": "MANAGED", "ServiceRole": {"Fn::GetAtt": ["Role", "Arn"]}}
    return {
        "Role": _managed(policy),
        "Environment": {"Type": "Batch::ComputeEnvironment", "Properties": properties},
    }


def _group(*, least: int = 1, more: Mapping[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    return group(properties={"MinSize": str(least), **(more or {})}, **resources)


_ARN = {"Fn::Sub": "arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/${Group}"}
_PROVIDER = {
    "Type": "ECS::CapacityProvider",
    "Properties": {
        "AutoScalingGroupProvider": {
            "AutoScalingGroupArn": {"Ref": "Group"},
            "ManagedScaling": {"Status": "ENABLED"},
        }
    },
}


def _instance(**properties: object) -> dict[str, Any]:
    return {"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge", **properties}}


def _alarm(action: str, **more: object) -> dict[str, Any]:
    return {
        "Type": "CloudWatch::Alarm",
        "Properties": {
            "AlarmActions": [{"Fn::Sub": f"arn:aws:{action}"}],
            "Namespace": "CWAgent",
            "MetricName": "nvidia_smi_utilization_gpu",
            "Dimensions": [{"Name": "InstanceId", "Value": {"Ref": "Machine"}}],
            **more,
        },
    }


def _fleet(kind: str, **more: object) -> dict[str, Any]:
    return template(
        Launch={"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}}},
        Fleet={
            "Type": "EC2::EC2Fleet",
            "Properties": {
                "Type": kind,
                "LaunchTemplateConfigs": [
                    {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}}
                ],
                "TargetCapacitySpecification": {"TotalTargetCapacity": 2},
                **more,
            },
        },
    )


_SPOT_FLEET = {
    "Type": "EC2::SpotFleet",
    "Properties": {
        "SpotFleetRequestConfigData": {
            "LaunchSpecifications": [{"InstanceType": "g6.xlarge", "ImageId": "ami-1"}],
            "TargetCapacity": 2,
        }
    },
}

_OF_SPOT_FLEET: dict[str, Any] = {
    "Type": "ApplicationAutoScaling::ScalableTarget",
    "Properties": {
        "ServiceNamespace": "ec2",
        "ScalableDimension": "ec2:spot-fleet-request:TargetCapacity",
        "ResourceId": {"Fn::Sub": "spot-fleet-request/${Fleet}"},
        "MinCapacity": 0,
        "MaxCapacity": 4,
    },
}


def _suspended(scaling_in: bool) -> dict[str, Any]:
    state = {"SuspendedState": {"DynamicScalingInSuspended": scaling_in}}
    return {**_OF_SPOT_FLEET, "Properties": {**_OF_SPOT_FLEET["Properties"], **state}}


_ON_MACHINE = {"Fn::Sub": "arn:aws:ec2:*:*:instance/${Machine}"}


def _asked(call: str, *actions: str, role: object = None, on: object = _ON_MACHINE, **more: object) -> dict[str, Any]:
    """A schedule that asks AWS for something by itself: "Using universal targets", EventBridge Scheduler User Guide."""
    schedule = {
        "Type": "Scheduler::Schedule",
        "Properties": {
            "ScheduleExpression": "cron(0 20 * * ? *)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {
                "Arn": f"arn:aws:scheduler:::aws-sdk:{call}",
                "RoleArn": role or {"Fn::GetAtt": ["Role", "Arn"]},
                "Input": {"Fn::Sub": '{"InstanceIds": ["${Machine}"]}'},
            },
            **more,
        },
    }
    its_role = _function(*actions, on=on, service="scheduler")["Role"]
    return template(Machine=_instance(), Schedule=schedule, **({} if role else {"Role": its_role}))


def _of_sam(*events: dict[str, Any]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": "ec2:StopInstances", "Resource": _ON_MACHINE}
    function = {
        "Type": "Serverless::Function",
        "Properties": {
            "Policies": [{"Statement": [statement]}],
            "Events": {f"Event{number}": each for number, each in enumerate(events)},
        },
    }
    return {"Transform": "AWS::Serverless-2016-10-31"} | template(Machine=_instance(), Function=function)


def _nightly(kind: str = "Schedule", **more: object) -> dict[str, Any]:
    return {"Type": kind, "Properties": {"Schedule": "cron(0 20 * * ? *)", **more}}


def _called_by_rule(state: object, **more: Any) -> dict[str, Any]:
    rule = {
        "Type": "Events::Rule",
        "Properties": {
            "ScheduleExpression": "rate(1 hour)",
            "State": state,
            "Targets": [{"Id": "f", "Arn": {"Fn::GetAtt": ["Function", "Arn"]}}],
        },
    }
    permission = {
        "Type": "Lambda::Permission",
        "Properties": {
            "FunctionName": {"Ref": "Function"},
            "Principal": "events.amazonaws.com",
            "SourceArn": {"Fn::GetAtt": ["Rule", "Arn"]},
        },
    }
    function = _function("ec2:StopInstances", on=_ON_MACHINE)
    return template(Machine=_instance(), Rule=rule, Permission=permission, **function, **more)


_RELEASE = Case(
    rule="no-idle-release",
    breaks=(
        Breaks(template=_group(**_unrelated("AmazonDynamoDBFullAccess")), resource="Group"),
        Breaks(template=_group(**_unrelated("AmazonEC2ReadOnlyAccess")), resource="Group"),
        Breaks(template=_group(**_for_the_service("AWSBatchServiceRole")), resource="Group"),
        Breaks(template=_group(), resource="Group", got="no policy"),
        # Rests at zero only until somebody raises it by hand.
        Breaks(template=group(), resource="Group", got="no policy"),
        # Wakes and never releases.
        Breaks(template=_group(least=0, Up=_policy(step=1)), resource="Group"),
        Breaks(template=_group(Track=_tracking(DisableScaleIn=True)), resource="Group"),
        Breaks(template=_group(Up=_at_night(MinSize=1)), resource="Group"),
        # An action that only raises is no release.
        Breaks(template=_group(least=0, Morning=_at_night(DesiredCapacity=2)), resource="Group", got="no policy"),
        Breaks(
            template=_group(least=0, Early=_at_night(DesiredCapacity=2), Late=_at_night(MinSize=2, DesiredCapacity=2)),
            resource="Group",
        ),
        Breaks(template=_group(**_function("autoscaling:DescribeAutoScalingGroups")), resource="Group"),
        Breaks(template=_group(**_function("autoscaling:SetDesiredCapacity", on="arn:x:other")), resource="Group"),
        Breaks(template=template(Machine=_instance()), resource="Machine"),
        # What is said in a comment is not done.
        Breaks(
            template=template(
                Machine=_instance(
                    UserData={
                        "Fn::Base64": "#!/bin/bash\n# if you forget it: sudo shutdown -h now\necho 'a # b' # halt\n"
                    }
                )
            ),
            resource="Machine",
        ),
        Breaks(
            template=template(
                Machine=_instance(UserData={"Fn::Base64": "<powershell>\n<# later:\nStop-Computer #>\n</powershell>"})
            ),
            resource="Machine",
        ),
        Breaks(template=template(Machine=_instance(), Tell=_alarm("sns:eu-west-1:1:topic")), resource="Machine"),
        Breaks(
            template=template(
                Machine=_instance(), Patch={"Type": "SSM::Association", "Properties": {"Name": "AWS-RunPatchBaseline"}}
            ),
            resource="Machine",
        ),
        # What is switched off does nothing, and what only starts an instance never stops it.
        Breaks(template=_asked("ec2:stopInstances", "ec2:StopInstances", State="DISABLED"), resource="Machine"),
        Breaks(template=_asked("ec2:startInstances", "ec2:StartInstances"), resource="Machine"),
        Breaks(template=_called_by_rule("DISABLED"), resource="Machine"),
        Breaks(template=_of_sam(_nightly(Enabled=False)), resource="Machine"),
        Breaks(template=_of_sam(_nightly("ScheduleV2", State="DISABLED")), resource="Machine"),
        Breaks(
            template=template(
                Machine=_instance(), Stop=_alarm("automate:${AWS::Region}:ec2:stop", ActionsEnabled="false")
            ),
            resource="Machine",
        ),
        Breaks(template=_fleet("maintain"), resource="Fleet"),
        Breaks(template=template(Fleet=_SPOT_FLEET), resource="Fleet"),
        # A scalable target by itself moves nothing.
        Breaks(template=template(Fleet=_SPOT_FLEET, Target=_OF_SPOT_FLEET), resource="Fleet"),
        # "Suspend and resume scaling", Application Auto Scaling User Guide: its policies do not scale in.
        Breaks(template=template(Fleet=_SPOT_FLEET, Target=_suspended(True), Scale=moving()), resource="Fleet"),
    ),
    keeps=(
        _group(Down=_policy()),
        template(
            Box=_instance(UserData={"Fn::Base64": "<powershell>\nif (Idle) { Stop-Computer -Force }\n</powershell>"})
        ),
        _group(Track=_tracking()),
        _group(Night=_at_night(MinSize=0, MaxSize=0, DesiredCapacity=0)),
        _group(Night=_at_night(DesiredCapacity=1), Day=_at_night(DesiredCapacity=3)),
        _group(Evening=_at_night(DesiredCapacity=1)),
        _group(Up=_policy(step=1), Evening=_at_night(DesiredCapacity=2)),
        _group(more={"DesiredCapacity": "3"}, Evening=_at_night(DesiredCapacity=2)),
        _group(Provider=_PROVIDER),
        _group(**_function("autoscaling:SetDesiredCapacity", on=_ARN)),
        _group(**_function("autoscaling:*", told={"Ref": "Group"})),
        _group(more={"Tags": [{"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"}]}),
        group(properties={"MaxSize": "0"}),
        group(
            launch={"UserData": {"Fn::Base64": '#!/bin/sh\n[ -z "$busy" ] && aws autoscaling set-desired-capacity'}},
            properties={"MinSize": 1},
        ),
        template(Machine=_instance(UserData={"Fn::Base64": 'wall "in # minutes"; shutdown -h +600 # ten hours'})),
        template(Machine=_instance(), Stop=_alarm("automate:${AWS::Region}:ec2:stop")),
        template(Machine=_instance(UserData={"Fn::Base64": "echo 'idle || shutdown -h now' > /etc/cron.d/idle"})),
        template(
            Machine=_instance(), **_function("ec2:StopInstances", on={"Fn::Sub": "arn:aws:ec2:*:*:instance/${Machine}"})
        ),
        _asked("ec2:stopInstances", "ec2:StopInstances"),
        _asked("ec2:stopInstances", "ec2:StopInstances", State="ENABLED"),
        _called_by_rule("ENABLED"),
        _of_sam(_nightly()),
        _of_sam(_nightly(Enabled=False), _nightly()),
        _of_sam(_nightly(Enabled=False), {"Type": "SNS", "Properties": {"Topic": "arn:x"}}),
        # Somebody else calls the function, too.
        _called_by_rule(
            "DISABLED",
            Topic={
                "Type": "SNS::Subscription",
                "Properties": {"Protocol": "lambda", "Endpoint": {"Fn::GetAtt": ["Function", "Arn"]}},
            },
        ),
        _fleet("maintain", ValidUntil="2027-01-01T00:00:00Z", TerminateInstancesWithExpiration=True),
        template(Fleet=_SPOT_FLEET, Target=_OF_SPOT_FLEET, Scale=moving()),
        template(Fleet=_SPOT_FLEET, Target=_suspended(False), Scale=moving()),
    ),
    unknown=(
        _group(**_unrelated("AmazonEC2FullAccess")),
        _group(**_unrelated("AmazonQuantumFullAccess")),
        # What these give the group or the instance to, acts by rights that are not in the template.
        _asked("ec2:stopInstances", role="arn:aws:iam::123456789012:role/stops"),
        _asked("ssm:startAutomationExecution", "ssm:StartAutomationExecution", on="*"),
        _group(
            Machine={
                "Type": "StepFunctions::StateMachine",
                "Properties": {
                    "RoleArn": "arn:aws:iam::123456789012:role/flow",
                    "DefinitionSubstitutions": {"Group": {"Ref": "Group"}},
                },
            }
        ),
        template(
            Box=_instance(),
            Evening={
                "Type": "Events::Rule",
                "Properties": {
                    "ScheduleExpression": "cron(0 20 * * ? *)",
                    "Targets": [
                        {
                            "Id": "stop",
                            "Arn": {"Fn::Sub": "arn:aws:ssm:${AWS::Region}::automation-definition/AWS-StopEC2Instance"},
                            "Input": {"Fn::Sub": '{"InstanceId": ["${Box}"]}'},
                        }
                    ],
                },
            },
        ),
        # What finds machines by their tags refers to none.
        *(
            template(Box=_instance(), Nights=each)
            for each in (
                {
                    "Type": "SSMQuickSetup::ConfigurationManager",
                    "Properties": {"ConfigurationDefinitions": [{"Type": "AWSQuickSetupType-Scheduler"}]},
                },
                {
                    "Type": "SSM::Association",
                    "Properties": {"Name": "AWS-StopEC2Instance", "Targets": [{"Key": "tag:team", "Values": ["x"]}]},
                },
                {"Type": "SSM::MaintenanceWindowTask", "Properties": {"TaskArn": "AWS-StopEC2InstanceWithApproval"}},
            )
        ),
        # Rests at zero, nothing here raises it, and somebody outside is told its name.
        group() | {"Outputs": {"Name": {"Value": {"Ref": "Group"}}}},
        _group(**_function("autoscaling:*")),
        _group(Else={"Type": "Custom::Scaler", "Properties": {"ServiceToken": "arn:x", "Group": {"Ref": "Group"}}}),
        _group(Nested={"Type": "CloudFormation::Stack", "Properties": {"TemplateURL": "https://x"}}),
        {**_group(), "Outputs": {"Name": {"Value": {"Ref": "Group"}, "Export": {"Name": "group"}}}},
        {**_group(), "Transform": "Scaler"},
        template(Machine=_instance(Tags=[{"Key": "AutoStop", "Value": "19:00"}])),
        {"Parameters": {"Kind": {"Type": "String"}}} | template(Machine=_instance(InstanceType={"Ref": "Kind"})),
    ),
)

_ABOVE_ZERO = Case(
    rule="release-stops-above-zero",
    breaks=(
        Breaks(
            template=_group(least=0, Down=_policy("ExactCapacity", 1)),
            resource="Down",
            property="StepAdjustments[0].ScalingAdjustment",
            got="1",
        ),
        Breaks(
            template=_group(least=0, Night=_at_night(DesiredCapacity=1), Day=_at_night(DesiredCapacity=3)),
            resource="Night",
            property="DesiredCapacity",
            got="1",
        ),
    ),
    keeps=(
        _group(least=0, Down=_policy("ExactCapacity", 0)),
        _group(least=0, Down=_policy()),
        _group(least=0, Wake=_policy("ExactCapacity", 1), Down=_policy()),
        _group(least=0, Night=_at_night(DesiredCapacity=0)),
        # Nothing here lowers, of which another rule tells.
        _group(least=0, Morning=_at_night(DesiredCapacity=2)),
        _group(least=0, Night=_at_night(MaxSize=0), Day=_at_night(MaxSize=4, DesiredCapacity=3)),
        _group(
            least=0,
            Wake=_policy("ExactCapacity", 1),
            **_function("autoscaling:TerminateInstanceInAutoScalingGroup", on=_ARN),
        ),
    ),
    unknown=(
        _group(least=0, Down=_policy("ExactCapacity", 1), **_function("autoscaling:*")),
        {**_group(least=0, Down=_policy("ExactCapacity", 1)), "Transform": "Scaler"},
    ),
)

_DEV = {"Tags": [{"Key": "Environment", "Value": "dev", "PropagateAtLaunch": True}]}
_DEV_LAUNCH = {"TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "stage", "Value": "dev"}]}]}
_EXPIRY = _function("cloudformation:DeleteStack", on={"Ref": "AWS::StackId"})

_DEVELOPMENT = Case(
    rule="development-never-ends",
    breaks=(
        Breaks(template=_group(more=_DEV, Down=_policy()), resource="Group"),
        Breaks(template=template(Machine=_instance(**_DEV)), resource="Machine"),
        Breaks(template=group(launch=_DEV_LAUNCH, properties={"MinSize": "1"}), resource="Group"),
    ),
    keeps=(
        _group(more=_DEV, Night=_at_night(MinSize=0, DesiredCapacity=0)),
        _group(least=0, more=_DEV, Down=_policy()),
        _group(more=_DEV, **_EXPIRY),
    ),
    unknown=(_group(more=_DEV, **_function("autoscaling:*")),),
)

CASES = (_RELEASE, _ABOVE_ZERO, _DEVELOPMENT)
