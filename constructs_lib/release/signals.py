"""The signals of a policy, as the release handler is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constructs_lib.catalog import AcceleratedType
from constructs_lib.release.idle_signal import CustomSignal, IdleSignal
from constructs_lib.release.policy import IdlePolicy
from constructs_lib.telemetry import AcceleratorKind, names

_MISSING = "missing_accelerators"
_UNKNOWN = "unknown_accelerators"
_BYTES_PER_MIB = 1024**2


def signal_settings(
    policy: IdlePolicy,
    signals: Sequence[IdleSignal],
    kind: AcceleratorKind,
    types: Sequence[AcceleratedType],
    doubt: Mapping[str, object] | None,
) -> list[Mapping[str, object]]:
    """Return the metrics that the handler reads, in the order in which it asks for them.

    The first that is not idle decides, so what shows work comes before what only shows presence, and doubt last.
    Sessions of Session Manager are no metric and not among them.

    Args:
        policy: with the thresholds.
        signals: what is looked at.
        kind: of the accelerators.
        types: of the instances; none if nobody knows them.
        doubt: how many accelerators there are of which nobody knows anything: those that answer say nothing about them.
            None: nobody counts them.
    """
    shown = {each.value: _setting(each, policy, kind, types) for each in IdleSignal if each in signals}
    presence = shown.pop(IdleSignal.LOGINS.value, None)
    own = [_custom(f"custom_{number}", each) for number, each in enumerate(policy.custom_signals or (), start=1)]
    ordered = [*shown.values(), *own, presence, doubt]
    return [each for each in ordered if each is not None]


def doubt_of_node_program(signals: Sequence[IdleSignal]) -> dict[str, object]:
    """The node program counts them: those whose use is not known, or where use is not looked at, those that are silent.

    A GPU in MIG mode has no use that anybody could read, and answers all the same.
    """
    if IdleSignal.ACCELERATOR in signals:
        return _metric(_UNKNOWN, names.ACCELERATORS_UNKNOWN, 1.0, "doubt")
    return _metric(_MISSING, names.ACCELERATORS_MISSING, 1.0, "doubt")


def doubt_of_agent(signals: Sequence[IdleSignal], kind: AcceleratorKind) -> dict[str, object] | None:
    """The agent alone leaves out what it cannot read: some accelerators then have fewer figures than others.

    One that does not answer at all has none, so that where use is not looked at, nobody counts them.
    """
    if IdleSignal.ACCELERATOR not in signals:
        return None
    assert kind.presence is not None
    told = _metric(_UNKNOWN, kind.metric_name(kind.presence), 1.0, "doubt")
    return {**told, "statistic": "SampleCount", "less": kind.use_metric}


def _setting(
    signal: IdleSignal, policy: IdlePolicy, kind: AcceleratorKind, types: Sequence[AcceleratedType]
) -> dict[str, object] | None:
    match signal:
        case IdleSignal.ACCELERATOR:
            return _metric(signal.value, kind.use_metric, policy.threshold(kind), "work")
        case IdleSignal.MEMORY:
            assert kind.memory is not None
            return _metric(signal.value, kind.metric_name(kind.memory), policy.threshold_memory_mib, "work")
        case IdleSignal.POWER:
            assert kind.power is not None
            return _metric(signal.value, kind.metric_name(kind.power), policy.threshold_power_watts, "work")
        case IdleSignal.IDLE_SECONDS:
            # It has to have grown to the whole window; the statistic with the latest use.
            told = _metric(signal.value, names.IDLE_SECONDS, policy.window_seconds, "idle_time")
            return {**told, "statistic": "Minimum"}
        case IdleSignal.BUSY_MARK:
            return _metric(signal.value, names.BUSY_MARKS, 1.0, "work")
        case IdleSignal.CPU:
            return _metric(signal.value, names.CPU_UTILIZATION, policy.cpu_threshold(types), "work")
        case IdleSignal.NETWORK:
            assert policy.threshold_network_mib_s is not None
            below = policy.threshold_network_mib_s * _BYTES_PER_MIB
            return _metric(signal.value, names.NETWORK_THROUGHPUT, below, "work")
        case IdleSignal.LOGINS:
            # Somebody who is logged in may have nothing running.
            return _metric(signal.value, names.SESSIONS, 1.0, "presence")
        case IdleSignal.SESSIONS:
            return None


def _custom(name: str, signal: CustomSignal) -> dict[str, object]:
    told = _metric(name, signal.metric_name, signal.idle_below, "work")
    told = {**told, "statistic": signal.statistic, "namespace": signal.namespace}
    return {**told, **({"dimensions": dict(signal.dimension_items)} if signal.dimension_items else {})}


def _metric(name: str, metric: str, idle_below: float | None, means: str) -> dict[str, object]:
    return {"name": name, "metric": metric, "statistic": "Maximum", "idle_below": idle_below, "means": means}
