"""What the library writes for reserved capacity, EFA, pools and types by attributes is what preflight looks for."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template as Synthesized

from constructs_lib import Drain, FleetNetwork, FlexibleTypes, Purchase, WarmPool
from constructs_lib.preflight import Report, preflight
from tests.preflight.fake_account import NOW, FakeAccount, machine, subnet
from tests.preflight.templates import found, only
from tests.support.stacks import fleet, stack

ASKED = "capacity reservation"
ID = "cr-0123456789abcdef0"
IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
END = datetime(2026, 12, 8, 11, 30, tzinfo=timezone.utc)
# The private subnets that the VPC of the tests says it has.
SUBNETS = ["subnet-0123456789abcdf00", "subnet-0123456789abcdf01"]
BLOCK = Purchase.capacity_block(reservation_id=ID, end=END)


def reservation(**facts: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": ID,
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 4,
        "State": "active",
        "ReservationType": "default",
        **facts,
    }


def block(**facts: Any) -> dict[str, Any]:
    return reservation(ReservationType="capacity-block", EndDate=END, **facts)


def report(*reservations: dict[str, Any], now: datetime = NOW, **arguments: Any) -> Report:
    scope = stack()
    fleet(scope, **{"instance_types": "p5.48xlarge", "max_capacity": 4, **arguments})
    account = FakeAccount(
        parameters={IMAGE: "ami-1"},
        reservations=list(reservations),
        subnets=[subnet(SUBNETS[0]), subnet(SUBNETS[1], "us-east-1b")],
    )
    efa = {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 32}}
    p5 = machine("p5.48xlarge", 192, NetworkInfo=efa, SupportedUsageClasses=["on-demand", "spot", "capacity-block"])
    account.machines = [each for each in account.machines if each["InstanceType"] != "p5.48xlarge"] + [p5]
    return preflight(Synthesized.from_stack(scope).to_json(), account, now=now)


def one_zone() -> ec2.SubnetSelection:
    return ec2.SubnetSelection(availability_zones=["us-east-1a"])


@pytest.mark.parametrize("network", [None, FleetNetwork.efa()], ids=["standard", "efa"])
@pytest.mark.parametrize("minutes", [1, 115])
def test_case_18_a_block_of_ours_has_its_market_zone_and_end(network: FleetNetwork | None, minutes: int) -> None:
    made = report(
        block(),
        purchase=BLOCK,
        network=network,
        vpc_subnets=one_zone(),
        drain=Drain(deadline=Duration.minutes(minutes)),
    )
    finding = only(made, ASKED)
    assert (finding.severity, finding.message.startswith(f"{ID} is an active Capacity Block: 4 p5.48xlarge")) == (
        "ok",
        True,
    )
    assert not [each for each in found(made, "what the type can do") if each.severity != "ok"]
    assert "quotas of Capacity Blocks: a block that exists has passed them" in made.not_judged


def test_case_18_a_block_that_ends_before_the_fleet_was_told_is_noticed() -> None:
    early = block()
    early["EndDate"] = datetime(2026, 12, 7, 11, 30, tzinfo=timezone.utc)
    finding = only(report(early, purchase=BLOCK, vpc_subnets=one_zone()), ASKED)
    assert (finding.severity, "no scheduled action sets the group to zero before" in finding.message) == (
        "warning",
        True,
    )


def test_case_18_a_block_that_was_extended_after_the_fleet_was_told_is_noticed() -> None:
    longer = {**block(), "EndDate": END + timedelta(days=1)}
    finding = only(report(longer, purchase=BLOCK, vpc_subnets=one_zone()), ASKED)
    assert (finding.severity, finding.cure) == ("warning", "write the template for the end 2026-12-09T11:30:00Z")


def test_case_18_the_end_of_a_block_that_is_over_cannot_be_deployed() -> None:
    after = report(block(), now=END + timedelta(days=1), purchase=BLOCK, vpc_subnets=one_zone())
    finding = only(after, "scheduled action")
    assert (finding.severity, "which is past: Auto Scaling refuses it" in finding.message) == ("error", True)
    assert not found(report(block(), purchase=BLOCK, vpc_subnets=one_zone()), "scheduled action")


def test_a_block_of_ours_that_begins_later_opens_its_group_then() -> None:
    start = NOW.replace(hour=11, minute=30) + timedelta(days=2)
    later = block(State="scheduled", StartDate=start)
    purchase = Purchase.capacity_block(reservation_id=ID, start=start, end=END)
    fine = only(report(later, purchase=purchase, vpc_subnets=one_zone()), ASKED)
    assert fine.severity == "ok"
    assert fine.message.startswith(f"{ID} is from 2026-12-02 11:30 UTC on a Capacity Block: 4 p5.48xlarge")
    at_once = only(report(later, purchase=BLOCK, vpc_subnets=one_zone()), ASKED)
    assert (at_once.severity, "launches before it is active fail" in at_once.message) == ("warning", True)


def test_a_block_that_is_of_another_type_is_noticed() -> None:
    finding = only(report(block(InstanceType="p4d.24xlarge"), purchase=BLOCK, vpc_subnets=one_zone()), ASKED)
    assert (finding.severity, "is for p4d.24xlarge, the group launches p5.48xlarge" in finding.message) == (
        "error",
        True,
    )


def test_a_reservation_of_ours_is_found_in_the_group() -> None:
    purchase = Purchase.reservation(reservation_id=ID, fall_back=False)
    made = report(reservation(), purchase=purchase, vpc_subnets=one_zone())
    assert only(made, ASKED).severity == "ok"
    small = found(report(reservation(TotalInstanceCount=2), purchase=purchase, vpc_subnets=one_zone()), ASKED)
    assert [each for each in small if "2 instances are reserved and the group may grow to 4" in each.message]


def test_types_by_attributes_are_those_that_are_allowed() -> None:
    made = report(instance_types=FlexibleTypes(kind="nvidia", models=["L4"], accelerators=(1, 1)))
    assert {each.severity for each in found(made, "instance types")} <= {"ok", "unknown"}
    assert any("g6.xlarge" in each.message for each in made.findings)


def test_a_warm_pool_changes_nothing_that_is_asked() -> None:
    plain = report(instance_types="g6.xlarge")
    prepared = report(instance_types="g6.xlarge", warm_pool=WarmPool(min_size=1))
    assert {each.asked for each in prepared.findings} == {each.asked for each in plain.findings}
    assert only(prepared, "vCPU quota").severity == only(plain, "vCPU quota").severity
