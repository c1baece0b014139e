"""How a group launches: out of its warm pool or anew, into the thinnest zone, and again when the cloud gave nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from constructs_lib.rehearsal.cloud.hooks import LAUNCHING, begin_waiting
from constructs_lib.rehearsal.cloud.member import Boot, Instance
from constructs_lib.rehearsal.cloud.retries import TRIES_AGAIN, Retries
from constructs_lib.rehearsal.cloud.warm_pool import WarmPool

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cloud.group import Group

SHORT_OF_DESIRED = "an instance was started in response to a difference between desired and actual capacity"

_INTO_GROUP = "Launching a new EC2 instance"
_INTO_POOL = "Launching a new EC2 instance into warm pool"
_GIVEN_UP = "Administrator suspended Launch: no instance could be launched for more than 24 hours"
_WARM_START_SECONDS = 60


class Launches:
    """The launches of one group and of its warm pool. ``boot`` is the seconds of each, or says them of each;
    ``longest_retry`` is after how many seconds at the latest a launch that failed is tried again.
    """

    def __init__(
        self, group: Group, boot: float | Callable[[Instance], Boot], tags: Mapping[str, str], longest_retry: int
    ) -> None:
        self._group = group
        self._boot = boot
        self._tags = tags
        self._retries = Retries(longest_retry)
        self._pool_retries = Retries(longest_retry)
        self._identities = 0

    def fill(self) -> None:
        """Launch what is missing, when it is time to try."""
        group = self._group
        missing = group.desired - group.steady_size
        if missing <= 0:
            self._retries.settle()
        elif self._retries.may_try(group.now, group.desired):
            for _ in range(missing):
                if self.launch(group.thinnest_zone()) is None:
                    break

    def launch(self, zone: str) -> Instance | None:
        """Launch one into the group; None if it fails. One that was prepared for nothing is lost then."""
        group = self._group
        warm = None if group.pool is None else group.pool.take(group.now)
        instance = self._new(zone, warm)
        if self._fails(instance, _INTO_GROUP, self._retries):
            return None
        self._retries.settle()
        self._begin(instance)
        group.admit(instance)
        return instance

    def keep_pool(self, pool: WarmPool) -> None:
        """Move the preparation in a warm pool on, and keep its size."""
        group = self._group
        for instance in pool.instances:
            if instance.waiting is not None:
                group.wait(instance)
        before = {each.id for each in pool.warmed}
        pool.tick(group.now, lambda each: has_booted(each, group.now))
        for instance in pool.warmed:
            if instance.id not in before:
                self._pool_retries.settle()
                group.note(f"{_INTO_POOL}: {instance.id}", SHORT_OF_DESIRED, "Successful", instance.launched)
        size = pool.size(group.desired, group.maximum)
        for instance in pool.instances[size:]:
            pool.drop(instance, group.now)
        if "Launch" in group.suspended or not self._pool_retries.may_try(group.now, size):
            return
        while len(pool.waiting) < size:
            instance = self._new(group.thinnest_zone())
            if self._fails(instance, _INTO_POOL, self._pool_retries):
                return
            self._begin(instance)
            pool.add(instance)

    def abandoned(self, pooled: bool) -> None:
        """Take note of a launch that was given up: the next one is tried a little later."""
        self._failed(self._pool_retries if pooled else self._retries)

    def _fails(self, instance: Instance, description: str, retries: Retries) -> bool:
        group = self._group
        given = group.has_capacity() and instance.instance_type
        failure = group.launch_failure(instance) if given else group.no_capacity
        if failure is None:
            return False
        group.note(description, SHORT_OF_DESIRED, "Failed", message=failure)
        self._failed(retries)
        return True

    def _failed(self, retries: Retries) -> None:
        group = self._group
        pool_size = 0 if group.pool is None else group.pool.size(group.desired, group.maximum)
        wanted = pool_size if retries is self._pool_retries else group.desired
        if retries.failed(group.now, wanted):
            group.suspend(["Launch"], _GIVEN_UP)
        if retries.is_next_open:
            group.doubts.add(TRIES_AGAIN)

    def _new(self, zone: str, warm: Instance | None = None) -> Instance:
        group = self._group
        return Instance(
            id=f"i-{self._identities + 1:017x}" if warm is None else warm.id,
            zone=zone if warm is None else warm.zone,
            launched=group.now,
            protected=group.protects_new,
            tags=dict(self._tags),
            instance_type=group.purchasing.type(group.unavailable) or "" if warm is None else warm.instance_type,
            market=group.purchasing.market(group.alive),
            is_warm=warm is not None,
        )

    def _begin(self, instance: Instance) -> None:
        if not instance.is_warm:
            self._identities += 1
        instance.boot = self._timing(instance)
        instance.launched_at = self._group.now + instance.boot.wait_s
        hooks = [hook for hook in self._group.hooks.values() if hook.transition == LAUNCHING]
        if hooks:
            instance.state, instance.waiting = "Pending:Wait", begin_waiting(hooks, int(instance.launched_at))

    def _timing(self, instance: Instance) -> Boot:
        if callable(self._boot):
            return self._boot(instance)
        seconds = min(self._boot, _WARM_START_SECONDS) if instance.is_warm else self._boot
        return Boot(0.0, seconds, answered_s=seconds)


def has_booted(instance: Instance, now: int) -> bool:
    """Return whether an instance is up, and waits for no hook any more."""
    return instance.waiting is None and now - instance.launched_at >= instance.boot.in_service_s
