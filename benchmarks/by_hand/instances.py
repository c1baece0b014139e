"""What starts instances: their role, the agent's configuration, the launch template and the group."""

from __future__ import annotations

import json
from pathlib import Path

from aws_cdk import CfnResource, Duration, Stack, Tags
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_ssm as ssm

from benchmarks.by_hand.names import DRAIN_HOOK, FLEET_TAG, NAMESPACE

_IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
_AGENT_PARTS = {
    "cpu": {"measurement": ["usage_active"], "totalcpu": True, "drop_original_metrics": ["usage_active"]},
    "disk": {"measurement": ["used_percent"], "resources": ["/"], "drop_original_metrics": ["used_percent"]},
    "mem": {"measurement": ["used_percent"], "drop_original_metrics": ["used_percent"]},
    "statsd": {
        "service_address": "127.0.0.1:8125",
        "metrics_collection_interval": 10,
        "metrics_aggregation_interval": 60,
        "drop_original_metrics": ["accelerators_missing", "accelerators_unknown", "busy_marks", "interactive_sessions"],
    },
}
_PROGRAM = Path(__file__).resolve().parents[2] / "constructs_lib" / "node"
_GPU_PART = {"measurement": ["utilization_gpu", "utilization_memory", "memory_used", "power_draw", "temperature_gpu"]}
_BOOT = """\
aws s3 cp "$PROGRAM" /tmp/program.zip
python3 -m zipfile -e /tmp/program.zip /tmp/program && bash /tmp/program/install.sh
CTL=/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl
waited=0
until nvidia-smi -L >/dev/null || [ $waited -ge 300 ]; do sleep 5; waited=$((waited + 5)); done
if [ $waited -ge 300 ]; then CONFIG=file:/etc/agent-fallback.json; fi
for attempt in 1 2 3 4 5; do $CTL -a fetch-config -m ec2 -s -c "$CONFIG" && break; sleep 10; done
systemctl start accelerated-node.service"""


def agent_parameter(stack: Stack) -> ssm.StringParameter:
    """Where the agent finds its configuration."""
    return ssm.StringParameter(
        stack,
        "Agent",
        description="Configuration of the CloudWatch agent",
        string_value=agent_configuration({**_AGENT_PARTS, "nvidia_gpu": _GPU_PART}),
    )


def agent_configuration(collected: object) -> str:
    """The agent's configuration file."""
    return json.dumps(
        {
            "agent": {"metrics_collection_interval": 60},
            "metrics": {
                "namespace": NAMESPACE,
                "append_dimensions": {
                    "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
                    "InstanceId": "${aws:InstanceId}",
                },
                "aggregation_dimensions": [["InstanceId"], ["AutoScalingGroupName"]],
                "metrics_collected": collected,
            },
        }
    )


def instance_role(stack: Stack, agent: ssm.StringParameter, program: assets.Asset) -> iam.Role:
    """What the agent and Session Manager need."""
    statements = [
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
        ),
        iam.PolicyStatement(actions=["ec2:DescribeTags"], resources=["*"]),
        iam.PolicyStatement(actions=["ssm:GetParameter"], resources=[agent.parameter_arn]),
        iam.PolicyStatement(
            actions=["s3:GetObject"], resources=[program.bucket.arn_for_objects(program.s3_object_key)]
        ),
        iam.PolicyStatement(
            actions=[
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            resources=["*"],
        ),
    ]
    return iam.Role(
        stack,
        "InstanceRole",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        inline_policies={"Telemetry": iam.PolicyDocument(statements=statements)},
    )


def launch_template(stack: Stack, vpc: ec2.IVpc, agent: ssm.StringParameter) -> ec2.LaunchTemplate:
    """Deep Learning base image, encrypted volume, IMDSv2, tags on everything that it starts."""
    program = assets.Asset(stack, "Program", path=str(_PROGRAM), exclude=["**/__pycache__", "**/*.pyc"])
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(
        f"PROGRAM={program.s3_object_url}",
        f"CONFIG=ssm:{agent.parameter_name}",
        f"cat >/etc/agent-fallback.json <<'EOF'\n{agent_configuration(_AGENT_PARTS)}\nEOF",
        _BOOT,
    )
    volume = ec2.EbsDeviceProps(volume_type=ec2.EbsDeviceVolumeType.GP3, encrypted=True, delete_on_termination=True)
    template = ec2.LaunchTemplate(
        stack,
        "LaunchTemplate",
        machine_image=ec2.MachineImage.from_ssm_parameter(_IMAGE, os=ec2.OperatingSystemType.LINUX),
        role=instance_role(stack, agent, program),
        security_group=ec2.SecurityGroup(stack, "SecurityGroup", vpc=vpc),
        user_data=user_data,
        block_devices=[ec2.BlockDevice(device_name="/dev/xvda", volume=ec2.BlockDeviceVolume(volume))],
        http_tokens=ec2.LaunchTemplateHttpTokens.REQUIRED,
        http_put_response_hop_limit=1,
        instance_initiated_shutdown_behavior=ec2.InstanceInitiatedShutdownBehavior.TERMINATE,
    )
    Tags.of(template).add(FLEET_TAG, stack.stack_name)
    resource = template.node.default_child
    assert isinstance(resource, CfnResource)
    resource.add_property_override(
        "LaunchTemplateData.TagSpecifications.2",
        {"ResourceType": "network-interface", "Tags": [{"Key": FLEET_TAG, "Value": stack.stack_name}]},
    )
    return template


def auto_scaling_group(stack: Stack, vpc: ec2.IVpc, template: ec2.LaunchTemplate) -> autoscaling.AutoScalingGroup:
    """Spot instances of two types, protected from scale-in."""
    group = autoscaling.AutoScalingGroup(
        stack,
        "Group",
        vpc=vpc,
        mixed_instances_policy=autoscaling.MixedInstancesPolicy(
            launch_template=template,
            launch_template_overrides=[
                autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType("g6.xlarge")),
                autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType("g5.xlarge")),
            ],
            instances_distribution=autoscaling.InstancesDistribution(
                on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
                on_demand_base_capacity=0,
                on_demand_percentage_above_base_capacity=0,
                spot_allocation_strategy=autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED,
            ),
        ),
        min_capacity=0,
        max_capacity=8,
        new_instances_protected_from_scale_in=True,
        capacity_rebalance=False,
        default_instance_warmup=Duration.minutes(10),
        health_checks=autoscaling.HealthChecks.ec2(grace_period=Duration.minutes(10)),
        group_metrics=[autoscaling.GroupMetrics.all()],
    )
    Tags.of(group).add(FLEET_TAG, stack.stack_name, apply_to_launched_instances=False)
    resource = group.node.default_child
    assert isinstance(resource, autoscaling.CfnAutoScalingGroup)
    resource.lifecycle_hook_specification_list = [
        autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty(
            lifecycle_hook_name=DRAIN_HOOK,
            lifecycle_transition="autoscaling:EC2_INSTANCE_TERMINATING",
            heartbeat_timeout=360,
            default_result="CONTINUE",
        )
    ]
    resource.instance_maintenance_policy = autoscaling.CfnAutoScalingGroup.InstanceMaintenancePolicyProperty(
        min_healthy_percentage=0, max_healthy_percentage=100
    )
    return group
