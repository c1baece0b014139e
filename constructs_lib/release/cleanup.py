"""Whatever state the fleet is in, the stack can be deleted."""

from __future__ import annotations

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge_wildcard
from constructs_lib.handlers import HandlerFunction
from constructs_lib.telemetry import names

# Lambda's longest run is 15 minutes and it retries an asynchronous event twice: three runs fit, and CloudFormation's
# own limit of an hour is never reached.
_RUN = Duration.minutes(15)
_LONGEST_ANSWER = Duration.minutes(50)


class FleetCleanup(Construct):
    """A custom resource that keeps Auto Scaling from moving instances between zones, and frees them at the end.

    It depends on the group, so CloudFormation deletes it first: it sets the sizes to zero and lifts the protection
    that would otherwise make CloudFormation wait for an hour, give up, and leave the instances running. On create and
    update it suspends AZRebalance, for which CloudFormation has no property.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        auto_scaling_group: autoscaling.IAutoScalingGroup,
        fleet_tag_value: str,
    ) -> None:
        super().__init__(scope, id)
        handler = self._build_handler(auto_scaling_group, fleet_tag_value)
        self.resource = CustomResource(
            self,
            "Resource",
            service_token=handler.function.function_arn,
            resource_type="Custom::AcceleratedFleetCleanup",
            service_timeout=_LONGEST_ANSWER,
            properties={
                "AutoScalingGroupName": auto_scaling_group.auto_scaling_group_name,
                "FleetTagKey": names.FLEET_TAG,
                "FleetTagValue": fleet_tag_value,
            },
        )
        self.resource.node.add_dependency(auto_scaling_group)
        self.function: lambda_.Function = handler.function

    def _build_handler(self, group: autoscaling.IAutoScalingGroup, fleet_tag_value: str) -> HandlerFunction:
        handler = HandlerFunction(
            self,
            "Handler",
            handler="fleet_cleanup",
            description="Suspends AZRebalance on an accelerated group; frees its instances when the stack is deleted",
            environment={},
            statements=_statements(group, fleet_tag_value),
            timeout=_RUN,
        )
        acknowledge_wildcard(
            handler.role,
            "*",
            "The Describe calls cannot be limited; the two EC2 calls are limited to this fleet's tag by a condition.",
        )
        acknowledge_wildcard(
            handler.role,
            group.auto_scaling_group_arn,
            "The wildcard stands for the group's UUID, unknown to CloudFormation; the name after it is exact.",
        )
        return handler


def _statements(group: autoscaling.IAutoScalingGroup, fleet_tag_value: str) -> list[iam.PolicyStatement]:
    return [
        iam.PolicyStatement(
            actions=["autoscaling:DescribeAutoScalingGroups", "ec2:DescribeInstances"], resources=["*"]
        ),
        iam.PolicyStatement(
            actions=[
                "autoscaling:SetInstanceProtection",
                "autoscaling:SuspendProcesses",
                "autoscaling:TerminateInstanceInAutoScalingGroup",
                "autoscaling:UpdateAutoScalingGroup",
            ],
            resources=[group.auto_scaling_group_arn],
        ),
        iam.PolicyStatement(
            actions=["ec2:ModifyInstanceAttribute", "ec2:TerminateInstances"],
            resources=["*"],
            conditions={"StringEquals": {f"aws:ResourceTag/{names.FLEET_TAG}": fleet_tag_value}},
        ),
    ]
