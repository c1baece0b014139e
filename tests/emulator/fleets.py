"""A fleet as small as possible, deployed to the emulator without the CDK, and the calls that tests make on it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from demo.emulator import Emulator

WAITER = {"Delay": 1, "MaxAttempts": 60}
IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
TYPES = ("g6.xlarge", "g5.xlarge")


@dataclass(frozen=True)
class Fleet:
    """A deployed group and the emulator that holds it."""

    emulator: Emulator
    stack: str
    name: str

    @classmethod
    def deploy(cls, emulator: Emulator, stack: str, **group: Any) -> Fleet:
        """Create a stack with one group; ``group`` adds or replaces properties of it."""
        stack = re.sub("[^A-Za-z0-9]+", "-", stack)[:100].strip("-")
        cloudformation = emulator.client("cloudformation")
        cloudformation.create_stack(StackName=stack, TemplateBody=json.dumps(_template(emulator, group)))
        cloudformation.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig=WAITER)
        found = cloudformation.describe_stack_resources(StackName=stack, LogicalResourceId="Group")["StackResources"]
        return cls(emulator, stack, found[0]["PhysicalResourceId"])

    def redeploy(self, **group: Any) -> None:
        """Update the stack with other properties of the group."""
        cloudformation = self.emulator.client("cloudformation")
        cloudformation.update_stack(StackName=self.stack, TemplateBody=json.dumps(_template(self.emulator, group)))
        cloudformation.get_waiter("stack_update_complete").wait(StackName=self.stack, WaiterConfig=WAITER)

    @property
    def autoscaling(self) -> Any:
        return self.emulator.client("autoscaling")

    def group(self) -> dict[str, Any]:
        """The group as DescribeAutoScalingGroups returns it."""
        found = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[self.name])["AutoScalingGroups"]
        described: dict[str, Any] = found[0]
        return described

    def members(self) -> list[str]:
        return [member["InstanceId"] for member in self.group()["Instances"]]

    def running(self) -> list[dict[str, Any]]:
        """The running instances of the group as EC2 reports them."""
        filters = [
            {"Name": "tag:aws:autoscaling:groupName", "Values": [self.name]},
            {"Name": "instance-state-name", "Values": ["running"]},
        ]
        reservations = self.emulator.client("ec2").describe_instances(Filters=filters)["Reservations"]
        return [instance for reservation in reservations for instance in reservation["Instances"]]

    def volumes(self, instance_id: str) -> list[dict[str, Any]]:
        """The volumes that are attached to an instance."""
        filters = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        attached: list[dict[str, Any]] = self.emulator.client("ec2").describe_volumes(Filters=filters)["Volumes"]
        return attached

    def grow(self, capacity: int) -> list[str]:
        self.autoscaling.set_desired_capacity(AutoScalingGroupName=self.name, DesiredCapacity=capacity)
        return self.members()

    def resize(self, **sizes: int) -> None:
        self.autoscaling.update_auto_scaling_group(AutoScalingGroupName=self.name, **sizes)

    def protect(self, *instance_ids: str, protected: bool) -> None:
        self.autoscaling.set_instance_protection(
            AutoScalingGroupName=self.name, InstanceIds=list(instance_ids), ProtectedFromScaleIn=protected
        )

    def terminate(self, instance_id: str, *, decrement: bool) -> dict[str, Any]:
        answer = self.autoscaling.terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=decrement
        )
        activity: dict[str, Any] = answer["Activity"]
        return activity

    def draining(self) -> list[str]:
        """The members that a termination hook holds; none once the group is gone."""
        found = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[self.name])["AutoScalingGroups"]
        members = [member for group in found for member in group["Instances"]]
        return [each["InstanceId"] for each in members if each["LifecycleState"] == "Terminating:Wait"]

    def complete(self, instance_id: str, hook: str) -> None:
        """Complete the hook that an instance waits for."""
        self.autoscaling.complete_lifecycle_action(
            AutoScalingGroupName=self.name,
            LifecycleHookName=hook,
            InstanceId=instance_id,
            LifecycleActionResult="CONTINUE",
        )


def _template(emulator: Emulator, group: dict[str, Any]) -> dict[str, Any]:
    subnets = emulator.client("ec2").describe_subnets()["Subnets"]
    return {
        "Parameters": {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": IMAGE}},
        "Resources": {
            "Template": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {
                    "LaunchTemplateData": {
                        "ImageId": {"Ref": "Image"},
                        "BlockDeviceMappings": [
                            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 90, "VolumeType": "gp3"}},
                            {"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 10, "DeleteOnTermination": False}},
                        ],
                        "TagSpecifications": [
                            {"ResourceType": kind, "Tags": [{"Key": "fleet", "Value": "f"}]}
                            for kind in ("instance", "volume")
                        ],
                    }
                },
            },
            "Group": {
                "Type": "AWS::AutoScaling::AutoScalingGroup",
                "Properties": {
                    "MinSize": "0",
                    "MaxSize": "8",
                    "NewInstancesProtectedFromScaleIn": True,
                    "MetricsCollection": [{"Granularity": "1Minute"}],
                    "VPCZoneIdentifier": [subnet["SubnetId"] for subnet in subnets[:2]],
                    "MixedInstancesPolicy": {
                        "LaunchTemplate": {
                            "LaunchTemplateSpecification": {
                                "LaunchTemplateId": {"Ref": "Template"},
                                "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]},
                            },
                            "Overrides": [{"InstanceType": name} for name in TYPES],
                        }
                    },
                    **group,
                },
            },
        },
    }
