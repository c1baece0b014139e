"""What a fleet is given may stand in another stack or Region: taken if it deploys, else refused in our own words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms

from constructs_lib import (
    ArgumentError,
    FleetEndpoints,
    FleetImage,
    FleetNetwork,
    FleetStorage,
    LustreMount,
    Placement,
)
from tests.constructs.purchasing import START, block
from tests.support.stacks import fleet, stack

HERE = Environment(account="111122223333", region="us-east-1")
ELSEWHERE = Environment(account="111122223333", region="eu-west-1")
SERVICE = ec2.InterfaceVpcEndpointAwsService
PRIVATE = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)


def a_vpc(scope: Stack, id: str = "Vpc") -> ec2.Vpc:
    return ec2.Vpc(scope, id, max_azs=2)


def templates(app: App) -> dict[str, dict[str, Any]]:
    """The templates by the names of their stacks; a cycle among these is found here."""
    return {each.stack_name: dict(each.template) for each in app.synth().stacks}


# --- a VPC that is yet to be looked up -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"purchase": block(), "network": FleetNetwork.efa()},
        {"purchase": block(start=START, instances_at_start=2)},
        {"network": FleetNetwork.efa()},
        {"network": FleetNetwork.standard(placement=Placement.spread()), "max_capacity": 20},
    ],
)
def test_nothing_is_said_of_a_vpc_that_the_cdk_has_yet_to_look_up(arguments: dict[str, Any]) -> None:
    """The first synth stands in for it with one of two zones; the second one has the real one."""
    scope = Stack(App(), "Here", env=HERE)
    vpc = ec2.Vpc.from_lookup(scope, "Vpc", vpc_id="vpc-0123456789abcdef0")
    fleet(scope, **{"vpc": vpc, "instance_types": "p5.48xlarge", "max_capacity": 4, **arguments})


# --- endpoints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["the VPC's stack", "the fleet's stack", "a stack of their own"])
@pytest.mark.parametrize("vpc_in", ["Network", "Fleets"])
def test_callers_of_the_endpoints_may_be_in_another_stack(where: str, vpc_in: str) -> None:
    app = App()
    stacks = {name: Stack(app, name) for name in ("Network", "Fleets", "Endpoints")}
    vpc = a_vpc(stacks[vpc_in])
    caller = fleet(stacks["Fleets"], vpc=vpc)
    homes = {"the VPC's stack": vpc_in, "the fleet's stack": "Fleets", "a stack of their own": "Endpoints"}
    home = stacks[homes[where]]
    FleetEndpoints(home, "Calls", vpc=vpc, vpc_subnets=PRIVATE, callers=[caller])
    allowed = json.dumps(list(templates(app).values())).count('"FromPort": 443')
    assert allowed == 1


def imported_vpc(scope: Stack, id: str) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        scope,
        id,
        vpc_id="vpc-0123456789abcdef0",
        vpc_cidr_block="10.0.0.0/16",
        availability_zones=["us-east-1a"],
        isolated_subnet_ids=["subnet-0123456789abcde00"],
        isolated_subnet_route_table_ids=["rtb-0123456789abcde00"],
    )


@pytest.mark.parametrize("same", [True, False])
def test_a_second_endpoint_for_a_service_in_one_vpc_is_refused(same: bool) -> None:
    """EC2 refuses it at the deploy, since both would have the service's private name."""
    app = App()
    one, two = Stack(app, "One"), Stack(app, "Two")
    vpc = imported_vpc(one, "Vpc")
    FleetEndpoints(one, "Calls", vpc=vpc)
    again = vpc if same else imported_vpc(two, "Vpc")
    with pytest.raises(ArgumentError, match="existing must name what the VPC has an endpoint for already") as raised:
        FleetEndpoints(two, "Again", vpc=again)
    assert "One/Calls" in str(raised.value)


def test_a_second_one_may_add_what_the_first_has_not() -> None:
    scope = stack()
    vpc = a_vpc(scope)
    all_of_it = ["monitoring", "ec2", "ssm", "ssmmessages", "autoscaling", "s3"]
    FleetEndpoints(scope, "Calls", vpc=vpc, services=[SERVICE.SQS])
    FleetEndpoints(scope, "More", vpc=vpc, services=[SERVICE.ECR], existing=all_of_it)
    with pytest.raises(ArgumentError, match="sqs"):
        FleetEndpoints(scope, "Again", vpc=vpc, services=[SERVICE.SQS], existing=all_of_it)
    FleetEndpoints(scope, "Other", vpc=a_vpc(scope, "OtherVpc"), services=[SERVICE.SQS])


def test_the_same_name_in_two_regions_is_two_vpcs() -> None:
    app = App()
    for name, env in (("Here", HERE), ("Elsewhere", ELSEWHERE)):
        scope = Stack(app, name, env=env)
        FleetEndpoints(scope, "Calls", vpc=imported_vpc(scope, "Vpc"))


# --- file systems ----------------------------------------------------------------------------------------------------


def a_file_system(scope: Stack, vpc: ec2.IVpc) -> fsx.LustreFileSystem:
    return fsx.LustreFileSystem(
        scope,
        "Files",
        vpc=vpc,
        vpc_subnet=vpc.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )


@pytest.mark.parametrize("vpc_in", ["Network", "Data", "Fleets"])
@pytest.mark.parametrize("group_in", ["Network", "Data", "Security", "Fleets", None])
def test_fleet_group_and_file_system_may_stand_in_three_stacks(vpc_in: str, group_in: str | None) -> None:
    app = App()
    stacks = {name: Stack(app, name) for name in ("Network", "Data", "Security", "Fleets")}
    vpc = a_vpc(stacks[vpc_in])
    # What stands where would need each other whatever the rules are.
    data = stacks["Fleets"] if vpc_in == "Fleets" else stacks["Data"]
    home = None if group_in is None else stacks["Fleets"] if vpc_in == "Fleets" else stacks[group_in]
    given: dict[str, Any] = {} if home is None else {"security_group": ec2.SecurityGroup(home, "Shared", vpc=vpc)}
    files = FleetStorage(lustre=[LustreMount(file_system=a_file_system(data, vpc), path="/fsx")])
    fleet(stacks["Fleets"], vpc=vpc, storage=files, **given)
    made = json.dumps(list(templates(app).values()))
    # In at both groups; the file system has a rule of its own, of servers to each other.
    assert made.count("Lustre of an accelerated fleet") >= 4
    assert made.count('"FromPort": 988') >= 3


# --- other Regions ---------------------------------------------------------------------------------------------------


def in_a_group(scope: Stack) -> dict[str, Any]:
    group = ec2.PlacementGroup(scope, "Group", strategy=ec2.PlacementGroupStrategy.SPREAD)
    return {"network": FleetNetwork.standard(placement=Placement.in_group(group))}


ABROAD: dict[str, Callable[[Stack], dict[str, Any]]] = {
    "vpc": lambda scope: {"vpc": a_vpc(scope)},
    "security_group": lambda scope: {"security_group": ec2.SecurityGroup(scope, "Group", vpc=a_vpc(scope))},
    "encryption_key": lambda scope: {"encryption_key": kms.Key(scope, "Key")},
    "network.placement": in_a_group,
}


@pytest.mark.parametrize("parameter", ABROAD)
def test_what_stands_in_another_region_is_refused_although_the_cdk_would_refer_to_it(parameter: str) -> None:
    app = App()
    here, elsewhere = Stack(app, "Here", env=HERE), Stack(app, "Elsewhere", env=ELSEWHERE)
    given = ABROAD[parameter](elsewhere)
    with pytest.raises(ArgumentError, match=f"Here/Fleet: {parameter} must be of the fleet's own Region, us-east-1"):
        fleet(here, **given)


@pytest.mark.parametrize("parameter", ABROAD)
def test_what_stands_in_another_stack_of_the_region_is_taken(parameter: str) -> None:
    app = App()
    here, beside = Stack(app, "Here", env=HERE), Stack(app, "Beside", env=HERE)
    fleet(here, **ABROAD[parameter](beside))
    templates(app)


def test_a_key_of_another_region_is_known_by_its_arn() -> None:
    scope = Stack(App(), "Here", env=HERE)
    key = kms.Key.from_key_arn(scope, "Key", "arn:aws:kms:eu-west-1:111122223333:key/0a1b2c3d")
    with pytest.raises(ArgumentError, match="encryption_key must be of the fleet's own Region"):
        fleet(scope, encryption_key=key)


def test_regions_that_only_a_deploy_settles_are_not_compared() -> None:
    app = App()
    fleet(Stack(app, "Any"), encryption_key=kms.Key(Stack(app, "Other"), "Key"))


# --- images ----------------------------------------------------------------------------------------------------------


def test_an_image_that_is_not_named_for_the_region_is_refused_in_our_own_words() -> None:
    image = FleetImage.from_machine_image(ec2.MachineImage.generic_linux({"us-east-1": "ami-0123456789abcdef0"}))
    scope = Stack(App(), "Test", env=ELSEWHERE)
    with pytest.raises(ArgumentError, match="image must be one for the stack's account and Region") as raised:
        fleet(scope, image=image)
    assert "eu-west-1" in str(raised.value)


def test_an_image_that_has_to_be_looked_up_needs_a_stack_that_knows_where_it_is() -> None:
    image = FleetImage.from_machine_image(ec2.MachineImage.lookup(name="golden-*"))
    with pytest.raises(ArgumentError, match="image must be one for the stack's account and Region"):
        fleet(stack(), image=image)
