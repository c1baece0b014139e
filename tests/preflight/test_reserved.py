"""Reservations and blocks exist, are active, fit the group and last."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from constructs_lib.catalog import known_types
from tests.preflight.fake_account import NOW, FakeAccount, machine
from tests.preflight.templates import ask, found, only, template

_ASKED = "capacity reservation"
_ID = "cr-0123456789abcdef0"


def _block(**facts: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": _ID,
        "ReservationType": "capacity-block",
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 4,
        "StartDate": NOW - timedelta(days=1),
        "EndDate": NOW.replace(hour=11, minute=30) + timedelta(days=3),
        **facts,
    }


def _account(*reservations: dict[str, Any], **facts: Any) -> FakeAccount:
    sold = {"SupportedUsageClasses": ["on-demand", "spot", "capacity-block"]}
    machines = [machine("p5.48xlarge", 192, **sold), machine("g6.xlarge", 4)]
    return FakeAccount(reservations=list(reservations), machines=machines, **facts)


def _document(
    market: str | None = "capacity-block",
    id: object = _ID,
    zero: str | None = "2026-12-03T10:00:00Z",
    opens: str | None = None,
    **group: Any,
) -> Any:
    launch = {
        "InstanceType": "p5.48xlarge",
        "InstanceMarketOptions": None if market is None else {"MarketType": market},
        "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": id}},
    }
    end: dict[str, Any] = {
        "Type": "AWS::AutoScaling::ScheduledAction",
        "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, "MinSize": 0, "MaxSize": 0, "StartTime": zero},
    }
    begin = {"Type": end["Type"], "Properties": {**end["Properties"], "MaxSize": 4, "StartTime": opens}}
    actions = {"End": (zero, end), "Begin": (opens, begin)}
    return template(
        group={"VPCZoneIdentifier": ["subnet-a"], **group},
        launch=launch,
        resources={id: action for id, (time, action) in actions.items() if time is not None},
    )


def test_a_block_that_fits() -> None:
    report = ask(_account(_block()), _document())
    finding = only(report, _ASKED)
    assert finding.severity == "ok"
    expected = f"{_ID} is an active Capacity Block: 4 p5.48xlarge in us-east-1a until 2026-12-03 11:30 UTC"
    assert finding.message == expected
    assert not found(report, "vCPU quota")
    assert "quotas of Capacity Blocks: a block that exists has passed them" in report.not_judged


def test_case_18_a_block_without_its_market_type() -> None:
    finding = only(ask(_account(_block()), _document(market=None)), _ASKED)
    assert finding.severity == "error"
    assert "the launch template does not say so: launches fail" in finding.message
    assert finding.cure == "set InstanceMarketOptions.MarketType to capacity-block in the launch template"


def test_case_18_the_market_type_without_a_block() -> None:
    finding = only(ask(_account(_block(ReservationType="default", EndDate=None)), _document()), _ASKED)
    assert (finding.severity, "is no Capacity Block" in finding.message) == ("error", True)
    document = _document()
    del document["Resources"]["Launch"]["Properties"]["LaunchTemplateData"]["CapacityReservationSpecification"]
    assert "names none" in only(ask(_account(), document), _ASKED).message


def test_case_18_a_block_in_another_zone() -> None:
    finding = only(ask(_account(_block(AvailabilityZone="us-east-1c")), _document()), _ASKED)
    assert finding.severity == "error"
    assert finding.message == f"{_ID} is in us-east-1c, the group launches in us-east-1a"
    document = _document()
    document["Resources"]["Group"]["Properties"]["VPCZoneIdentifier"].append("subnet-b")
    finding = only(ask(_account(_block()), document), _ASKED)
    assert (finding.severity, "launches in subnet-b cannot use it" in finding.message) == ("warning", True)


def test_case_18_a_block_that_ends_under_the_group() -> None:
    for zero in (None, "2026-12-03T11:15:00Z", "2026-11-01T00:00:00Z", "soon"):
        finding = only(ask(_account(_block()), _document(zero=zero)), _ASKED)
        assert finding.severity == "warning"
        assert "ends at 2026-12-03 11:30 UTC, EC2 terminates its instances from 11:00 on" in finding.message
        assert ("written for another end" in finding.message) == (zero == "2026-12-03T11:15:00Z")
        assert finding.cure == "schedule size zero, long enough for a drain before 2026-12-03T11:00:00Z"


@pytest.mark.parametrize("type_", ["p6e-gb200.36xlarge", "trn2u.48xlarge"])
def test_case_18_an_ultra_server_leaves_as_long_before_as_the_catalogue_says(type_: str) -> None:
    minutes = known_types()[type_].block_end_minutes
    assert minutes == 60
    finding = found(ask(_account(_block(InstanceType=type_)), _document(zero=None)), _ASKED)[-1]
    assert "EC2 terminates its instances from 10:30 on" in finding.message


def test_case_18_a_block_that_was_extended_is_not_used_to_its_end() -> None:
    """Blocks are extended by whole days, and the template still has the end that it was written for."""
    longer = _block(EndDate=NOW.replace(hour=11, minute=30) + timedelta(days=4))
    finding = only(ask(_account(longer), _document()), _ASKED)
    assert (finding.severity, finding.cure) == ("warning", "write the template for the end 2026-12-04T11:30:00Z")
    assert "ends at 2026-12-04 11:30 UTC, and the template sets the group to zero at 2026-12-03 10:00 UTC" in (
        finding.message
    )


@pytest.mark.parametrize(
    ("opens", "said"),
    [
        ("2026-12-02T12:00:00Z", None),
        ("2026-12-02T12:05:00Z", None),
        ("2026-12-03T12:00:00Z", "keeps the group at zero until 2026-12-03 12:00 UTC"),
        ("2026-12-02T11:59:00Z", "launches before it is active fail"),
        (None, "launches before it is active fail"),
    ],
)
def test_a_block_in_the_future_and_when_the_template_opens_its_group(opens: str | None, said: str | None) -> None:
    block = _block(State="scheduled", StartDate=NOW + timedelta(days=2))
    document = _document(opens=opens, MaxSize="0")
    findings = [each for each in found(ask(_account(block), document), _ASKED) if each.severity != "ok"]
    assert [said is not None and said in each.message for each in findings] == ([] if said is None else [True])
    at_once = found(ask(_account(block), _document(opens=opens)), _ASKED)
    assert "launches before it is active fail" in at_once[0].message


@pytest.mark.parametrize(("start", "refused"), [("2026-11-30T11:59:00Z", True), ("2026-11-30T12:01:00Z", False)])
def test_case_18_an_action_in_the_past_is_one_that_auto_scaling_refuses(start: str, refused: bool) -> None:
    findings = found(ask(_account(_block()), _document(zero=start)), "scheduled action")
    assert [each.severity for each in findings] == (["error"] if refused else [])
    for each in findings:
        assert each.message.startswith("End is scheduled for 2026-11-30 11:59 UTC, which is past")
        assert "one that has not ended" in each.cure


def test_a_schedule_that_began_in_the_past_is_refused_too() -> None:
    document = _document()
    document["Resources"]["End"]["Properties"].update({"StartTime": "2026-11-01T00:00:00Z", "Recurrence": "0 1 * * *"})
    (finding,) = found(ask(_account(_block()), document), "scheduled action")
    assert finding.cure == "write a time that is still to come, or leave StartTime out"
    assert (
        "no scheduled action sets the group to zero before" in only(ask(_account(_block()), document), _ASKED).message
    )


def test_an_ultra_server_ends_an_hour_early() -> None:
    block = _block(InstanceType="p6e-gb200.36xlarge")
    findings = found(ask(_account(block), _document(zero="2026-12-03T10:45:00Z")), _ASKED)
    assert any("EC2 terminates its instances from 10:30 on" in finding.message for finding in findings)


def test_a_block_that_is_ending() -> None:
    finding = only(ask(_account(_block(EndDate=NOW + timedelta(minutes=20))), _document()), _ASKED)
    assert (finding.severity, "are being terminated" in finding.message) == ("error", True)


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        ("scheduled", "warning"),
        ("payment-pending", "warning"),
        ("expired", "error"),
        ("cancelled", "error"),
        ("payment-failed", "error"),
        ("something-new", "error"),
    ],
)
def test_states(state: str, severity: str) -> None:
    finding = only(ask(_account(_block(State=state)), _document()), _ASKED)
    assert finding.severity == severity
    assert state in finding.message


def test_a_block_in_the_future_says_from_when() -> None:
    start = NOW + timedelta(days=2)
    finding = only(ask(_account(_block(State="scheduled", StartDate=start)), _document()), _ASKED)
    assert "scheduled, from 2026-12-02 12:00 UTC on" in finding.message


def test_another_type_than_reserved() -> None:
    finding = only(ask(_account(_block(InstanceType="p4d.24xlarge")), _document()), _ASKED)
    assert finding.message == f"{_ID} is for p4d.24xlarge, the group launches p5.48xlarge"


def test_fewer_instances_than_the_group_may_want() -> None:
    findings = found(ask(_account(_block(TotalInstanceCount=2)), _document()), _ASKED)
    assert findings[0].message == "2 instances are reserved and the group may grow to 4: launches beyond them fail"


def test_a_reservation_that_does_not_exist() -> None:
    finding = only(ask(_account(), _document()), _ASKED)
    assert finding.severity == "error"
    assert finding.commands == ("aws ec2 describe-capacity-reservations --region us-east-1",)


def test_a_reservation_that_the_template_does_not_tell() -> None:
    document = _document(id={"Ref": "Block"})
    document["Parameters"] = {"Block": {"Type": "String"}}
    finding = only(ask(_account(_block()), document), _ASKED)
    assert (finding.severity, finding.cure) == ("unknown", "pass --parameter Block=VALUE")
    assert only(ask(_account(_block()), document, parameters={"Block": _ID}), _ASKED).severity == "ok"


def _aimed_at_a_group(arn: object) -> Any:
    target = {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": [arn]},
    }
    return template(group={"CapacityReservationSpecification": target, "VPCZoneIdentifier": ["subnet-a"]})


def test_a_resource_group_of_reservations() -> None:
    arn = "arn:aws:resource-groups:us-east-1:111122223333:group/gpus"
    member = f"arn:aws:ec2:us-east-1:111122223333:capacity-reservation/{_ID}"
    reservation = _block(ReservationType="default", InstanceType="g6.xlarge", EndDate=None)
    assert "holds no capacity reservation" in only(ask(_account(), _aimed_at_a_group(arn)), _ASKED).message
    report = ask(_account(reservation, group_members=["arn:aws:s3:::x", member], page=1), _aimed_at_a_group(arn))
    assert only(report, _ASKED).severity == "ok"
    document = _aimed_at_a_group({"Ref": "Unset"})
    document["Parameters"] = {"Unset": {"Type": "String"}}
    assert only(ask(_account(), document), _ASKED).severity == "unknown"


def test_what_the_deploy_reserves_is_not_asked_about() -> None:
    document = _aimed_at_a_group({"Fn::GetAtt": ["Gpus", "Arn"]})
    document["Resources"]["Gpus"] = {"Type": "AWS::ResourceGroups::Group"}
    assert not found(ask(_account(), document), _ASKED)
