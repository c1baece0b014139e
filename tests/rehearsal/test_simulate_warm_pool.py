"""A fleet with a warm pool, from its template to the record of what was paid."""

from __future__ import annotations

from functools import cache

from aws_cdk import Duration

from constructs_lib import IdlePolicy, WarmPool
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.simulate import simulate
from tests.rehearsal.fleets import READY_S, SCENARIO, WINDOW, trace
from tests.support.stacks import fleet_template

_HOUR = 3_600


@cache
def _record() -> Record:
    template = fleet_template(
        instance_types=["g6.xlarge"],
        max_capacity=4,
        queue={"messages_per_instance": 1},
        idle=IdlePolicy(window=Duration.seconds(WINDOW)),
        warm_pool=WarmPool(min_size=1),
    )
    return simulate(template, trace((_HOUR, 600)), scenario=SCENARIO)


def test_preparation_is_paid_until_the_instance_is_switched_off() -> None:
    """It boots, is set up until its launch hook is completed, and is switched off a minute later."""
    first = _record().instances[0]
    assert (first.cause, first.launched_s, first.ready_s) == ("prepared", 60, None)
    assert first.ended_s is not None
    assert READY_S + 60 <= first.ended_s - first.launched_s <= READY_S + 3 * 60


def test_job_is_served_by_the_prepared_instance_and_another_is_prepared() -> None:
    prepared, served, again = _record().instances
    assert served.id == prepared.id
    assert again.cause == "prepared"
    assert served.cause == "released"
    (job,) = _record().jobs
    assert job.is_finished
    assert job.instance == 1
    assert served.ready_s is not None
    assert served.ready_s - served.launched_s < READY_S, "it was set up before"
