"""The fleets that a rehearsal is tried on, synthesized once each, and a cold start that takes the same each time."""

from __future__ import annotations

from functools import cache
from typing import Any

from aws_cdk import Duration

from constructs_lib import IdlePolicy
from constructs_lib.rehearsal.cold_start import ColdStart
from constructs_lib.rehearsal.simulate import Scenario
from constructs_lib.rehearsal.trace import Job, Trace
from tests.support.stacks import fleet_template

WINDOW = 15 * 60
BOOT_S, READY_S = 65.0, 200.0
COLD_START = ColdStart.fixed(boot_s=BOOT_S, ready_s=READY_S)
SCENARIO = Scenario(cold_start=COLD_START)


@cache
def queue_fleet(instance_type: str = "g6.xlarge", *, at_once: int = 1, most: int = 4, least: int = 0) -> dict[str, Any]:
    """Return the template of a fleet with a queue, of at most four instances of one accelerator."""
    return fleet_template(
        instance_types=[instance_type],
        min_capacity=least,
        max_capacity=most,
        queue={"messages_per_instance": at_once},
        idle=IdlePolicy(window=Duration.seconds(WINDOW)),
    )


@cache
def fleet_without_a_queue() -> dict[str, Any]:
    """Return the template of a fleet that nothing wakes, with one instance at least."""
    return fleet_template(instance_types=["g6.xlarge"], min_capacity=1, max_capacity=4)


def trace(*jobs: tuple[float, float] | tuple[float, float, float]) -> Trace:
    """Return the trace of these jobs."""
    return Trace(tuple(Job(*job) for job in jobs), name="a test's")
