"""A fleet of the library, played through random work and an unkind cloud, beside the least that it could have paid."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.alternatives import ALTERNATIVES
from constructs_lib.rehearsal.clairvoyant import best_run, best_run_without_waiting, optimum_of
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.figures import figures_of
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.simulate import Scenario, simulate
from constructs_lib.rehearsal.trace import Job, Trace
from tests.support.stacks import fleet_template

SCENARIOS = {
    "kind": Scenario(cold_start=ColdStart.default()),
    "reclaims": Scenario(cold_start=ColdStart.default(), reclaims_per_hour=2),
    "failures": Scenario(cold_start=ColdStart.default(), launch_failures=0.2, no_capacity=((2_000, 4_000),)),
}


@cache
def template() -> dict[str, Any]:
    """A fleet of up to four instances with four accelerators each, on a queue."""
    return fleet_template(
        instance_types=["g5.12xlarge"],
        max_capacity=4,
        idle=IdlePolicy(window=Duration.minutes(15)),
        queue={"messages_per_instance": 2},
    )


def work(seed: int) -> Trace:
    """Three hours of jobs that share instances, or take one whole."""
    dice = random.Random(seed)
    jobs = []
    at = 0.0
    while at < 3 * 3_600:
        at += dice.choice([5, 300, 1_500]) * dice.expovariate(1.0)
        jobs.append(Job(at, dice.choice([20, 400, 2_000]) * dice.uniform(0.5, 1.5), dice.choice([0.25, 0.5, 1, 4])))
    return Trace(tuple(jobs), "random")


def paid_s(record: Record) -> float:
    ends = (record.end_s if each.ended_s is None else each.ended_s for each in record.instances)
    return sum(end - each.launched_s for each, end in zip(record.instances, ends, strict=True))


@pytest.mark.parametrize(("scenario", "seed"), [("kind", 0), ("reclaims", 1), ("failures", 2)])
def test_fleet_and_its_alternatives_never_pay_less_than_their_optimum(scenario: str, seed: int) -> None:
    trace, chosen = work(seed), SCENARIOS[scenario]
    fleet = simulate(template(), trace, scenario=chosen, seed=seed)
    others = [each.run(template(), trace, like=fleet, scenario=chosen, seed=seed) for each in ALTERNATIVES]

    for record in (fleet, *others):
        assert paid_s(record) >= optimum_of(record).node_seconds


def test_optimum_serves_as_well_and_is_told_with_the_same_figures() -> None:
    fleet = simulate(template(), work(3), scenario=SCENARIOS["kind"], seed=3)

    figures, best = figures_of(fleet, cost_usd=None), figures_of(best_run(fleet), cost_usd=None)

    assert best.hours.busy == figures.hours.busy
    assert best.waits == figures.waits
    assert (best.done, best.unfinished, best.interrupted) == (figures.done, 0, 0)
    assert best.hours.paid < figures.hours.paid
    assert (best.hours.draining, best.time_to_zero_s) == (0, 0)
    assert best.as_json().keys() == figures.as_json().keys()


def test_nobody_waits_at_the_other_optimum_while_nodes_are_left() -> None:
    fleet = simulate(template(), work(4), scenario=SCENARIOS["kind"], seed=4)

    best = figures_of(best_run_without_waiting(fleet), cost_usd=None)

    busy = figures_of(fleet, cost_usd=None).hours.busy
    assert best.hours.busy == pytest.approx(busy, abs=1e-5)
    assert best.waits.p50 == 0
