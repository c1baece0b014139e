"""What a run costs: hours by hand times list prices that are written down here from the tables' sources."""

from __future__ import annotations

import pytest

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cost import Prices, region_of, usd
from constructs_lib.rehearsal.record import InstanceRecord, Market, Record

_HOUR = 3_600.0


def _record(*instances: InstanceRecord, end_s: float = 10 * _HOUR) -> Record:
    return Record(fleet="Fleet", accelerators=1, minimum=0, maximum=8, jobs=[], instances=list(instances), end_s=end_s)


def _instance(
    begin_s: float, end_s: float | None, *, name: str = "g5.xlarge", market: Market = "on-demand"
) -> InstanceRecord:
    return InstanceRecord(id="i-1", instance_type=name, market=market, launched_s=begin_s, ended_s=end_s)


def test_an_hour_on_demand_is_the_list_price() -> None:
    # g5.xlarge in us-east-1 on 2026-07-20: 1.006 USD.
    cost = usd(_record(_instance(600, 600 + _HOUR)), region="us-east-1")
    assert cost.usd == pytest.approx(1.006)
    assert cost.on_demand_usd == pytest.approx(1.006)
    assert cost.spot_usd == 0
    assert cost.notes == (
        "g5.xlarge On-Demand in us-east-1: 1.006 USD an hour, list price of 2026-07-20",
        "volumes, traffic, metrics and functions are not counted",
    )


def test_spot_is_what_the_advisor_saw_saved() -> None:
    # g5.xlarge in us-east-1 on 2025-06-28: 59 % off.
    cost = usd(_record(_instance(0, 2 * _HOUR, market="spot")), region="us-east-1")
    assert cost.spot_usd == pytest.approx(2 * 1.006 * 0.41)
    assert cost.usd == cost.spot_usd
    assert "less the 59% that Spot saved on 2025-06-28" in cost.notes[0]


def test_markets_and_types_add_up() -> None:
    record = _record(
        _instance(0, _HOUR),
        _instance(0, _HOUR, market="spot"),
        _instance(0, _HOUR / 2, name="g6.xlarge"),
    )
    cost = usd(record, region="us-east-1")
    assert cost.on_demand_usd == pytest.approx(1.006 + 0.8048 / 2)
    assert cost.usd == pytest.approx(1.006 + 0.8048 / 2 + 1.006 * 0.41)


def test_each_start_is_billed_for_a_minute_at_least_and_then_by_the_second() -> None:
    record = _record(_instance(0, 10), _instance(100, 160), _instance(200, 261))
    cost = usd(record, region="us-east-1", usd_per_hour=3.6)
    assert cost.usd == pytest.approx(0.001 * (60 + 60 + 61))


def test_what_is_still_there_is_paid_until_the_end_of_the_run() -> None:
    cost = usd(_record(_instance(0, None), end_s=5 * _HOUR), region="us-east-1")
    assert cost.usd == pytest.approx(5 * 1.006)


def test_a_price_that_was_given_goes_before_whatever_the_market() -> None:
    record = _record(_instance(0, _HOUR, market="spot"), _instance(0, _HOUR, name="x9.mega"))
    cost = usd(record, region="nowhere-1", usd_per_hour=2.5)
    assert cost.usd == pytest.approx(5.0)
    assert cost.notes[0] == "2.5 USD for an hour of an instance, as given"


def test_without_a_price_the_cost_is_not_told() -> None:
    cost = usd(_record(_instance(0, _HOUR), _instance(0, _HOUR, name="p5e.48xlarge")), region="us-east-1")
    assert cost.usd is None
    assert cost.on_demand_usd is None
    assert cost.spot_usd == 0
    assert (
        "p5e.48xlarge On-Demand in us-east-1: no price is known, give the USD for an hour of an instance" in cost.notes
    )


def test_an_estimated_price_is_called_so() -> None:
    # Elsewhere the new price of p4d is reckoned from the old ratio.
    basis = Prices(region="eu-west-1").hourly("p4d.24xlarge", "on-demand").basis
    assert "estimated from the list of" in basis


def test_spot_without_a_known_saving_costs_the_list_price_at_most() -> None:
    # 3.36312 USD On-Demand; the advisor's copy of June 2025 is older than the type.
    hourly = Prices(region="us-east-1").hourly("g7e.2xlarge", "spot")
    assert hourly.usd == pytest.approx(3.36312)
    assert "since no saving of Spot is known" in hourly.basis


def test_nothing_ran_and_nothing_is_paid() -> None:
    cost = usd(_record(), region="us-east-1")
    assert cost.usd == 0


@pytest.mark.parametrize(
    ("region", "price", "message"),
    [
        ("", None, "Prices: region must be a text"),
        ("us-east-1", -1.0, "Prices: usd_per_hour must be a number at least 0"),
        ("us-east-1", float("inf"), "Prices: usd_per_hour must be a number"),
    ],
    ids=["no-region", "negative", "infinite"],
)
def test_bad_input_is_refused(region: str, price: float | None, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        usd(_record(), region=region, usd_per_hour=price)


def test_a_template_tells_its_region_by_its_zones_or_its_assets() -> None:
    def with_properties(**properties: object) -> dict[str, object]:
        return {"Resources": {"Thing": {"Type": "AWS::EC2::Subnet", "Properties": properties}}}

    assert region_of(with_properties(AvailabilityZone="eu-west-1b")) == "eu-west-1"
    assert region_of(with_properties(AvailabilityZones=["ap-southeast-2a", "ap-southeast-2c"])) == "ap-southeast-2"
    assert region_of(with_properties(S3Bucket="cdk-hnb659fds-assets-111122223333-us-gov-west-1")) == "us-gov-west-1"
    assert region_of(with_properties(AvailabilityZone={"Fn::Select": [0, {"Fn::GetAZs": ""}]})) is None
    assert region_of(with_properties(Name="eu-west-1b")) is None
