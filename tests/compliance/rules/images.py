"""Images of the wrong family: field case 64; names of parameters: AWS's pages on each kind of image."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_IMAGE = "LaunchTemplateData.ImageId"
_AL2023 = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
_AL2023_ARM = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"
_DEEP_LEARNING = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
_DEEP_LEARNING_ARM = "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
_WINDOWS = "/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-Base"
_NEURON = "/aws/service/neuron/dlami/base/amazon-linux-2023/latest/image_id"
_ECS = "/aws/service/ecs/optimized-ami"
_EKS = "/aws/service/eks/optimized-ami/1.33"


def _started(parameter: str, *types: str, **launch: Any) -> dict[str, Any]:
    return group(*types, launch={"ImageId": f"{{{{resolve:ssm:{parameter}}}}}", **launch})


def _parameter(name: str) -> dict[str, Any]:
    kind = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    return {"Parameters": {"Image": {"Type": kind, "Default": name}}} | group(launch={"ImageId": {"Ref": "Image"}})


def _nodes(image: str | None, instance_type: str = "g6.xlarge") -> dict[str, Any]:
    properties = {"ClusterName": "c", "NodeRole": "r", "Subnets": ["s"], "InstanceTypes": [instance_type]}
    chosen = {} if image is None else {"AmiType": image}
    return template(Nodes={"Type": "EKS::Nodegroup", "Properties": {**properties, **chosen}})


def _batch(*configurations: Any) -> dict[str, Any]:
    resources = {
        "Type": "EC2",
        "MaxvCpus": 64,
        "Subnets": ["s"],
        "InstanceTypes": ["g6"],
        "Ec2Configuration": list(configurations),
    }
    return template(
        Batch={"Type": "Batch::ComputeEnvironment", "Properties": {"Type": "MANAGED", "ComputeResources": resources}}
    )


_OWN = group(launch={"ImageId": "ami-0123456789abcdef0"})
_OWN_PARAMETER = _parameter("/golden/gpu/ami-id")

CASES = (
    Case(
        rule="image-without-driver",
        breaks=(
            Breaks(template=_parameter(_AL2023), resource="Launch", property=_IMAGE, got="al2023"),
            Breaks(template=_started(_AL2023), resource="Launch", property=_IMAGE, got="al2023"),
            Breaks(
                template=group(launch={"ImageId": f"resolve:ssm:{_AL2023}"}),
                resource="Launch",
                property=_IMAGE,
                got="al2023",
            ),
            Breaks(template=_started(_NEURON), resource="Launch", property=_IMAGE, got="neuron"),
            # The driver of another maker is none for a Radeon.
            Breaks(template=_started(_DEEP_LEARNING, "g4ad.xlarge"), resource="Launch", property=_IMAGE, got="nvidia"),
            Breaks(template=_started(_WINDOWS), resource="Launch", property=_IMAGE, got="Windows"),
            Breaks(template=_started(_DEEP_LEARNING, "trn1.2xlarge"), resource="Launch", property=_IMAGE, got="nvidia"),
            Breaks(
                template=_started(
                    f"{_ECS}/amazon-linux-2023/recommended/image_id",
                    UserData={"Fn::Base64": "#!/bin/sh\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"},
                ),
                resource="Launch",
                property=_IMAGE,
                got="amazon-linux-2023/recommended",
            ),
            Breaks(
                template=_started(f"{_EKS}/amazon-linux-2023/x86_64/standard/recommended/image_id"),
                resource="Launch",
                property=_IMAGE,
                got="standard",
            ),
            Breaks(template=_nodes("AL2023_x86_64_STANDARD"), resource="Nodes", property="AmiType", got="STANDARD"),
            Breaks(
                template=_nodes("AL2023_x86_64_NVIDIA", "inf2.xlarge"),
                resource="Nodes",
                property="AmiType",
                got="NVIDIA",
            ),
        ),
        keeps=(
            _parameter(_DEEP_LEARNING),
            _started(_NEURON, "trn1.2xlarge"),
            _started(f"{_ECS}/amazon-linux-2023/gpu/recommended/image_id"),
            _started(f"{_EKS}/amazon-linux-2023/x86_64/nvidia/recommended/image_id"),
            _started(_AL2023, UserData={"Fn::Base64": "#!/bin/bash\ndnf install -y nvidia-driver"}),
            _started(_DEEP_LEARNING, "g4ad.xlarge", UserData={"Fn::Base64": "amdgpu-install -y --usecase=graphics"}),
            _nodes("AL2023_x86_64_NVIDIA"),
            _nodes("AL2_x86_64_GPU", "inf2.xlarge"),
            # The GPU Operator of NVIDIA installs the driver on nodes with Ubuntu.
            _started("/aws/service/canonical/ubuntu/eks/22.04/1.33/stable/current/amd64/hvm/ebs-gp3/ami-id"),
        ),
        unknown=(
            _OWN,
            _OWN_PARAMETER,
            _nodes(None),
            # A kernel may have the driver for a Radeon.
            _started(_AL2023, "g4ad.xlarge"),
            _started(_WINDOWS, UserData={"Fn::Base64": "<powershell>\nRead-S3Object -BucketName mine\n</powershell>"}),
            # Whatever is fetched may install the driver.
            _started(_AL2023, UserData={"Fn::Base64": "#!/bin/bash\naws s3 cp s3://b/setup.sh . && ./setup.sh"}),
            template(
                **_started(_AL2023)["Resources"],
                Setup={"Type": "SSM::Association", "Properties": {"Name": "AWS-ConfigureAWSPackage"}},
            ),
        ),
    ),
    Case(
        rule="image-of-other-architecture",
        breaks=(
            Breaks(template=_started(_DEEP_LEARNING_ARM), resource="Launch", property=_IMAGE, got="arm64"),
            Breaks(template=_started(_DEEP_LEARNING, "g5g.xlarge"), resource="Launch", property=_IMAGE, got="x86_64"),
            Breaks(template=_nodes("AL2023_ARM_64_NVIDIA"), resource="Nodes", property="AmiType", got="ARM_64"),
        ),
        keeps=(_started(_DEEP_LEARNING), _started(_DEEP_LEARNING_ARM, "g5g.xlarge"), _nodes("AL2023_x86_64_NVIDIA")),
        unknown=(_OWN, _OWN_PARAMETER),
    ),
    Case(
        rule="image-family-ended",
        breaks=(
            Breaks(
                template=_started(f"{_ECS}/amazon-linux-2/gpu/recommended/image_id"),
                resource="Launch",
                property=_IMAGE,
                got="amazon-linux-2",
            ),
            Breaks(template=_nodes("AL2_x86_64_GPU"), resource="Nodes", property="AmiType", got="AL2_x86_64_GPU"),
            Breaks(
                template=_batch({"ImageType": "ECS_AL2_NVIDIA"}),
                resource="Batch",
                property="ComputeResources.Ec2Configuration[0].ImageType",
                got="ECS_AL2_NVIDIA",
            ),
        ),
        keeps=(
            _batch(),
            _started(_DEEP_LEARNING),
            _started(_AL2023_ARM, "g5g.xlarge"),
            _nodes("BOTTLEROCKET_x86_64_NVIDIA"),
        ),
        unknown=(_OWN, _OWN_PARAMETER),
    ),
)
