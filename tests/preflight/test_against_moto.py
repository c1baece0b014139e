"""Preflight through boto3 against moto, whose two gaps on the way are filled here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.servicequotas.responses import ServiceQuotasResponse

from constructs_lib.preflight import preflight
from tests.preflight.fake_account import NOW, REGION, quota
from tests.preflight.templates import found, mixed, only, template

_PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
_QUOTAS = [
    quota("Running On-Demand G and VT instances", 8, "L-DB2E81BA"),
    quota("All G and VT Spot Instance Requests", 64, "L-3819A6DF"),
]


def _list_service_quotas(self: ServiceQuotasResponse) -> str:
    """One quota a page."""
    start = int(json.loads(self.body).get("NextToken", "0"))
    rest = {"NextToken": str(start + 1)} if start + 1 < len(_QUOTAS) else {}
    return json.dumps({"Quotas": _QUOTAS[start : start + 1], **rest})


def _describe_capacity_reservations(self: EC2Response) -> ActionResult:
    return ActionResult({"CapacityReservations": []})


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    monkeypatch.setattr(ServiceQuotasResponse, "list_service_quotas", _list_service_quotas, raising=False)
    monkeypatch.setattr(EC2Response, "describe_capacity_reservations", _describe_capacity_reservations, raising=False)
    with mock_aws():
        yield boto3.Session(region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing")


class _World:
    """A VPC with one subnet in each of two zones, and an image."""

    def __init__(self, session: boto3.Session) -> None:
        self.ec2 = session.client("ec2")
        self.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        self.subnets = [
            self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=f"10.0.{index}.0/24", AvailabilityZone=zone)["Subnet"][
                "SubnetId"
            ]
            for index, zone in enumerate(("us-east-1a", "us-east-1e"))
        ]
        tables = self.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [self.vpc]}])
        self.table = tables["RouteTables"][0]["RouteTableId"]
        self.image = "ami-1e749f67"  # one of moto's own: what is registered gets no architecture

    def open_to_the_internet(self) -> None:
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        self.ec2.create_route(RouteTableId=self.table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)

    def template(self, **launch: Any) -> dict[str, Any]:
        group = {**mixed("g6.xlarge", "g5.xlarge", OnDemandPercentageAboveBaseCapacity=50)}
        group["VPCZoneIdentifier"] = self.subnets
        volume = {"DeviceName": "/dev/sda1", "Ebs": {"Encrypted": True}}
        return template(group=group, launch={"ImageId": self.image, "BlockDeviceMappings": [volume], **launch})


@pytest.fixture
def world(session: boto3.Session) -> _World:
    return _World(session)


def test_an_account_that_can_run_the_group(session: boto3.Session, world: _World) -> None:
    world.open_to_the_internet()
    session.client("iam").create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    public = {"NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}]}
    report = preflight(world.template(**public), session, now=NOW)
    # moto gives the role another name, and the second zone has neither type
    assert {each.asked for each in report.findings if each.severity != "ok"} == {"type offered", "role for Spot"}
    assert only(report, "image").severity == "ok"
    assert only(report, "agent reachable").severity == "ok"
    assert {finding.severity for finding in found(report, "vCPU quota")} == {"ok"}
    assert report.account == "123456789012"


def test_case_28_a_zone_without_the_types(session: boto3.Session, world: _World) -> None:
    finding = found(preflight(world.template(), session, now=NOW), "type offered")[0]
    assert finding.severity == "warning"
    assert "us-east-1e, where none of g6.xlarge, g5.xlarge is offered" in finding.message


def test_case_43_instances_that_run_leave_no_quota(session: boto3.Session, world: _World) -> None:
    world.ec2.run_instances(ImageId=world.image, InstanceType="g5.xlarge", MinCount=2, MaxCount=2)
    world.ec2.run_instances(ImageId=world.image, InstanceType="m5.large", MinCount=2, MaxCount=2)
    report = preflight(world.template(), session, now=NOW)
    (finding,) = [each for each in found(report, "vCPU quota") if each.message.startswith("Running On-Demand G")]
    assert finding.severity == "warning"
    assert "the quota is 8 vCPUs, 8 in use" in finding.message


def test_case_64_an_arm_type_with_an_x86_image(session: boto3.Session, world: _World) -> None:
    document = template(
        group={"VPCZoneIdentifier": world.subnets[:1]}, launch={"InstanceType": "g5g.xlarge", "ImageId": world.image}
    )
    finding = found(preflight(document, session, now=NOW), "image")[0]
    assert finding.severity == "error"
    assert "is for x86_64, g5g.xlarge is arm64" in finding.message


def test_a_public_parameter(session: boto3.Session, world: _World) -> None:
    held = session.client("ssm").get_parameters(Names=[_PARAMETER])["Parameters"][0]["Value"]
    finding = only(preflight(world.template(ImageId=f"resolve:ssm:{_PARAMETER}"), session, now=NOW), "image")
    assert f"{held} ({_PARAMETER})" in finding.message
    finding = only(preflight(world.template(ImageId="resolve:ssm:/no/such"), session, now=NOW), "image")
    assert finding.message == "SSM parameter /no/such does not exist in us-east-1"


def test_closed_subnets_and_their_endpoint(session: boto3.Session, world: _World) -> None:
    assert {each.severity for each in found(preflight(world.template(), session, now=NOW), "agent reachable")} == {
        "error"
    }
    world.ec2.create_vpc_endpoint(
        VpcId=world.vpc,
        ServiceName="com.amazonaws.us-east-1.monitoring",
        VpcEndpointType="Interface",
        SubnetIds=world.subnets,
        PrivateDnsEnabled=True,
    )
    finding = only(preflight(world.template(), session, now=NOW), "agent reachable")
    assert finding.severity == "ok"


def test_a_key_of_the_account(session: boto3.Session, world: _World) -> None:
    made = session.client("kms").create_key()["KeyMetadata"]
    key = made["Arn"]
    volume = [{"DeviceName": "/dev/sda1", "Ebs": {"Encrypted": True, "KmsKeyId": key}}]
    report = preflight(world.template(BlockDeviceMappings=volume), session, now=NOW)
    assert only(report, "key of the volumes").severity == "warning"
    session.client("kms").schedule_key_deletion(KeyId=made["KeyId"])
    report = preflight(world.template(BlockDeviceMappings=volume), session, now=NOW)
    assert "is PendingDeletion: launches fail" in only(report, "key of the volumes").message


def test_what_moto_does_not_answer_is_unknown(
    session: boto3.Session, world: _World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ServiceQuotasResponse, "list_service_quotas")
    report = preflight(world.template(), session, now=NOW)
    assert {finding.severity for finding in found(report, "vCPU quota")} == {"unknown"}


def test_nothing_is_changed(session: boto3.Session, world: _World) -> None:
    heard: list[str] = []
    preflight(world.template(), session, now=NOW, progress=heard.append)
    assert heard
    assert all(call.partition(":")[2].startswith(("Describe", "Get", "List")) for call in heard)
