"""What is measured, and what is watched: field cases 5, 6 and 21, rules SR-1 and SR-2 of the simulator."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import (
    AWS_IMAGE,
    GPU,
    GROUP_NAME,
    WAITING,
    agent,
    alarm,
    measured,
    role,
    script,
    steps,
    without_default,
)

_PROFILE = {"IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}}

_OF_ELSEWHERE = {"IamInstanceProfile": {"Name": "made-elsewhere"}}
"""It may have the right to publish."""
_FETCHED = "aws s3 cp s3://mine/boot.sh . && sh boot.sh"


def _booting(text: object, **launch: object) -> dict[str, object]:
    return group(launch={"ImageId": AWS_IMAGE, "UserData": {"Fn::Base64": text}, **launch})


_OTHER = {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "m7i.large"}}


def _on_power(instance: object) -> dict[str, Any]:
    """An instance, and an alarm on the power of one."""
    machine = {"Type": "EC2::Instance", "Properties": {"InstanceType": "p4d.24xlarge", "ImageId": AWS_IMAGE}}
    metric = {
        "Namespace": "AWS/EC2",
        "MetricName": "GPUPowerUtilization",
        "Dimensions": [{"Name": "InstanceId", "Value": instance}],
    }
    return template(Box=machine, Rest=alarm(metric, AlarmActions=None))


_USER_DATA = "LaunchTemplateData.UserData"


def _watched(configuration: object, **properties: object) -> dict[str, object]:
    return measured(configuration, **template(In=steps(), Idle=alarm(None, **properties))["Resources"])


def _group_metric(name: str, **properties: object) -> dict[str, object]:
    metric = {"Namespace": "AWS/AutoScaling", "MetricName": name, "Dimensions": [GROUP_NAME]}
    return group(properties=properties, **template(In=steps(), Idle=alarm(metric))["Resources"])


_BY_INSTANCE = agent(aggregation_dimensions=[["InstanceId"]])
_RAW = [
    GROUP_NAME,
    *({"Name": name, "Value": "x"} for name in ("InstanceId", "index", "name", "arch")),
]
_TRACKED = {
    "Type": "AutoScaling::ScalingPolicy",
    "Properties": {
        "AutoScalingGroupName": {"Ref": "Group"},
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingConfiguration": {
            "TargetValue": 60,
            "CustomizedMetricSpecification": {**GPU, "Statistic": "Average"},
        },
    },
}

CASES = (
    Case(
        rule="accelerators-not-measured",
        breaks=(
            # What stops machines measures nothing.
            Breaks(
                template=group(
                    launch={"ImageId": AWS_IMAGE},
                    **template(Nights={"Type": "SSM::Association", "Properties": {"Name": "AWS-StopEC2Instance"}})[
                        "Resources"
                    ],
                ),
                resource="Launch",
                property="LaunchTemplateData.UserData",
            ),
            # Whatever an image of one's own brings, it may not publish.
            Breaks(
                template=group(launch={"ImageId": "ami-0123456789abcdef0"}),
                resource="Launch",
                property="LaunchTemplateData.UserData",
                got="nothing",
            ),
            Breaks(
                template=group(
                    launch={"ImageId": "ami-0123456789abcdef0", **_PROFILE},
                    **template(**role("s3:GetObject"))["Resources"],
                ),
                resource="Launch",
                property="LaunchTemplateData.UserData",
            ),
            Breaks(
                template=group(launch={"ImageId": AWS_IMAGE}), resource="Launch", property=_USER_DATA, got="nothing"
            ),
            # All that the agent is told is there, and accelerators are not among it.
            Breaks(
                template=group(
                    launch={
                        "ImageId": AWS_IMAGE,
                        "UserData": {"Fn::Base64": script(agent({"mem": {"measurement": ["mem_used_percent"]}}))},
                    }
                ),
                resource="Launch",
                property=_USER_DATA,
            ),
            Breaks(
                template=group(
                    launch={"ImageId": AWS_IMAGE, "UserData": {"Fn::Base64": "#!/bin/bash\nsystemctl start training\n"}}
                ),
                resource="Launch",
                property=_USER_DATA,
                got="a script that measures none",
            ),
            # What is fetched gets nowhere without permission, and names that a deploy tells are no commands.
            *(
                Breaks(template=_booting(text), resource="Launch", property=_USER_DATA, got="a script that measures")
                for text in (
                    _FETCHED,
                    "docker run 1.dkr.ecr.eu-west-1.amazonaws.com/a",
                    "curl -fsSL https://example.com/install.sh | sh",
                    "#!/bin/bash\n# Prometheus and dcgm-exporter come later.\nsystemctl start training\n",
                    {"Fn::Sub": "#!/bin/bash\necho GROUP=${Name} >> /etc/environment\nsystemctl start training\n"},
                )
            ),
            Breaks(
                template={"Resources": {**_on_power({"Ref": "Other"})["Resources"], "Other": _OTHER}},
                resource="Box",
                property="UserData",
            ),
            Breaks(
                template=template(
                    Machine={
                        "Type": "EC2::Instance",
                        "Properties": {"InstanceType": "trn1.2xlarge", "ImageId": AWS_IMAGE},
                    }
                ),
                resource="Machine",
                property="UserData",
                got="nothing",
            ),
        ),
        keeps=(
            measured(agent(), launch={"ImageId": AWS_IMAGE}),
            group(
                launch={"ImageId": AWS_IMAGE, "UserData": {"Fn::Base64": "docker run nvcr.io/nvidia/k8s/dcgm-exporter"}}
            ),
            group(
                launch={
                    "ImageId": AWS_IMAGE,
                    "UserData": {
                        "Fn::Base64": "while sleep 60; do aws cloudwatch put-metric-data --namespace GPU --value "
                        "$(nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader); done &"
                    },
                }
            ),
            template(
                Nodes={"Type": "EKS::Nodegroup", "Properties": {"InstanceTypes": ["g6.xlarge"]}},
                Addon={
                    "Type": "EKS::Addon",
                    "Properties": {"AddonName": "amazon-cloudwatch-observability", "ClusterName": "c"},
                },
            ),
        ),
        unknown=(
            # EC2 has the power of GPUs of some types, and does not say of which.
            _on_power({"Ref": "Box"}),
            _on_power("i-0123456789abcdef0"),
            # An image of one's own can bring it, if its instances may publish.
            group(launch={"ImageId": "ami-0123456789abcdef0", "IamInstanceProfile": {"Name": "made-elsewhere"}}),
            group(
                launch={"ImageId": "ami-0123456789abcdef0", **_PROFILE},
                **template(**role("cloudwatch:PutMetricData"))["Resources"],
            ),
            group(
                launch={"ImageId": "resolve:ssm:/aws/service/marketplace/prod-abc/latest", **_PROFILE},
                **template(**role("logs:*"))["Resources"],
            ),
            # A script that is fetched, a container of one's own, a configuration that is not here.
            _booting(_FETCHED, **_OF_ELSEWHERE),
            _booting("docker run 1.dkr.ecr.eu-west-1.amazonaws.com/a", **_OF_ELSEWHERE),
            _booting("amazon-cloudwatch-agent-ctl -c ssm:mine", **_OF_ELSEWHERE),
            # Datadog takes figures without a right of AWS.
            _booting("DD_API_KEY=1 bash datadog.sh"),
            _booting({"Fn::Sub": "#!/bin/bash\n${More}\n"}),
            group(
                launch={"ImageId": AWS_IMAGE},
                **template(
                    Everywhere={"Type": "SSM::Association", "Properties": {"Name": "AmazonCloudWatch-ManageAgent"}}
                )["Resources"],
            ),
            {"Transform": "House"} | group(launch={"ImageId": AWS_IMAGE}),
            template(Nodes={"Type": "EKS::Nodegroup", "Properties": {"InstanceTypes": ["g6.xlarge"]}}),
        ),
    ),
    Case(
        rule="alarm-without-series",
        breaks=(
            # No roll-up by the group: the alarm's only dimension is published with others beside it.
            Breaks(template=_watched(_BY_INSTANCE), resource="Idle", property="Dimensions", got="AutoScalingGroupName"),
            Breaks(
                template=_watched(agent(), MetricName="nvidia_smi_gpu_utilization"),
                resource="Idle",
                property="MetricName",
                got="nvidia_smi_gpu_utilization",
            ),
            # The agent puts its prefix before the names of its section.
            Breaks(
                template=_watched(agent(), MetricName="utilization_gpu"),
                resource="Idle",
                property="MetricName",
                got="utilization_gpu",
            ),
            Breaks(template=_watched(agent(namespace="Vision")), resource="Idle", property="Namespace", got="CWAgent"),
            # Published with the unit None: "Collect NVIDIA GPU metrics", CloudWatch User Guide.
            Breaks(template=_watched(agent(), Unit="Percent"), resource="Idle", property="Unit", got="Percent"),
            Breaks(
                template=measured(_BY_INSTANCE, **template(Follow=_TRACKED)["Resources"]),
                resource="Follow",
                property="TargetTrackingConfiguration.CustomizedMetricSpecification.Dimensions",
            ),
        ),
        keeps=(
            _watched(agent()),
            _watched(agent(), Dimensions=_RAW),
            _watched(
                agent({"nvidia_gpu": {"measurement": [{"name": "utilization_gpu", "rename": "utilization_gpu"}]}}),
                MetricName="utilization_gpu",
            ),
            _watched(
                agent({"nvidia_gpu": {"measurement": [{"name": "utilization_gpu", "unit": "Percent"}]}}), Unit="Percent"
            ),
            _watched(
                agent({"nvidia_gpu": {"measurement": [{"name": "utilization_gpu", "rename": "nvidia_smi_use"}]}}),
                MetricName="nvidia_smi_use",
            ),
            measured(agent(), **template(Follow=_TRACKED)["Resources"]),
            _watched(
                agent({"ethtool": {"metrics_include": ["bw_in_allowance_exceeded"]}}),
                MetricName="ethtool_bw_in_allowance_exceeded",
            ),
        ),
        unknown=(
            # A program of one's own, under a name that begins like one of the agent's.
            _watched(agent(), Namespace="Shop", MetricName="net_revenue"),
            # The instance, or the agent's configuration, is somebody else's.
            _watched(agent(), Dimensions=[{"Name": "InstanceId", "Value": "i-0123456789abcdef0"}]),
            group(
                launch={"UserData": {"Fn::Base64": "amazon-cloudwatch-agent-ctl -c ssm:mine"}},
                **template(In=steps(), Idle=alarm())["Resources"],
            ),
            group(**template(In=steps(), Idle=alarm())["Resources"]),
            group(
                launch={"UserData": {"Fn::Base64": script(agent()) + "aws cloudwatch put-metric-data --value 1\n"}},
                **template(In=steps(), Idle=alarm())["Resources"],
            ),
        ),
    ),
    Case(
        rule="service-metric-not-published",
        breaks=(
            Breaks(
                template=_group_metric("GroupInServiceInstances"),
                resource="Group",
                property="MetricsCollection",
                got="nothing",
            ),
            Breaks(
                template=_group_metric(
                    "GroupInServiceInstances",
                    MetricsCollection=[{"Granularity": "1Minute", "Metrics": ["GroupDesiredCapacity"]}],
                ),
                resource="Group",
                property="MetricsCollection",
            ),
            Breaks(
                template=_watched(agent(), Namespace="AWS/EC2", MetricName="GPUUtilization"),
                resource="Idle",
                property="MetricName",
                got="GPUUtilization",
            ),
            # Only those of requests are there.
            Breaks(
                template=_watched(
                    agent(),
                    Namespace="AWS/SageMaker",
                    MetricName="GPUUtilization",
                    Dimensions=[{"Name": "EndpointName", "Value": "chat"}],
                ),
                resource="Idle",
                property="MetricName",
                got="GPUUtilization",
            ),
            Breaks(
                template=_watched(agent(), **{**WAITING, "MetricName": "ApproximateNumberOfMessages"}),
                resource="Idle",
                property="MetricName",
            ),
            Breaks(
                template=_watched(agent(), **{**WAITING, "Dimensions": [{"Name": "Queue", "Value": "jobs"}]}),
                resource="Idle",
                property="Dimensions",
                got="Queue",
            ),
        ),
        keeps=(
            _group_metric("GroupInServiceInstances", MetricsCollection=[{"Granularity": "1Minute"}]),
            _group_metric(
                "GroupDesiredCapacity",
                MetricsCollection=[{"Granularity": "1Minute", "Metrics": ["GroupDesiredCapacity"]}],
            ),
            _watched(agent(), **WAITING),
        ),
        unknown=(
            without_default(
                _group_metric("GroupInServiceInstances", MetricsCollection={"Ref": "Collected"}), "Collected"
            ),
            _group_metric("GroupInServiceInstances")
            | {"Outputs": {"Name": {"Value": {"Ref": "Group"}, "Export": {"Name": "group"}}}},
        ),
    ),
)
