"""The wake function's entry point."""

from __future__ import annotations

import os
from functools import cache, lru_cache, partial

from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.demand import Backlog
from runtime.group import Group
from runtime.group_reader import read_group
from runtime.patience import Patience
from runtime.queue_reader import read_backlog
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import recognise, understood
from wake_on_demand.aws import Clients, raise_capacity
from wake_on_demand.decision import decide_wake
from wake_on_demand.settings import Settings, read_settings

_CLOSING_SECONDS = 1.0


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(autoscaling=make_client("autoscaling"), sqs=make_client("sqs"))


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Raise the group to what the queue's backlog needs."""
    return handle(event, context, load_settings(), make_clients(), SystemClock())


def handle(
    event: object,
    context: InvocationContext,
    settings: Settings,
    clients: Clients,
    clock: Clock,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Do what `handler` does with everything passed in. `log` writes to standard output by default.

    The queue is read every time, also when nothing waits: that is what keeps its metrics from falling asleep.
    """
    log = (log or StructuredLog(clock)).bind(auto_scaling_group=settings.auto_scaling_group)
    understood(partial(recognise, alarms=False), event, log)
    patience = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS))
    backlog = read_backlog(clients.sqs, settings.demand.queue_url, patience)
    needed = backlog.needed_capacity(settings.demand.messages_per_instance)
    if needed == 0:
        return _tell(log, settings, backlog, needed, None, None, "the queue is empty")
    group = read_group(clients.autoscaling, settings.auto_scaling_group, patience)
    if group is None or group.being_deleted:
        return _tell(log, settings, backlog, needed, None, None, "the group is gone or being deleted")
    decision = decide_wake(needed=needed, desired=group.desired_capacity, max_size=group.max_size)
    if decision.set_desired_to is not None:
        # Between reading and setting somebody else may have gone higher. Then this lowers it for a minute,
        # and hurts nobody: a protected instance is not taken by it, and the next tick raises it to what is
        # needed.
        raise_capacity(clients.autoscaling, settings.auto_scaling_group, decision.set_desired_to, patience)
    return _tell(log, settings, backlog, needed, group, decision.set_desired_to, decision.reason)


def _tell(
    log: StructuredLog,
    settings: Settings,
    backlog: Backlog,
    needed: int,
    group: Group | None,
    set_desired_to: int | None,
    reason: str,
) -> dict[str, Json]:
    """Log the decision with all its numbers, and return it."""
    decision: dict[str, Json] = {
        "visible": backlog.visible,
        "in_flight": backlog.in_flight,
        "messages_per_instance": settings.demand.messages_per_instance,
        "needed": needed,
        "desired": None if group is None else group.desired_capacity,
        "max_size": None if group is None else group.max_size,
        "set_desired_to": set_desired_to,
        "reason": reason,
    }
    if group is not None and "Launch" in group.suspended_processes:
        # AWS itself suspends a group that could not launch anything for a day: raising it then starts
        # nothing.
        log.warning("wake decision", **decision, launch_suspended=True)
    else:
        log.info("wake decision", **decision)
    return {"auto_scaling_group": settings.auto_scaling_group, **decision}
