"""Scaling policies, the capacity-based way: an alarm acts again every minute, the group picks the victim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple, Protocol

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group import Group
from constructs_lib.rehearsal.cloud.target_tracking import KIND as TARGET_TRACKING
from constructs_lib.rehearsal.cloud.target_tracking import may_scale_in, target_of, tracked_capacity
from constructs_lib.rehearsal.template import Template
from constructs_lib.validation import complaint

AGGREGATED = "which of an alarm's datapoints a step-scaling policy goes by"
BY_SILENCE = "whether a step-scaling policy acts on silence that is breaching"
LEAST_CHANGE = "whether a least change lets a percentage wake an empty group"
WAKES = "whether target tracking wakes an empty group"

_MINUTE = 60
_NEVER = (-_MINUTE, None)
_STEP, _SIMPLE, _PREDICTIVE = "StepScaling", "SimpleScaling", "PredictiveScaling"
_EXACT, _PERCENT = "ExactCapacity", "PercentChangeInCapacity"


@dataclass(frozen=True)
class PolicyReading:
    """How that is read which AWS does not document of scaling policies."""

    steps_by_aggregate: bool = False
    """Whether a step follows from all datapoints that the alarm judges, put together by the policy's
    MetricAggregationType, and not from the newest one; of metric math, too."""
    steps_by_silence: bool = True
    """Whether silence that the alarm counts as breaching, which has no value, is taken for the first step."""
    least_change_wakes: bool = True
    """Whether MinAdjustmentMagnitude applies to a percentage of nothing."""
    tracking_wakes: bool = False
    """Whether target tracking reckons with one instance at least, so that it wakes an empty group."""

    def other(self, question: str) -> PolicyReading:
        """Return the reading that differs in one of the fields."""
        return replace(self, **{question: not getattr(self, question)})


_USUAL = PolicyReading()
_AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {"Average": fmean, "Maximum": max, "Minimum": min}


class Seen(NamedTuple):
    """What an alarm saw that acts: its threshold, the newest point that there is, and all that it judged.

    ``from_below`` says that what is less than the threshold breaches it, and so a point on it is the least of breaches
    downwards.
    """

    threshold: float
    newest: float | None
    judged: Sequence[float]
    from_below: bool = False

    @classmethod
    def of(cls, threshold: float, points: Sequence[float | None], periods: int, *, from_below: bool = False) -> Seen:
        """Return it of the points of a range, of which the newest ``periods`` are judged, if there are any."""
        newest = next((point for point in reversed(points) if point is not None), None)
        return cls(threshold, newest, [point for point in points[-periods:] if point is not None], from_below)


@dataclass
class _Minute:
    """What policies have asked for within one minute: desired before it, the most wanted, and desired since."""

    at: int
    before: int
    wanted: int | None
    settled: int


class PolicyRunner:
    """Executes the policies of the group (SR-4, SR-5); warming instances block a scale-in by policy.

    Of several that act within a minute the one with the largest capacity wins, on scale-in too. Target tracking scales
    in only if all such policies that may are ready to.

    Raises:
        ArgumentError: a policy is of a kind that is not simulated and could change the group.
    """

    def __init__(self, template: Template, group: Group, reading: PolicyReading = _USUAL) -> None:
        self._group = group
        self._reading = reading
        _, properties = template.group()
        fallback = properties.get("DefaultInstanceWarmup")
        warm_up = group.cooldown if fallback is None or int(fallback) < 0 else int(fallback)
        self._policies: dict[str, _Policy] = {}
        self._lowered: dict[str, tuple[int, int | None]] = {}
        """When each policy of target tracking that may scale in has last asked for that, and for which size."""
        cooling_down = _CoolingDown()
        for name, each in template.policies().items():
            kind = each.get("PolicyType", _SIMPLE)
            if kind == TARGET_TRACKING:
                for side in ("High", "Low"):
                    self._policies[target_of(name, side)] = _TargetTracking(each, group, warm_up, side == "High")
                if may_scale_in(each):
                    self._lowered[target_of(name, "Low")] = _NEVER
            elif kind == _STEP:
                self._policies[name] = _Step(each, group, warm_up)
            elif kind == _SIMPLE:
                self._policies[name] = _Simple(each, group, cooling_down)
            elif not _only_forecasts(each):
                rule, cure = "be of a type that is simulated", "rehearse it with Mode ForecastOnly"
                raise ArgumentError(complaint(name, "PolicyType", rule, kind, cure))
        self._minute = _Minute(-1, group.desired, None, group.desired)

    def knows(self, target: str) -> bool:
        """Return whether an alarm's target is a scaling policy: what Ref gives of it, or GetAtt of its ARN."""
        return target.removesuffix(".Arn") in self._policies

    def run(self, target: str, now: int, seen: Seen) -> None:
        """Let a policy act on what its alarm saw; where none of its steps matches nothing changes, without an error."""
        if "AlarmNotification" in self._group.suspended:
            return
        if self._minute.at != now or self._minute.settled != self._group.desired:
            self._minute = _Minute(now, self._group.desired, None, self._group.desired)
        minute, target = self._minute, target.removesuffix(".Arn")
        policy = self._policies[target]
        size = policy.wants(now, minute.before, seen, self._reading)
        for question, doubt in policy.open.items():
            other = policy.wants(now, minute.before, seen, self._reading.other(question))
            if self._within(other, minute.before) != self._within(size, minute.before):
                self._group.doubts.add(doubt)
        if target in self._lowered:
            self._lowered[target] = (now, size)
            size = self._agreed(now)
        if size is not None:
            size = self._within(size, minute.before)
            minute.wanted = size if minute.wanted is None else max(minute.wanted, size)
            minute.settled = minute.wanted
            if minute.wanted != self._group.desired:
                self._group.set_desired(minute.wanted)

    def _within(self, size: int | None, desired: int) -> int:
        """Return what comes of a size that is wanted, within those of the group; of none, what was desired."""
        return desired if size is None else min(max(size, self._group.minimum), self._group.maximum)

    def _agreed(self, now: int) -> int | None:
        """Return the size to which all of target tracking would scale in, None while one of them would not."""
        sizes = [size for at, size in self._lowered.values() if size is not None and now - at <= _MINUTE]
        return max(sizes) if len(sizes) == len(self._lowered) else None


class _Policy(Protocol):
    """One policy. ``open`` has the doubts of which it can be asked again and again, by the field of the reading."""

    open: Mapping[str, str]

    def wants(self, now: int, desired: int, seen: Seen, reading: PolicyReading) -> int | None:
        """Return the capacity it wants after what was seen, None if it has nothing to say.

        ``desired`` is what was desired before any policy acted in this minute.
        """


class _Warming:
    """What a policy needs that knows which instances have warmed up."""

    def __init__(self, policy: Mapping[str, Any], group: Group, group_warm_up: int) -> None:
        self._group = group
        own = policy.get("EstimatedInstanceWarmup")
        self._warm_up = group_warm_up if own is None else int(own)

    def _warm(self, now: int) -> int:
        in_service = self._group.in_service
        return sum(now - (each.in_service_since or 0) >= self._warm_up for each in in_service)

    def _lowered(self, now: int, desired: int, size: int) -> int | None:
        """Return a smaller size if all have warmed up; None, since a scale-in waits for that, if not."""
        return min(desired, size) if size >= desired or len(self._group.alive) == self._warm(now) else None


class _Step(_Warming):
    """Step scaling: the change is to the capacity that has warmed up.

    On scale-in, what is terminating still counts, so that the same step does not remove twice.
    """

    open: Mapping[str, str] = {
        "steps_by_aggregate": AGGREGATED,
        "steps_by_silence": BY_SILENCE,
        "least_change_wakes": LEAST_CHANGE,
    }

    def __init__(self, policy: Mapping[str, Any], group: Group, group_warm_up: int) -> None:
        super().__init__(policy, group, group_warm_up)
        self._steps: Sequence[Mapping[str, Any]] = policy["StepAdjustments"]
        self._kind = policy["AdjustmentType"]
        self._least = int(policy.get("MinAdjustmentMagnitude", 0))
        self._aggregate = _AGGREGATES[policy.get("MetricAggregationType", "Average")]

    def wants(self, now: int, desired: int, seen: Seen, reading: PolicyReading) -> int | None:
        step = self._step(seen, reading)
        if step is None:
            return None
        change = int(step["ScalingAdjustment"])
        if self._kind == _EXACT:
            return change if change > desired else self._lowered(now, desired, change)
        if change == 0:
            return desired
        current = self._warm(now)
        if change > 0:
            return max(desired, current + self._adjustment(change, current, reading))
        current += len(self._group.members) - len(self._group.alive)
        return self._lowered(now, desired, current + self._adjustment(change, current, reading))

    def _step(self, seen: Seen, reading: PolicyReading) -> Mapping[str, Any] | None:
        if seen.newest is None:
            return self._steps[0] if reading.steps_by_silence else None
        by_all = reading.steps_by_aggregate and seen.judged
        offset = (self._aggregate(seen.judged) if by_all else seen.newest) - seen.threshold
        return _step(self._steps, offset, seen.from_below)

    def _adjustment(self, change: int, capacity: int, reading: PolicyReading) -> int:
        least = self._least if capacity or reading.least_change_wakes else 0
        return adjustment(self._kind, change, capacity, least)


class _TargetTracking(_Warming):
    """One side of a target-tracking policy: more when above the target, less when well below it."""

    open: Mapping[str, str] = {"tracking_wakes": WAKES}

    def __init__(self, policy: Mapping[str, Any], group: Group, group_warm_up: int, grows: bool) -> None:
        super().__init__(policy, group, group_warm_up)
        self._target = float(policy["TargetTrackingConfiguration"]["TargetValue"])
        self._grows = grows

    def wants(self, now: int, desired: int, seen: Seen, reading: PolicyReading) -> int | None:
        if seen.newest is None:
            return None
        capacity = self._warm(now)
        if reading.tracking_wakes and not self._group.alive:
            capacity = 1
        size = tracked_capacity(capacity, seen.newest, self._target)
        return max(desired, size) if self._grows else self._lowered(now, desired, size)


@dataclass
class _CoolingDown:
    """When a policy of simple scaling last changed the group, and for how long all such policies wait after that."""

    since: int | None = None
    seconds: int = 0


class _Simple:
    """Simple scaling: one change, then nothing by any such policy until what it began is over and has cooled down."""

    open: Mapping[str, str] = {}

    def __init__(self, policy: Mapping[str, Any], group: Group, cooling_down: _CoolingDown) -> None:
        self._group = group
        self._cooling_down = cooling_down
        self._change = int(policy["ScalingAdjustment"])
        self._kind = policy["AdjustmentType"]
        self._least = int(policy.get("MinAdjustmentMagnitude", policy.get("MinAdjustmentStep", 0)))
        self._cooldown = int(policy.get("Cooldown", group.cooldown))

    def wants(self, now: int, desired: int, seen: Seen, reading: PolicyReading) -> int | None:
        group, acted = self._group, self._cooling_down.since
        # Of several that act within the same minute the largest capacity wins, as with any policies.
        if acted is not None and acted != now:
            busy = len(group.in_service) != desired or len(group.members) != len(group.in_service)
            if busy or now - max(acted, group.last_activity) < self._cooling_down.seconds:
                return None
        if self._kind == _EXACT:
            size = self._change
        else:
            size = desired + adjustment(self._kind, self._change, desired, self._least)
        if min(max(size, group.minimum), group.maximum) != desired:
            self._cooling_down.since, self._cooling_down.seconds = now, self._cooldown
        return size


def adjustment(kind: str, change: int, capacity: int, least: int) -> int:
    """Return by how many instances a policy changes the capacity.

    A percentage rounds towards zero, but what is less than one instance is one; ``least`` is its smallest change.
    """
    if kind != _PERCENT or change == 0:
        return change
    exact = capacity * change / 100
    if exact == 0:
        amount = 0
    elif abs(exact) < 1:
        amount = 1 if exact > 0 else -1
    else:
        amount = math.trunc(exact)
    return amount if abs(amount) >= least else int(math.copysign(least, change))


def _step(steps: Sequence[Mapping[str, Any]], offset: float, from_below: bool) -> Mapping[str, Any] | None:
    lower_belongs = offset > 0 or (offset == 0 and not from_below)
    for step in steps:
        lower = float(step.get("MetricIntervalLowerBound", "-inf"))
        upper = float(step.get("MetricIntervalUpperBound", "inf"))
        if (lower <= offset < upper) if lower_belongs else (lower < offset <= upper):
            return step
    return None


def _only_forecasts(policy: Mapping[str, Any]) -> bool:
    """Return whether it is predictive scaling that changes nothing, as it does unless told otherwise."""
    mode = policy.get("PredictiveScalingConfiguration", {}).get("Mode", "ForecastOnly")
    return policy.get("PolicyType") == _PREDICTIVE and mode == "ForecastOnly"
