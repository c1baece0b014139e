"""The signals of a policy, as the release handler is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from constructs_lib.release.policy import IdlePolicy, IdleSignal
from constructs_lib.telemetry import AcceleratorKind, names


def signal_settings(
    policy: IdlePolicy, signals: Sequence[IdleSignal], kind: AcceleratorKind
) -> list[dict[str, object]]:
    """Return the metrics that the handler reads, in the order in which it asks for them.

    The first that is not idle decides, so what shows work comes before what only shows presence. Sessions of Session
    Manager are no metric and not among them.
    """
    settings = [_setting(IdleSignal.ACCELERATOR, kind.use_metric, policy.threshold(kind))]
    if IdleSignal.BUSY_MARK in signals:
        settings.append(_setting(IdleSignal.BUSY_MARK, names.BUSY_MARKS, 1.0))
    if IdleSignal.CPU in signals:
        settings.append(_setting(IdleSignal.CPU, names.CPU_UTILIZATION, policy.cpu_threshold_percent))
    if IdleSignal.LOGINS in signals:
        settings.append(_setting(IdleSignal.LOGINS, names.SESSIONS, 1.0))
    return settings


def _setting(signal: IdleSignal, metric: str, idle_below: float | None) -> dict[str, object]:
    return {
        "name": signal.value,
        "metric": metric,
        "statistic": "Maximum",
        "idle_below": idle_below,
        # Somebody who is logged in may have nothing running.
        "shows_work": signal is not IdleSignal.LOGINS,
    }
