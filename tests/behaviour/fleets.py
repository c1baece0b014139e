"""The templates that the behaviour cases run on, synthesized once each, and small ways to describe a load."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from aws_cdk import Duration

from constructs_lib import Drain, FleetImage, IdlePolicy, IdleSignal, Telemetry
from constructs_lib.rehearsal.cloud.alarms import Alarm
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.machine.load import Load
from constructs_lib.rehearsal.world import World
from tests.support.stacks import fleet_template

MINUTE = 60
HOUR = 60  # in minutes
UTILIZATION_ALONE = Telemetry(measurements=["utilization_gpu"])


@cache
def fleet(
    window: int = 30, warm_up: int | None = None, signals: tuple[IdleSignal, ...] | None = None, max_capacity: int = 8
) -> dict[str, Any]:
    """Return the template of a fleet of four-GPU instances without a queue; times in minutes.

    It publishes no more than the utilisation of its accelerators, which is all that anything here reads, so that a
    simulated day takes a second; the cases of each kind run on the standard telemetry.
    """
    return fleet_template(
        instance_types=["g5.12xlarge"],
        max_capacity=max_capacity,
        telemetry=UTILIZATION_ALONE,
        idle=IdlePolicy(
            window=Duration.minutes(window),
            warm_up=None if warm_up is None else Duration.minutes(warm_up),
            signals=signals,
        ),
    )


@cache
def fleet_of(
    instance_type: str,
    *,
    window: int = 15,
    resolution: int = 60,
    has_image: bool = True,
    messages_per_instance: int | None = None,
    drain: int | None = None,
) -> dict[str, Any]:
    """Return the template of a fleet of one type on the standard telemetry; minutes, and seconds for the resolution.

    ``has_image`` False gives it an image of the user's own, since AWS has none for its kind of accelerator.
    """
    return fleet_template(
        instance_types=[instance_type],
        image=None if has_image else FleetImage.from_ssm_parameter("/golden/accelerated/ami-id"),
        telemetry=Telemetry(resolution=Duration.seconds(resolution)),
        idle=IdlePolicy(window=Duration.minutes(window)),
        queue=None if messages_per_instance is None else {"messages_per_instance": messages_per_instance},
        drain=None if drain is None else Drain(deadline=Duration.minutes(drain)),
    )


IDLE = Load(accelerators=(0.0, 0.0, 0.0, 0.0))
BUSY = Load(accelerators=(95.0, 95.0, 95.0, 95.0), cpu=30.0)
ONE_GPU_BUSY = Load(accelerators=(95.0, 0.0, 0.0, 0.0), cpu=3.0, working=True)
SILENT_AT_WORK = Load(accelerators=None, cpu=1.0, working=True)


def busy_until(minute: float) -> Callable[[Instance, int], Load]:
    """Return a load under which every instance works until a minute and is idle from then on."""
    return lambda _instance, now: BUSY if now < minute * MINUTE else IDLE


def alarm(world: World, name: str) -> Alarm:
    """Return the alarm whose logical id holds a construct's id."""
    (found,) = (each for logical_id, each in world.alarms.items() if name in logical_id)
    return found


def alarmed_at(world: World, name: str) -> list[int]:
    """Return the minutes at which an alarm went off and somebody was told."""
    found = alarm(world, name)
    told = {at // MINUTE for at, alarm_name, _ in world.notifications if alarm_name == found.name}
    return [minute for minute in world.went_to(found, "ALARM") if minute in told]


def verdicts(world: World, instance_id: str, since: float = 0) -> list[str]:
    """Return what the release handler said of an instance in each pass from a minute on."""
    return [
        str(line["verdict"])
        for outcome in world.outcomes
        if outcome.at >= since * MINUTE
        for line in outcome.lines
        if line.get("message") == "verdict" and line["instance_id"] == instance_id
    ]
