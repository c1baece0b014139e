"""Types by what they have: what is checked is what may start, and price protection takes nothing from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from aws_cdk.assertions import Annotations, Match

from constructs_lib import (
    AcceleratedType,
    ArgumentError,
    FleetImage,
    FlexibleTypes,
    OnDemandAllocation,
    Purchase,
    SpotAllocation,
    UnsupportedInstanceTypeError,
    WarmPool,
)
from constructs_lib.catalog import known_types
from tests.constructs.purchasing import findings, group_of, launch_data, told
from tests.constructs.reading import properties
from tests.support.stacks import fleet, fleet_template, stack

L4 = FlexibleTypes(kind="nvidia", accelerators=1, models=["L4"])
IMAGE = FleetImage.from_ssm_parameter("/golden/ami")
L4_BELOW_20_USD = FlexibleTypes(kind="nvidia", accelerators=1, models=["L4"], usd_per_hour=20)


def names(**arguments: Any) -> list[str]:
    return [each.name for each in FlexibleTypes(**{"kind": "nvidia", **arguments}).types()]


def policy(**arguments: Any) -> dict[str, Any]:
    made = fleet_template(**{"instance_types": L4, **arguments})
    assert findings(made) == []
    return dict(group_of(made)["MixedInstancesPolicy"])


def test_the_group_may_start_what_was_checked_and_nothing_else() -> None:
    (override,) = policy()["LaunchTemplate"]["Overrides"]
    assert set(override) == {"InstanceRequirements"}
    requirements = override["InstanceRequirements"]
    assert requirements["AllowedInstanceTypes"] == [each.name for each in L4.types()]
    # Both are required, and neither may drop a type of the list.
    assert requirements["VCpuCount"] == {"Min": min(each.vcpus or 0 for each in L4.types())}
    assert requirements["MemoryMiB"] == {"Min": min(each.memory_mib or 0 for each in L4.types())}
    # Their lists of values lack newer accelerators.
    assert not [name for name in requirements if name.startswith("Accelerator")]
    assert "ExcludedInstanceTypes" not in requirements


def test_price_protection_is_off_since_it_drops_most_types_with_an_accelerator() -> None:
    (override,) = policy(purchase=Purchase.spot())["LaunchTemplate"]["Overrides"]
    requirements = override["InstanceRequirements"]
    assert requirements["OnDemandMaxPricePercentageOverLowestPrice"] == 999_999
    assert requirements["SpotMaxPricePercentageOverLowestPrice"] == 999_999


@pytest.mark.parametrize("purchase", [Purchase.on_demand(), Purchase.spot(), Purchase.mixed(on_demand_base=1)])
def test_on_demand_is_the_cheapest_as_aws_demands_of_such_a_group(purchase: Purchase) -> None:
    assert policy(purchase=purchase)["InstancesDistribution"]["OnDemandAllocationStrategy"] == "lowest-price"


def test_one_type_that_fits_is_a_choice_by_attributes_all_the_same() -> None:
    only = FlexibleTypes(kind="nvidia", models=["L4"], accelerators=1, vcpus=(4, 4), memory_mib=(1, 16_384))
    assert [each.name for each in only.types()] == ["g6.xlarge"]
    made = fleet_template(instance_types=only)
    assert "LaunchTemplate" not in group_of(made)
    assert "InstanceType" not in launch_data(made)


def test_a_pool_of_several_types_gets_no_warning() -> None:
    assert told(instance_types=L4_BELOW_20_USD, purchase=Purchase.spot()) == []


# --- price ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 20, 55.04])
def test_no_type_costs_more_than_the_bound_or_has_a_price_that_nobody_knows(most: float) -> None:
    asked: dict[str, Any] = {"kind": "nvidia", "accelerators": 1, "accelerator_memory_mib": 20_000}
    bounded, all_of_them = FlexibleTypes(**asked, usd_per_hour=most).types(), FlexibleTypes(**asked).types()
    assert [each.usd_per_hour for each in all_of_them][-1] is None
    assert bounded == tuple(each for each in all_of_them if each.usd_per_hour is not None and each.usd_per_hour <= most)
    made = fleet_template(instance_types=FlexibleTypes(**asked, usd_per_hour=most))
    (override,) = group_of(made)["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]
    assert override["InstanceRequirements"]["AllowedInstanceTypes"] == [each.name for each in bounded]


def warning(**arguments: Any) -> str:
    """What is said of a fleet's prices."""
    test_stack = stack()
    fleet(test_stack, **arguments)
    found = Annotations.from_stack(test_stack).find_warning("*", Match.string_like_regexp(".*fleet:DearTypes.*"))
    return "".join(str(each.entry.data) for each in found)


def test_without_a_bound_the_dearest_type_is_named_with_its_price() -> None:
    asked = FlexibleTypes(kind="nvidia", accelerators=1, accelerator_memory_mib=20_000)
    said = warning(instance_types=asked)
    assert "up to p6-b300.48xlarge for 142.42 USD an hour" in said
    assert "p5e.48xlarge, whose price the list lacks" in said
    assert "usd_per_hour=" in said
    assert told(instance_types=asked) == ["DearTypes"]


def test_with_a_bound_or_with_one_type_alone_there_is_nothing_to_say() -> None:
    assert warning(instance_types=L4_BELOW_20_USD) == ""
    assert (
        warning(instance_types=FlexibleTypes(kind="nvidia", models=["L4"], vcpus=(4, 4), memory_mib=(1, 16_384))) == ""
    )
    assert warning(instance_types=["g6.xlarge", "p5.48xlarge"]) == ""


# --- what the purchase never sells ----------------------------------------------------------------


NO_SPOT = AcceleratedType(
    name="g9.48xlarge",
    kind="nvidia",
    model="R10",
    accelerators=8,
    accelerator_memory_mib=98_304,
    architecture="x86_64",
    vcpus=192,
    memory_mib=2_097_152,
    usd_per_hour=80,
    spot=False,
)


@pytest.fixture
def _one_without_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**known_types(), NO_SPOT.name: NO_SPOT}
    monkeypatch.setattr("constructs_lib.fleet.flexible_types.known_types", lambda: known)


@pytest.mark.usefixtures("_one_without_spot")
@pytest.mark.parametrize("purchase", [Purchase.spot(), Purchase.mixed(on_demand_base=1)], ids=["spot", "mixed"])
def test_what_is_never_sold_so_is_left_out(purchase: Purchase) -> None:
    asked = FlexibleTypes(kind="nvidia", models=["L4", "R10"], accelerators=8)

    def allowed(**arguments: Any) -> list[str]:
        (override,) = policy(instance_types=asked, **arguments)["LaunchTemplate"]["Overrides"]
        return list(override["InstanceRequirements"]["AllowedInstanceTypes"])

    assert allowed() == ["g6.48xlarge", "g9.48xlarge"]
    assert allowed(purchase=purchase) == ["g6.48xlarge"]
    # It is named no more either.
    assert "g9.48xlarge" in warning(instance_types=asked)
    assert warning(instance_types=asked, purchase=purchase) == ""


@pytest.mark.usefixtures("_one_without_spot")
def test_if_nothing_that_fits_is_sold_so_it_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"instance_types must be of types that AWS sells as Spot, got \['g9.48x"):
        fleet_template(instance_types=FlexibleTypes(kind="nvidia", models=["R10"]), purchase=Purchase.spot())


@pytest.mark.parametrize(
    "asked", [FlexibleTypes(kind="neuron"), FlexibleTypes(kind="nvidia", architecture="arm64")], ids=["neuron", "arm64"]
)
def test_spot_of_every_kind_that_has_some(asked: FlexibleTypes) -> None:
    made = fleet_template(instance_types=asked, purchase=Purchase.spot(), image=IMAGE)
    (override,) = group_of(made)["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]
    sold = [each.name for each in asked.types() if each.spot is not False]
    assert override["InstanceRequirements"]["AllowedInstanceTypes"] == sold


def test_the_release_function_knows_the_price_of_each() -> None:
    made = fleet_template(instance_types=L4)
    variables = properties(made, "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    assert all(each.name in variables["TYPE_USD_PER_HOUR"] for each in L4.types() if each.usd_per_hour)


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"accelerators": (4, 4)}, lambda each: each.accelerators == 4),
        ({"accelerators": 8}, lambda each: each.accelerators >= 8),
        ({"accelerator_memory_mib": (40_000, 50_000)}, lambda each: 40_000 <= each.accelerator_memory_mib <= 50_000),
        ({"vcpus": (1, 8)}, lambda each: each.vcpus <= 8),
        ({"memory_mib": (1_000_000, None)}, lambda each: each.memory_mib >= 1_000_000),
        ({"models": ["H100", "H200"]}, lambda each: each.model in ("H100", "H200")),
        ({"architecture": "arm64"}, lambda each: each.architecture == "arm64"),
        ({"fractions": True}, lambda each: True),
        ({"exclude": ["g6*", "p5.48xlarge"]}, lambda each: each.family[:2] != "g6" and each.name != "p5.48xlarge"),
    ],
)
def test_all_that_fit_and_no_other(arguments: dict[str, Any], fits: Any) -> None:
    found = FlexibleTypes(**{"kind": "nvidia", **arguments}).types()
    assert found
    assert all(fits(each) for each in found)
    asked = FlexibleTypes(**{"kind": "nvidia", **arguments})
    left = [
        each
        for each in known_types().values()
        if each.kind == "nvidia"
        and each.architecture == asked.architecture
        and each.status == "current"
        and each.on_demand is not False
        and each.driver == "open"
        and (each.fraction is None or asked.fractions)
        and fits(each)
    ]
    assert {each.name for each in found} == {each.name for each in left}


def test_the_cheapest_first_and_the_same_each_time() -> None:
    prices = [each.usd_per_hour for each in FlexibleTypes(kind="nvidia").types() if each.usd_per_hour is not None]
    assert prices == sorted(prices)
    assert names() == names()


def test_older_generations_only_when_asked_for() -> None:
    older = set(names(previous_generations=True)) - set(names())
    assert all(known_types()[each].status == "previous" for each in older)
    assert all(known_types()[each].status == "current" for each in names())


@pytest.mark.parametrize("kind", ["nvidia", "neuron", "amd", "gaudi", "fpga", "media"])
def test_no_retired_type_and_no_mix_of_drivers(kind: str) -> None:
    types = FlexibleTypes(kind=kind, previous_generations=True).types()
    assert len({each.driver for each in types}) == 1
    assert all(each.status != "retired" for each in types)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"purchase": Purchase.spot(allocation=SpotAllocation.RANKED)},
            "purchase.allocation must not be RANKED for types that are chosen by their attributes",
        ),
        (
            {"purchase": Purchase.on_demand(allocation=OnDemandAllocation.RANKED)},
            "purchase.allocation must not be RANKED",
        ),
        (
            {"purchase": Purchase.spot(on_demand_allocation=OnDemandAllocation.RANKED)},
            "purchase.on_demand_allocation must not be RANKED",
        ),
        ({"purchase": Purchase.reservation()}, "instance_types must name types where capacity is reserved"),
        (
            {"warm_pool": WarmPool(min_size=1)},
            "warm_pool must be left out for types that are chosen by their attributes",
        ),
    ],
)
def test_what_aws_refuses_of_such_a_group_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        fleet_template(instance_types=L4, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"accelerators": (3, 3)}, r"accelerators must leave at least one type of the catalogue, got (3, 3); "),
        ({"kind": "gaudi", "accelerators": 16}, "accelerators must leave at least one type of the catalogue, got 16; "),
        ({"usd_per_hour": 0.01}, "usd_per_hour must leave at least one type of the catalogue, got 0.01; "),
        ({"exclude": ["*"]}, "exclude must leave at least one type of the catalogue, got ['*']; "),
        # Left out, and yet what leaves nothing.
        ({"models": ["T4g"]}, "architecture or models must leave at least one type of the catalogue, got {'architectu"),
        # Each alone leaves nothing.
        (
            {"accelerators": 100, "memory_mib": 10**9},
            "accelerators and memory_mib must leave at least one type of the catalogue, got {'accelerators': 100, ",
        ),
    ],
)
def test_nothing_that_fits_names_the_limits_that_leave_nothing(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedInstanceTypeError) as refused:
        FlexibleTypes(**{"kind": "nvidia", **arguments})
    assert str(refused.value).startswith(f"FlexibleTypes: {message}")


def test_two_that_say_the_same_are_equal() -> None:
    assert FlexibleTypes(kind="nvidia", accelerators=2) == FlexibleTypes(kind="nvidia", accelerators=(2, None))
    assert FlexibleTypes(kind="nvidia") != FlexibleTypes(kind="neuron")
    assert FlexibleTypes(kind="nvidia", models=["L4", "L40S"]) == FlexibleTypes(kind="nvidia", models=["L40S", "L4"])
    assert FlexibleTypes(kind="nvidia", exclude=["g6*", "p5*"]) == FlexibleTypes(kind="nvidia", exclude=("p5*", "g6*"))
    assert FlexibleTypes(kind="nvidia", models=["L4", "L4"]) == FlexibleTypes(kind="nvidia", models=["L4"])
    assert FlexibleTypes(kind="nvidia", usd_per_hour=2) == FlexibleTypes(kind="nvidia", usd_per_hour=2.0)
    assert FlexibleTypes(kind="nvidia", usd_per_hour=2) != FlexibleTypes(kind="nvidia", usd_per_hour=3)


def test_what_is_not_known_of_a_type_fits_no_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing unfit starts. Today the catalogue knows all, and a refreshed one may not."""
    table = dict(known_types())
    table["g6.xlarge"] = dataclasses.replace(table["g6.xlarge"], memory_mib=None, vcpus=None)
    monkeypatch.setattr("constructs_lib.fleet.flexible_types.known_types", lambda: table)
    everything = {each.name for each in FlexibleTypes(kind="nvidia").types()}
    ranged = {each.name for each in FlexibleTypes(kind="nvidia", memory_mib=1).types()}
    assert everything - ranged == {"g6.xlarge"}
    assert "g6.xlarge" not in {each.name for each in FlexibleTypes(kind="nvidia", vcpus=(1, None)).types()}


def test_more_types_than_auto_scaling_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    like = known_types()["g6.xlarge"]
    table = {f"g6.{number}xlarge": dataclasses.replace(like, name=f"g6.{number}xlarge") for number in range(401)}
    monkeypatch.setattr("constructs_lib.fleet.flexible_types.known_types", lambda: table)
    with pytest.raises(ArgumentError, match="leave at most 400 types, got 401"):
        FlexibleTypes(kind="nvidia")
    assert len(FlexibleTypes(kind="nvidia", exclude=["g6.0xlarge"]).types()) == 400
