"""Endpoints for subnets without a way to the internet, and the warnings that they make needless."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template
from cfnlint import api  # type: ignore[import-untyped]

from constructs_lib import AcceleratedFleet, FleetLogs, Telemetry
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.endpoints import NEEDED, FleetEndpoints
from constructs_lib.fleet.network import FleetNetwork
from tests.constructs.reading import only, resources, text
from tests.constructs.test_cfn_lint import LINT
from tests.support.stacks import ROOT, fleet, project_context, queue_demand, stack, vpc

SERVICE = ec2.InterfaceVpcEndpointAwsService


def isolated_vpc(scope: Stack, **more: Any) -> ec2.Vpc:
    """A VPC of the user's without a way out."""
    return ec2.Vpc(
        scope,
        "Vpc",
        **{
            "nat_gateways": 0,
            "subnet_configuration": [
                ec2.SubnetConfiguration(name="Isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
            ],
            **more,
        },
    )


def imported(scope: Stack, **more: Any) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        **{
            "vpc_id": "vpc-0123456789abcdef0",
            "availability_zones": ["us-east-1a", "us-east-1b"],
            "isolated_subnet_ids": ["subnet-0123456789abcde00", "subnet-0123456789abcde01"],
            "isolated_subnet_route_table_ids": ["rtb-0123456789abcde00", "rtb-0123456789abcde01"],
            **more,
        },
    )


def interface_endpoints(made: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Interface endpoints by the name of their service."""
    found = [dict(each["Properties"]) for each in resources(made, "AWS::EC2::VPCEndpoint").values()]
    return {
        text(each["ServiceName"]).rpartition(".")[2]: each for each in found if each["VpcEndpointType"] != "Gateway"
    }


def gateways(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = [dict(each["Properties"]) for each in resources(made, "AWS::EC2::VPCEndpoint").values()]
    return [each for each in found if each["VpcEndpointType"] == "Gateway"]


def ours(made: Stack, path: str = "/Test/Fleet") -> list[str]:
    found = Annotations.from_stack(made).find_warning(path, Match.any_value())
    return [str(each.entry.data) for each in found]


def isolated(made: Stack) -> list[str]:
    return [each for each in ours(made) if "fleet:IsolatedSubnets" in each]


# --- what is made ---------------------------------------------------------------------------------


def test_what_an_instance_calls_has_an_endpoint_in_each_zone() -> None:
    test_stack = stack()
    FleetEndpoints(test_stack, "Endpoints", vpc=isolated_vpc(test_stack))
    made = Template.from_stack(test_stack).to_json()
    found = interface_endpoints(made)
    assert found.keys() == {"monitoring", "ec2", "ssm", "ssmmessages", "autoscaling"}
    for each in found.values():
        assert each["PrivateDnsEnabled"] is True
        assert len(each["SubnetIds"]) == 2
        assert [text(id) for id in each["SecurityGroupIds"]] == ["<EndpointsSecurityGroup.GroupId>"]
    (s3,) = gateways(made)
    assert text(s3["ServiceName"]) == "com.amazonaws.<AWS::Region>.s3"
    assert len(s3["RouteTableIds"]) == 2


def test_every_service_that_the_instances_call_is_among_them() -> None:
    """Each call of the drain; the rest are in the permissions that the role gets."""
    source = (ROOT / "constructs_lib" / "node" / "drain" / "aws.py").read_text(encoding="utf-8")
    named = {"cloudwatch": "monitoring"}
    called = set(re.findall(r'\*\("([a-z0-9]+)", "[a-z-]+"', source))
    assert called == {"ec2", "cloudwatch", "autoscaling"}
    assert {named.get(each, each) for each in called} <= {*NEEDED}
    test_stack = stack()
    fleet(test_stack, telemetry=Telemetry(logs=FleetLogs()))
    role = only_role(Template.from_stack(test_stack).to_json())
    permitted = {action.partition(":")[0] for action in role}
    assert {named.get(each, each) for each in permitted} == {*NEEDED, "logs"}


def only_role(made: Mapping[str, Any]) -> set[str]:
    (role,) = [each for id, each in resources(made, "AWS::IAM::Role").items() if id.startswith("FleetRole")]
    statements = [
        statement for policy in role["Properties"]["Policies"] for statement in policy["PolicyDocument"]["Statement"]
    ]
    listed = [each["Action"] if isinstance(each["Action"], list) else [each["Action"]] for each in statements]
    return {action for actions in listed for action in actions}


def test_https_is_let_in_from_the_vpc_and_nothing_goes_out() -> None:
    test_stack = stack()
    FleetEndpoints(test_stack, "Endpoints", vpc=isolated_vpc(test_stack))
    group = only(Template.from_stack(test_stack).to_json(), "AWS::EC2::SecurityGroup")["Properties"]
    (rule,) = group["SecurityGroupIngress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 443, 443)
    assert text(rule["CidrIp"]) == "<Vpc.CidrBlock>"
    assert [each["CidrIp"] for each in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]


def test_only_the_callers_named_are_let_in() -> None:
    test_stack = stack()
    network = imported(test_stack)
    first = fleet(test_stack, vpc=network)
    second = fleet(test_stack, "Second", vpc=network)
    endpoints = FleetEndpoints(test_stack, "Endpoints", vpc=network, callers=[first])
    endpoints.connections.allow_default_port_from(second)
    made = Template.from_stack(test_stack).to_json()
    rules = [each["Properties"] for each in resources(made, "AWS::EC2::SecurityGroupIngress").values()]
    assert {(text(each["SourceSecurityGroupId"]), each["ToPort"]) for each in rules} == {
        ("<FleetSecurityGroup.GroupId>", 443),
        ("<SecondSecurityGroup.GroupId>", 443),
    }


def test_more_services_and_those_that_are_there() -> None:
    test_stack = stack()
    endpoints = FleetEndpoints(
        test_stack,
        "Endpoints",
        vpc=isolated_vpc(test_stack),
        services=[SERVICE.SQS, SERVICE.CLOUDWATCH_LOGS],
        existing=["s3", "ssm"],
    )
    made = Template.from_stack(test_stack).to_json()
    assert interface_endpoints(made).keys() == {"monitoring", "ec2", "ssmmessages", "autoscaling", "sqs", "logs"}
    assert gateways(made) == []
    assert endpoints.services == {*NEEDED, "sqs", "logs"}


def test_one_subnet_of_each_zone_has_an_interface_and_every_subnet_the_gateway() -> None:
    test_stack = stack()
    layers = [
        ec2.SubnetConfiguration(name=name, subnet_type=ec2.SubnetType.PRIVATE_ISOLATED) for name in ("One", "Two")
    ]
    FleetEndpoints(test_stack, "Endpoints", vpc=isolated_vpc(test_stack, subnet_configuration=layers))
    made = Template.from_stack(test_stack).to_json()
    assert {len(each["SubnetIds"]) for each in interface_endpoints(made).values()} == {2}
    assert len(gateways(made)[0]["RouteTableIds"]) == 4


def test_the_subnets_can_be_named() -> None:
    test_stack = stack()
    network = isolated_vpc(test_stack)
    chosen = ec2.SubnetSelection(subnets=[network.isolated_subnets[1]])
    FleetEndpoints(test_stack, "Endpoints", vpc=network, vpc_subnets=chosen)
    made = Template.from_stack(test_stack).to_json()
    found = [text(id) for each in interface_endpoints(made).values() for id in each["SubnetIds"]]
    assert set(found) == {"<VpcIsolatedSubnet2Subnet>"}


@pytest.mark.parametrize("context", [{}, project_context()], ids=["no flags", "project"])
def test_cfn_lint_finds_nothing(context: Mapping[str, Any]) -> None:
    test_stack = stack(context=context)
    network = isolated_vpc(test_stack)
    made = fleet(test_stack, vpc=network, instance_types="p4d.24xlarge", network=FleetNetwork.efa())
    FleetEndpoints(test_stack, "Endpoints", vpc=network, services=[SERVICE.SQS], callers=[made])
    synthesized = Template.from_stack(test_stack).to_json()
    found = api.lint(json.dumps(synthesized), config={**LINT, "regions": ["us-west-2"]})
    assert [str(each) for each in found] == []


# --- warnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["fleet", "endpoints"])
def test_case_21_endpoints_silence_the_warning_in_either_order(first: str) -> None:
    test_stack = stack()
    network = imported(test_stack, vpc_cidr_block="10.0.0.0/16")
    if first == "fleet":
        fleet(test_stack, vpc=network, min_capacity=1)
        FleetEndpoints(test_stack, "Endpoints", vpc=network)
    else:
        FleetEndpoints(test_stack, "Endpoints", vpc=network)
        fleet(test_stack, vpc=network, min_capacity=1)
    assert ours(test_stack) == []


def test_case_21_what_is_missing_is_named() -> None:
    test_stack = stack()
    network = imported(test_stack, vpc_cidr_block="10.0.0.0/16")
    fleet(test_stack, vpc=network, min_capacity=1, telemetry=Telemetry(logs=FleetLogs()))
    FleetEndpoints(test_stack, "Endpoints", vpc=network)
    (warning,) = ours(test_stack)
    assert "need VPC endpoints, else no log file arrives: logs, and those of the other services" in warning


@pytest.mark.parametrize("options", [{}, {"services": [SERVICE.SQS]}, {"existing": ["sqs"]}])
def test_case_21_the_queue_of_the_fleets_own_demand_is_among_what_it_calls(options: dict[str, Any]) -> None:
    test_stack = stack()
    network = imported(test_stack, vpc_cidr_block="10.0.0.0/16")
    fleet(test_stack, vpc=network, demand=queue_demand(test_stack))
    endpoints = FleetEndpoints(test_stack, "Endpoints", vpc=network, **options)
    if options:
        assert isolated(test_stack) == []
        assert "sqs" in endpoints.services
    else:
        (warning,) = isolated(test_stack)
        assert "need VPC endpoints, else no worker can read its queue: sqs, and those of " in warning


def test_case_21_a_demand_that_is_no_queue_needs_no_endpoint_for_one() -> None:
    test_stack = stack()
    network = imported(test_stack, vpc_cidr_block="10.0.0.0/16")
    fleet(test_stack, vpc=network, min_capacity=1)
    FleetEndpoints(test_stack, "Endpoints", vpc=network)
    assert ours(test_stack) == []


def test_what_the_fleets_options_imply_may_be_there_already_and_is_not_made_again() -> None:
    test_stack = stack()
    endpoints = FleetEndpoints(test_stack, "Endpoints", vpc=isolated_vpc(test_stack), existing=["sqs", "logs"])
    assert interface_endpoints(Template.from_stack(test_stack).to_json()).keys().isdisjoint({"sqs", "logs"})
    assert endpoints.services == {*NEEDED, "sqs", "logs"}


def test_case_21_endpoints_of_another_vpc_do_not_count() -> None:
    test_stack = stack()
    fleet(test_stack, vpc=imported(test_stack), min_capacity=1)
    other = ec2.Vpc(test_stack, "Other", nat_gateways=0)
    FleetEndpoints(test_stack, "Endpoints", vpc=other, vpc_subnets=ec2.SubnetSelection(subnets=other.isolated_subnets))
    (warning,) = ours(test_stack)
    assert "monitoring, ec2, ssm, ssmmessages, autoscaling, s3 (gateway), and those" in warning
    assert warning.endswith("[ack: @cdk-accelerated-fleet/fleet:IsolatedSubnets]")


def test_case_19_instances_without_a_public_address_reach_the_endpoints() -> None:
    test_stack = stack()
    network = ec2.Vpc(
        test_stack,
        "Vpc",
        max_azs=1,
        subnet_configuration=[ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC)],
    )
    public = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    fleet(test_stack, vpc=network, instance_types="p4d.24xlarge", network=FleetNetwork.efa(), min_capacity=1)
    assert ["NoPublicAddress" in each for each in ours(test_stack)] == [True]
    again = stack()
    network = ec2.Vpc(
        again,
        "Vpc",
        max_azs=1,
        subnet_configuration=[ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC)],
    )
    fleet(again, vpc=network, instance_types="p4d.24xlarge", network=FleetNetwork.efa(), min_capacity=1)
    FleetEndpoints(again, "Endpoints", vpc=network, vpc_subnets=public)
    assert ours(again) == []


# --- wrong arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vpc": None}, "vpc must be an ec2.IVpc, got None; "),
        ({"vpc": "vpc-0123456789abcdef0"}, "vpc must be an ec2.IVpc, got 'vpc-0123456789abcdef0'; "),
        ({"vpc_subnets": "private"}, "vpc_subnets must be of type SubnetSelection, got 'private'; "),
        (
            {"vpc_subnets": ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)},
            "vpc_subnets must select subnets that the VPC has, got ",
        ),
        (
            {"services": "sqs"},
            "services must be a list of InterfaceVpcEndpointAwsService that is not empty, got 'sqs'",
        ),
        ({"services": []}, "services must be a list of InterfaceVpcEndpointAwsService that is not empty, got []"),
        (
            {"services": lambda: [SERVICE.SQS, SERVICE.SQS]},
            "services must name each service once, and none that ",
        ),
        (
            {"services": lambda: [SERVICE.SSM]},
            "services must name each service once, and none that every fleet needs",
        ),
        (
            {"callers": []},
            "callers must be a list of fleets, or of other ec2.IConnectable, that is not empty, got []",
        ),
        ({"callers": ["fleet"]}, "callers must be a list of fleets, or of other ec2.IConnectable, "),
        ({"existing": "s3"}, "existing must be a list of str that is not empty, got 's3'; "),
        ({"existing": []}, "existing must be a list of str that is not empty, got []"),
        (
            {"existing": ["kms"]},
            "existing must be one of autoscaling, ec2, logs, monitoring, s3, sqs, ssm, ssmmessages, got",
        ),
    ],
)
def test_wrong_arguments(arguments: Mapping[str, Any], message: str) -> None:
    test_stack = stack()
    given = {name: value() if callable(value) else value for name, value in arguments.items()}
    network = imported(test_stack, vpc_cidr_block="10.0.0.0/16")
    with pytest.raises(ArgumentError) as refused:
        FleetEndpoints(test_stack, "Endpoints", **{"vpc": network, **given})
    assert str(refused.value).startswith(f"Test/Endpoints: {message}")


def test_a_vpc_that_was_imported_without_what_the_endpoints_need() -> None:
    test_stack = stack()
    with pytest.raises(ArgumentError, match=r"^Test/A: callers must be given where the VPC was imported without its"):
        FleetEndpoints(test_stack, "A", vpc=imported(test_stack))
    again = stack()
    network = imported(again, isolated_subnet_route_table_ids=None, vpc_cidr_block="10.0.0.0/16")
    with pytest.raises(ArgumentError, match=r"^Test/A: vpc_subnets must select subnets whose route tables are known, "):
        FleetEndpoints(again, "A", vpc=network)
    FleetEndpoints(again, "B", vpc=network, existing=["s3"])


def test_case_72_none_is_as_if_left_out() -> None:
    first, second = stack(), stack()
    FleetEndpoints(first, "Endpoints", vpc=isolated_vpc(first))
    FleetEndpoints(
        second,
        "Endpoints",
        vpc=isolated_vpc(second),
        vpc_subnets=None,
        services=None,
        callers=None,
        existing=None,
    )
    assert Template.from_stack(first).to_json() == Template.from_stack(second).to_json()


def test_case_72_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="service"):
        FleetEndpoints(stack(), "Endpoints", vpc=None, service=[])  # type: ignore[arg-type, call-arg]


def test_a_fleet_in_private_subnets_needs_no_endpoints() -> None:
    test_stack = stack()
    made = fleet(test_stack, vpc=vpc(test_stack), min_capacity=1)
    assert isinstance(made, AcceleratedFleet)
    assert ours(test_stack) == []
