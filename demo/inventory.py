"""Everything that exists in the emulator, found out by the same describe calls that one would make on AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from demo.emulator import Emulator

Inventory = frozenset[tuple[str, str]]
"""Kind and id of each thing."""

Calls = Callable[[str], Any]


def take(emulator: Emulator) -> Inventory:
    """List what exists now: whatever bills, holds data or could get in the way of the next deploy."""
    return frozenset((kind, name) for kind, listing in _LISTINGS.items() for name in listing(emulator.client))


def named(inventory: Inventory) -> list[str]:
    """Kind and id of each thing as text, sorted."""
    return [f"{kind} {name}" for kind, name in sorted(inventory)]


def _pages(client: Any, call: str, key: str, name: str | None) -> Iterator[str]:
    """The ids that a call returns on all its pages; ``name`` is None where it returns plain ids."""
    pages = client.get_paginator(call).paginate() if client.can_paginate(call) else [getattr(client, call)()]
    for page in pages:
        for item in page.get(key, []):
            yield item if name is None else item[name]


def _stacks(client: Calls) -> Iterator[str]:
    for stack in client("cloudformation").get_paginator("list_stacks").paginate().search("StackSummaries[]"):
        if stack["StackStatus"] != "DELETE_COMPLETE":
            yield stack["StackName"]


def _instances(client: Calls) -> Iterator[str]:
    for reservation in client("ec2").describe_instances()["Reservations"]:
        for instance in reservation["Instances"]:
            # A terminated instance stays visible for an hour, and bills nothing.
            if instance["State"]["Name"] != "terminated":
                yield instance["InstanceId"]


def _listing(service: str, call: str, key: str, name: str | None) -> Callable[[Calls], Iterator[str]]:
    return lambda client: _pages(client(service), call, key, name)


_LISTINGS: Mapping[str, Callable[[Calls], Iterator[str]]] = {
    "stack": _stacks,
    "instance": _instances,
    "volume": _listing("ec2", "describe_volumes", "Volumes", "VolumeId"),
    "network interface": _listing("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    "launch template": _listing("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    "security group": _listing("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    "VPC": _listing("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    "subnet": _listing("ec2", "describe_subnets", "Subnets", "SubnetId"),
    "internet gateway": _listing("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "Auto Scaling group": _listing(
        "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName"
    ),
    "function": _listing("lambda", "list_functions", "Functions", "FunctionName"),
    "log group": _listing("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "queue": _listing("sqs", "list_queues", "QueueUrls", None),
    "topic": _listing("sns", "list_topics", "Topics", "TopicArn"),
    "rule": _listing("events", "list_rules", "Rules", "Name"),
    "alarm": _listing("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "parameter": _listing("ssm", "describe_parameters", "Parameters", "Name"),
    "role": _listing("iam", "list_roles", "Roles", "RoleName"),
    "instance profile": _listing("iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"),
    "bucket": _listing("s3", "list_buckets", "Buckets", "Name"),
    "repository": _listing("ecr", "describe_repositories", "repositories", "repositoryName"),
}
