"""The launch template: image, root volume, metadata service, tags, and how an instance ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import Size
from aws_cdk import aws_ec2 as ec2

from constructs_lib import AcceleratedType, FleetImage, FleetStorage, OperatingSystem
from constructs_lib.errors import UnsupportedInstanceTypeError
from tests.constructs.reading import only, resources, tag, text
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import fleet_template, project_context

FLEETS = [name for name in SCENARIOS if name != "idle_release"]
FLEET_TAG = "accelerated-fleet:id"


def data_of(made: Mapping[str, Any]) -> dict[str, Any]:
    return dict(only(made, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"])


def image_parameter(made: Mapping[str, Any]) -> str:
    """Name of the SSM parameter that the image id is read from at deploy time."""
    parameter = made["Parameters"][data_of(made)["ImageId"]["Ref"]]
    assert parameter["Type"] == "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    return str(parameter["Default"])


# --- the end of an instance -----------------------------------------------------------------------


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_51_nothing_outlives_the_instance(scenario: str) -> None:
    data = data_of(template(scenario))
    assert data["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert not data.get("DisableApiTermination", False)
    assert not data.get("DisableApiStop", False)
    assert [mapping["Ebs"]["DeleteOnTermination"] for mapping in data["BlockDeviceMappings"]] == [True]


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_51_instance_volume_and_interface_carry_the_fleets_tag(scenario: str) -> None:
    made = template(scenario)
    tagged = {each["ResourceType"]: tag(each["Tags"], FLEET_TAG) for each in data_of(made)["TagSpecifications"]}
    assert tagged.keys() == {"instance", "volume", "network-interface"}
    assert set(tagged.values()) == {"Test/TestFleet72ECBEB0"}
    clean_up = only(made, "Custom::AcceleratedFleetCleanup")["Properties"]
    assert (clean_up["FleetTagKey"], clean_up["FleetTagValue"]) == (FLEET_TAG, "Test/TestFleet72ECBEB0")


# --- who may come in ------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", FLEETS)
def test_metadata_service_wants_a_token_and_answers_no_container(scenario: str) -> None:
    assert data_of(template(scenario))["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}


def test_own_security_group_has_no_inbound_rule() -> None:
    made = template("smallest")
    group = only(made, "AWS::EC2::SecurityGroup")["Properties"]
    assert "SecurityGroupIngress" not in group
    assert resources(made, "AWS::EC2::SecurityGroupIngress") == {}
    assert [text(id) for id in data_of(made)["SecurityGroupIds"]] == ["<FleetSecurityGroup.GroupId>"]


def test_nobody_holds_a_key_to_the_machines() -> None:
    assert "KeyName" not in data_of(template("fullest"))


# --- image ----------------------------------------------------------------------------------------

OPEN_X86 = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
OPEN_ARM = "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
FUTURE = AcceleratedType(
    name="g9.xlarge",
    kind="nvidia",
    model="R100",
    accelerators=1,
    accelerator_memory_mib=98304,
    architecture="arm64",
)


@pytest.mark.parametrize(
    ("instance_type", "parameter"),
    [
        ("g4dn.xlarge", OPEN_X86),
        ("g5.xlarge", OPEN_X86),
        ("g5g.xlarge", OPEN_ARM),
        ("g6.xlarge", OPEN_X86),
        ("g6e.xlarge", OPEN_X86),
        ("g6f.large", OPEN_X86),
        ("gr6.4xlarge", OPEN_X86),
        ("p4d.24xlarge", OPEN_X86),
        ("p5.48xlarge", OPEN_X86),
        ("p5en.48xlarge", OPEN_X86),
        ("p6-b200.48xlarge", OPEN_X86),
        (FUTURE, OPEN_ARM),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" not in value else "",
)
def test_case_64_image_fits_accelerator_and_architecture(instance_type: str | AcceleratedType, parameter: str) -> None:
    assert image_parameter(fleet_template(instance_types=instance_type)) == parameter


def test_case_64_gpus_that_the_open_driver_does_not_run_need_an_image_of_their_own() -> None:
    with pytest.raises(UnsupportedInstanceTypeError, match=r"image must be one with the proprietary driver"):
        fleet_template(instance_types="p3dn.24xlarge")
    golden = FleetImage.from_ssm_parameter("/golden/volta/ami-id")
    made = fleet_template(instance_types="p3dn.24xlarge", image=golden)
    assert image_parameter(made) == "/golden/volta/ami-id"


NEURON = "/aws/service/neuron/dlami/base/{}/latest/image_id"


@pytest.mark.parametrize("instance_type", ["inf2.xlarge", "trn1.32xlarge", "trn2.48xlarge", "trn2u.48xlarge"])
def test_case_64_neuron_types_get_the_neuron_image(instance_type: str) -> None:
    assert image_parameter(fleet_template(instance_types=instance_type)) == NEURON.format("amazon-linux-2023")
    ubuntu = FleetImage.deep_learning_base(OperatingSystem.UBUNTU_24_04)
    made = fleet_template(instance_types=instance_type, image=ubuntu)
    assert image_parameter(made) == NEURON.format("ubuntu-24.04")


@pytest.mark.parametrize(
    "instance_type", ["inf1.xlarge", "dl1.24xlarge", "dl2q.24xlarge", "f2.6xlarge", "vt1.3xlarge", "g4ad.xlarge"]
)
def test_case_64_what_aws_publishes_no_image_for_needs_one_of_its_own(instance_type: str) -> None:
    with pytest.raises(
        UnsupportedInstanceTypeError, match=r"image must be .+pass image=FleetImage\.from_ssm_parameter"
    ):
        fleet_template(instance_types=instance_type)
    golden = FleetImage.from_ssm_parameter("/golden/ami-id")
    assert image_parameter(fleet_template(instance_types=instance_type, image=golden)) == "/golden/ami-id"


@pytest.mark.parametrize(
    ("image", "parameter", "device"),
    [
        (None, OPEN_X86, "/dev/xvda"),
        (
            FleetImage.deep_learning_base(OperatingSystem.UBUNTU_22_04),
            OPEN_X86.replace("amazon-linux-2023", "ubuntu-22.04"),
            "/dev/sda1",
        ),
        (
            FleetImage.deep_learning_base(OperatingSystem.UBUNTU_24_04),
            OPEN_X86.replace("amazon-linux-2023", "ubuntu-24.04"),
            "/dev/sda1",
        ),
        (FleetImage.from_ssm_parameter("/golden/ami"), "/golden/ami", "/dev/xvda"),
        (FleetImage.from_ssm_parameter("/golden/ami", root_device="/dev/sda1"), "/golden/ami", "/dev/sda1"),
    ],
    ids=["default", "ubuntu 22", "ubuntu 24", "golden", "golden ubuntu"],
)
def test_root_volume_has_the_name_that_the_image_gives_it(
    image: FleetImage | None, parameter: str, device: str
) -> None:
    made = fleet_template(instance_types="g6.xlarge", image=image)
    assert image_parameter(made) == parameter
    assert [mapping["DeviceName"] for mapping in data_of(made)["BlockDeviceMappings"]] == [device]


def test_case_09_a_literal_image_stays_literal() -> None:
    image = FleetImage.from_machine_image(
        ec2.MachineImage.generic_linux({"us-east-1": "ami-0123456789abcdef0"}), root_device="/dev/sda1"
    )
    made = fleet_template(image=image)
    mapping, by_region, attribute = data_of(made)["ImageId"]["Fn::FindInMap"]
    assert (by_region, attribute) == ({"Ref": "AWS::Region"}, "ami")
    assert made["Mappings"][mapping] == {"us-east-1": {"ami": "ami-0123456789abcdef0"}}
    assert list(made["Parameters"]) == ["BootstrapVersion"]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (FleetImage.deep_learning_base(), "read from its SSM parameter at each deploy"),
        (FleetImage.from_ssm_parameter("/golden/ami"), "image id in SSM parameter /golden/ami, read at each deploy"),
        (
            FleetImage.from_machine_image(ec2.MachineImage.latest_amazon_linux2023()),
            "machine image given by the user",
        ),
    ],
    ids=["base", "parameter", "given"],
)
def test_case_09_the_template_says_when_the_image_is_settled(image: FleetImage, words: str) -> None:
    group = only(fleet_template(image=image), "AWS::AutoScaling::AutoScalingGroup")
    assert words in group["Metadata"]["AcceleratedFleet"]["Image"]


# --- storage --------------------------------------------------------------------------------------


def test_root_volume_is_encrypted_gp3_of_the_images_size() -> None:
    (mapping,) = data_of(template("smallest"))["BlockDeviceMappings"]
    assert mapping["Ebs"] == {"VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True}


def test_root_volume_as_asked_for() -> None:
    storage = FleetStorage(
        root_volume_size=Size.tebibytes(1), root_volume_iops=16_001, root_volume_throughput_mib_s=2_000
    )
    # With the project's flags the CDK's template validation fails the synth of what it holds for wrong.
    (mapping,) = data_of(fleet_template(project_context(), storage=storage))["BlockDeviceMappings"]
    assert mapping["Ebs"] == {
        "VolumeType": "gp3",
        "Encrypted": True,
        "DeleteOnTermination": True,
        "VolumeSize": 1024,
        "Iops": 16_001,
        "Throughput": 2_000,
    }


@pytest.mark.parametrize("scenario", FLEETS)
def test_case_10_no_interface_needs_the_rules_of_efa(scenario: str) -> None:
    """EFA hangs without rules that name its own security group; test_network.py has the fleets that ask for it."""
    if scenario == "training":
        pytest.skip("asks for EFA")
    data = only(template(scenario), "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]
    assert "NetworkInterfaces" not in data
    assert "Placement" not in data
