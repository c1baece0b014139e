"""An Auto Scaling group that is as unkind as the rules allow (SR-6, SR-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_RETRY_SECONDS = 300
_LAUNCH = "an instance was started in response to a difference between desired and actual capacity"


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
    waits_until: int | None = None
    leaves_at: int | None = None
    ended: int | None = None
    healthy: bool = True
    runs: bool = True
    """Whether the machine runs; a member can outlive it, while a hook waits for an answer."""
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """Why and when the termination of an instance began, and whether it was doing something."""

    id: str
    at: int
    cause: str
    busy: bool


@dataclass(frozen=True)
class Activity:
    """One entry of the activity history; `ended` is None while it goes on."""

    id: int
    description: str
    cause: str
    started: int
    ended: int | None
    status: str
    message: str = ""


class Group:
    """Sizes, members and the platform's own reasons to end some.

    Scale-in, rebalancing and a size cut take the busiest unprotected instance first. ``capacity`` limits how many
    instances the cloud can give, and ``no_capacity`` is what it says when there are no more; ``boot_seconds`` pass
    between launch and InService. A termination hook holds an instance until somebody completes it or its time is up
    (SR-8); it bills all the while, and works on. ``cut_off`` are the endings that stopped an instance at work.
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
        self.hooks = _termination_hooks(properties.get("LifecycleHookSpecificationList", ()))
        self.protects_new = bool(properties.get("NewInstancesProtectedFromScaleIn", False))
        self.suspended: set[str] = set()
        self.capacity: int | None = None
        self.no_capacity = "We currently do not have sufficient g6.xlarge capacity (InsufficientInstanceCapacity)."
        self.everyone: list[Instance] = []
        self.endings: list[Ending] = []
        self.cut_off: list[Ending] = []
        self.activities: list[Activity] = []
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

    @property
    def draining(self) -> list[Instance]:
        """Return those that a termination hook holds while their machine runs."""
        return [i for i in self.everyone if i.state == "Terminating:Wait" and i.runs]

    @property
    def at_work(self) -> list[Instance]:
        """Return every instance on which programs run that it came into service with."""
        return self.in_service + self.draining

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

    def complete(self, instance_id: str, hook: str) -> None:
        """Complete the termination hook that an instance waits for."""
        instance = self.member(instance_id)
        if hook not in self.hooks or instance.state != "Terminating:Wait":
            raise Refused(f"No active Lifecycle Action found with instance ID {instance_id}")
        self._leave(instance)

    def delete_hook(self, hook: str) -> None:
        """Delete a hook; what waits for it goes on."""
        if self.hooks.pop(hook, None) is None:
            raise Refused(f"Lifecycle hook {hook} not found")
        for instance in [each for each in self.members if each.state == "Terminating:Wait"]:
            self._leave(instance)

    def lose(self, instance_id: str, cause: str) -> None:
        """Take a member away from outside: Spot, a person, a crash. Its machine is gone at once, hook or not."""
        instance = self.member(instance_id)
        if instance.state in ("InService", "Terminating:Wait") and self._busy(instance, self._now) > 0:
            self.cut_off.append(Ending(instance_id, self._now, cause, busy=True))
        self._end(instance, cause, runs=False)

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
            self._move_on(instance)
        for instance in self.in_service:
            if not instance.healthy:
                self._end(instance, "unhealthy")
        if "Launch" not in self.suspended:
            self._fill()
        self._rebalance()
        self._scale_in()
        if not self.desired_history or self.desired_history[-1][1] != self.desired:
            self.desired_history.append((now, self.desired))

    def _move_on(self, instance: Instance) -> None:
        if instance.waits_until is not None and instance.waits_until <= self._now:
            self._leave(instance)
        if instance.leaves_at is not None and instance.leaves_at <= self._now:
            instance.state, instance.ended = "Terminated", self._now
            ending = self._ending(instance)
            self._note(f"Terminating EC2 instance: {instance.id}", _cause(ending), "Successful", ending.at)
        elif instance.state == "Pending" and self._now - instance.launched >= self._boot_seconds:
            instance.state, instance.in_service_since = "InService", self._now
            self._note(f"Launching a new EC2 instance: {instance.id}", _LAUNCH, "Successful", instance.launched)

    def _fill(self) -> None:
        while len(self.alive) < self.desired and self._has_capacity():
            self._launch(self._thinnest())
        if len(self.alive) < self.desired and self._now % _RETRY_SECONDS == 0:
            self._note("Launching a new EC2 instance", _LAUNCH, "Failed", message=self.no_capacity)

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

    def _end(self, instance: Instance, cause: str, *, runs: bool = True) -> None:
        instance.runs = instance.runs and runs
        if instance.state not in ("Pending", "InService"):
            return
        served = instance.state == "InService"
        busy = served and self._busy(instance, self._now) > 0
        self.endings.append(Ending(instance.id, self._now, cause, busy))
        if self.hooks and served:
            instance.state, instance.waits_until = "Terminating:Wait", self._now + sum(self.hooks.values())
        else:
            self._leave(instance)

    def _leave(self, instance: Instance) -> None:
        worked = instance.state in ("InService", "Terminating:Wait") and instance.runs
        if worked and self._busy(instance, self._now) > 0:
            self.cut_off.append(self._ending(instance))
        instance.state, instance.waits_until, instance.runs = "Terminating", None, False
        instance.leaves_at = self._now + 60

    def _ending(self, instance: Instance) -> Ending:
        return next(each for each in self.endings if each.id == instance.id)

    def _note(self, description: str, cause: str, status: str, started: int | None = None, message: str = "") -> None:
        began = self._now if started is None else started
        self.activities.append(Activity(len(self.activities), description, cause, began, self._now, status, message))


def _cause(ending: Ending) -> str:
    reasons = {
        "released": "a user request",
        "unhealthy": "an EC2 health check indicating it has been terminated or stopped",
        "scale-in": "a difference between desired and actual capacity",
    }
    return f"an instance was taken out of service in response to {reasons.get(ending.cause, ending.cause)}"


def _termination_hooks(hooks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the hooks by name, and for how long each holds an instance that nobody completes."""
    if any("LAUNCHING" in hook["LifecycleTransition"] for hook in hooks):
        raise ValueError("launch hooks are not simulated")
    return {hook["LifecycleHookName"]: int(hook.get("HeartbeatTimeout", 3_600)) for hook in hooks}
