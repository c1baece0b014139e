"""What policies that AWS manages give, of those that instances and functions beside accelerators often have.

Source: "AWS Managed Policy Reference Guide", a page for each policy under
https://docs.aws.amazon.com/aws-managed-policy/latest/reference/, versions of 2026-11. A policy is here as a whole; what
one that is not here gives is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_Statements = tuple[Mapping[str, Any], ...]


def _allow(*actions: str, on: str | list[str] = "*", **more: Any) -> Mapping[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": on, **more}


def _may_link(*services: str, on: str = "*") -> Mapping[str, Any]:
    condition = {"StringEquals": {"iam:AWSServiceName": list(services)}}
    return _allow("iam:CreateServiceLinkedRole", on=on, Condition=condition)


_AGENT_PARAMETERS = "arn:aws:ssm:*:*:parameter/AmazonCloudWatch-*"
_WRITE_LOGS = ("logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents")
_AGENT = (
    "cloudwatch:PutMetricData",
    "ec2:DescribeTags",
    *_WRITE_LOGS,
    "logs:PutRetentionPolicy",
    "logs:DescribeLogStreams",
    "logs:DescribeLogGroups",
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:GetSamplingStatisticSummaries",
)
_LAUNCHING_SERVICES = (
    "autoscaling.amazonaws.com",
    "ec2scheduled.amazonaws.com",
    "elasticloadbalancing.amazonaws.com",
    "spot.amazonaws.com",
    "spotfleet.amazonaws.com",
    "transitgateway.amazonaws.com",
)

MANAGED_POLICIES: Mapping[str, _Statements] = MappingProxyType(
    {
        "AdministratorAccess": (_allow("*"),),
        "PowerUserAccess": (
            {"Effect": "Allow", "NotAction": ["iam:*", "organizations:*", "account:*"], "Resource": "*"},
            _allow(
                "account:GetAccountInformation",
                "account:GetGovCloudAccountInformation",
                "account:GetPrimaryEmail",
                "account:ListRegions",
                "iam:CreateServiceLinkedRole",
                "iam:DeleteServiceLinkedRole",
                "iam:ListRoles",
                "organizations:DescribeEffectivePolicy",
                "organizations:DescribeOrganization",
            ),
        ),
        "AmazonEC2FullAccess": (
            _allow("ec2:*", "elasticloadbalancing:*", "cloudwatch:*", "autoscaling:*"),
            _may_link(*_LAUNCHING_SERVICES),
        ),
        "AutoScalingFullAccess": (
            _allow(
                "autoscaling:*",
                "cloudwatch:PutMetricAlarm",
                "ec2:DescribeAccountAttributes",
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceAttribute",
                "ec2:DescribeInstances",
                "ec2:DescribeKeyPairs",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:DescribePlacementGroups",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSpotInstanceRequests",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcClassicLink",
                "elasticloadbalancing:DescribeLoadBalancers",
                "elasticloadbalancing:DescribeTargetGroups",
            ),
            _may_link("autoscaling.amazonaws.com"),
        ),
        "CloudWatchAgentServerPolicy": (
            _allow(*_AGENT, "ec2:DescribeVolumes"),
            _allow("ssm:GetParameter", on=_AGENT_PARAMETERS),
        ),
        "CloudWatchAgentAdminPolicy": (
            _allow(*_AGENT),
            _allow("ssm:GetParameter", "ssm:PutParameter", on=_AGENT_PARAMETERS),
        ),
        "CloudWatchFullAccess": (
            _allow(
                "autoscaling:Describe*",
                "cloudwatch:*",
                "logs:*",
                "sns:*",
                "iam:GetPolicy",
                "iam:GetPolicyVersion",
                "iam:GetRole",
                "oam:ListSinks",
            ),
            _may_link(
                "events.amazonaws.com",
                on="arn:aws:iam::*:role/aws-service-role/events.amazonaws.com/AWSServiceRoleForCloudWatchEvents*",
            ),
            _allow("oam:ListAttachedLinks", on="arn:aws:oam:*:*:sink/*"),
        ),
        "AmazonSSMManagedInstanceCore": (
            _allow(
                "ssm:DescribeAssociation",
                "ssm:GetDeployablePatchSnapshotForInstance",
                "ssm:GetDocument",
                "ssm:DescribeDocument",
                "ssm:GetManifest",
                "ssm:GetParameter",
                "ssm:GetParameters",
                "ssm:ListAssociations",
                "ssm:ListInstanceAssociations",
                "ssm:PutInventory",
                "ssm:PutComplianceItems",
                "ssm:PutConfigurePackageResult",
                "ssm:UpdateAssociationStatus",
                "ssm:UpdateInstanceAssociationStatus",
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
                "ec2messages:AcknowledgeMessage",
                "ec2messages:DeleteMessage",
                "ec2messages:FailMessage",
                "ec2messages:GetEndpoint",
                "ec2messages:GetMessages",
                "ec2messages:SendReply",
            ),
        ),
        "AmazonEC2ContainerServiceforEC2Role": (
            _allow(
                "ec2:DescribeTags",
                "ecs:CreateCluster",
                "ecs:DeregisterContainerInstance",
                "ecs:DiscoverPollEndpoint",
                "ecs:Poll",
                "ecs:RegisterContainerInstance",
                "ecs:StartTelemetrySession",
                "ecs:UpdateContainerInstancesState",
                "ecs:Submit*",
                "ecr:GetAuthorizationToken",
                "ecr:BatchCheckLayerAvailability",
                "ecr:GetDownloadUrlForLayer",
                "ecr:BatchGetImage",
                "logs:CreateLogStream",
                "logs:PutLogEvents",
            ),
            _allow(
                "ecs:TagResource",
                Condition={"StringEquals": {"ecs:CreateAction": ["CreateCluster", "RegisterContainerInstance"]}},
            ),
            _allow(
                "ecs:ListTagsForResource",
                on=["arn:aws:ecs:*:*:task/*/*", "arn:aws:ecs:*:*:container-instance/*/*"],
            ),
        ),
        "AmazonEKSWorkerNodePolicy": (
            _allow(
                "ec2:DescribeInstances",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeRouteTables",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVolumes",
                "ec2:DescribeVolumesModifications",
                "ec2:DescribeVpcs",
                "eks:DescribeCluster",
                "eks-auth:AssumeRoleForPodIdentity",
            ),
        ),
        "AmazonEKSWorkerNodeMinimalPolicy": (_allow("eks-auth:AssumeRoleForPodIdentity"),),
        "AmazonEKS_CNI_Policy": (
            _allow(
                "ec2:AssignPrivateIpAddresses",
                "ec2:AttachNetworkInterface",
                "ec2:CreateNetworkInterface",
                "ec2:DeleteNetworkInterface",
                "ec2:DescribeInstances",
                "ec2:DescribeTags",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeSubnets",
                "ec2:DescribeSecurityGroups",
                "ec2:DetachNetworkInterface",
                "ec2:ModifyNetworkInterfaceAttribute",
                "ec2:UnassignPrivateIpAddresses",
            ),
            _allow("ec2:CreateTags", on="arn:aws:ec2:*:*:network-interface/*"),
        ),
        "AmazonEC2ContainerRegistryReadOnly": (
            _allow(
                "ecr:GetAuthorizationToken",
                "ecr:BatchCheckLayerAvailability",
                "ecr:GetDownloadUrlForLayer",
                "ecr:GetRepositoryPolicy",
                "ecr:DescribeRepositories",
                "ecr:ListImages",
                "ecr:DescribeImages",
                "ecr:BatchGetImage",
                "ecr:GetLifecyclePolicy",
                "ecr:GetLifecyclePolicyPreview",
                "ecr:ListTagsForResource",
                "ecr:DescribeImageScanFindings",
            ),
        ),
        "AmazonEC2ContainerRegistryPullOnly": (
            _allow(
                "ecr:GetAuthorizationToken",
                "ecr:BatchGetImage",
                "ecr:GetDownloadUrlForLayer",
                "ecr:BatchImportUpstreamImage",
            ),
        ),
        "AWSLambdaBasicExecutionRole": (_allow(*_WRITE_LOGS),),
        "AWSLambdaVPCAccessExecutionRole": (
            _allow(
                *_WRITE_LOGS,
                "ec2:CreateNetworkInterface",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSubnets",
                "ec2:DeleteNetworkInterface",
                "ec2:AssignPrivateIpAddresses",
                "ec2:UnassignPrivateIpAddresses",
            ),
        ),
        "AmazonS3ReadOnlyAccess": (
            _allow("s3:Get*", "s3:List*", "s3:Describe*", "s3-object-lambda:Get*", "s3-object-lambda:List*"),
        ),
        "AmazonS3FullAccess": (_allow("s3:*", "s3-object-lambda:*"),),
        "AmazonSQSFullAccess": (_allow("sqs:*"),),
    }
)
"""Statements by name of the policy."""
