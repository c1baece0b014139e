"""Our own stack with protected members: it cannot be deleted without the clean-up resource, and can be with it."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template
from botocore.exceptions import WaiterError

from constructs_lib.node.names import DRAIN_HOOK
from demo.emulator import ACCOUNT, REGION, Emulator
from tests.emulator.fleets import WAITER, Fleet
from tests.support import stacks

pytestmark = [pytest.mark.emulator, pytest.mark.allow_hosts(["127.0.0.1"])]

_ROUNDS = 30
_ROUND = {"Delay": 1, "MaxAttempts": 2}
HANDLERS = stacks.ROOT / "lambda_handlers"
CLEAN_UP = "Custom::AcceleratedFleetCleanup"


@pytest.fixture(scope="module")
def template(emulator: Emulator) -> dict[str, Any]:
    """A fleet in the emulator's default VPC, with its handlers where the template looks for them."""
    subnets = emulator.client("ec2").describe_subnets()["Subnets"][:2]
    stack = stacks.stack()
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id=subnets[0]["VpcId"],
        availability_zones=[subnet["AvailabilityZone"] for subnet in subnets],
        public_subnet_ids=[subnet["SubnetId"] for subnet in subnets],
    )
    stacks.fleet(stack, vpc=vpc)
    synthesized = dict(Template.from_stack(stack).to_json())
    _publish_handlers(emulator, synthesized)
    return synthesized


def test_case_04_protected_members_stop_the_deletion_without_the_clean_up(
    emulator: Emulator, template: dict[str, Any]
) -> None:
    unguarded = {k: v for k, v in template["Resources"].items() if v["Type"] != CLEAN_UP}
    fleet = _deployed(emulator, "WithoutCleanUp", {**template, "Resources": unguarded})
    members = fleet.grow(2)
    with pytest.raises(pytest.fail.Exception):
        _delete(fleet)
    (stack,) = emulator.client("cloudformation").describe_stacks(StackName=fleet.stack)["Stacks"]
    assert stack["StackStatus"] == "DELETE_FAILED"
    assert sorted(instance["InstanceId"] for instance in fleet.running()) == sorted(members), "they go on billing"


def test_case_04_the_clean_up_lets_the_stack_go(emulator: Emulator, template: dict[str, Any]) -> None:
    fleet = _deployed(emulator, "WithCleanUp", template)
    fleet.grow(2)
    assert all(member["ProtectedFromScaleIn"] for member in fleet.group()["Instances"])
    _delete(fleet)
    assert fleet.running() == []


def test_case_41_without_its_function_the_stack_goes_by_the_documented_commands(
    emulator: Emulator, template: dict[str, Any]
) -> None:
    """docs/release.md, "Destroying a stack": the one state in which it does not end by itself."""
    fleet = _deployed(emulator, "FunctionGone", template)
    fleet.grow(2)
    emulator.client("lambda").delete_function(FunctionName=_cleanup_function(fleet))
    fleet.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=fleet.name, ForceDelete=True)
    with pytest.raises(pytest.fail.Exception, match="DELETE_FAILED"):
        _delete(fleet)
    cloudformation = emulator.client("cloudformation")
    cloudformation.delete_stack(StackName=fleet.stack, DeletionMode="FORCE_DELETE_STACK")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=fleet.stack, WaiterConfig=WAITER)
    assert fleet.running() == []


@pytest.mark.parametrize("renamed", [True, False], ids=["renamed", "removed"])
def test_case_37_an_update_without_the_clean_up_resource_leaves_the_fleet_at_work(
    emulator: Emulator, template: dict[str, Any], renamed: bool
) -> None:
    fleet = _deployed(emulator, f"Update{'Renames' if renamed else 'Removes'}CleanUp", template)
    members = fleet.grow(2)
    ((old, clean_up),) = [(id, each) for id, each in template["Resources"].items() if each["Type"] == CLEAN_UP]
    others = {id: each for id, each in template["Resources"].items() if id != old}
    new = {"AnotherLogicalId": clean_up} if renamed else {}
    _update(fleet, {**template, "Resources": {**others, **new}})
    assert sorted(instance["InstanceId"] for instance in fleet.running()) == sorted(members)
    group = fleet.group()
    assert (group["DesiredCapacity"], group["NewInstancesProtectedFromScaleIn"]) == (2, True)
    assert group["MaxSize"] >= 2


def _deployed(emulator: Emulator, name: str, template: dict[str, Any]) -> Fleet:
    cloudformation = emulator.client("cloudformation")
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
    cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=WAITER)
    (group,) = [
        resource["PhysicalResourceId"]
        for resource in cloudformation.describe_stack_resources(StackName=name)["StackResources"]
        if resource["ResourceType"] == "AWS::AutoScaling::AutoScalingGroup"
    ]
    return Fleet(emulator, name, group)


def _delete(fleet: Fleet) -> None:
    """Delete the stack. Meanwhile the instances drain: no service runs on them here, and no hook times out."""
    cloudformation = fleet.emulator.client("cloudformation")
    cloudformation.delete_stack(StackName=fleet.stack)
    for _ in range(_ROUNDS):
        with suppress(WaiterError):
            cloudformation.get_waiter("stack_delete_complete").wait(StackName=fleet.stack, WaiterConfig=_ROUND)
            return
        if _status(fleet) == "DELETE_FAILED":
            break
        for each in fleet.draining():
            fleet.complete(each, DRAIN_HOOK)
    pytest.fail(f"{fleet.stack} is not deleted: {_status(fleet)}")


def _cleanup_function(fleet: Fleet) -> str:
    resources = fleet.emulator.client("cloudformation").describe_stack_resources(StackName=fleet.stack)
    functions = [r for r in resources["StackResources"] if r["ResourceType"] == "AWS::Lambda::Function"]
    (found,) = [r["PhysicalResourceId"] for r in functions if "Cleanup" in r["LogicalResourceId"]]
    return str(found)


def _status(fleet: Fleet) -> str:
    (stack,) = fleet.emulator.client("cloudformation").describe_stacks(StackName=fleet.stack)["Stacks"]
    return str(stack["StackStatus"])


def _update(fleet: Fleet, template: dict[str, Any]) -> None:
    cloudformation = fleet.emulator.client("cloudformation")
    cloudformation.update_stack(
        StackName=fleet.stack, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"]
    )
    cloudformation.get_waiter("stack_update_complete").wait(StackName=fleet.stack, WaiterConfig=WAITER)


def _publish_handlers(emulator: Emulator, template: dict[str, Any]) -> None:
    """What ``cdk bootstrap`` and the asset publishing of ``cdk deploy`` leave behind."""
    emulator.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    (key,) = {
        resource["Properties"]["Code"]["S3Key"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    bucket = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
    s3 = emulator.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=_zipped(HANDLERS))


def _zipped(directory: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        for path in sorted(directory.rglob("*.py")):
            writer.write(path, path.relative_to(directory))
    return archive.getvalue()
