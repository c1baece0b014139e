"""Scaling policies, the capacity-based way: an alarm acts again every minute, the group picks the victim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.template import Template

_DEFAULT_WARM_UP = 300


class PolicyRunner:
    """Executes step policies (SR-4, SR-5); warming instances block a scale-in by policy."""

    def __init__(self, template: Template, group: Group) -> None:
        self._policies = template.resources("AWS::AutoScaling::ScalingPolicy")
        self._group = group
        _, properties = template.only("AWS::AutoScaling::AutoScalingGroup")
        self._group_warm_up = properties.get("DefaultInstanceWarmup", _DEFAULT_WARM_UP)

    def knows(self, target: str) -> bool:
        """Return whether an alarm's target is a scaling policy."""
        return target in self._policies

    def run(self, target: str, now: int, threshold: float, points: Sequence[float | None]) -> None:
        """Apply the step that the newest point falls into; no matching step, no change and no error (SR-5).

        Silence that the alarm counts as breaching has no value: the breach itself is taken, as the first step.
        """
        policy = self._policies[target]
        steps = policy["StepAdjustments"]
        value = next((point for point in reversed(points) if point is not None), None)
        step = steps[0] if value is None else _step(steps, value - threshold)
        if step is None:
            return
        warm_up = int(policy.get("EstimatedInstanceWarmup", self._group_warm_up))
        ready = [i for i in self._group.in_service if now - (i.in_service_since or 0) >= warm_up]
        change = int(step["ScalingAdjustment"])
        exact = policy["AdjustmentType"] == "ExactCapacity"
        size = change if exact else len(ready) + change
        warming = len(self._group.alive) > len(ready)
        if size < self._group.desired and (warming or (change > 0 and not exact)):
            return
        self._group.set_desired(min(max(size, self._group.minimum), self._group.maximum))


def _step(steps: Sequence[Mapping[str, Any]], offset: float) -> Mapping[str, Any] | None:
    for step in steps:
        lower = float(step.get("MetricIntervalLowerBound", "-inf"))
        upper = float(step.get("MetricIntervalUpperBound", "inf"))
        if (lower <= offset < upper) if offset >= 0 else (lower < offset <= upper):
            return step
    return None
