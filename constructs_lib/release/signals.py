"""The signals of a policy, as the release handler is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constructs_lib.release.policy import IdlePolicy, IdleSignal
from constructs_lib.telemetry import AcceleratorKind, names

_DOUBT = "unknown_accelerators"


def signal_settings(
    policy: IdlePolicy, signals: Sequence[IdleSignal], kind: AcceleratorKind, doubt: Mapping[str, object]
) -> list[Mapping[str, object]]:
    """Return the metrics that the handler reads, in the order in which it asks for them.

    The first that is not idle decides, so what shows work comes before what only shows presence, and doubt last.
    Sessions of Session Manager are no metric and not among them.

    Args:
        policy: with the thresholds.
        signals: what is looked at.
        kind: of the accelerators.
        doubt: how many accelerators there are whose use nobody knows: those that answer say nothing about them.
    """
    asked = {
        IdleSignal.ACCELERATOR: (kind.use_metric, policy.threshold(kind), "work"),
        IdleSignal.BUSY_MARK: (names.BUSY_MARKS, 1.0, "work"),
        IdleSignal.CPU: (names.CPU_UTILIZATION, policy.cpu_threshold_percent, "work"),
        # Somebody who is logged in may have nothing running.
        IdleSignal.LOGINS: (names.SESSIONS, 1.0, "presence"),
    }
    return [*(_setting(signal.value, *asked[signal]) for signal in asked if signal in signals), doubt]


def doubt_of_node_program() -> dict[str, object]:
    """The node program counts them."""
    return _setting(_DOUBT, names.ACCELERATORS_UNKNOWN, 1.0, "doubt")


def doubt_of_agent(kind: AcceleratorKind) -> dict[str, object]:
    """The agent alone leaves out what it cannot read: some accelerators then have fewer figures than others."""
    assert kind.presence is not None
    told = _setting(_DOUBT, kind.metric_name(kind.presence), 1.0, "doubt")
    return {**told, "statistic": "SampleCount", "less": kind.use_metric}


def _setting(name: str, metric: str, idle_below: float | None, means: str) -> dict[str, object]:
    return {"name": name, "metric": metric, "statistic": "Maximum", "idle_below": idle_below, "means": means}
