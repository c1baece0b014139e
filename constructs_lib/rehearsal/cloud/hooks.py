"""Lifecycle hooks: what holds an instance before it serves or before it ends, and what happens when nobody answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

LAUNCHING = "autoscaling:EC2_INSTANCE_LAUNCHING"
TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"

_DEFAULT_HEARTBEAT = 3_600
_MOST_HEARTBEATS = 100
_LONGEST_WAIT = 172_800
"""Seconds for which a hook can be kept alive by heartbeats, at most, and as many heartbeats ("Lifecycle hooks")."""


@dataclass(frozen=True)
class Hook:
    """One hook; ``heartbeat`` in seconds."""

    name: str
    transition: str
    heartbeat: int
    default_result: Literal["CONTINUE", "ABANDON"]

    @property
    def global_timeout(self) -> int:
        """Return for how many seconds it holds an instance whose heartbeat somebody records again and again."""
        return min(_LONGEST_WAIT, _MOST_HEARTBEATS * self.heartbeat)


@dataclass
class Waiting:
    """An instance that waits for hooks: those not answered yet, with the second in which their time is up."""

    since: int
    open: dict[str, int]

    def beat(self, hook: Hook, now: int) -> None:
        """Let a hook wait for another heartbeat, never beyond its global time-out."""
        self.open[hook.name] = min(now + hook.heartbeat, self.since + hook.global_timeout)


def begin_waiting(hooks: Iterable[Hook], now: int) -> Waiting:
    """Return the wait for these hooks, which run side by side."""
    return Waiting(now, {hook.name: now + min(hook.heartbeat, hook.global_timeout) for hook in hooks})


def read_hooks(documents: Sequence[Mapping[str, Any]]) -> dict[str, Hook]:
    """Return the hooks that a template gives a group, by name. What AWS takes for what it leaves out is filled in."""
    return {hook.name: hook for hook in map(_hook, documents)}


def refuse_retention(group: str, properties: Mapping[str, Any], hooks: Iterable[Hook]) -> None:
    """Refuse a group that keeps the instances whose termination hook ran out: that is not simulated.

    Raises:
        ArgumentError: it does. With CONTINUE as the result of every such hook none is ever kept.
    """
    trigger = properties.get("InstanceLifecyclePolicy", {}).get("RetentionTriggers", {}).get("TerminateHookAbandon")
    kept = [each.name for each in hooks if each.transition == TERMINATING and each.default_result == "ABANDON"]
    if trigger == "retain" and kept:
        rule = f"not retain what the termination hook {', '.join(kept)} abandons"
        cure = "set the hook's DefaultResult to CONTINUE, or leave the policy out"
        raise ArgumentError(complaint(group, "InstanceLifecyclePolicy", rule, trigger, cure))


def _hook(document: Mapping[str, Any]) -> Hook:
    return Hook(
        name=document["LifecycleHookName"],
        transition=document["LifecycleTransition"],
        heartbeat=int(document.get("HeartbeatTimeout", _DEFAULT_HEARTBEAT)),
        default_result=document.get("DefaultResult", "ABANDON"),
    )
