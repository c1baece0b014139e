"""Volumes: "Preserve data when an instance is terminated", Amazon EC2 User Guide; "Amazon EBS encryption"."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_EBS = "LaunchTemplateData.BlockDeviceMappings[0].Ebs"
_CLASSIC = "AutoScaling::LaunchConfiguration"


def _volume(**ebs: Any) -> dict[str, Any]:
    return group(launch={"BlockDeviceMappings": [{"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 500, **ebs}}]})


def _instance(device: Any = "/dev/xvdb", **ebs: Any) -> dict[str, Any]:
    mappings = [{"DeviceName": device, "Ebs": {"VolumeSize": 500, **ebs}}]
    properties = {"InstanceType": "g5.xlarge", "BlockDeviceMappings": mappings}
    return template(Box={"Type": "EC2::Instance", "Properties": properties})


def _classic(**ebs: Any) -> dict[str, Any]:
    mappings = [{"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 500, **ebs}}]
    return template(
        Config={
            "Type": _CLASSIC,
            "Properties": {"InstanceType": "p3.2xlarge", "ImageId": "ami-1", "BlockDeviceMappings": mappings},
        },
        Group={
            "Type": "AutoScaling::AutoScalingGroup",
            "Properties": {"LaunchConfigurationName": {"Ref": "Config"}, "MinSize": "0", "MaxSize": "1"},
        },
    )


def _attached(named: str = "g5.xlarge", **volume: Any) -> dict[str, Any]:
    return template(
        Box={"Type": "EC2::Instance", "Properties": {"InstanceType": named}},
        Data={"Type": "EC2::Volume", "Properties": {"AvailabilityZone": "us-east-1a", "Size": 500, **volume}},
        Tie={
            "Type": "EC2::VolumeAttachment",
            "Properties": {"InstanceId": {"Ref": "Box"}, "VolumeId": {"Ref": "Data"}},
        },
    )


_ASKED = {"Parameters": {"Asked": {"Type": "String"}}}

_KEPT = {"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"DeleteOnTermination": False}}]}

CASES = (
    Case(
        rule="root-volume-outlives-instance",
        breaks=(
            Breaks(
                template=_instance("/dev/sda1", DeleteOnTermination=False),
                resource="Box",
                property="BlockDeviceMappings[0].Ebs.DeleteOnTermination",
                got="false",
            ),
            Breaks(
                template=template(
                    Box={"Type": "EC2::Instance", "Properties": {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "L"}}}},
                    L={
                        "Type": "EC2::LaunchTemplate",
                        "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge", **_KEPT}},
                    },
                ),
                resource="L",
                property=f"{_EBS}.DeleteOnTermination",
            ),
        ),
        keeps=(
            _instance("/dev/sda1"),
            _instance("/dev/xvda", DeleteOnTermination=True),
            # The data of a notebook, say.
            _instance("/dev/sdf", DeleteOnTermination=False),
            # volume-outlives-instance tells of those of groups.
            group(launch=_KEPT),
        ),
        unknown=(
            _ASKED | _instance("/dev/sda1", DeleteOnTermination={"Ref": "Asked"}),
            _ASKED | _instance({"Ref": "Asked"}, DeleteOnTermination=False),
        ),
    ),
    Case(
        rule="volume-outlives-instance",
        breaks=(
            Breaks(
                template=_volume(DeleteOnTermination=False),
                resource="Launch",
                property=f"{_EBS}.DeleteOnTermination",
                got="false",
            ),
            Breaks(
                template=_volume(DeleteOnTermination="false"), resource="Launch", property=f"{_EBS}.DeleteOnTermination"
            ),
            Breaks(
                template=_classic(DeleteOnTermination=False),
                resource="Config",
                property="BlockDeviceMappings[0].Ebs.DeleteOnTermination",
            ),
            Breaks(
                template=template(
                    Launch={
                        "Type": "EC2::LaunchTemplate",
                        "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge", **_KEPT}},
                    }
                ),
                resource="Launch",
                property=f"{_EBS}.DeleteOnTermination",
            ),
        ),
        keeps=(
            _volume(DeleteOnTermination=True),
            # "Data volume, at launch, CLI: Delete", the guide's table of defaults.
            _volume(),
            # An instance store has no volume that could stay.
            group(launch={"BlockDeviceMappings": [{"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}]}),
            # Of one instance the data may be kept on purpose.
            _instance(DeleteOnTermination=False),
        ),
        unknown=(
            _ASKED | _volume(DeleteOnTermination={"Ref": "Asked"}),
            _ASKED | group(launch={"BlockDeviceMappings": {"Ref": "Asked"}}),
            _volume(DeleteOnTermination="perhaps"),
        ),
    ),
    Case(
        rule="volume-not-encrypted",
        breaks=(
            Breaks(template=_volume(Encrypted=False), resource="Launch", property=f"{_EBS}.Encrypted", got="false"),
            Breaks(template=_volume(), resource="Launch", property=f"{_EBS}.Encrypted", got="nothing"),
            Breaks(
                template=_instance(Encrypted="false"), resource="Box", property="BlockDeviceMappings[0].Ebs.Encrypted"
            ),
            Breaks(template=_attached(), resource="Data", property="Encrypted", got="nothing"),
            Breaks(
                template=template(
                    Box={
                        "Type": "EC2::Instance",
                        "Properties": {
                            "InstanceType": "g5.xlarge",
                            "Volumes": [{"Device": "/dev/sdf", "VolumeId": {"Ref": "Data"}}],
                        },
                    },
                    Data={"Type": "EC2::Volume", "Properties": {"Size": 500, "Encrypted": False}},
                ),
                resource="Data",
                property="Encrypted",
            ),
        ),
        keeps=(
            _volume(Encrypted=True),
            _volume(Encrypted="true"),
            _volume(KmsKeyId="alias/mine"),
            group(),
            _attached(Encrypted=True),
            _attached("m7i.large"),
        ),
        unknown=(
            # A copy of an encrypted snapshot is encrypted.
            _volume(SnapshotId="snap-1"),
            _attached(SnapshotId="snap-1"),
            _ASKED | _volume(Encrypted={"Ref": "Asked"}),
        ),
    ),
)
