"""The signals of a policy, as the release handler is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from constructs_lib.release.policy import IdlePolicy, IdleSignal
from constructs_lib.telemetry import AcceleratorKind, names


def signal_settings(
    policy: IdlePolicy, signals: Sequence[IdleSignal], kind: AcceleratorKind, *, doubt_metric: str | None
) -> list[dict[str, object]]:
    """Return the metrics that the handler reads, in the order in which it asks for them.

    The first that is not idle decides, so what shows work comes before what only shows presence, and doubt last.
    Sessions of Session Manager are no metric and not among them.

    Args:
        policy: with the thresholds.
        signals: what is looked at.
        kind: of the accelerators.
        doubt_metric: counts the accelerators whose use the instance itself cannot tell: those that answer say nothing
            about them. None: the instances do not publish it.
    """
    asked = {
        IdleSignal.ACCELERATOR: (kind.use_metric, policy.threshold(kind), "work"),
        IdleSignal.BUSY_MARK: (names.BUSY_MARKS, 1.0, "work"),
        IdleSignal.CPU: (names.CPU_UTILIZATION, policy.cpu_threshold_percent, "work"),
        # Somebody who is logged in may have nothing running.
        IdleSignal.LOGINS: (names.SESSIONS, 1.0, "presence"),
    }
    settings = [_setting(signal.value, *asked[signal]) for signal in asked if signal in signals]
    if doubt_metric is not None:
        settings.append(_setting("unknown_accelerators", doubt_metric, 1.0, "doubt"))
    return settings


def _setting(name: str, metric: str, idle_below: float | None, means: str) -> dict[str, object]:
    return {"name": name, "metric": metric, "statistic": "Maximum", "idle_below": idle_below, "means": means}
