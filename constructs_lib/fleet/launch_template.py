"""The fleet's own launch template: image, volume, metadata service, tags."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from constructs_lib.acknowledgement import acknowledge
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.network import Interface
from constructs_lib.fleet.storage import FleetStorage
from constructs_lib.telemetry import names
from constructs_lib.validation import complaint

# The CDK renders tag specifications for instances and volumes, in that order; ours for interfaces comes behind them.
_INTERFACE_TAGS = "LaunchTemplateData.TagSpecifications.2"
_NETWORK_INTERFACES = "LaunchTemplateData.NetworkInterfaces"
_SECURITY_GROUPS = "LaunchTemplateData.SecurityGroupIds"
_OUTDATED_MOST_IOPS = 16_000  # the CDK's own template validation knows no more, and can fail the synth


def launch_template(
    scope: Construct,
    id: str,
    *,
    instance_type: str | None,
    machine_image: ec2.IMachineImage,
    root_device: str,
    storage: FleetStorage,
    encryption_key: kms.IKey | None,
    role: iam.IRole,
    security_group: ec2.ISecurityGroup,
    interfaces: Sequence[Interface],
    user_data: ec2.UserData,
    fleet_tag_value: str,
) -> ec2.LaunchTemplate:
    """A launch template that leaves nothing behind and lets nobody in.

    Shutting an instance down from inside terminates it, its volume goes with it, the metadata service wants a session
    token and answers nobody behind a network hop. Termination protection is never set: it would outlive the group.
    Without ``interfaces`` an instance has one, as EC2 makes it.
    """
    try:
        template = ec2.LaunchTemplate(
            scope,
            id,
            instance_type=None if instance_type is None else ec2.InstanceType(instance_type),
            machine_image=machine_image,
            role=role,
            security_group=security_group,
            user_data=user_data,
            block_devices=[_root_volume(root_device, storage, encryption_key)],
            http_tokens=ec2.LaunchTemplateHttpTokens.REQUIRED,
            http_put_response_hop_limit=1,
            instance_initiated_shutdown_behavior=ec2.InstanceInitiatedShutdownBehavior.TERMINATE,
        )
    except RuntimeError:
        _check_image(scope, machine_image)
        raise
    if template.os_type is ec2.OperatingSystemType.WINDOWS:
        rule = "be a Linux image"
        cure = "give one, for example FleetImage.deep_learning_base(): the boot script and the agent are for Linux"
        raise ArgumentError(complaint(scope.node.path, "image", rule, "a Windows image", cure))
    if storage.root_volume_iops is not None and storage.root_volume_iops > _OUTDATED_MOST_IOPS:
        reason = "gp3 volumes take up to 80,000 IOPS since September 2025; FleetStorage has checked the value."
        acknowledge(template, {"CloudFormation-Validate::E3671": reason})
    Tags.of(template).add(names.FLEET_TAG, fleet_tag_value)
    resource = template.node.default_child
    assert isinstance(resource, ec2.CfnLaunchTemplate)
    resource.add_property_override(
        _INTERFACE_TAGS,
        {"ResourceType": "network-interface", "Tags": [{"Key": names.FLEET_TAG, "Value": fleet_tag_value}]},
    )
    if interfaces:
        _wire(resource, interfaces)
    return template


def _check_image(scope: Construct, image: ec2.IMachineImage) -> None:
    """Say in our own words that the CDK finds no image: none is named for the Region, or it cannot be looked up."""
    try:
        image.get_image(scope)
    except RuntimeError as error:
        rule = "be one for the stack's account and Region"
        cure = "name an id for each Region, give the stack its env=Environment(...), or FleetImage.from_ssm_parameter()"
        raise ArgumentError(complaint(scope.node.path, "image", rule, str(error), cure)) from error


def _wire(resource: ec2.CfnLaunchTemplate, interfaces: Sequence[Interface]) -> None:
    """Give the instances these network interfaces, and each of them the security groups.

    EC2 refuses security groups beside interfaces. The CDK's own list is moved, not copied: a group that is added to the
    launch template later comes along, and network rules of the template mean the same groups. A subnet is the Auto
    Scaling group's to choose, and a public address is not to be had with several interfaces.
    """
    data = resource.launch_template_data
    assert isinstance(data, ec2.CfnLaunchTemplate.LaunchTemplateDataProperty)
    resource.add_property_deletion_override(_SECURITY_GROUPS)
    resource.add_property_override(
        _NETWORK_INTERFACES,
        [
            {
                "NetworkCardIndex": each.card,
                "DeviceIndex": each.device,
                "InterfaceType": each.type,
                "Groups": data.security_group_ids,
                "DeleteOnTermination": True,
            }
            for each in interfaces
        ],
    )


def _root_volume(device: str, storage: FleetStorage, key: kms.IKey | None) -> ec2.BlockDevice:
    size = storage.root_volume_size
    volume = ec2.BlockDeviceVolume(
        ec2.EbsDeviceProps(
            volume_type=ec2.EbsDeviceVolumeType.GP3,
            encrypted=True,
            kms_key=key,
            delete_on_termination=True,
            volume_size=None if size is None else size.to_gibibytes(),
            iops=storage.root_volume_iops,
            throughput=storage.root_volume_throughput_mib_s,
        )
    )
    return ec2.BlockDevice(device_name=device, volume=volume)
