"""Members of an Auto Scaling group: real records in the emulator's EC2, launched and terminated as AWS would."""

from __future__ import annotations

from typing import Any

from ministack.core.responses import get_region
from ministack.services import autoscaling as service
from ministack.services import ec2

from demo.gaps import volumes

Group = dict[str, Any]
Member = dict[str, Any]

IN_SERVICE = "InService"
WAITING = "Terminating:Wait"


def reconcile(group: Group) -> None:
    """Launch or terminate until the members match the desired capacity.

    A member that is protected from scale-in is never taken: the surplus stays until the protection is gone.
    A suspended ``Launch`` or ``Terminate`` process stops the corresponding half. Who waits for a termination hook does
    not count any more.
    """
    suspended = group.get("SuspendedProcesses", [])
    present = [member for member in group["Instances"] if member["LifecycleState"] == IN_SERVICE]
    surplus = len(present) - group["DesiredCapacity"]
    if surplus > 0 and "Terminate" not in suspended:
        for member in [m for m in present if not m["ProtectedFromScaleIn"]][:surplus]:
            terminate(group, member)
    if surplus < 0 and "Launch" not in suspended:
        for _ in range(-surplus):
            group["Instances"].append(_launch(group))


def terminate(group: Group, member: Member) -> None:
    """End one member whatever its protection says; with a termination hook it waits until somebody completes that.

    The time of a hook does not run out here: nothing happens unless it is told to.
    """
    if group.get("LifecycleHooks") and member["LifecycleState"] == IN_SERVICE:
        member["LifecycleState"] = WAITING
    elif member["LifecycleState"] == IN_SERVICE:
        end(group, member)


def lose(group: Group, member: Member) -> None:
    """Notice that a member's machine is gone. A hook still makes the group wait for an answer (SR-8)."""
    if group.get("LifecycleHooks"):
        member["LifecycleState"] = WAITING
    else:
        group["Instances"].remove(member)


def end(group: Group, member: Member) -> None:
    """End one member for good, with the volumes that are deleted on termination."""
    group["Instances"].remove(member)
    ec2._terminate_instances({"InstanceId.1": member["InstanceId"]})
    volumes.release(member["InstanceId"])


def member_of(instance_id: str) -> tuple[Group, Member] | None:
    """The group that holds an instance, and its record there; None when no group does."""
    for group in service._asgs.values():
        for member in group["Instances"]:
            if member["InstanceId"] == instance_id:
                return group, member
    return None


def _launch(group: Group) -> Member:
    specification, instance_type = _choose(group)
    data, template, error = ec2._resolve_launch_template_data(specification)
    if error:
        raise ValueError(f"{group['AutoScalingGroupName']}: its launch template does not exist: {specification}")
    subnet = _thinnest_subnet(group)
    profile = data.get("IamInstanceProfile") or {}
    resolved, _ = ec2._resolve_iam_instance_profile(
        iam_arn=profile.get("Arn", ""), iam_name=profile.get("Name", ""), allow_missing=True
    )
    (instance,) = ec2._launch_instances_internal(
        image_id=data["ImageId"],
        instance_type=instance_type or data["InstanceType"],
        subnet_id=subnet["SubnetId"],
        count=1,
        user_data=data.get("UserData", ""),
        sg_ids=_security_groups(data),
        iam_profile=resolved,
    )
    instance["Placement"]["AvailabilityZone"] = subnet["AvailabilityZone"]
    tags = {spec["ResourceType"]: spec["Tags"] for spec in data.get("TagSpecifications", [])}
    ec2._tags[instance["InstanceId"]] = _instance_tags(group, template, specification, tags.get("instance", []))
    volumes.attach(instance, data.get("BlockDeviceMappings", []), tags.get("volume", []))
    return _member(group, instance, template, specification)


def _choose(group: Group) -> tuple[dict[str, str], str | None]:
    """Launch template and instance type of the next member: the overrides take turns."""
    policy = group.get("MixedInstancesPolicy")
    if not policy:
        return group["LaunchTemplate"], None
    launch_template = policy["LaunchTemplate"]
    overrides = launch_template.get("Overrides") or [{}]
    turn = group.setdefault("LaunchedSoFar", 0)
    group["LaunchedSoFar"] = turn + 1
    return launch_template["LaunchTemplateSpecification"], overrides[turn % len(overrides)].get("InstanceType")


def _thinnest_subnet(group: Group) -> dict[str, Any]:
    zones = [member["AvailabilityZone"] for member in group["Instances"]]
    subnets = [ec2._subnets[subnet] for subnet in group["VPCZoneIdentifier"].split(",")]
    return min(subnets, key=lambda subnet: zones.count(subnet["AvailabilityZone"]))


def _security_groups(data: dict[str, Any]) -> list[str]:
    interfaces = data.get("NetworkInterfaces") or [{}]
    return list(data.get("SecurityGroupIds") or interfaces[0].get("Groups") or [])


def _instance_tags(
    group: Group, template: dict[str, Any], specification: dict[str, str], own: list[dict[str, str]]
) -> list[dict[str, str]]:
    merged = {tag["Key"]: tag["Value"] for tag in own}
    # A tag of the group wins over the launch template's tag of the same key.
    merged |= {tag["Key"]: tag["Value"] for tag in group["Tags"] if tag["PropagateAtLaunch"]}
    merged["aws:autoscaling:groupName"] = group["AutoScalingGroupName"]
    merged["aws:ec2launchtemplate:id"] = template["LaunchTemplateId"]
    merged["aws:ec2launchtemplate:version"] = str(specification.get("Version", "$Default"))
    return [{"Key": key, "Value": value} for key, value in merged.items()]


def _member(group: Group, instance: dict[str, Any], template: dict[str, Any], specification: dict[str, str]) -> Member:
    return {
        "InstanceId": instance["InstanceId"],
        "InstanceType": instance["InstanceType"],
        "AvailabilityZone": instance["Placement"]["AvailabilityZone"] or f"{get_region()}a",
        "LifecycleState": IN_SERVICE,
        "HealthStatus": "Healthy",
        "ProtectedFromScaleIn": group["NewInstancesProtectedFromScaleIn"],
        "LaunchTemplate": {
            "LaunchTemplateId": template["LaunchTemplateId"],
            "LaunchTemplateName": template["LaunchTemplateName"],
            "Version": str(specification.get("Version", "$Default")),
        },
    }
