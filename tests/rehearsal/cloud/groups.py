"""A simulated Auto Scaling group on its own, minute by minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constructs_lib.rehearsal.cloud.group import Boot, Group, Instance
from constructs_lib.rehearsal.cloud.hooks import LAUNCHING, TERMINATING
from constructs_lib.rehearsal.cloud.purchasing import ONE_TYPE, Purchasing
from constructs_lib.rehearsal.cloud.retries import LONGEST_DELAY

MINUTE = 60
HOUR = 60  # in minutes
DAY = 24 * HOUR


def make_group(
    *,
    minimum: int = 0,
    maximum: int = 10,
    boot: float | Callable[[Instance], Boot] = 120,
    zones: int = 1,
    busy: Callable[[Instance], float] = lambda _instance: 0.0,
    purchasing: Purchasing = ONE_TYPE,
    spares: bool = True,
    longest_retry: int = LONGEST_DELAY,
    **properties: Any,
) -> Group:
    """Return a group with these sizes, and with other properties as in a template."""
    return Group(
        "Group",
        {"MinSize": str(minimum), "MaxSize": str(maximum), **properties},
        boot_seconds=boot,
        zones=zones,
        tags={},
        busy=lambda instance, _now: busy(instance),
        purchasing=purchasing,
        rebalancing_spares_protected=spares,
        longest_retry=longest_retry,
    )


def run(group: Group, minutes: int) -> None:
    """Let minutes pass."""
    for _ in range(minutes):
        group.tick(group.now + MINUTE)


def started(count: int, **arguments: Any) -> Group:
    """Return a group with so many in service."""
    group = make_group(**arguments)
    group.set_desired(count)
    run(group, 4)
    assert len(group.in_service) == count
    return group


def hook(name: str, *, launching: bool = False, heartbeat: int = 600, default: str | None = None) -> dict[str, Any]:
    """Return a lifecycle hook as a template has it."""
    return {
        "LifecycleHookName": name,
        "LifecycleTransition": LAUNCHING if launching else TERMINATING,
        "HeartbeatTimeout": heartbeat,
        **({} if default is None else {"DefaultResult": default}),
    }


def nobody_answers(seconds: float = 60) -> Callable[[Instance], Boot]:
    """Return a boot of so many seconds whose launch hooks the machine never completes."""
    return lambda _instance: Boot(0.0, seconds)


def answers_after(seconds: float) -> Callable[[Instance], Boot]:
    """Return a boot of a minute whose launch hooks the machine completes so many seconds after the launch."""
    return lambda _instance: Boot(0.0, 60.0, answered_s=seconds)
