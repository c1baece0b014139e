"""Types are offered where the group launches, and can do what it asks of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.fake_account import FakeAccount, machine, refusal, subnet
from tests.preflight.templates import ask, found, mixed, only, template

_OFFERED = "type offered"


def _subnet(zone: object) -> dict[str, Any]:
    return {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": "vpc-1", "AvailabilityZone": zone}}


def test_case_28_a_zone_without_the_type_is_named() -> None:
    finding = only(ask(FakeAccount(zones={"g6.xlarge": ("us-east-1a",)})), _OFFERED)
    assert finding.severity == "warning"
    expected = "subnet-b is in us-east-1b, where none of g6.xlarge is offered: launches there are wasted"
    assert finding.message == expected
    assert finding.commands == (
        "aws ec2 describe-instance-type-offerings --region us-east-1 --location-type availability-zone "
        "--filters Name=instance-type,Values=g6.xlarge",
    )


def test_case_28_no_zone_of_the_group_has_the_type() -> None:
    findings = found(ask(FakeAccount(zones={"g6.xlarge": ("us-east-1c",)})), _OFFERED)
    assert [finding.severity for finding in findings] == ["error", "warning", "warning"]
    expected = "g6.xlarge is not offered in us-east-1a, us-east-1b; zones of us-east-1 that have it: us-east-1c"
    assert findings[0].message == expected


def test_the_region_does_not_have_the_type() -> None:
    finding = only(ask(FakeAccount(zones={"g6.xlarge": ()})), _OFFERED)
    assert (finding.severity, finding.message) == ("error", "g6.xlarge is not offered in us-east-1")


def test_another_type_of_the_group_may_serve_a_zone() -> None:
    account = FakeAccount(zones={"g6.xlarge": ("us-east-1a",), "g5.xlarge": ("us-east-1b",)})
    report = ask(account, template(group=mixed("g6.xlarge", "g5.xlarge")))
    finding = only(report, _OFFERED)
    assert finding.severity == "ok"
    assert finding.message.endswith("at least one of them in each")


def test_a_type_of_several_that_no_zone_has_is_a_warning() -> None:
    account = FakeAccount(zones={"g6.xlarge": ("us-east-1c",)})
    finding = only(ask(account, template(group=mixed("g6.xlarge", "g5.xlarge"))), _OFFERED)
    assert finding.severity == "warning"
    assert "g6.xlarge is not offered in us-east-1a, us-east-1b" in finding.message


def test_none_of_several_types_in_the_region_is_an_error() -> None:
    account = FakeAccount(zones={"g6.xlarge": (), "g5.xlarge": ()})
    findings = found(ask(account, template(group=mixed("g6.xlarge", "g5.xlarge"))), _OFFERED)
    assert [finding.severity for finding in findings] == ["error", "error"]


def test_subnets_that_the_deploy_makes_in_named_zones() -> None:
    group = {"VPCZoneIdentifier": [{"Ref": "Subnet"}]}
    document = template(group=group, resources={"Subnet": _subnet("us-east-1b")})
    account = FakeAccount(zones={"g6.xlarge": ("us-east-1a",)})
    assert found(ask(account, document), _OFFERED)[0].severity == "error"
    assert only(ask(document=document), _OFFERED).message == "g6.xlarge in us-east-1b"


def test_case_28_a_zone_that_get_azs_picks_is_not_invented() -> None:
    group = {"VPCZoneIdentifier": [{"Ref": "Subnet"}]}
    resources = {"Subnet": _subnet({"Fn::Select": [0, {"Fn::GetAZs": ""}]})}
    document = template(group=group, resources=resources)
    assert only(ask(document=document), _OFFERED).severity == "ok"  # every zone has it
    finding = only(ask(FakeAccount(zones={"g6.xlarge": ("us-east-1a", "us-east-1c")}), document), _OFFERED)
    assert finding.severity == "warning"
    assert "Subnet is in a zone that Fn::GetAZs picks at the deploy" in finding.message
    assert "not offered in us-east-1b" in finding.message


def test_zones_without_subnets() -> None:
    group: dict[str, Any] = {"VPCZoneIdentifier": None, "AvailabilityZones": ["us-east-1a"]}
    assert only(ask(document=template(group=group)), _OFFERED).message == "g6.xlarge in us-east-1a"
    group = {"VPCZoneIdentifier": None, "AvailabilityZones": {"Fn::GetAZs": ""}}
    assert only(ask(document=template(group=group)), _OFFERED).severity == "ok"


def test_a_subnet_that_does_not_exist() -> None:
    finding = only(ask(FakeAccount(subnets=[subnet("subnet-a")])), "subnets")
    assert (finding.severity, finding.message) == (
        "error",
        "subnet subnet-b does not exist in us-east-1 in this account",
    )


def test_subnets_of_several_networks() -> None:
    account = FakeAccount(subnets=[subnet("subnet-a"), subnet("subnet-b", VpcId="vpc-2")])
    assert "several VPCs" in only(ask(account), "subnets").message


def test_too_few_addresses() -> None:
    account = FakeAccount(subnets=[subnet(id, AvailableIpAddressCount=1) for id in ("subnet-a", "subnet-b")])
    finding = only(ask(account), "subnets")
    assert (finding.severity, "2 free addresses" in finding.message) == ("warning", True)


def test_subnets_that_the_template_does_not_tell() -> None:
    document = template(
        group={"VPCZoneIdentifier": {"Ref": "Subnets"}}, Parameters={"Subnets": {"Type": "List<AWS::EC2::Subnet::Id>"}}
    )
    report = ask(document=document)
    finding = only(report, "subnets")
    assert (finding.severity, finding.cure) == ("unknown", "pass --parameter Subnets=VALUE, or pass --subnet ID")
    assert not found(report, _OFFERED)
    assert only(ask(document=document, subnets=["subnet-b"]), _OFFERED).message == "g6.xlarge in us-east-1b"
    given = ask(document=document, parameters={"Subnets": "subnet-a,subnet-b"})
    assert only(given, _OFFERED).message == "g6.xlarge in us-east-1a, us-east-1b"


def test_subnets_of_a_stack_that_is_deployed() -> None:
    output = {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Subnet"}}
    document = template(group={"VPCZoneIdentifier": [output, {"Fn::ImportValue": "second"}]})
    account = FakeAccount(stacks={"Net": {"Subnet": "subnet-a"}}, exports={"first": "x", "second": "subnet-b"}, page=1)
    assert only(ask(account, document), _OFFERED).message == "g6.xlarge in us-east-1a, us-east-1b"


def test_subnets_of_a_stack_that_is_not_deployed_yet() -> None:
    output = {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Subnet"}}
    document = template(group={"VPCZoneIdentifier": [output, {"Fn::ImportValue": "second"}]})
    findings = found(ask(document=document), "subnets")
    assert {finding.severity for finding in findings} == {"unknown"}
    assert {finding.cure for finding in findings} == {"deploy that stack first, or pass --subnet ID"}
    assert found(ask(document=document, subnets=["subnet-a"]), _OFFERED)[0].severity == "ok"


def test_subnets_in_an_ssm_parameter() -> None:
    parameters = {"Subnets": {"Type": "AWS::SSM::Parameter::Value<List<AWS::EC2::Subnet::Id>>", "Default": "/net"}}
    document = template(group={"VPCZoneIdentifier": {"Ref": "Subnets"}}, Parameters=parameters)
    account = FakeAccount()
    assert "there is no SSM parameter /net" in only(ask(account, document), "subnets").message
    account.parameters["/net"] = "subnet-a,subnet-b"
    assert only(ask(account, document), _OFFERED).message == "g6.xlarge in us-east-1a, us-east-1b"


def test_no_subnets_at_all() -> None:
    assert only(ask(document=template(group={"VPCZoneIdentifier": None})), "subnets").severity == "unknown"


def _requirements(**wanted: Any) -> dict[str, Any]:
    group = mixed()
    group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = [{"InstanceRequirements": wanted}]
    return template(group=group, launch={"InstanceType": None})


def test_attributes_that_stand_for_types() -> None:
    account = FakeAccount()
    report = ask(account, _requirements(VCpuCount={"Min": "4"}, MemoryMiB={"Min": 0}, RequireHibernateSupport="false"))
    assert (
        only(report, "types that the attributes stand for").message == "the attributes stand for g5.xlarge, g6.xlarge"
    )
    assert only(report, _OFFERED).severity == "ok"
    (asked,) = [call for call in account.calls if call[1] == "get_instance_types_from_instance_requirements"]
    wanted = {"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 0}, "RequireHibernateSupport": False}
    assert asked[2]["InstanceRequirements"] == wanted


def test_attributes_stand_for_types_of_the_images_architecture() -> None:
    def asked(account: FakeAccount) -> Any:
        ask(account, _requirements(VCpuCount={"Min": 4}, MemoryMiB={"Min": 0}))
        (call,) = [each for each in account.calls if each[1] == "get_instance_types_from_instance_requirements"]
        return call[2]["ArchitectureTypes"]

    assert asked(FakeAccount()) == ["x86_64"]
    assert asked(FakeAccount(images=[])) == ["x86_64", "arm64"]
    assert asked(FakeAccount(refused={"describe_images": refusal("UnauthorizedOperation")})) == ["x86_64", "arm64"]


def test_attributes_that_many_types_have() -> None:
    names = [f"g6.{size}xlarge" for size in range(1, 13)]
    finding = only(
        ask(FakeAccount(matching=names), _requirements(VCpuCount={"Min": 4}, MemoryMiB={"Min": 0})),
        "types that the attributes stand for",
    )
    assert finding.message.endswith(" and 4 more")


def test_a_zone_that_the_template_does_not_tell() -> None:
    document = template(
        group={"VPCZoneIdentifier": [{"Ref": "Subnet"}]},
        resources={"Subnet": _subnet({"Ref": "Zone"})},
        Parameters={"Zone": {"Type": "String"}},
    )
    assert only(ask(document=document), _OFFERED).message == "the zone of Subnet is settled by the deploy"


def test_a_zone_named_by_its_id() -> None:
    subnet_by_id = {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZoneId": "use1-az1"}}
    document = template(group={"VPCZoneIdentifier": [{"Ref": "Subnet"}]}, resources={"Subnet": subnet_by_id})
    assert only(ask(document=document), _OFFERED).message == "g6.xlarge in us-east-1b"


def test_attributes_that_no_type_has() -> None:
    finding = only(
        ask(FakeAccount(matching=[]), _requirements(VCpuCount={"Min": 4}, MemoryMiB={"Min": 0})),
        "types that the attributes stand for",
    )
    assert finding.severity == "error"
    assert "999999" in finding.cure


@pytest.mark.parametrize(
    ("facts", "group", "launch", "said"),
    [
        ({"SupportedUsageClasses": ["on-demand"]}, mixed("x1.y", OnDemandPercentageAboveBaseCapacity=0), {}, "spot"),
        ({"SupportedUsageClasses": ["capacity-block"]}, {}, {}, "is not sold as on-demand in this Region"),
        ({}, {}, {"NetworkInterfaces": [{"InterfaceType": "efa"}]}, "takes 0 Elastic Fabric Adapters"),
        (
            {"NetworkInfo": {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 1}}},
            {},
            {"NetworkInterfaces": [{"InterfaceType": "efa"}, {"InterfaceType": "efa-only"}]},
            "takes 1 Elastic Fabric Adapters, the launch template has 2",
        ),
    ],
)
def test_what_a_type_cannot_do(facts: dict[str, Any], group: dict[str, Any], launch: dict[str, Any], said: str) -> None:
    account = FakeAccount(machines=[machine("x1.y", 4, **facts)])
    report = ask(account, template(group=group, launch={"InstanceType": "x1.y", **launch}))
    finding = only(report, "what the type can do")
    assert finding.severity == "error"
    assert said in finding.message


def test_a_warm_pool_that_cannot_hibernate() -> None:
    pool = {
        "Type": "AWS::AutoScaling::WarmPool",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "PoolState": "Hibernated"},
    }
    assert "cannot hibernate" in only(ask(document=template(resources={"Pool": pool})), "what the type can do").message
