"""Images exist, and fit the types and volumes of their launch template."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.catalog import known_types
from constructs_lib.preflight.account import Account
from constructs_lib.preflight.machines import machines
from tests.preflight.fake_account import REGION, FakeAccount, machine, refusal
from tests.preflight.templates import LAUNCH_TEMPLATE, ask, found, mixed, only, template


def _account(**facts: Any) -> FakeAccount:
    account = FakeAccount()
    account.images[0] = {**account.images[0], **facts}
    return account


def test_case_64_an_image_of_the_wrong_architecture() -> None:
    account = FakeAccount()
    account.machines.append(machine("g5g.xlarge", 4, ProcessorInfo={"SupportedArchitectures": ["arm64"]}))
    finding = only(ask(account, template(launch={"InstanceType": "g5g.xlarge"})), "image")
    assert finding.severity == "error"
    assert finding.message == "image ami-1 (/images/gpu) is for x86_64, g5g.xlarge is arm64"
    assert finding.cure == "name an image for arm64, or another type"


def test_case_64_an_image_for_another_accelerator() -> None:
    finding = only(ask(document=template(launch={"InstanceType": "trn1.2xlarge"})), "image")
    assert finding.severity == "warning"
    assert "is by its name for nvidia, trn1.2xlarge has neuron" in finding.message
    account = _account(Name="Deep Learning Base Neuron AMI")
    assert only(ask(account, template(launch={"InstanceType": "trn1.2xlarge"})), "image").severity == "ok"
    assert "is by its name for neuron, g6.xlarge has nvidia" in only(ask(account), "image").message


def test_case_64_an_own_image_of_any_name_is_accepted() -> None:
    assert only(ask(_account(Name="golden-2026")), "image").severity == "ok"


def test_case_64_a_type_that_came_later_is_judged_by_what_ec2_says() -> None:
    account = FakeAccount()
    account.machines.append(machine("g99.xlarge", 4))
    report = ask(account, template(launch={"InstanceType": "g99.xlarge"}))
    assert report.worst == "ok"


@pytest.mark.parametrize(
    ("facts", "severity", "said"),
    [
        ({"State": "pending"}, "error", "is pending"),
        ({"ImageAllowed": False}, "error", "is not among the images that the account's settings allow"),
        ({"DeprecationTime": "2026-11-29T00:00:00.000Z"}, "warning", "is deprecated since 2026-11-29"),
        ({"DeprecationTime": "2027-11-29T00:00:00.000Z"}, "ok", "fits"),
        ({"Platform": "windows"}, "warning", "is a Windows image"),
        ({"RootDeviceType": "instance-store"}, "error", "instance-store root"),
        ({"RootDeviceName": "/dev/sda1", "BlockDeviceMappings": []}, "warning", "has its root on /dev/sda1"),
    ],
)
def test_what_is_wrong_with_an_image(facts: dict[str, Any], severity: str, said: str) -> None:
    finding = only(ask(_account(**facts)), "image")
    assert (finding.severity, said in finding.message) == (severity, True)


def test_boot_modes() -> None:
    account = _account(BootMode="legacy-bios")
    account.machines.append(machine("g98.xlarge", 4, SupportedBootModes=["uefi"]))
    finding = only(ask(account, template(launch={"InstanceType": "g98.xlarge"})), "image")
    assert "boots by legacy-bios, g98.xlarge by uefi" in finding.message


def test_a_volume_smaller_than_the_image() -> None:
    mapping = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": "30"}}
    finding = only(ask(document=template(launch={"BlockDeviceMappings": [mapping]})), "image")
    assert finding.severity == "error"
    assert "needs 45 GiB on /dev/xvda, the template gives 30" in finding.message


def test_a_second_volume_beside_the_root_is_no_mistake() -> None:
    mappings = [{"DeviceName": name, "Ebs": {"VolumeSize": 100}} for name in ("/dev/xvda", "/dev/sdb")]
    assert only(ask(document=template(launch={"BlockDeviceMappings": mappings})), "image").severity == "ok"


def test_a_parameter_that_does_not_exist() -> None:
    finding = only(ask(FakeAccount(parameters={})), "image")
    assert finding.severity == "error"
    assert finding.message == "SSM parameter /images/gpu does not exist in us-east-1"
    assert finding.commands == ("aws ssm get-parameter --region us-east-1 --name /images/gpu",)


def test_a_parameter_that_holds_no_image() -> None:
    finding = only(ask(FakeAccount(parameters={"/images/gpu": "latest"})), "image")
    assert finding.message == "SSM parameter /images/gpu holds 'latest', which is no image id"


@pytest.mark.parametrize(
    "image", ["ami-1", "resolve:ssm:/images/gpu", "resolve:ssm:/images/gpu:live", {"Ref": "Image"}]
)
def test_ways_to_name_an_image(image: object) -> None:
    parameter = {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/images/gpu"}}
    report = ask(document=template(launch={"ImageId": image}, Parameters=parameter))
    assert only(report, "image").severity == "ok"


def test_an_image_of_another_region() -> None:
    finding = only(ask(document=template(launch={"ImageId": "ami-2"})), "image")
    assert (finding.severity, "ami-2 does not exist in us-east-1" in finding.message) == ("error", True)


def test_an_image_that_the_template_does_not_tell() -> None:
    document = template(launch={"ImageId": {"Ref": "Image"}}, Parameters={"Image": {"Type": "AWS::EC2::Image::Id"}})
    finding = only(ask(document=document), "image")
    assert (finding.severity, finding.cure) == ("unknown", "pass --parameter Image=VALUE")


def test_no_image_at_all() -> None:
    assert only(ask(document=template(launch={"ImageId": None})), "image").severity == "error"


def test_each_launch_template_of_a_group_is_looked_at() -> None:
    group = mixed("g6.xlarge", "g5g.xlarge")
    arm = {"LaunchTemplateId": {"Ref": "Arm"}, "Version": "1"}
    group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"][1]["LaunchTemplateSpecification"] = arm
    account = FakeAccount()
    account.machines.append(machine("g5g.xlarge", 4, ProcessorInfo={"SupportedArchitectures": ["arm64"]}))
    other = {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {"LaunchTemplateData": {"ImageId": "ami-arm"}},
    }
    account.images.append({"ImageId": "ami-arm", "Architecture": "arm64", "RootDeviceName": "/dev/xvda"})
    report = ask(account, template(group=group, resources={"Arm": other}))
    assert [finding.severity for finding in found(report, "image")] == ["ok", "ok"]
    assert LAUNCH_TEMPLATE["LaunchTemplateId"] == {"Ref": "Launch"}


def test_without_facts_about_the_types_the_library_knows_its_own() -> None:
    account = FakeAccount(refused={"describe_instance_types": refusal("UnauthorizedOperation")})
    report = ask(account)
    assert only(report, "image").severity == "ok"
    assert only(report, "vCPU quota").severity == "ok"
    report = ask(account, template(launch={"InstanceType": "g99.xlarge"}))
    assert only(report, "image").severity == "unknown"
    assert only(report, "vCPU quota").severity == "unknown"


@pytest.mark.parametrize("name", ["inf1.xlarge", "trn1.2xlarge", "vt1.3xlarge", "g6.xlarge", "c7i.large"])
def test_the_kind_of_a_type_is_the_catalogues_where_ec2_names_no_maker(name: str) -> None:
    """Of Inf1 EC2 says that it has inference accelerators, as it does of other makers' ones."""
    bare = {"InstanceType": name, "VCpuInfo": {"DefaultVCpus": 4}, "InferenceAcceleratorInfo": {}}
    (found_one,) = machines(Account(FakeAccount(machines=[bare]), REGION, None), [name]).values()
    known = known_types().get(name)
    assert found_one.kinds == (() if known is None else (known.kind,))
