"""An Auto Scaling group that is as unkind as the rules allow (SR-6, SR-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class Refused(Exception):
    """The group's API refuses a call (the API's ValidationError)."""


@dataclass
class Instance:
    """One member, from launch to end; times in seconds."""

    id: str
    zone: str
    launched: int
    protected: bool
    state: str = "Pending"
    in_service_since: int | None = None
    leaves_at: int | None = None
    ended: int | None = None
    healthy: bool = True
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """Why and when the termination of an instance began, and whether it was doing something."""

    id: str
    at: int
    cause: str
    busy: bool


class Group:
    """Sizes, members and the platform's own reasons to end some.

    Scale-in, rebalancing and a size cut take the busiest unprotected instance first. ``capacity`` limits how many
    instances the cloud can give; ``boot_seconds`` pass between launch and InService.
    """

    def __init__(
        self,
        name: str,
        properties: Mapping[str, Any],
        *,
        boot_seconds: int = 120,
        zones: int = 2,
        tags: Mapping[str, str],
        busy: Callable[[Instance, int], float],
    ) -> None:
        self.name = name
        self.minimum = int(properties["MinSize"])
        self.maximum = int(properties["MaxSize"])
        self.desired = int(properties.get("DesiredCapacity", self.minimum))
        self._leaving_seconds = 60 + _drain_seconds(properties.get("LifecycleHookSpecificationList", ()))
        self.protects_new = bool(properties.get("NewInstancesProtectedFromScaleIn", False))
        self.suspended: set[str] = set()
        self.capacity: int | None = None
        self.everyone: list[Instance] = []
        self.endings: list[Ending] = []
        self.desired_history: list[tuple[int, int]] = []
        self._properties = dict(properties)
        self._boot_seconds = boot_seconds
        self.zones = [f"us-east-1{letter}" for letter in "abcdef"[:zones]]
        self._tags = {**tags, "aws:autoscaling:groupName": name}
        self._busy = busy
        self._rebalancing: Instance | None = None
        self._now = 0

    @property
    def members(self) -> list[Instance]:
        """Return everything that bills: also what is pending or still terminating."""
        return [instance for instance in self.everyone if instance.state != "Terminated"]

    @property
    def alive(self) -> list[Instance]:
        """Return what counts towards desired capacity."""
        return [i for i in self.everyone if i.state in ("Pending", "InService")]

    @property
    def in_service(self) -> list[Instance]:
        """Return what can work."""
        return [i for i in self.everyone if i.state == "InService"]

    def member(self, instance_id: str) -> Instance:
        """Return a member that still bills; raise Refused for anything else."""
        for instance in self.members:
            if instance.id == instance_id:
                return instance
        raise Refused(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")

    def metrics(self) -> dict[str, int]:
        """Return this minute's group metrics, as far as the template has them collected; zeros at zero."""
        values = {
            "GroupMinSize": self.minimum,
            "GroupMaxSize": self.maximum,
            "GroupDesiredCapacity": self.desired,
            "GroupInServiceInstances": len(self.in_service),
            "GroupPendingInstances": len(self.alive) - len(self.in_service),
            "GroupTerminatingInstances": len(self.members) - len(self.alive),
            "GroupTotalInstances": len(self.members),
        }
        wanted: set[str] = set()
        for collection in self._properties.get("MetricsCollection", ()):
            wanted |= set(collection.get("Metrics", values))
        return {name: value for name, value in values.items() if name in wanted}

    def set_desired(self, desired: int) -> None:
        """Set the desired capacity; the sizes bound it."""
        if not self.minimum <= desired <= self.maximum:
            raise Refused(f"New SetDesiredCapacity value {desired} is outside {self.minimum}..{self.maximum}")
        self.desired = desired

    def resize(self, *, minimum: int | None = None, maximum: int | None = None, desired: int | None = None) -> None:
        """Change sizes; desired is clamped into them."""
        self.minimum = self.minimum if minimum is None else minimum
        self.maximum = self.maximum if maximum is None else maximum
        self.desired = min(max(self.desired if desired is None else desired, self.minimum), self.maximum)

    def terminate(self, instance_id: str, *, decrement: bool) -> None:
        """End one particular member, as TerminateInstanceInAutoScalingGroup does: protection does not matter."""
        instance = self.member(instance_id)
        if decrement and self.desired - 1 < self.minimum:
            raise Refused(f"Currently, desiredSize equals minSize ({self.minimum}); it would violate the minimum")
        self.desired -= int(decrement)
        self._end(instance, "released")

    def lose(self, instance_id: str, cause: str) -> None:
        """Take a member away from outside: Spot, a person, a crash."""
        self._end(self.member(instance_id), cause)

    def update(self, properties: Mapping[str, Any], update_policy: Mapping[str, Any] | None) -> None:
        """Apply a stack update (SR-7): sizes are clamped, a rolling policy replaces every member."""
        desired = properties.get("DesiredCapacity")
        self.resize(
            minimum=int(properties["MinSize"]),
            maximum=int(properties["MaxSize"]),
            desired=None if desired is None else int(desired),
        )
        rolling = update_policy and {"AutoScalingRollingUpdate", "AutoScalingReplacingUpdate"} & set(update_policy)
        launch = ("LaunchTemplate", "MixedInstancesPolicy", "LaunchConfigurationName")
        if rolling and any(properties.get(key) != self._properties.get(key) for key in launch):
            for instance in self.in_service:
                self._end(instance, "rolling update")
        self._properties = dict(properties)

    def tick(self, now: int) -> None:
        """Move everything on to ``now`` and bring the number of members to the desired capacity."""
        self._now = now
        for instance in self.members:
            if instance.leaves_at is not None and instance.leaves_at <= now:
                instance.state, instance.ended = "Terminated", now
            elif instance.state == "Pending" and now - instance.launched >= self._boot_seconds:
                instance.state, instance.in_service_since = "InService", now
        for instance in self.in_service:
            if not instance.healthy:
                self._end(instance, "unhealthy")
        if "Launch" not in self.suspended:
            while len(self.alive) < self.desired and self._has_capacity():
                self._launch(self._thinnest())
        self._rebalance()
        self._scale_in()
        if not self.desired_history or self.desired_history[-1][1] != self.desired:
            self.desired_history.append((now, self.desired))

    def _has_capacity(self) -> bool:
        return self.capacity is None or len(self.members) < self.capacity

    def _launch(self, zone: str) -> Instance:
        identity = f"i-{len(self.everyone) + 1:017x}"
        instance = Instance(identity, zone, self._now, self.protects_new, tags=dict(self._tags))
        self.everyone.append(instance)
        return instance

    def _by_zone(self) -> Counter[str]:
        counts = Counter(dict.fromkeys(self.zones, 0))
        counts.update(instance.zone for instance in self.alive)
        return counts

    def _thinnest(self) -> str:
        return min(self.zones, key=lambda zone: self._by_zone()[zone])

    def _rebalance(self) -> None:
        """Launch in the thin zone first, then end in the thick one."""
        counts = self._by_zone()
        thick = max(self.zones, key=lambda zone: counts[zone])
        if self._rebalancing is not None:
            if self._rebalancing.state == "InService":
                self._take_victims(1, "rebalancing", thick)
            if self._rebalancing.state != "Pending":
                self._rebalancing = None
        elif (
            "AZRebalance" not in self.suspended
            and len(self.alive) == self.desired
            and counts[thick] - min(counts.values()) >= 2
            and any(i.zone == thick and not i.protected for i in self.in_service)
            and self._has_capacity()
        ):
            self._rebalancing = self._launch(self._thinnest())

    def _scale_in(self) -> None:
        surplus = len(self.alive) - self.desired
        if surplus > 0 and self._rebalancing is None and "Terminate" not in self.suspended:
            self._take_victims(surplus, "scale-in", None)

    def _take_victims(self, count: int, cause: str, zone: str | None) -> None:
        open_to_it = [i for i in self.alive if not i.protected and zone in (None, i.zone)]
        open_to_it.sort(key=lambda i: self._busy(i, self._now), reverse=True)
        for instance in open_to_it[:count]:
            self._end(instance, cause)

    def _end(self, instance: Instance, cause: str) -> None:
        if instance.state in ("Pending", "InService"):
            busy = instance.state == "InService" and self._busy(instance, self._now) > 0
            self.endings.append(Ending(instance.id, self._now, cause, busy))
            instance.state, instance.leaves_at = "Terminating", self._now + self._leaving_seconds


def _drain_seconds(hooks: Sequence[Mapping[str, Any]]) -> int:
    """Return how long termination hooks that nobody completes hold an instance, which bills all the while (SR-8)."""
    if any("LAUNCHING" in hook["LifecycleTransition"] for hook in hooks):
        raise ValueError("launch hooks are not simulated")
    return sum(int(hook.get("HeartbeatTimeout", 3_600)) for hook in hooks)
