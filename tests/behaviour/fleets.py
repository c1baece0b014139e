"""The templates that the behaviour cases run on, synthesized once each, and small ways to describe a load."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from aws_cdk import Duration

from constructs_lib import IdlePolicy, IdleSignal, Telemetry
from tests.behaviour.simulator.group import Instance
from tests.behaviour.simulator.load import Load
from tests.support.stacks import fleet_template

MINUTE = 60
HOUR = 60  # in minutes


@cache
def fleet(
    window: int = 30, warm_up: int | None = None, signals: tuple[IdleSignal, ...] | None = None, max_capacity: int = 8
) -> dict[str, Any]:
    """Return the template of a fleet of four-GPU instances without a queue; times in minutes.

    It publishes no more than the utilisation of its accelerators, which is all that anything here reads, so that a
    simulated day takes a second; the cases with a queue run on the standard telemetry.
    """
    return fleet_template(
        instance_types=["g5.12xlarge"],
        max_capacity=max_capacity,
        telemetry=Telemetry(measurements=["utilization_gpu"]),
        idle=IdlePolicy(
            window=Duration.minutes(window),
            warm_up=None if warm_up is None else Duration.minutes(warm_up),
            signals=signals,
        ),
    )


IDLE = Load(accelerators=(0.0, 0.0, 0.0, 0.0))
BUSY = Load(accelerators=(95.0, 95.0, 95.0, 95.0), cpu=30.0)
ONE_GPU_BUSY = Load(accelerators=(95.0, 0.0, 0.0, 0.0), cpu=3.0, working=True)
SILENT_AT_WORK = Load(accelerators=None, cpu=1.0, working=True)


def busy_until(minute: float) -> Callable[[Instance, int], Load]:
    """Return a load under which every instance works until a minute and is idle from then on."""
    return lambda _instance, now: BUSY if now < minute * MINUTE else IDLE
