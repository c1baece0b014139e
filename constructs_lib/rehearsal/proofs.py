"""Which scheduled runs of the handlers provably change nothing, by the handlers' own rules: those need not be run.

A fleet's functions run every minute for weeks, and nearly always find nothing to do. What is proven here is that a run
would succeed, would change nothing and would publish certain figures; whatever is odd is left to the handler itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from constructs_lib.rehearsal.cloud.clients import Account
from constructs_lib.rehearsal.cloud.group import Instance
from constructs_lib.rehearsal.cloud.lambdas import Runtime
from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.machine.crew import Evidence
from constructs_lib.rehearsal.release_proof import ReleaseProof

_WAKE_READS = ("autoscaling:DescribeAutoScalingGroups", "sqs:GetQueueAttributes")
_NOTHING: Mapping[Key, float] = {}


class Proofs:
    """Asked before each scheduled run; ``evidence`` tells of an instance up to a second."""

    def __init__(self, account: Account, evidence: Callable[[Instance, int], Evidence | None]) -> None:
        self._account = account
        self._release = ReleaseProof(account, evidence)

    def __call__(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        """Return what a run would publish beside Lambda's own figures, None if it is not proven to change nothing."""
        if runtime.package == "wake_on_demand":
            return self._wake(runtime, now)
        if runtime.package == "release_idle":
            return self._release(runtime, now)
        return None

    def _wake(self, runtime: Runtime, now: int) -> Mapping[Key, float] | None:
        group, queue, settings = self._account.group, self._account.queue, runtime.settings_or_none
        if settings is None or not all(map(runtime.function.may, _WAKE_READS)):
            return None
        demand = settings.demand
        if settings.auto_scaling_group != group.name or getattr(demand, "queue_url", None) != queue.name:
            return None
        if _raises(demand.messages_per_instance, len(queue.visible), queue.in_flight, group.desired, group.maximum):
            return None
        queue.touch(now)
        return _NOTHING


@lru_cache(maxsize=4_096)
def _raises(messages_per_instance: int, visible: int, in_flight: int, desired: int, maximum: int) -> bool:
    """Return whether the wake handler raises a group of this size for so many messages."""
    from runtime.demand import Backlog
    from wake_on_demand.decision import decide_wake

    needed = Backlog(visible=visible, in_flight=in_flight).needed_capacity(messages_per_instance)
    return needed > 0 and decide_wake(needed=needed, desired=desired, max_size=maximum).set_desired_to is not None
