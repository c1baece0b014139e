"""Ways to buy, types, pools, schedules and zones at random: a template that cfn-lint and our rules pass, or our own
error.
"""

from __future__ import annotations

import re
from typing import Any

from aws_cdk import Duration, Size
from aws_cdk import aws_ec2 as ec2
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib import (
    Drain,
    FleetError,
    FleetNetwork,
    FleetSchedule,
    FleetStorage,
    FlexibleTypes,
    Hours,
    OnDemandAllocation,
    PoolState,
    Purchase,
    SpotAllocation,
    WarmPool,
)
from constructs_lib.compliance import assert_compliant
from tests.constructs.purchasing import GROUP, RESERVATION, RESERVATIONS, START, block, findings
from tests.constructs.reading import only
from tests.support.stacks import fleet_template

_COMPLAINT = re.compile(r"[^:]+: \S+ must .+, got .+; .+")
_ON_DEMAND = st.sampled_from([None, *OnDemandAllocation])
_SHARES: dict[str, st.SearchStrategy[Any]] = {
    "on_demand_base": st.sampled_from([None, 1, 2, 8]),
    "on_demand_percent": st.sampled_from([None, 0, 30, 99]),
    "allocation": st.sampled_from([None, *SpotAllocation]),
    "on_demand_allocation": _ON_DEMAND,
    "capacity_rebalance": st.sampled_from([None, True]),
}
_OFFICE = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")
PURCHASES = st.one_of(
    st.none(),
    st.builds(Purchase.on_demand, allocation=_ON_DEMAND),
    st.builds(Purchase.spot, **_SHARES),
    st.builds(Purchase.mixed, **{**_SHARES, "on_demand_base": st.sampled_from([1, 7])}),
    st.builds(
        Purchase.reservation,
        reservation_id=st.sampled_from([None, RESERVATION]),
        fall_back=st.booleans(),
        allocation=_ON_DEMAND,
    ),
    st.builds(Purchase.reservation, resource_group_arn=st.just(RESERVATIONS), fall_back=st.booleans()),
    st.builds(block, start=st.sampled_from([None, START])),
    st.builds(block, start=st.just(START), instances_at_start=st.sampled_from([1, 9])),
)
POOLS = st.one_of(
    st.none(),
    st.none(),
    st.builds(WarmPool, min_size=st.sampled_from([1, 3]), state=st.sampled_from([None, *PoolState])),
    st.builds(WarmPool, max_prepared=st.sampled_from([2, 9])),
)
TYPES = st.sampled_from(
    [
        "p5.48xlarge",
        "g6.xlarge",
        "p5.48xlarge",
        ["g6.xlarge", "g5.xlarge"],
        ["p4d.24xlarge", "p5.48xlarge"],
        FlexibleTypes(kind="nvidia", models=["L4"], accelerators=1),
    ]
)
ZONES = st.sampled_from([["us-east-1a"], ["us-east-1a"], None, ["us-east-1a", "us-east-1b"]])


def made_or_refused(**arguments: Any) -> tuple[dict[str, Any] | None, str]:
    """The template, or None and why there is none."""
    try:
        return fleet_template(**arguments), ""
    except FleetError as error:
        return None, str(error)


@settings(max_examples=40, derandomize=True)
@given(
    purchase=PURCHASES,
    pool=POOLS,
    types=TYPES,
    zones=ZONES,
    smallest=st.sampled_from([None, None, 0, 2]),
    schedule=st.sampled_from([None, None, None, FleetSchedule(office_hours=[_OFFICE])]),
    minutes=st.sampled_from([1, 5, 115]),
    root=st.sampled_from([None, Size.gibibytes(500)]),
    queue=st.sampled_from([None, {"messages_per_instance": 2}]),
    efa=st.sampled_from([False, False, False, True]),
)
def test_a_valid_template_or_our_own_error(
    purchase: Purchase | None,
    pool: WarmPool | None,
    types: Any,
    zones: list[str] | None,
    smallest: int | None,
    schedule: FleetSchedule | None,
    minutes: int,
    root: Size | None,
    queue: dict[str, int] | None,
    efa: bool,
) -> None:
    made, refusal = made_or_refused(
        instance_types=types,
        purchase=purchase,
        warm_pool=pool,
        min_capacity=smallest,
        max_capacity=8,
        schedule=schedule,
        drain=Drain(deadline=Duration.minutes(minutes)),
        storage=None if root is None else FleetStorage(root_volume_size=root),
        vpc_subnets=None if zones is None else ec2.SubnetSelection(availability_zones=zones),
        network=FleetNetwork.efa() if efa else None,
        queue=queue,
    )
    if made is None:
        assert _COMPLAINT.fullmatch(refusal), refusal
        return
    assert findings(made) == []
    assert_compliant(made)
    group = only(made, GROUP)["Properties"]
    assert ("LaunchTemplate" in group) != ("MixedInstancesPolicy" in group)
    assert "DesiredCapacity" not in group
