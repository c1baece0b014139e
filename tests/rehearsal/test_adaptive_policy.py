"""An adaptive policy against fixed windows, by the handler's own code: short jobs that any instance may get."""

from __future__ import annotations

import random
from functools import cache

import pytest
from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.clairvoyant import optimum_of
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.simulate import simulate
from constructs_lib.rehearsal.trace import Job, Trace
from tests.rehearsal.fleets import SCENARIO
from tests.support.stacks import fleet_template

HOURS = 6
FIXED = (5, 10, 15, 30)


@cache
def short_jobs() -> Trace:
    """A minute's work every five minutes on average, sometimes several at once."""
    dice = random.Random(7)
    arrivals, at = [], 0.0
    while (at := at + dice.expovariate(1 / 300)) < HOURS * 3600:
        arrivals.append(at)
    return Trace(tuple(Job(each, 60.0) for each in arrivals), name="short jobs")


@cache
def run(minutes: int | None) -> Record:
    """Return what a fleet does that keeps idle instances for so many minutes, or by an adaptive policy."""
    policy = IdlePolicy.adaptive() if minutes is None else IdlePolicy(window=Duration.minutes(minutes))
    template = fleet_template(
        instance_types=["g6.xlarge"], max_capacity=8, queue={"messages_per_instance": 1}, idle=policy
    )
    return simulate(template, short_jobs(), scenario=SCENARIO)


def paid_s(record: Record) -> float:
    return sum((each.ended_s or record.end_s) - each.launched_s for each in record.instances)


def ratio(record: Record) -> float:
    return paid_s(record) / optimum_of(record).node_seconds


def wait_s(record: Record) -> float:
    """Return what 95 of 100 jobs wait at most."""
    waits = sorted(each.wait_s for each in record.jobs if each.wait_s is not None)
    return waits[int(0.95 * (len(waits) - 1))]


@pytest.mark.parametrize("minutes", FIXED)
def test_no_fixed_window_pays_less_and_lets_wait_no_longer(minutes: int) -> None:
    adaptive, fixed = run(None), run(minutes)
    assert ratio(fixed) > ratio(adaptive) or wait_s(fixed) > wait_s(adaptive)


def test_it_pays_less_than_the_usual_window() -> None:
    assert ratio(run(None)) < 0.95 * ratio(run(15))


def test_all_work_is_done_and_none_is_cut_off() -> None:
    record = run(None)
    assert all(each.is_finished and each.cuts == 0 for each in record.jobs)


def test_the_fleet_ends_at_zero() -> None:
    assert all(each.ended_s is not None for each in run(None).instances)
