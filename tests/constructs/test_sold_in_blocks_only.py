"""A type that AWS sells in Capacity Blocks and no other way is bought so, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from constructs_lib import AcceleratedType, ArgumentError, Purchase
from tests.constructs.purchasing import ONE_ZONE, block, launch_data
from tests.support.stacks import fleet_template

FACTS: dict[str, Any] = {
    "kind": "nvidia",
    "model": "R100",
    "accelerators": 8,
    "accelerator_memory_mib": 98_304,
    "architecture": "x86_64",
}
IN_BLOCKS = AcceleratedType(name="p9.48xlarge", on_demand=False, spot=False, capacity_block=True, **FACTS)
ANY_WAY = AcceleratedType(name="p9.24xlarge", **FACTS)


@pytest.mark.parametrize(
    ("purchase", "way"),
    [
        (None, "On-Demand"),
        (Purchase.on_demand(), "On-Demand"),
        (Purchase.reservation(), "On-Demand"),
        (Purchase.spot(), "Spot"),
        (Purchase.mixed(on_demand_base=1), "Spot"),
    ],
)
@pytest.mark.parametrize("types", [IN_BLOCKS, [ANY_WAY, IN_BLOCKS]], ids=["alone", "beside another"])
def test_it_is_refused_where_it_is_bought_another_way(types: Any, purchase: Purchase | None, way: str) -> None:
    with pytest.raises(ArgumentError, match=f"instance_types must be of types that AWS sells as {way}") as refused:
        fleet_template(instance_types=types, purchase=purchase)
    assert "['p9.48xlarge']" in str(refused.value)
    assert "Purchase.capacity_block(...)" in str(refused.value)


def test_it_is_taken_in_a_block() -> None:
    made = fleet_template(instance_types=IN_BLOCKS, purchase=block(), vpc_subnets=ONE_ZONE)
    assert launch_data(made)["InstanceMarketOptions"] == {"MarketType": "capacity-block"}


def test_a_type_of_which_nobody_stated_how_it_is_sold_is_taken_at_the_users_word() -> None:
    for purchase in (Purchase.on_demand(), Purchase.spot(), Purchase.reservation()):
        assert launch_data(fleet_template(instance_types=ANY_WAY, purchase=purchase))
