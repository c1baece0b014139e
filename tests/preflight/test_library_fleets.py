"""Templates of the library's own fleets, as cdk synth writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template as Synthesized

from constructs_lib import Purchase
from constructs_lib.fleet.endpoints import FleetEndpoints
from constructs_lib.preflight import Report, preflight, templates_in
from examples.inference_queue.app import build
from tests.preflight.fake_account import NOW, FakeAccount, machine, quota
from tests.preflight.templates import found, only
from tests.support.stacks import fleet, full_fleet, project_context, stack

_IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assembly") / "cdk.out"
    app = App(context=project_context(), outdir=str(folder))
    build(app)
    app.synth()
    return folder


def _account(**facts: Any) -> FakeAccount:
    account = FakeAccount(parameters={_IMAGE: "ami-1"}, page=2, **facts)
    account.machines.append(machine("g4dn.xlarge", 4))
    return account


def _report(assembly: Path, account: FakeAccount, **options: Any) -> Report:
    stacks = {each.stack or "": each.template for each in templates_in(assembly)}
    return preflight(stacks["InferenceQueue"], account, now=NOW, beside=stacks, **options)


def test_the_example_with_its_network(assembly: Path) -> None:
    report = _report(assembly, _account())
    assert report.worst == "ok", [finding for finding in report.findings if finding.severity != "ok"]
    asked = {finding.asked for finding in report.findings}
    assert asked == {"type offered", "image", "agent reachable", "role for Spot", "vCPU quota"}
    on_demand, spot = sorted(finding.message for finding in found(report, "vCPU quota"))[::-1]
    assert "at the largest size 2 instances need 8 vCPUs" in on_demand
    assert "at the largest size 6 instances need 24 vCPUs" in spot


def test_the_example_in_a_new_account(assembly: Path) -> None:
    report = _report(assembly, _account(quotas=[quota("Running On-Demand G and VT instances", 0)], roles=set()))
    assert report.worst == "error"
    severities = [finding.severity for finding in found(report, "vCPU quota")]
    assert severities == ["error", "unknown"]


def test_the_example_without_its_network_asks_the_stack_that_is_deployed(assembly: Path) -> None:
    (template,) = [each.template for each in templates_in(assembly) if each.stack == "InferenceQueue"]
    report = preflight(template, _account(), now=NOW)
    assert found(report, "subnets")[0].cure == "deploy that stack first, or pass --subnet ID"
    outputs = {
        "PublishOutputRefVpcFleetSubnet1Subnet35355CD4BA858B53": "subnet-a",
        "PublishOutputRefVpcFleetSubnet2Subnet001D9254E72D619E": "subnet-b",
    }
    report = preflight(template, _account(stacks={"InferenceQueueNetwork": outputs}), now=NOW)
    assert only(report, "type offered").message.startswith(
        "g6.xlarge, g5.xlarge, g4dn.xlarge in us-east-1a, us-east-1b"
    )
    assert preflight(template, _account(), now=NOW, subnets=["subnet-a"]).worst == "ok"


def test_the_example_needs_endpoints_in_a_closed_network(assembly: Path) -> None:
    (template,) = [each.template for each in templates_in(assembly) if each.stack == "InferenceQueue"]
    table = {"RouteTableId": "rtb-main", "VpcId": "vpc-1", "Associations": [{"Main": True}], "Routes": []}
    report = preflight(template, _account(tables=[table]), now=NOW, subnets=["subnet-a"])
    finding = only(report, "agent reachable")
    assert finding.severity == "error"
    assert "for autoscaling, ec2, monitoring, s3, sqs, ssm, ssmmessages" in finding.message


def test_a_fleet_in_a_vpc_that_exists() -> None:
    scope = stack()
    fleet(scope, instance_types="g6.xlarge", max_capacity=4)
    report = preflight(Synthesized.from_stack(scope).to_json(), _account(), now=NOW)
    assert {finding.severity for finding in found(report, "subnets")} == {"error"}  # those of the test do not exist
    assert only(report, "image").severity == "ok"
    assert only(report, "vCPU quota").severity == "ok"


def test_the_librarys_own_endpoints_are_enough() -> None:
    scope = stack()
    subnets = [ec2.SubnetConfiguration(name="Fleet", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)]
    vpc = ec2.Vpc(scope, "Net", nat_gateways=0, subnet_configuration=subnets, restrict_default_security_group=False)
    made = fleet(scope, vpc=vpc, instance_types="g6.xlarge", max_capacity=1)
    FleetEndpoints(scope, "Endpoints", vpc=vpc, callers=[made])
    finding = only(preflight(Synthesized.from_stack(scope).to_json(), _account(), now=NOW), "agent reachable")
    assert (finding.severity, finding.message.count("by endpoints")) == ("ok", 2)


def test_a_fleet_of_many_options() -> None:
    scope = stack()
    full_fleet(scope)
    assert preflight(Synthesized.from_stack(scope).to_json(), _account(), now=NOW).findings


def test_a_spot_fleet() -> None:
    scope = stack()
    fleet(scope, instance_types=["g6.xlarge", "g5.xlarge"], max_capacity=4, purchase=Purchase.spot())
    report = preflight(Synthesized.from_stack(scope).to_json(), _account(), now=NOW)
    assert only(report, "vCPU quota").message.startswith("All G and VT Spot Instance Requests")
