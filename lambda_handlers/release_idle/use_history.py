"""How many members were in use at once in the past day, as earlier passes published it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from release_idle.in_use import PASSES_APART
from release_idle.measurement import period_start
from runtime.group_metrics_reader import GroupMetric, read_group_metrics
from runtime.metric_data import MetricClient
from runtime.patience import Patience

IN_USE: Literal["MembersInUse"] = "MembersInUse"
"""The metric that passes publish of a fleet whose policy asks for it."""

SLOT_SECONDS = int(PASSES_APART.total_seconds())
_REACH = timedelta(days=1)


def read_use_history(
    client: MetricClient, namespace: str, group_name: str, now: datetime, patience: Patience
) -> tuple[int, ...]:
    """Return the most members in use at once in each slot of the past day, the newest, still going on, last.

    Raises `UnreadableMetrics` for an answer that may lack points, and what AWS raises.
    """
    newest = period_start(now, SLOT_SECONDS)
    metric = GroupMetric(
        group_name=group_name, name=IN_USE, statistic="Maximum", namespace=namespace, period_seconds=SLOT_SECONDS
    )
    (points,) = read_group_metrics(client, [metric], newest - _REACH, newest + PASSES_APART, patience)
    return slots_of(points, newest)


def slots_of(points: Mapping[datetime, float], newest: datetime) -> tuple[int, ...]:
    """Return a number for each slot up to the newest.

    Passes shift by seconds, so that one slot may have two and the next one none: one empty slot is like that before it.
    Of an empty group there are no passes, and nobody was in use.
    """
    slots = [newest - back * PASSES_APART for back in range(_REACH // PASSES_APART, -1, -1)]
    filled = [0 if at == newest else points.get(at - PASSES_APART, 0) for at in slots]
    return tuple(int(points.get(at, before)) for at, before in zip(slots, filled, strict=True))
