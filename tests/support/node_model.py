"""What the program on an instance sends by StatsD, and which fleets publish what.

Written from the description of the program, and says every name again on purpose: it must not repeat a mistake of
:mod:`constructs_lib.telemetry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from constructs_lib.catalog import AcceleratedType, known_types
from constructs_lib.telemetry import AgentConfiguration, FleetLogs, Telemetry
from tests.support.agent_model import FRACTION_MEASUREMENTS, NVIDIA_MEASUREMENTS, Sent, Series, published_series

NAMESPACE = "AcceleratedFleet"
FIGURES = {
    "nvidia": (),
    "neuron": ("utilization", "memory_used"),
    "gaudi": ("utilization", "memory_used", "power", "temperature"),
    "qualcomm": ("utilization", "memory_used", "power", "temperature"),
    "fpga": ("transfers", "power"),
    "media": ("utilization",),
    "amd": ("utilization", "memory_used", "power", "temperature"),
}
"""What the program can publish of each accelerator; the agent itself publishes those of NVIDIA GPUs."""

WITH_POWER = ("nvidia", "gaudi", "qualcomm", "fpga", "amd")
"""Kinds whose energy is known."""

DEVICES_PER_CARD = {"media": 2}
"""A U30 card shows as two devices."""

_GAUGES = (
    *(
        "node_heartbeat",
        "accelerators_present",
        "accelerators_missing",
        "accelerators_unknown",
        "accelerator_idle_seconds",
        "busy_marks",
    ),
    *("interactive_sessions", "cold_start_driver_seconds", "cold_start_agent_seconds"),
    "cold_start_first_use_seconds",
)
_OF_A_SETUP = "setup_failures"
_OF_THE_NETWORK = "network_bytes_per_second"
_COUNTER = "accelerator_energy_joules"
_PASS_METRICS = (
    *("MembersBusy", "MembersIdle", "MembersUnknown", "MembersHeld", "MembersIdleDespiteWork"),
    *("InstancesReleased", "MembersRetained", "LaunchesStopped", "DrainsAbandoned"),
)
_DRAIN_METRICS = ("DrainsDone", "DrainsTimedOut")


def devices_of(instance_type: AcceleratedType) -> int:
    """How many devices the operating system shows."""
    return instance_type.accelerators * DEVICES_PER_CARD.get(instance_type.kind, 1)


def node_sends(
    instance_type: AcceleratedType, *, work: Sequence[str] = (), setup: bool = True, network: bool = False
) -> list[Sent]:
    """Everything that is ever sent on a sound instance of this type.

    With settings of the machine asked for or not, and with a policy that looks at the traffic or not.
    """
    kind = instance_type.kind
    figures = [
        Sent(f"accelerator_{figure}", "g", (("index", str(index)),))
        for figure in FIGURES[kind]
        for index in range(devices_of(instance_type))
    ]
    energy = [Sent(_COUNTER, "c")] if kind in WITH_POWER and instance_type.fraction is None else []
    gauges = [*_GAUGES, *([_OF_A_SETUP] if setup else []), *([_OF_THE_NETWORK] if network else [])]
    return [*figures, *energy, *map(Sent, gauges), *map(Sent, work)]


def instance_series(
    config: Any,
    instance_type: AcceleratedType,
    *,
    instance_id: str = "i-1",
    group: str = "fleet",
    work: Any = (),
    setup: bool = True,
    network: bool = False,
) -> set[Series]:
    """Everything that one instance of this type publishes with this configuration of the agent."""
    return published_series(
        config,
        instance_id=instance_id,
        group=group,
        gpus=instance_type.accelerators if instance_type.kind == "nvidia" else 0,
        answers=NVIDIA_MEASUREMENTS if instance_type.fraction is None else FRACTION_MEASUREMENTS,
        gpu_name=f"NVIDIA {instance_type.model}",
        sent=node_sends(instance_type, work=work, setup=setup, network=network),
        adapters=2,
    )


def pass_series(group: str = "fleet") -> set[Series]:
    """What is published for the group alone: by a release pass, and by an instance that has drained."""
    names = (*_PASS_METRICS, *_DRAIN_METRICS)
    return {(NAMESPACE, name, frozenset({("AutoScalingGroupName", group)})) for name in names}


def fleet_series(
    types: Sequence[AcceleratedType],
    telemetry: Telemetry,
    instances: int,
    *,
    group: str = "fleet",
    setup: bool = True,
    network: bool = False,
) -> set[Series]:
    """Everything that a fleet publishes whose first type has ``instances`` of them running, and the others one each."""
    config = AgentConfiguration.full(types, telemetry).document
    running = [*([types[0]] * instances), *types[1:]]
    series = pass_series(group)
    for number, each in enumerate(running):
        work = telemetry.application_metrics
        series |= instance_series(
            config, each, instance_id=f"i-{number}", group=group, work=work, setup=setup, network=network
        )
    return series


def representatives() -> list[AcceleratedType]:
    """One type of each shape that differs in what it publishes: kind, count, fraction, video, EFA."""
    found: dict[tuple[Any, ...], AcceleratedType] = {}
    for each in known_types().values():
        shape = (each.kind, each.accelerators, each.fraction is None, each.video_encoder, bool(each.efa_interfaces))
        found.setdefault(shape, each)
    return list(found.values())


def feature_combinations() -> Iterator[Telemetry]:
    """Every combination of what a fleet's telemetry can be asked for beside the figures themselves."""
    for series, network, swap, watched, measured in product((True, False), repeat=5):
        yield Telemetry(
            per_accelerator_series=series,
            network=network,
            swap=swap,
            processes=("python.*worker", "nginx") if watched else None,
            application_metrics=("latency_ms", "batch_size") if measured else None,
            logs=FleetLogs() if swap else None,
        )
