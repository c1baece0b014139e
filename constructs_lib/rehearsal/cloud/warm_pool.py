"""A warm pool: instances that were booted once and wait beside the group, most often switched off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.member import Instance
from constructs_lib.validation import complaint

_SWITCHED_OFF_AFTER = 60
_STATES = ("Stopped", "Running")


class WarmPool:
    """The pool of one group.

    Its instances are no members: they are not in the group's sizes and are never released. ``stays`` has one entry for
    each time that an instance was in the pool; what it cost there is from its launch until it ``ended`` there.

    Raises:
        ArgumentError: the template asks of the pool what is not simulated.
    """

    def __init__(self, group: str, properties: Mapping[str, Any]) -> None:
        self.minimum = int(properties.get("MinSize", 0))
        prepared = int(properties.get("MaxGroupPreparedCapacity", -1))
        self.most_prepared = None if prepared < 0 else prepared
        self.state = str(properties.get("PoolState", "Stopped"))
        if self.state not in _STATES:
            rule, cure = f"have a warm pool in the state {' or '.join(_STATES)}", "rehearse it with a stopped pool"
            raise ArgumentError(complaint(group, "PoolState", rule, self.state, cure))
        reuse = properties.get("InstanceReusePolicy", {}).get("ReuseOnScaleIn", False)
        if reuse in (True, "true"):
            rule, cure = "not put released instances back into its warm pool", "set ReuseOnScaleIn to false"
            raise ArgumentError(complaint(group, "InstanceReusePolicy", rule, reuse, cure))
        self.waiting: dict[str, Instance] = {}
        self.stays: list[Instance] = []

    @property
    def instances(self) -> list[Instance]:
        """Return what is in the pool now, the longest there first."""
        return list(self.waiting.values())

    @property
    def warmed(self) -> list[Instance]:
        """Return what is ready to be taken."""
        return [each for each in self.waiting.values() if each.state == f"Warmed:{self.state}"]

    def size(self, desired: int, maximum: int) -> int:
        """Return how many the pool should hold beside so many in service."""
        prepared = maximum if self.most_prepared is None else self.most_prepared
        return max(prepared - desired, self.minimum)

    def add(self, instance: Instance) -> None:
        """Let an instance begin its first boot."""
        instance.state = f"Warmed:{instance.state}"
        self.waiting[instance.id] = instance
        self.stays.append(instance)

    def take(self, now: int) -> Instance | None:
        """Take out the one that has waited longest, to be started; None if none is ready."""
        instance = next(iter(self.warmed), None)
        if instance is not None:
            self._leave(instance, now)
        return instance

    def drop(self, instance: Instance, now: int) -> None:
        """End an instance of the pool."""
        self._leave(instance, now)
        instance.state = "Warmed:Terminated"

    def tick(self, now: int, prepared: Callable[[Instance], bool]) -> None:
        """Move the preparation on; ``prepared`` says whether the first boot of an instance is over."""
        for instance in self.instances:
            if instance.state == "Warmed:Pending" and prepared(instance):
                instance.state, instance.leaves_at = "Warmed:Pending:Proceed", now + _SWITCHED_OFF_AFTER
            if instance.state == "Warmed:Pending:Proceed" and instance.leaves_at is not None:
                if self.state == "Running":
                    instance.state, instance.leaves_at = "Warmed:Running", None
                elif instance.leaves_at <= now:
                    instance.state, instance.ended, instance.leaves_at = "Warmed:Stopped", now, None
                    instance.runs = False

    def _leave(self, instance: Instance, now: int) -> None:
        del self.waiting[instance.id]
        if instance.ended is None:
            instance.ended = now
