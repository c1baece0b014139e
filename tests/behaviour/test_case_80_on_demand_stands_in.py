"""Field cases 80 and 43: Spot is gone for an hour, and On-Demand does its work until it is back."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Template

from constructs_lib import IdlePolicy, Purchase, QueueDemand
from constructs_lib.rehearsal.world import Conditions, World
from constructs_lib.scaling import ShortfallDemand
from tests.behaviour.fleets import HOUR, MINUTE, UTILIZATION_ALONE
from tests.behaviour.ladder import Ladder, take_spot_away
from tests.support.stacks import fleet, queue_demand, stack, vpc

_AFTER = 15
_WINDOW = 15
_LATE = 5
"""The group's metrics come two minutes late, the wake function and a launch up to a minute each."""


@cache
def _template(steps: tuple[str, ...] = ("Spot", "OnDemand"), *, with_queue: bool = True) -> dict[str, Any]:
    """Each step stands in for the one before it; only the first one counts the messages."""
    scope = stack()
    network = vpc(scope)
    demand: QueueDemand | ShortfallDemand | None = queue_demand(scope, 1) if with_queue else None
    for name in steps:
        made = fleet(
            scope,
            name,
            vpc=network,
            instance_types=["g6.xlarge", "g5.xlarge"],
            telemetry=UTILIZATION_ALONE,
            purchase=Purchase.on_demand() if name == steps[-1] else Purchase.spot(),
            idle=IdlePolicy(window=Duration.minutes(_WINDOW), max_failed_launches=0),
            demand=demand,
        )
        demand = ShortfallDemand(made, after=Duration.minutes(_AFTER))
    return dict(Template.from_stack(scope).to_json())


def _launched(step: World) -> list[int]:
    return [instance.launched // MINUTE for instance in step.group.everyone]


def test_case_80_on_demand_takes_over_one_for_one_and_goes_when_it_is_idle() -> None:
    ladder = Ladder(_template(), ("Spot", "OnDemand"))
    spot, on_demand = ladder.steps
    ladder.run(10)
    ladder.send(minutes=90, count=3)
    ladder.run(20)
    assert (len(spot.group.in_service), on_demand.group.everyone) == (3, [])

    spot.at(31, lambda: take_spot_away(spot))
    ladder.run(HOUR)

    assert spot.group.in_service == []
    assert len(on_demand.group.in_service) == len(on_demand.group.everyone) == 3
    assert all(31 + _AFTER <= minute <= 31 + _AFTER + _LATE for minute in _launched(on_demand))

    spot.group.capacity = None
    while ladder.finished < 3:
        ladder.run(1)
    ladder.run(_WINDOW + 10)

    assert [step.group.desired for step in ladder.steps] == [0, 0]
    assert [step.group.members for step in ladder.steps] == [[], []]
    assert len(on_demand.group.everyone) == 3
    assert on_demand.killed_at_work == []
    assert [step.failures for step in ladder.steps] == [[], []]


def test_case_80_work_that_comes_while_spot_is_gone_is_done_as_well() -> None:
    ladder = Ladder(_template(), ("Spot", "OnDemand"))
    spot, on_demand = ladder.steps
    spot.group.capacity = 0
    for _ in range(6):
        ladder.send(minutes=10, count=1)
        ladder.run(20)
    ladder.run(2 * HOUR)

    assert ladder.finished == 6
    assert spot.group.everyone == []
    assert [step.group.desired for step in ladder.steps] == [0, 0]
    # Work every 20 minutes keeps the one that did the last job, with a window of 15 minutes after 10 of work.
    assert len(on_demand.group.everyone) <= 2


@pytest.mark.parametrize("capacity", [1, 2])
def test_case_43_spot_gives_some_and_on_demand_the_rest(capacity: int) -> None:
    ladder = Ladder(_template(), ("Spot", "OnDemand"))
    spot, on_demand = ladder.steps
    spot.group.capacity = capacity
    ladder.run(5)
    ladder.send(minutes=120, count=4)
    ladder.run(HOUR)

    assert len(spot.group.in_service) == capacity
    assert len(on_demand.group.in_service) == len(on_demand.group.everyone) == 4 - capacity


@pytest.mark.parametrize("boot", [2, 10, 25])
def test_case_80_a_cold_start_is_no_shortage(boot: int) -> None:
    ladder = Ladder(_template(), ("Spot", "OnDemand"), Conditions(boot_seconds=boot * MINUTE))
    ladder.run(5)
    ladder.send(minutes=60, count=3)
    ladder.run(2 * HOUR)

    assert len(ladder.steps[0].group.everyone) == 3
    assert ladder.steps[1].group.everyone == []
    assert ladder.finished == 3


def test_case_80_a_shortage_that_is_over_in_time_starts_nothing() -> None:
    ladder = Ladder(_template(), ("Spot", "OnDemand"))
    spot, on_demand = ladder.steps
    spot.group.capacity = 0
    ladder.run(5)
    ladder.send(minutes=60, count=3)
    ladder.run(_AFTER - 2)
    spot.group.capacity = None
    ladder.run(2 * HOUR)

    assert on_demand.group.everyone == []
    assert ladder.finished == 3


def test_case_43_a_ladder_of_three_gives_back_what_the_middle_never_got() -> None:
    steps = ("Spot", "Other", "OnDemand")
    ladder = Ladder(_template(steps), steps)
    spot, other, on_demand = ladder.steps
    spot.group.capacity = other.group.capacity = 0
    ladder.run(5)
    ladder.send(minutes=60, count=2)
    ladder.run(2 * _AFTER + 2 * _LATE)
    assert [step.group.desired for step in ladder.steps] == [2, 2, 2]
    assert len(on_demand.group.everyone) == 2

    while ladder.finished < 2:
        ladder.run(1)
    ladder.run(_WINDOW + 10)
    assert [step.group.desired for step in ladder.steps] == [0, 0, 0]

    spot.group.capacity = other.group.capacity = None
    ladder.run(HOUR)
    assert [len(step.group.everyone) for step in ladder.steps] == [0, 0, 2]
    assert [step.failures for step in ladder.steps] == [[], [], []]


def test_case_74_a_want_without_work_starts_one_again_and_again_but_not_at_once() -> None:
    """Nothing takes back what a person wanted of the first fleet, which a warning says at synth."""
    ladder = Ladder(_template(with_queue=False), ("Spot", "OnDemand"))
    spot, on_demand = ladder.steps
    spot.group.capacity = 0
    spot.group.set_desired(1)
    ladder.run(6 * HOUR)

    launched = _launched(on_demand)
    assert len(launched) >= 2
    ended = [ending.at // MINUTE for ending in on_demand.released]
    assert all(again - end >= _AFTER for end, again in zip(ended, launched[1:], strict=False))
    assert max(len(on_demand.group.in_service), 1) == 1
