"""Types by what they have: what is checked is what may start, and price protection takes nothing from it."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib import (
    ArgumentError,
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
from tests.support.stacks import fleet_template

L4 = FlexibleTypes(kind="nvidia", accelerators=1, models=["L4"])


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
    assert told(instance_types=L4, purchase=Purchase.spot()) == []


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


def test_nothing_that_fits_names_the_kind() -> None:
    with pytest.raises(UnsupportedInstanceTypeError, match="leave at least one type of the catalogue, got 'nvidia'"):
        FlexibleTypes(kind="nvidia", accelerators=(3, 3))


def test_two_that_say_the_same_are_equal() -> None:
    assert FlexibleTypes(kind="nvidia", accelerators=2) == FlexibleTypes(kind="nvidia", accelerators=(2, None))
    assert FlexibleTypes(kind="nvidia") != FlexibleTypes(kind="neuron")
