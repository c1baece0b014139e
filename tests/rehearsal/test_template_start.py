"""What a template tells of its fleet's cold start: whether the image has the driver, and whether models are served."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.template_start import start_of_template

_NVIDIA = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
_PLAIN = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


def _template(image: Any, *, types: tuple[str, ...] = ("g5.xlarge",), parameter: str = _NVIDIA) -> dict[str, Any]:
    specification = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}
    policy = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": specification,
            "Overrides": [{"InstanceType": name} for name in types],
        }
    }
    return {
        "Parameters": {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": parameter}},
        "Resources": {
            "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MixedInstancesPolicy": policy}},
            "Launch": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {"LaunchTemplateData": {"ImageId": image}},
            },
        },
    }


def _stages(cold: ColdStart) -> list[str]:
    return [each["stage"] for each in cold.describe()["stages"]]


@pytest.mark.parametrize(
    ("image", "parameter", "baked"),
    [
        ({"Ref": "Image"}, _NVIDIA, True),
        ({"Ref": "Image"}, "/aws/service/neuron/dlami/pytorch-2.9/ubuntu-24.04/latest/image_id", True),
        ({"Ref": "Image"}, "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id", True),
        ({"Ref": "Image"}, _PLAIN, False),
        (f"resolve:ssm:{_PLAIN}", _NVIDIA, False),
        (f"{{{{resolve:ssm:{_PLAIN}:3}}}}", _NVIDIA, False),
        ({"Ref": "Image"}, "/our/golden/image", True),
        ("ami-0123456789abcdef0", _NVIDIA, True),
    ],
    ids=["nvidia", "neuron", "ecs-gpu", "plain", "plain-at-launch", "plain-dynamic", "own-parameter", "literal"],
)
def test_the_image_says_whether_the_driver_is_installed_at_boot(image: Any, parameter: str, baked: bool) -> None:
    cold = start_of_template(_template(image, parameter=parameter), group="Group")
    assert ("driver" in _stages(cold)) is not baked


def test_what_the_template_does_not_say_is_noted() -> None:
    notes = start_of_template(_template("ami-0123456789abcdef0"), group="Group").describe()["notes"]
    assert "the machine image is taken to have the driver: the template does not say what is on it" in notes


def test_what_the_user_knows_goes_before() -> None:
    cold = start_of_template(_template({"Ref": "Image"}), group="Group", driver_baked=False)
    assert "driver" in _stages(cold)


def test_fpgas_load_no_model_unless_told() -> None:
    template = _template("ami-0123456789abcdef0", types=("f2.6xlarge", "f2.12xlarge"))
    assert _stages(start_of_template(template, group="Group")) == ["capacity", "boot", "image"]
    assert _stages(start_of_template(template, group="Group", model_s=20))[-1] == "work"
    beside_a_gpu = _template("ami-0123456789abcdef0", types=("f2.6xlarge", "g5.xlarge"))
    assert "weights" in _stages(start_of_template(beside_a_gpu, group="Group"))


def test_a_group_without_a_launch_template_of_this_stack_is_taken_as_it_is() -> None:
    template = {
        "Resources": {
            "Group": {
                "Type": "AWS::AutoScaling::AutoScalingGroup",
                "Properties": {"LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"}},
            }
        }
    }
    cold = start_of_template(template, group="Group", image_gb=0, model_gb=0, capacity_wait=False)
    assert _stages(cold) == ["boot", "server"]
