"""The metrics of a group and of its warm pool, as Auto Scaling counts them each minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from constructs_lib.rehearsal.cloud.warm_pool import WarmPool

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cloud.group import Group


def collected_metrics(group: Group, collections: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the metrics that a template's ``MetricsCollection`` names, or all where it names none; zeros at zero."""
    values = _of_group(group)
    if group.pool is not None:
        values |= _of_pool(group, group.pool, values["GroupTotalInstances"])
    wanted: set[str] = set()
    for collection in collections:
        wanted |= set(collection.get("Metrics", values))
    return {name: value for name, value in values.items() if name in wanted}


def _of_group(group: Group) -> dict[str, int]:
    members = group.members
    states = Counter(instance.state for instance in members)
    in_service = states["InService"]
    pending = states["Pending"] + states["Pending:Wait"]
    counts = {
        "InService": in_service,
        "Pending": pending,
        "Standby": 0,
        "Terminating": len(members) - in_service - pending,
        "TerminatingRetained": 0,
        "Total": len(members),
    }
    return {
        "GroupMinSize": group.minimum,
        "GroupMaxSize": group.maximum,
        "GroupDesiredCapacity": group.desired,
        **{f"Group{state}Instances": count for state, count in counts.items()},
        # No instance weighs more than another.
        **{f"Group{state}Capacity": count for state, count in counts.items()},
    }


def _of_pool(group: Group, pool: WarmPool, members: int) -> dict[str, int]:
    size, there, warmed = pool.size(group.desired, group.maximum), len(pool.waiting), len(pool.warmed)
    return {
        "WarmPoolMinSize": pool.minimum,
        "WarmPoolDesiredCapacity": size,
        "WarmPoolWarmedCapacity": warmed,
        "WarmPoolPendingCapacity": there - warmed,
        "WarmPoolTerminatingCapacity": 0,
        "WarmPoolTotalCapacity": there,
        "GroupAndWarmPoolDesiredCapacity": group.desired + size,
        "GroupAndWarmPoolTotalCapacity": members + there,
    }
