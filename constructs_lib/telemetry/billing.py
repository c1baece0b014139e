"""How many custom metrics a fleet publishes, which is what CloudWatch bills."""

from __future__ import annotations

from collections.abc import Sequence

from constructs_lib.agent.kinds import AcceleratorKind
from constructs_lib.catalog import AcceleratedType
from constructs_lib.telemetry import names
from constructs_lib.telemetry.agent_sections import ALLOWANCES, EFA_MEASUREMENTS, PROCESS_MEASUREMENTS
from constructs_lib.telemetry.options import Telemetry
from constructs_lib.validation import integer

_HOST_METRICS = (names.CPU_UTILIZATION, names.MEMORY_UTILIZATION, names.DISK_UTILIZATION)


def billed_metrics(
    kind: AcceleratorKind,
    types: Sequence[AcceleratedType],
    telemetry: Telemetry,
    instances: int,
    *,
    with_setup: bool,
    with_network: bool = False,
) -> int:
    """Return how many custom metrics these instances publish at most, if all run the whole month.

    A custom metric is each different name with its set of dimensions. An instance that takes another one's place has
    its own, but both are billed only for the hours in which they publish. The first 10,000 of an account cost 0.30 USD
    each a month (Amazon CloudWatch pricing for us-east-1, May 2026). Each pattern of ``processes`` counts as one
    program; tags that the work gives to its own metrics add nothing. While an instance's driver does not answer, it
    publishes other series (:meth:`AgentConfiguration.fallback`), which are not counted.

    Args:
        kind: of the accelerators.
        types: of the fleet; the one with the most to tell counts.
        telemetry: what is published.
        instances: how many run; those of the release function and of drains are counted if any does.
        with_setup: whether settings of the machine were asked for, so that those that fail are counted.
        with_network: whether the idle policy looks at the traffic of instances. Default: no.

    Raises:
        ArgumentError: ``instances`` is not a whole number of at least 0.
    """
    integer("billed_metrics", "instances", instances, minimum=0, cure="give the number of instances that run")
    if instances == 0:
        return 0
    rolled_up = max(_names(kind, types, each, telemetry) for each in types)
    alone = max(_names(kind, types, each, telemetry) + _own_series(kind, types, each, telemetry) for each in types)
    asked = (instances + 1) * (with_setup + with_network)
    return instances * alone + rolled_up + asked + len(names.PASS_METRICS) + len(names.DRAIN_METRICS)


def _names(kind: AcceleratorKind, types: Sequence[AcceleratedType], each: AcceleratedType, telemetry: Telemetry) -> int:
    """How many different names an instance of this type publishes without a setup, each for itself and the group."""
    figures = len(_figures(kind, types, each, telemetry))
    host = len(_HOST_METRICS) + bool(telemetry.swap)
    unsent = {names.SETUP_FAILURES} if _has_power(kind, each) else {names.SETUP_FAILURES, names.ENERGY}
    own = len(set(names.INSTANCE_METRICS) - unsent)
    work = len(telemetry.application_metrics or ())
    programs = len(PROCESS_MEASUREMENTS) if telemetry.processes else 0
    return figures + host + own + work + programs + _network(types, telemetry)


def _own_series(
    kind: AcceleratorKind, types: Sequence[AcceleratedType], each: AcceleratedType, telemetry: Telemetry
) -> int:
    """How many series an instance of this type publishes beside its roll-ups: of each accelerator, of each program."""
    accelerators = kind.devices(each) if telemetry.per_accelerator_series else 0
    programs = len(telemetry.processes or ())
    return accelerators * len(_figures(kind, types, each, telemetry)) + programs * len(PROCESS_MEASUREMENTS)


def _figures(
    kind: AcceleratorKind, types: Sequence[AcceleratedType], each: AcceleratedType, telemetry: Telemetry
) -> list[str]:
    published = telemetry.measurements_of(kind, types)
    return [name for name in published if kind.measurement(name).readable_on(each)]


def _has_power(kind: AcceleratorKind, each: AcceleratedType) -> bool:
    return kind.power is not None and kind.measurement(kind.power).readable_on(each)


def _network(types: Sequence[AcceleratedType], telemetry: Telemetry) -> int:
    if not telemetry.network:
        return 0
    return len(ALLOWANCES) + (len(EFA_MEASUREMENTS) if all(each.efa_interfaces for each in types) else 0)
