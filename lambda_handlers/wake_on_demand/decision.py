"""How far a group is raised for a backlog. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WakeDecision:
    """The capacity to set, None to leave it, and why."""

    set_desired_to: int | None
    reason: str


def decide_wake(*, needed: int, desired: int, max_size: int) -> WakeDecision:
    """Return how far to raise a group whose backlog needs a capacity of `needed`.

    Exactly what is needed, at most the maximum, and never less than what is desired already: lowering is the
    release function's alone, which knows who is busy.
    """
    target = min(max_size, needed)
    bounded = f" (the backlog needs {needed}, the maximum is {max_size})" if needed > max_size else ""
    if target > desired:
        return WakeDecision(set_desired_to=target, reason=f"raised from {desired} to {target}{bounded}")
    return WakeDecision(set_desired_to=None, reason=f"{desired} desired already, {target} needed{bounded}")
