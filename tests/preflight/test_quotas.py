"""Quotas are counted in vCPUs at the largest size, by market, with what is in use."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib.catalog import known_types, tables
from constructs_lib.preflight.plan import FLEET_TAG
from constructs_lib.preflight.quotas import class_of
from constructs_lib.telemetry import names
from tests.preflight.fake_account import FakeAccount, machine, quota, refusal
from tests.preflight.templates import LAUNCH_TEMPLATE, ask, found, mixed, only, template

_QUOTA = "vCPU quota"
_G = "Running On-Demand G and VT instances"


def _account(*quotas: tuple[str, float], **facts: Any) -> FakeAccount:
    return FakeAccount(quotas=[quota(name, value, "L-DB2E81BA") for name, value in quotas], **facts)


@pytest.mark.parametrize(
    ("instance_type", "kind"),
    [
        ("g6.xlarge", "G"),
        ("gr6f.4xlarge", "G"),
        ("vt1.3xlarge", "G"),
        ("p6-b200.48xlarge", "P"),
        ("p6e-gb200.36xlarge", "P"),
        ("inf2.xlarge", "Inf"),
        ("trn1n.32xlarge", "Trn"),
        ("dl2q.24xlarge", "DL"),
        ("f2.6xlarge", "F"),
        ("hpc7g.4xlarge", "HPC"),
        ("x2idn.16xlarge", "X"),
        ("u7i-12tb.224xlarge", "High"),
        ("m7i.large", "Standard"),
        ("im4gn.large", "Standard"),
        ("c8g.large", "Standard"),
        ("mac2.metal", None),
        ("q1.large", None),
        ("", None),
    ],
)
def test_class_of_a_type(instance_type: str, kind: str | None) -> None:
    assert class_of(instance_type) == kind


@pytest.mark.parametrize("name", [*known_types()])
def test_every_type_of_the_catalogue_counts_towards_a_quota(name: str) -> None:
    assert class_of(name)


def test_the_table_of_classes_names_source_and_date() -> None:
    text = (tables.SHIPPED / "quota_classes.csv").read_text(encoding="utf-8")
    assert "# Source: " in text
    assert "2026" in text
    assert {row["match"] for row in tables.read("quota_classes.csv")} == {"all", "first"}


def test_case_43_a_new_account_has_no_quota_at_all() -> None:
    finding = only(ask(_account((_G, 0))), _QUOTA)
    assert finding.severity == "error"
    assert "the quota is 0 vCPUs" in finding.message
    assert "at the largest size 4 instances need 16 vCPUs; not one instance can start" in finding.message
    (command,) = finding.commands
    assert command == (
        "aws service-quotas request-service-quota-increase --region us-east-1 --service-code ec2 "
        "--quota-code L-DB2E81BA --desired-value 16"
    )


@pytest.mark.parametrize(
    ("value", "severity", "said"),
    [
        (3.0, "error", "not one instance can start"),
        (4.0, "error", "that is enough for 1"),
        (15.0, "error", "that is enough for 3"),
        (16.0, "ok", "16 are left"),
    ],
)
def test_the_largest_size_decides(value: float, severity: str, said: str) -> None:
    finding = only(ask(_account((_G, value))), _QUOTA)
    assert finding.severity == severity
    assert finding.message.endswith(said)


def test_what_is_in_use_is_taken_off_by_market_and_class() -> None:
    account = _account(
        (_G, 24),
        instances=[
            {"InstanceType": "g5.xlarge"},
            {"InstanceType": "g6.12xlarge", "InstanceLifecycle": "spot"},
            {"InstanceType": "m7i.large"},
            {"InstanceType": "g5.xlarge", "Placement": {"Tenancy": "host"}},
            {"InstanceType": "p5.48xlarge", "InstanceLifecycle": "capacity-block"},
            {"InstanceType": "g9.huge", "CpuOptions": {"CoreCount": 4, "ThreadsPerCore": 2}},
        ],
    )
    finding = only(ask(account), _QUOTA)
    assert finding.severity == "warning"
    assert "24 vCPUs, 12 in use" in finding.message
    assert "12 are left, enough for 3, unless what is in use is this fleet's own" in finding.message
    assert finding.commands[0].endswith("--desired-value 28")


def test_nothing_left_is_said() -> None:
    account = _account((_G, 16), instances=[{"InstanceType": "g6.xlarge"}] * 4)
    finding = only(ask(account), _QUOTA)
    assert (finding.severity, "nothing is left" in finding.message) == ("warning", True)


def test_unused_reservations_of_the_account_count_too() -> None:
    reservation = {
        "CapacityReservationId": "cr-1",
        "State": "active",
        "InstanceType": "g6.xlarge",
        "AvailableInstanceCount": 3,
        "OwnerId": "111122223333",
    }
    others = [
        {**reservation, "OwnerId": "999999999999"},
        {**reservation, "ReservationType": "capacity-block"},
        {**reservation, "InstanceType": "m7i.large"},
    ]
    finding = only(ask(_account((_G, 30), reservations=[reservation, *others])), _QUOTA)
    assert "12 in use (12 of them kept by capacity reservations)" in finding.message
    assert finding.severity == "ok"


def test_on_demand_and_spot_have_quotas_of_their_own() -> None:
    group = mixed("g6.xlarge", "g5.xlarge", OnDemandBaseCapacity=1, OnDemandPercentageAboveBaseCapacity=50)
    report = ask(_account((_G, 64), ("All G and VT Spot Instance Requests", 0)), template(group=group))
    on_demand, spot = sorted(found(report, _QUOTA), key=lambda finding: finding.severity != "ok")
    assert "at the largest size 3 instances need 12 vCPUs" in on_demand.message  # 1 + half of 3, rounded up
    assert spot.severity == "error"
    assert "at the largest size 1 instances need 4 vCPUs" in spot.message


def test_spot_asked_for_by_the_launch_template_is_spot() -> None:
    launch = {"InstanceMarketOptions": {"MarketType": "spot"}}
    finding = only(ask(document=template(launch=launch)), _QUOTA)
    assert finding.message.startswith("All G and VT Spot Instance Requests")


def test_a_group_with_types_of_another_class_is_only_warned() -> None:
    report = ask(
        _account((_G, 64), ("Running On-Demand P instances", 0)), template(group=mixed("g6.xlarge", "p5.48xlarge"))
    )
    findings = {finding.severity: finding for finding in found(report, _QUOTA)}
    assert set(findings) == {"ok", "warning"}
    assert "not one instance can start" in findings["warning"].message


def test_a_group_of_which_no_class_can_start_is_an_error() -> None:
    account = _account((_G, 3), ("Running On-Demand P instances", 0))
    findings = found(ask(account, template(group=mixed("g6.xlarge", "p5.48xlarge"))), _QUOTA)
    assert [finding.severity for finding in findings] == ["error", "error"]


def test_a_fleets_own_instances_are_not_in_the_way_of_its_next_deploy() -> None:
    assert FLEET_TAG == names.FLEET_TAG
    tags = [{"Key": FLEET_TAG, "Value": "Stack/Fleet"}, {"Key": "Name", "Value": "x"}]
    launch = {"TagSpecifications": [{"ResourceType": "volume"}, {"ResourceType": "instance", "Tags": tags[::-1]}]}
    others = [{"Key": FLEET_TAG, "Value": "Stack/Other"}]
    instances = [
        {"InstanceType": "g6.xlarge", "Tags": tags},
        {"InstanceType": "g6.xlarge", "Tags": others},
        {"InstanceType": "g6.xlarge"},
    ]
    finding = only(ask(_account((_G, 24), instances=instances), template(launch=launch)), _QUOTA)
    assert (finding.severity, "24 vCPUs, 8 in use" in finding.message) == ("ok", True)


def test_types_of_several_sizes_have_a_range() -> None:
    report = ask(_account((_G, 64)), template(group=mixed("g6.xlarge", "g6.12xlarge")))
    finding = only(report, _QUOTA)
    assert finding.severity == "warning"
    assert "need 16 to 192 vCPUs; 64 are left: enough with the smallest types, not with the largest" in finding.message


def test_weights_are_taken_into_account() -> None:
    group = {**mixed("g6.xlarge", "g6.12xlarge", weights={"g6.xlarge": "1", "g6.12xlarge": "4"}), "MaxSize": "4"}
    assert "need 16 to 48 vCPUs" in only(ask(document=template(group=group)), _QUOTA).message


def test_a_group_that_counts_vcpus() -> None:
    group = {**mixed("g6.xlarge"), "MaxSize": "10", "DesiredCapacityType": "vcpu"}
    assert "at the largest size 3 instances need 12 vCPUs" in only(ask(document=template(group=group)), _QUOTA).message


def test_a_group_that_counts_memory_is_not_guessed_at() -> None:
    group = {**mixed("g6.xlarge"), "DesiredCapacityType": "memory-mib"}
    assert only(ask(document=template(group=group)), _QUOTA).severity == "unknown"


def test_groups_share_a_quota() -> None:
    second = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"MaxSize": "13", "LaunchTemplate": LAUNCH_TEMPLATE, "VPCZoneIdentifier": ["subnet-a"]},
    }
    finding = only(ask(document=template(resources={"Other": second})), _QUOTA)
    assert finding.resource == "Group, Other"
    assert finding.severity == "error"
    assert "at the largest size 17 instances need 68 vCPUs" in finding.message


def test_generations_with_a_quota_of_their_own() -> None:
    """Spot requests for P types have one quota for each generation."""
    spot: Any = {"OnDemandPercentageAboveBaseCapacity": 0}
    older = only(ask(document=template(group={**mixed("p4d.24xlarge", **spot), "MaxSize": "1"})), _QUOTA)
    newer = only(ask(document=template(group={**mixed("p5.48xlarge", **spot), "MaxSize": "1"})), _QUOTA)
    assert (older.severity, older.message.split(":")[0]) == ("ok", "All P4, P3 and P2 Spot Instance Requests")
    assert (newer.severity, newer.message.split(":")[0]) == ("error", "All P5 Spot Instance Requests")


def test_a_quota_that_is_not_listed_is_unknown() -> None:
    account = FakeAccount()
    account.machines.append(machine("p9.48xlarge", 96))
    group = mixed("p9.48xlarge", OnDemandPercentageAboveBaseCapacity=0)
    finding = only(ask(account, template(group=group)), _QUOTA)
    assert finding.severity == "unknown"
    assert finding.message == "Service Quotas lists no Spot quota of EC2 for p9 types"
    assert finding.commands == ("aws service-quotas list-service-quotas --region us-east-1 --service-code ec2",)


def test_a_quota_that_was_never_changed_is_among_the_defaults() -> None:
    finding = only(ask(document=template(launch={"InstanceType": "trn1.2xlarge"})), _QUOTA)
    assert finding.severity == "error"
    assert finding.message.startswith("Running On-Demand Trn instances: the quota is 0 vCPUs")


def test_pages_are_read_to_the_end() -> None:
    account = FakeAccount(page=1, instances=[{"InstanceType": "g6.xlarge"}] * 3)
    assert "64 vCPUs, 12 in use" in only(ask(account), _QUOTA).message


def test_a_class_that_nobody_knows_is_unknown() -> None:
    account = FakeAccount()
    account.machines.append(machine("q1.large", 2))
    finding = only(ask(account, template(launch={"InstanceType": "q1.large"})), _QUOTA)
    assert finding.severity == "unknown"
    assert "which quota q1.large counts towards is not known" in finding.message


def test_a_size_that_only_the_deploy_settles() -> None:
    document = template(group={"MaxSize": {"Ref": "Most"}}, Parameters={"Most": {"Type": "Number"}})
    assert only(ask(document=document), _QUOTA).severity == "unknown"
    assert only(ask(document=document, parameters={"Most": "40"}), _QUOTA).severity == "error"


def test_a_schedule_may_raise_the_largest_size() -> None:
    action = {
        "Type": "AWS::AutoScaling::ScheduledAction",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "MaxSize": "32", "Recurrence": "0 8 * * *"},
    }
    assert only(ask(document=template(resources={"Morning": action})), _QUOTA).severity == "error"


@pytest.mark.parametrize(("state", "instances"), [("Running", 6), ("Stopped", 4)])
def test_only_running_instances_of_a_warm_pool_count(state: str, instances: int) -> None:
    pool = {
        "Type": "AWS::AutoScaling::WarmPool",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "PoolState": state, "MaxGroupPreparedCapacity": 6},
    }
    finding = only(ask(document=template(resources={"Pool": pool})), _QUOTA)
    assert f"at the largest size {instances} instances need" in finding.message


def test_what_is_reserved_has_been_counted() -> None:
    reservation = {
        "CapacityReservationId": "cr-1",
        "State": "active",
        "InstanceType": "g6.xlarge",
        "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 3,
        "AvailableInstanceCount": 0,
    }
    target = {
        "CapacityReservationPreference": "capacity-reservations-first",
        "CapacityReservationTarget": {"CapacityReservationIds": ["cr-1"]},
    }
    group = {"CapacityReservationSpecification": target}
    finding = only(ask(FakeAccount(reservations=[reservation]), template(group=group)), _QUOTA)
    assert "at the largest size 1 instances need 4 vCPUs" in finding.message
    group["CapacityReservationSpecification"]["CapacityReservationPreference"] = "capacity-reservations-only"
    assert not found(ask(FakeAccount(reservations=[reservation]), template(group=group)), _QUOTA)


def test_enough_is_not_said_while_what_is_in_use_is_not_known() -> None:
    account = FakeAccount(refused={"describe_instances": refusal("UnauthorizedOperation")})
    report = ask(account)
    assert not found(report, _QUOTA)
    assert only(report, "vCPU quota in use").severity == "unknown"
    account = _account((_G, 0), refused={"describe_capacity_reservations": refusal("UnauthorizedOperation")})
    report = ask(account)
    assert only(report, _QUOTA).severity == "error"
    assert "0 in use as far as is known" in only(report, _QUOTA).message


def test_types_that_attributes_stand_for_are_counted() -> None:
    group = mixed()
    group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = [
        {"InstanceRequirements": {"VCpuCount": {"Min": "4"}, "MemoryMiB": {"Min": 1}, "BareMetal": "excluded"}}
    ]
    document = template(group=group, launch={"InstanceType": None})
    assert "need 16 vCPUs" in only(ask(document=document), _QUOTA).message
