"""The way from the subnets to the services that the instances' role lets them call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.fake_account import FakeAccount, subnet
from tests.preflight.templates import ask, found, only, template

_ASKED = "agent reachable"
_ANYWHERE = "0.0.0.0/0"
_ROLE = {
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "Policies": [
                {
                    "PolicyDocument": {
                        "Statement": [
                            {"Effect": "Allow", "Action": "cloudwatch:PutMetricData"},
                            {"Effect": "Allow", "Action": ["ec2:DescribeTags", "s3:GetObject"]},
                            {"Effect": "Deny", "Action": "dynamodb:*"},
                        ]
                    }
                }
            ],
            "ManagedPolicyArns": [
                "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
                {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/Unheard"},
            ],
        },
    },
    "Policy": {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "Roles": [{"Ref": "Role"}],
            "PolicyDocument": {"Statement": {"Effect": "Allow", "Action": "sqs:ReceiveMessage"}},
        },
    },
    "Elsewhere": {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "Roles": ["named"],
            "PolicyDocument": {"Statement": {"Effect": "Allow", "Action": "kinesis:*"}},
        },
    },
    "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
}
_PROFILE = {"IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}}


def _account(*routes: dict[str, Any], endpoints: list[dict[str, Any]] | None = None, **facts: Any) -> FakeAccount:
    table = {"RouteTableId": "rtb-main", "VpcId": "vpc-1", "Associations": [{"Main": True}], "Routes": list(routes)}
    return FakeAccount(
        tables=[table], endpoints=endpoints or [], subnets=[subnet("subnet-a", **facts)], zones={}, page=1
    )


def _one_subnet(**parts: Any) -> dict[str, Any]:
    return template(group={"VPCZoneIdentifier": ["subnet-a"]}, **parts)


def _endpoint(service: str, **facts: Any) -> dict[str, Any]:
    return {
        "ServiceName": f"com.amazonaws.us-east-1.{service}",
        "VpcEndpointType": "Interface",
        "PrivateDnsEnabled": True,
        "State": "available",
        **facts,
    }


def test_no_way_out_and_no_endpoints() -> None:
    finding = only(ask(_account(), _one_subnet()), _ASKED)
    assert finding.severity == "error"
    expected = "subnet-a has no route to the internet and there is no endpoint for monitoring: the agent stays silent"
    assert finding.message == expected
    assert finding.commands == (
        "aws ec2 create-vpc-endpoint --region us-east-1 --vpc-id vpc-1 "
        "--service-name com.amazonaws.us-east-1.monitoring --vpc-endpoint-type Interface --private-dns-enabled "
        "--subnet-ids SUBNET_ID",
    )


def test_the_role_says_what_is_called() -> None:
    document = _one_subnet(launch=_PROFILE, resources=_ROLE)
    finding = only(ask(_account(), document), _ASKED)
    assert "no endpoint for ec2, ec2messages, monitoring, s3, sqs, ssm, ssmmessages:" in finding.message
    assert any(command.endswith("Gateway --route-table-ids ROUTE_TABLE_ID") for command in finding.commands)
    services = ("ec2", "ec2messages", "monitoring", "sqs", "ssm", "ssmmessages")
    gateway = _endpoint("s3", VpcEndpointType="Gateway", RouteTableIds=["rtb-main"], PrivateDnsEnabled=False)
    endpoints = [*(_endpoint(service) for service in services), gateway]
    finding = only(ask(_account(endpoints=endpoints), document), _ASKED)
    assert (finding.severity, finding.message) == ("ok", "the instances reach AWS from subnet-a by endpoints")
    gateway["RouteTableIds"] = ["rtb-other"]
    finding = only(ask(_account(endpoints=endpoints), document), _ASKED)
    assert (finding.severity, "no endpoint for s3: what calls them fails" in finding.message) == ("warning", True)


@pytest.mark.parametrize("facts", [{"PrivateDnsEnabled": False}, {"State": "pending"}])
def test_endpoints_that_do_not_serve(facts: dict[str, Any]) -> None:
    finding = only(ask(_account(endpoints=[_endpoint("monitoring", **facts)]), _one_subnet()), _ASKED)
    assert finding.severity == "error"


def test_a_public_subnet_needs_public_addresses() -> None:
    internet = {"DestinationCidrBlock": _ANYWHERE, "GatewayId": "igw-1", "State": "active"}
    finding = only(ask(_account(internet), _one_subnet()), _ASKED)
    assert finding.severity == "error"
    assert "leads to an internet gateway, but they get no public address" in finding.message
    assert only(ask(_account(internet, MapPublicIpOnLaunch=True), _one_subnet()), _ASKED).severity == "ok"
    own = {"NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}]}
    assert only(ask(_account(internet), _one_subnet(launch=own)), _ASKED).severity == "ok"
    none = {"NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": False}]}
    account = _account(internet, MapPublicIpOnLaunch=True)
    assert only(ask(account, _one_subnet(launch=none)), _ASKED).severity == "error"


def test_several_interfaces_get_no_public_address() -> None:
    internet = {"DestinationCidrBlock": _ANYWHERE, "GatewayId": "igw-1", "State": "active"}
    launch = {"NetworkInterfaces": [{"DeviceIndex": 0}, {"DeviceIndex": 1, "NetworkCardIndex": 1}]}
    finding = only(ask(_account(internet, MapPublicIpOnLaunch=True), _one_subnet(launch=launch)), _ASKED)
    assert "several network interfaces get no public address" in finding.message


def test_a_route_that_leads_nowhere() -> None:
    gone = {"DestinationCidrBlock": _ANYWHERE, "NatGatewayId": "nat-1", "State": "blackhole"}
    assert "(blackhole)" in only(ask(_account(gone), _one_subnet()), _ASKED).message


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"TransitGatewayId": "tgw-1"}, "a transit gateway"),
        ({"GatewayId": "vgw-1"}, "a virtual private gateway"),
        ({"NetworkInterfaceId": "eni-1"}, "a network interface"),
        ({}, "something unknown"),
    ],
)
def test_a_way_that_cannot_be_followed(target: dict[str, str], said: str) -> None:
    route = {"DestinationCidrBlock": _ANYWHERE, "State": "active", **target}
    finding = only(ask(_account(route), _one_subnet()), _ASKED)
    assert (finding.severity, said in finding.message) == ("unknown", True)
    with_endpoints = _account(route, endpoints=[_endpoint("monitoring")])
    assert only(ask(with_endpoints, _one_subnet()), _ASKED).severity == "ok"


def test_a_table_of_the_subnet_comes_before_the_main_one() -> None:
    account = _account({"DestinationCidrBlock": _ANYWHERE, "NatGatewayId": "nat-1", "State": "active"})
    assert only(ask(account, _one_subnet()), _ASKED).severity == "ok"
    own = {"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Associations": [{"SubnetId": "subnet-a"}], "Routes": []}
    account.tables.append(own)
    assert only(ask(account, _one_subnet()), _ASKED).severity == "error"


def test_no_table_at_all_is_unknown() -> None:
    assert only(ask(FakeAccount(tables=[]), _one_subnet()), _ASKED).severity == "unknown"


def _network(route: dict[str, Any] | None, **endpoints: dict[str, Any]) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "Vpc": {"Type": "AWS::EC2::VPC"},
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Nat": {"Type": "AWS::EC2::NatGateway"},
        "Subnet": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {"VpcId": {"Ref": "Vpc"}, "AvailabilityZone": "us-east-1a", "MapPublicIpOnLaunch": True},
        },
        "Table": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}},
        "Association": {
            "Type": "AWS::EC2::SubnetRouteTableAssociation",
            "Properties": {"SubnetId": {"Ref": "Subnet"}, "RouteTableId": {"Ref": "Table"}},
        },
    }
    if route is not None:
        properties = {"RouteTableId": {"Ref": "Table"}, "DestinationCidrBlock": _ANYWHERE, **route}
        parts["Route"] = {"Type": "AWS::EC2::Route", "Properties": properties}
    for id, properties in endpoints.items():
        parts[id] = {"Type": "AWS::EC2::VPCEndpoint", "Properties": {"VpcId": {"Ref": "Vpc"}, **properties}}
    return parts


def _made(route: dict[str, Any] | None, **endpoints: dict[str, Any]) -> dict[str, Any]:
    return template(group={"VPCZoneIdentifier": [{"Ref": "Subnet"}]}, resources=_network(route, **endpoints))


@pytest.mark.parametrize(
    ("route", "severity"),
    [
        ({"NatGatewayId": {"Ref": "Nat"}}, "ok"),
        ({"GatewayId": {"Ref": "Gateway"}}, "ok"),
        ({"TransitGatewayId": "tgw-1"}, "unknown"),
        (None, "error"),
    ],
)
def test_a_network_that_the_template_makes(route: dict[str, Any] | None, severity: str) -> None:
    account = FakeAccount()
    assert only(ask(account, _made(route)), _ASKED).severity == severity
    assert "describe_route_tables" not in {method for _, method in account.called()}


def test_endpoints_that_the_template_makes() -> None:
    service = {"Fn::Join": ["", ["com.amazonaws.", {"Ref": "AWS::Region"}, ".monitoring"]]}
    interface = {"ServiceName": service, "VpcEndpointType": "Interface", "PrivateDnsEnabled": True}
    gateway = {"ServiceName": "com.amazonaws.us-east-1.s3", "RouteTableIds": [{"Ref": "Table"}]}
    assert only(ask(document=_made(None, Metrics=interface, Files=gateway)), _ASKED).severity == "ok"
    unsettled = {**interface, "ServiceName": {"Fn::ImportValue": "x"}}
    assert only(ask(document=_made(None, Metrics=unsettled)), _ASKED).severity == "error"


def test_a_subnet_without_a_route_table_in_the_template() -> None:
    document = _made(None)
    del document["Resources"]["Association"]
    assert "the template gives it no route table" in only(ask(document=document), _ASKED).message


def test_default_subnets_are_not_followed() -> None:
    document = template(group={"VPCZoneIdentifier": None, "AvailabilityZones": ["us-east-1a"]})
    assert only(ask(document=document), _ASKED).severity == "unknown"


def test_subnets_with_the_same_answer_are_told_together() -> None:
    assert len(found(ask(), _ASKED)) == 1
