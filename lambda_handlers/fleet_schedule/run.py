"""One run: read, decide, remember, change, look whether it is so, remember that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from fleet_schedule.aws import Clients, raise_capacity, resize
from fleet_schedule.decision import (
    Decision,
    answer,
    decide,
    open_now,
    pause_by_hand,
    resume_by_hand,
)
from fleet_schedule.memory import Memory, Sizes
from fleet_schedule.request import Request, Wish
from fleet_schedule.settings import Settings
from fleet_schedule.store import MemoryStore
from runtime.group import Group
from runtime.group_reader import read_group
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog

_CONFIRMED_WITHIN = timedelta(seconds=20)


class ScheduleObstructed(Exception):
    """The fleet is not as its schedule asks, and the function must not make it so."""


@dataclass(frozen=True, kw_only=True)
class ScheduleRun:
    """A run over one group. Nothing but the kind of event is taken from outside; all else is read anew.

    What has to survive is written before the change that needs it, and a change counts once the group shows it. A run
    that ends between two calls, or whose call takes effect without an answer, leaves a state in which the next run
    decides the same.
    """

    settings: Settings
    clients: Clients
    patience: Patience
    log: StructuredLog

    def run(self, request: Request) -> dict[str, Json]:
        """Return what was done. Raises `ScheduleObstructed` when it must not be, after everything is told."""
        now = self.patience.clock.now()
        group = self._group()
        if group is None:
            self.log.info("schedule decision", reason="the group is gone or being deleted")
            return {"auto_scaling_group": self.settings.auto_scaling_group, "reason": "the group is gone"}
        store = MemoryStore(
            client=self.clients.ssm,
            name=self.settings.state_parameter,
            group_is_closed=group.max_size == 0,
            patience=self.patience,
        )
        noted = partial(self._noted, request=request, now=now)
        if request.dry_run:
            return self._tell(decide(noted(store.read()), group, self.settings.plan, now), group, dry_run=True)
        if request.wish is not None:
            store.change(noted)
        decided = partial(decide, group=group, plan=self.settings.plan, now=now)
        memory = store.change(lambda memory: decided(memory).remember)
        # On what is remembered now: another run may have had its say between reading and writing.
        decision = decided(memory)
        told = self._tell(decision, group, dry_run=False)
        if decision.sizes is not None:
            resize(self.clients.autoscaling, group.name, decision.sizes, self.patience)
            self._confirm(decision.sizes)
        if decision.raise_to is not None:
            self._raise(decision.raise_to)
        if decision.opens or decision.answered:
            store.change(partial(self._done, decision=decision, now=now))
        if decision.obstacle is not None:
            raise ScheduleObstructed(f"{decision.reason}: {decision.obstacle}")
        return told

    def _group(self) -> Group | None:
        group = read_group(self.clients.autoscaling, self.settings.auto_scaling_group, self.patience)
        return None if group is None or group.being_deleted else group

    def _noted(self, memory: Memory, *, request: Request, now: datetime) -> Memory:
        if request.wish is Wish.PAUSE:
            return pause_by_hand(memory)
        if request.wish is Wish.RESUME:
            return resume_by_hand(memory, self.settings.plan.timetable, now)
        return memory

    def _done(self, memory: Memory, *, decision: Decision, now: datetime) -> Memory:
        memory = answer(memory, decision.answered, self.settings.plan, now)
        return open_now(memory, now) if decision.opens else memory

    def _confirm(self, sizes: Sizes) -> None:
        """Wait until the group shows the sizes. Raises `OutOfTime` if it does not; then the next run goes on."""
        patience = self.patience.until(self.patience.clock.now() + _CONFIRMED_WITHIN)
        looks = 0
        while True:
            group = self._group()
            # The desired capacity belongs to whoever wakes the fleet as soon as there is a maximum.
            if group is None or (group.min_size, group.max_size) == (sizes.min, sizes.max):
                return
            patience.pause(f"waiting for sizes {sizes.min} to {sizes.max}", looks)
            looks += 1

    def _raise(self, capacity: int) -> None:
        """Raise the desired capacity if it is still lower, to at most the maximum.

        It is read again just before. Who goes higher in between loses that for a minute and nothing else: no protected
        instance is taken by it, and the function that wakes for work asks again.
        """
        group = self._group()
        if group is None or min(capacity, group.max_size) <= group.desired_capacity:
            return
        raise_capacity(self.clients.autoscaling, group.name, min(capacity, group.max_size), self.patience)

    def _tell(self, decision: Decision, group: Group, *, dry_run: bool) -> dict[str, Json]:
        """Log the decision with all its numbers, and return it."""
        saved = decision.remember.sizes
        told: dict[str, Json] = {
            "reason": decision.reason,
            "paused": decision.remember.paused and not decision.opens,
            "paused_by_hand": decision.remember.by_hand,
            "live": _shown(Sizes(min=group.min_size, max=group.max_size, desired=group.desired_capacity)),
            "saved": None if saved is None else _shown(saved),
            "set_to": None if decision.sizes is None else _shown(decision.sizes),
            "raised_to": decision.raise_to,
            "dry_run": dry_run,
        }
        if decision.obstacle is not None:
            self.log.error("schedule decision", **told, obstacle=decision.obstacle)
        elif decision.raise_to is not None and "Launch" in group.suspended_processes:
            # Raising it starts nothing: somebody, or AWS after a day without a launch, has suspended the process.
            self.log.warning("schedule decision", **told, launch_suspended=True)
        else:
            self.log.info("schedule decision", **told)
        return {"auto_scaling_group": group.name, **told}


def _shown(sizes: Sizes) -> dict[str, Json]:
    return {"min": sizes.min, "max": sizes.max, "desired": sizes.desired}
