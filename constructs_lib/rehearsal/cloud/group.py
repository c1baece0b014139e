"""An Auto Scaling group that is as unkind as the rules allow (SR-6, SR-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.group_metrics import collected_metrics
from constructs_lib.rehearsal.cloud.hooks import LAUNCHING, TERMINATING, begin_waiting, read_hooks, refuse_retention
from constructs_lib.rehearsal.cloud.launching import SHORT_OF_DESIRED, Launches, has_booted
from constructs_lib.rehearsal.cloud.member import Activity, Boot, Ending, Instance, Refused
from constructs_lib.rehearsal.cloud.purchasing import ONE_TYPE, Purchasing
from constructs_lib.rehearsal.cloud.replacing import Replacements
from constructs_lib.rehearsal.cloud.retries import LONGEST_DELAY
from constructs_lib.rehearsal.cloud.warm_pool import WarmPool
from constructs_lib.rehearsal.resolving import is_true
from constructs_lib.validation import complaint

__all__ = ["Activity", "Boot", "Ending", "Group", "Instance", "Refused"]

_GONE_AFTER = 60
"""Seconds from the end of the last hook until the instance is terminated."""
_DEFAULT_COOLDOWN = 300
_MOST_AT_ONCE = 10_000
"""Instances that are always there: each is played minute by minute."""
_IS_HEALTHY = attrgetter("healthy")
_UNANSWERED = (
    "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token {} was abandoned: "
    "Heartbeat Timeout"
)
_REASONS = {
    "released": "a user request",
    "unhealthy": "an EC2 health check indicating it has been terminated or stopped",
    "scale-in": "a difference between desired and actual capacity",
}


class Group:
    """Sizes, members and the platform's own reasons to end some.

    Scale-in, rebalancing and a size cut take the busiest unprotected instance first. ``capacity`` limits how many
    instances the cloud can give, and ``no_capacity`` is what it says when there are no more; ``boot_seconds`` pass
    between launch and InService, the same for all or as a function says of each launch. A termination hook holds an
    instance until somebody completes it or its time is up (SR-8); it bills all the while, and works on. ``cut_off`` are
    the endings that stopped an instance at work. ``doubts`` names what AWS leaves open and could have mattered here.
    """

    def __init__(
        self,
        name: str,
        properties: Mapping[str, Any],
        *,
        boot_seconds: float | Callable[[Instance], Boot] = 120,
        zones: int = 2,
        tags: Mapping[str, str],
        busy: Callable[[Instance, int], float],
        purchasing: Purchasing = ONE_TYPE,
        rebalancing_spares_protected: bool = True,
        longest_retry: int = LONGEST_DELAY,
    ) -> None:
        self.name = name
        self.minimum = int(properties["MinSize"])
        self.maximum = int(properties["MaxSize"])
        self.desired = int(properties.get("DesiredCapacity", self.minimum))
        _check_sizes(name, self.minimum, self.desired, self.maximum)
        self.hooks = read_hooks(properties.get("LifecycleHookSpecificationList", ()))
        refuse_retention(name, properties, self.hooks.values())
        self.protects_new = is_true(properties.get("NewInstancesProtectedFromScaleIn", False))
        self.pool = WarmPool(name, properties["WarmPool"]) if "WarmPool" in properties else None
        self.purchasing = purchasing
        self.suspended: set[str] = set()
        self.suspension_reasons: dict[str, str] = {}
        self.capacity: int | None = None
        self.unavailable: set[str] = set()
        """The instance types that the cloud does not have."""
        self.no_capacity = f"We currently do not have sufficient {purchasing.types[0]} capacity "
        self.no_capacity += "(InsufficientInstanceCapacity)."
        self.launch_failure: Callable[[Instance], str | None] = _never_fails
        """Says of each launch why it fails; None is that it does not."""
        self.everyone: list[Instance] = []
        self.gone: list[Instance] = []
        """Those that have ended, in this order."""
        self.endings: list[Ending] = []
        self.cut_off: list[Ending] = []
        self.activities: list[Activity] = []
        self.desired_history: list[tuple[int, int]] = []
        self.doubts: set[str] = set()
        self.last_activity = 0
        """When the last launch or termination came to its end."""
        self.rebalancing_spares_protected = rebalancing_spares_protected
        self.zones = [f"us-east-1{letter}" for letter in "abcdef"[:zones]]
        self._properties = properties
        self.tags = _own_tags(properties)
        self.cooldown = int(properties.get("Cooldown", _DEFAULT_COOLDOWN))
        """Seconds that simple scaling waits after an activity."""
        on_instances = {**tags, **_own_tags(properties, on_instances=True), "aws:autoscaling:groupName": name}
        self._busy = busy
        self._live: dict[str, Instance] = {}
        self._launches = Launches(self, boot_seconds, on_instances, longest_retry)
        self._replacements = Replacements(self)
        self._now = 0
        self._rests_until = 0.0
        self._rests_with: set[str] = set()
        self._figures: dict[str, int] | None = None
        self._rolls: tuple[list[Instance], list[Instance]] | None = None
        self.stirred = 0
        """How often something has happened to the group: while it has not, nobody's state is another one."""

    # Who is there

    @property
    def members(self) -> list[Instance]:
        """Return everything that bills: also what is pending or still terminating."""
        return list(self._live.values())

    @property
    def alive(self) -> list[Instance]:
        """Return what counts towards desired capacity."""
        return [i for i in self._live.values() if i.counts]

    @property
    def in_service(self) -> list[Instance]:
        """Return what can work."""
        return [*self._roll()[0]]

    @property
    def draining(self) -> list[Instance]:
        """Return those that a termination hook holds while their machine runs."""
        return [*self._roll()[1]]

    @property
    def at_work(self) -> list[Instance]:
        """Return every instance on which programs run that it came into service with."""
        in_service, draining = self._roll()
        return in_service + draining

    def _roll(self) -> tuple[list[Instance], list[Instance]]:
        """Return who is in service and who drains: while the group rests that stays so."""
        if self._rolls is None or self._now >= self._rests_until:
            live = self._live.values()
            in_service = [each for each in live if each.state == "InService"]
            self._rolls = in_service, [each for each in live if each.state == "Terminating:Wait" and each.runs]
        return self._rolls

    def member(self, instance_id: str) -> Instance:
        """Return a member that still bills; raise Refused for anything else."""
        if instance_id not in self._live:
            raise Refused(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")
        return self._live[instance_id]

    def metrics(self) -> dict[str, int]:
        """Return this minute's group metrics, as far as the template has them collected; zeros at zero.

        They are the same object until something happens.
        """
        if self._figures is None or self._now >= self._rests_until:
            self._figures = collected_metrics(self, self._properties.get("MetricsCollection", ()))
        return self._figures

    # What people, functions and the platform ask of it

    def set_desired(self, desired: int) -> None:
        """Set the desired capacity; the sizes bound it."""
        if desired > self.maximum:
            raise Refused(f"New SetDesiredCapacity value {desired} is above max value {self.maximum} for the group")
        if desired < self.minimum:
            raise Refused(f"New SetDesiredCapacity value {desired} is below min value {self.minimum} for the group")
        self.desired = desired
        self._stir()

    def resize(self, *, minimum: int | None = None, maximum: int | None = None, desired: int | None = None) -> None:
        """Change sizes; desired is clamped into them."""
        self.minimum = self.minimum if minimum is None else minimum
        self.maximum = self.maximum if maximum is None else maximum
        self.desired = min(max(self.desired if desired is None else desired, self.minimum), self.maximum)
        self._stir()

    def terminate(self, *instance_ids: str, decrement: bool) -> None:
        """End particular members, all or none, as TerminateInstanceInAutoScalingGroup does, protected or not."""
        instances = [self.member(each) for each in instance_ids]
        if decrement and self.desired - len(instances) < self.minimum:
            raise Refused(f"Currently, desiredSize equals minSize ({self.minimum}); it would violate the minimum")
        for instance in instances:
            self.desired -= int(decrement)
            self.end(instance, "released")

    def complete(self, instance_id: str, hook: str, result: str = "CONTINUE") -> None:
        """Complete a hook that an instance waits for, in the group or in its warm pool."""
        pooled = {} if self.pool is None else self.pool.waiting
        instance = pooled.get(instance_id) or self.member(instance_id)
        if instance.waiting is None or hook not in instance.waiting.open:
            raise Refused(f"No active Lifecycle Action found with instance ID {instance_id}")
        self._answer(instance, hook, result, self._now)

    def record_heartbeat(self, instance_id: str, hook: str) -> None:
        """Let a hook wait for another heartbeat."""
        waiting = self.member(instance_id).waiting
        if waiting is None or hook not in waiting.open:
            raise Refused(f"No active Lifecycle Action found with instance ID {instance_id}")
        waiting.beat(self.hooks[hook], self._now)
        self._stir()

    def delete_hook(self, hook: str) -> None:
        """Delete a hook; a termination that waits for it goes on, a launch is abandoned."""
        if hook not in self.hooks:
            raise Refused(f"Lifecycle hook {hook} not found")
        result = "ABANDON" if self.hooks[hook].transition == LAUNCHING else "CONTINUE"
        pooled = [] if self.pool is None else self.pool.instances
        for instance in [*self.members, *pooled]:
            if instance.waiting is not None and hook in instance.waiting.open:
                self._answer(instance, hook, result, self._now)
        del self.hooks[hook]

    def delete_pool(self) -> None:
        """Delete the warm pool with all that is in it."""
        if self.pool is None:
            raise Refused(f"No warm pool found for group {self.name}")
        for instance in self.pool.instances:
            self.pool.drop(instance, self._now)
        self.pool = None

    def lose(self, instance_id: str, cause: str) -> None:
        """Take a member away from outside: Spot, a person, a crash. Its machine is gone at once, hook or not."""
        instance = self.member(instance_id)
        if instance.lost_at is None and instance.runs:
            instance.lost_at = self._now
        if instance.state in ("InService", "Terminating:Wait") and self._busy(instance, self._now) > 0:
            self.cut_off.append(Ending(instance_id, self._now, cause, busy=True))
        self.end(instance, cause, runs=False)

    def warn(self, instance_id: str) -> None:
        """Tell the group that a Spot instance may be reclaimed; with CapacityRebalance it launches another first."""
        if is_true(self._properties.get("CapacityRebalance", False)) and self.member(instance_id).state == "InService":
            self._replacements.add(self.member(instance_id), "capacity rebalancing")
            self._stir()

    def suspend(self, processes: Iterable[str], reason: str) -> None:
        """Suspend processes, for a reason that the description of the group tells."""
        for process in processes:
            self.suspended.add(process)
            self.suspension_reasons[process] = reason

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
                self.end(instance, "rolling update")
        self._properties = properties

    # Time

    def tick(self, now: int) -> None:
        """Move everything on to ``now`` and bring the number of members to the desired capacity."""
        self._now = now
        rests = now < self._rests_until and self.suspended == self._rests_with
        if rests and all(map(_IS_HEALTHY, self._live.values())):
            return
        self._stir()
        for instance in self.members:
            self._move_on(instance)
        self._replace_unhealthy()
        lifetime = int(self._properties.get("MaxInstanceLifetime", 0))
        if lifetime and "Terminate" not in self.suspended:
            self._replacements.retire(lifetime, self._launches_first)
        if "Launch" not in self.suspended:
            self._launches.fill()
        self._replacements.tick()
        self._scale_in()
        if self.pool is not None:
            self._launches.keep_pool(self.pool)
        if not self.desired_history or self.desired_history[-1][1] != self.desired:
            self.desired_history.append((now, self.desired))
        self._rest()

    @property
    def now(self) -> int:
        """Return the second of the last tick."""
        return self._now

    @property
    def _launches_first(self) -> bool:
        policy = self._properties.get("InstanceMaintenancePolicy", {})
        return int(policy.get("MinHealthyPercentage", -1)) >= 100

    def _stir(self) -> None:
        self.stirred += 1
        self._rests_until = 0.0
        self._figures = self._rolls = None

    def _rest(self) -> None:
        """Note until when nothing can happen by itself, so that the minutes until then cost nothing."""
        self._stir()
        if (
            len(self.alive) != self.desired
            or self._replacements.under_way
            or (self.is_uneven and "AZRebalance" not in self.suspended)
            or (self.pool is not None and not self._pool_rests(self.pool))
        ):
            return
        lifetime = int(self._properties.get("MaxInstanceLifetime", 0))
        times = [self._next_change(instance, lifetime) for instance in self._live.values()]
        self._rests_until = min(times, default=float("inf"))
        self._rests_with = set(self.suspended)

    def _pool_rests(self, pool: WarmPool) -> bool:
        return len(pool.warmed) == len(pool.waiting) == pool.size(self.desired, self.maximum)

    def _next_change(self, instance: Instance, lifetime: int) -> float:
        if instance.waiting is not None:
            answer = instance.boot.answered_s if instance.counts else None
            answered = float("inf") if answer is None else instance.launched_at + answer
            return min(answered, *instance.waiting.open.values())
        if instance.leaves_at is not None:
            return instance.leaves_at
        if instance.state == "Pending":
            return instance.launched_at + instance.boot.in_service_s
        return (instance.in_service_at or 0.0) + lifetime if lifetime else float("inf")

    def _move_on(self, instance: Instance) -> None:
        if instance.waiting is not None:
            self.wait(instance)
        if instance.leaves_at is not None and instance.leaves_at <= self._now:
            instance.state, instance.ended = "Terminated", self._now
            del self._live[instance.id]
            self.gone.append(instance)
            if instance.termination is not None:
                begun = self.activities[instance.termination]
                self.activities[instance.termination] = replace(begun, status="Successful", ended=self._now)
                self.last_activity = self._now
        elif instance.state == "Pending" and has_booted(instance, self._now):
            instance.state, instance.in_service_since = "InService", self._now
            booted = instance.launched_at + instance.boot.in_service_s
            instance.in_service_at = max(booted, instance.answered_at or 0.0)
            self.note(f"Launching a new EC2 instance: {instance.id}", SHORT_OF_DESIRED, "Successful", instance.launched)

    def _replace_unhealthy(self) -> None:
        if {"HealthCheck", "ReplaceUnhealthy", "Terminate"} & self.suspended:
            return
        for instance in self.members:
            if not instance.healthy and instance.state == "InService":
                self.end(instance, "unhealthy")

    # Hooks

    def wait(self, instance: Instance) -> None:
        """Move on an instance that waits for hooks: those are answered that its machine completes, or that ran out."""
        waiting, answer = instance.waiting, instance.boot.answered_s
        launching = instance.state.endswith("Pending:Wait")
        if launching and answer is not None and self._now >= instance.launched_at + answer:
            for hook in list(waiting.open) if waiting else ():
                self._answer(instance, hook, "CONTINUE", instance.launched_at + answer)
            return
        for hook in [name for name, until in waiting.open.items() if until <= self._now] if waiting else ():
            if instance.waiting is not None:
                self._answer(instance, hook, self.hooks[hook].default_result, self._now)

    def _answer(self, instance: Instance, hook: str, result: str, at: float) -> None:
        """Take an answer: CONTINUE leaves the other hooks their time, ABANDON ends the wait."""
        self._stir()
        waiting = instance.waiting
        if waiting is None:
            return
        del waiting.open[hook]
        launching = self.hooks[hook].transition == LAUNCHING
        if result == "ABANDON" and launching:
            self._abandon(instance)
        elif not waiting.open or result == "ABANDON":
            instance.waiting = None
            if launching:
                instance.answered_at = at
                instance.state = instance.state.removesuffix(":Wait")
            else:
                self._leave(instance)

    def _abandon(self, instance: Instance) -> None:
        """Give up a launch whose hook nobody completed; another takes its place, a little later each time."""
        pooled = self.pool is not None and instance.id in self.pool.waiting
        where = " into warm pool" if pooled else ""
        description = f"Launching a new EC2 instance{where}: {instance.id}"
        self.note(description, SHORT_OF_DESIRED, "Cancelled", instance.launched, _UNANSWERED.format(instance.id))
        instance.waiting = None
        self._launches.abandoned(pooled)
        if pooled and self.pool is not None:
            self.pool.drop(instance, self._now)
        else:
            self.end(instance, "launch hook abandoned")

    # Launching

    @property
    def steady_size(self) -> int:
        """Return how many count towards the desired capacity, without those that are launched ahead of an ending."""
        return len(self.alive) - self._replacements.ahead

    def launch(self, zone: str) -> Instance | None:
        """Launch one more; None if it fails, and it is tried again later."""
        return self._launches.launch(zone)

    def admit(self, instance: Instance) -> None:
        """Take an instance that was launched among the members."""
        self.everyone.append(instance)
        self._live[instance.id] = instance

    def has_capacity(self) -> bool:
        """Return whether the cloud could give one more."""
        return self.capacity is None or len(self._live) < self.capacity

    def zone_counts(self) -> Counter[str]:
        """Return how many of those that count are in each zone."""
        counts = Counter(dict.fromkeys(self.zones, 0))
        counts.update(instance.zone for instance in self.alive)
        return counts

    @property
    def is_uneven(self) -> bool:
        """Return whether a zone has so many more than another that Auto Scaling would even them out."""
        counts = self.zone_counts().values()
        return max(counts) - min(counts) >= 2

    def thinnest_zone(self) -> str:
        """Return the zone with the fewest."""
        counts = self.zone_counts()
        return min(self.zones, key=lambda zone: counts[zone])

    # Ending

    def _scale_in(self) -> None:
        surplus = self.steady_size - self.desired
        if surplus > 0 and not self._replacements.under_way and "Terminate" not in self.suspended:
            self.take_victims(surplus, "scale-in")

    def take_victims(self, count: int, cause: str, zone: str | None = None, *, spare_protected: bool = True) -> None:
        """End the busiest of those that may be ended. Protection begins with service."""
        open_to_it = [
            each
            for each in self.alive
            if zone in (None, each.zone) and not (spare_protected and each.protected and each.state == "InService")
        ]
        open_to_it.sort(key=lambda i: self._busy(i, self._now), reverse=True)
        for instance in open_to_it[:count]:
            self.end(instance, cause)

    def end(self, instance: Instance, cause: str, *, runs: bool = True) -> None:
        """Begin the termination of an instance; what is on its way already stays so. ``runs`` False: it is gone."""
        self._stir()
        instance.runs = instance.runs and runs
        if not instance.counts:
            return
        served = instance.state == "InService"
        busy = served and self._busy(instance, self._now) > 0
        self.endings.append(Ending(instance.id, self._now, cause, busy))
        instance.drain_from, instance.cause = self._now, cause
        instance.termination = len(self.activities)
        self.note(f"Terminating EC2 instance: {instance.id}", _cause(cause), "InProgress")
        hooks = [hook for hook in self.hooks.values() if hook.transition == TERMINATING]
        if hooks and served:
            instance.state, instance.waiting = "Terminating:Wait", begin_waiting(hooks, self._now)
        else:
            self._leave(instance)

    def _leave(self, instance: Instance) -> None:
        worked = instance.state in ("InService", "Terminating:Wait") and instance.runs
        if worked and self._busy(instance, self._now) > 0:
            began = self._now if instance.drain_from is None else instance.drain_from
            self.cut_off.append(Ending(instance.id, began, instance.cause, busy=True))
        instance.state, instance.waiting, instance.runs = "Terminating", None, False
        instance.leaves_at = self._now + _GONE_AFTER

    def note(self, description: str, cause: str, status: str, started: int | None = None, message: str = "") -> None:
        """Write an activity into the history, one that is over unless its status says that it goes on."""
        began = self._now if started is None else started
        ended = None if status == "InProgress" else self._now
        self.last_activity = self._now
        self.activities.append(Activity(len(self.activities), description, cause, began, ended, status, message))


def _cause(ending: str) -> str:
    return f"an instance was taken out of service in response to {_REASONS.get(ending, ending)}"


def _own_tags(properties: Mapping[str, Any], *, on_instances: bool = False) -> dict[str, str]:
    """Return the tags that the template gives the group, or of them those that its instances get."""
    tags = properties.get("Tags", ())
    return {t["Key"]: t["Value"] for t in tags if not on_instances or is_true(t.get("PropagateAtLaunch", False))}


def _check_sizes(group: str, minimum: int, desired: int, maximum: int) -> None:
    cure = "Auto Scaling refuses it"
    if minimum > maximum:
        raise ArgumentError(complaint(group, "MinSize", f"be at most MaxSize, which is {maximum}", minimum, cure))
    if max(minimum, desired) > _MOST_AT_ONCE:
        rule = f"be at most {_MOST_AT_ONCE:,} to be rehearsed"
        what = "MinSize" if minimum > _MOST_AT_ONCE else "DesiredCapacity"
        smaller = "rehearse a smaller group with a part of the work"
        raise ArgumentError(complaint(group, what, rule, max(minimum, desired), smaller))
    if not minimum <= desired <= maximum:
        rule = f"be from MinSize to MaxSize, {minimum} to {maximum}"
        raise ArgumentError(complaint(group, "DesiredCapacity", rule, desired, cure))


def _never_fails(_instance: Instance) -> str | None:
    return None
