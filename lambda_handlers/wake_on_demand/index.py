"""The wake function's entry point."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, lru_cache, partial

from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.demand import QueueDemand, ShortfallDemand
from runtime.group import Group
from runtime.group_reader import read_group
from runtime.patience import Patience
from runtime.queue_reader import read_backlog
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import recognise, understood
from wake_on_demand.aws import Clients, raise_capacity
from wake_on_demand.decision import WakeDecision, decide_wake
from wake_on_demand.settings import Settings, read_settings
from wake_on_demand.stand_in import StandIn

_CLOSING_SECONDS = 1.0
_GONE = "the group is gone or being deleted"


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(autoscaling=make_client("autoscaling"), cloudwatch=make_client("cloudwatch"), sqs=make_client("sqs"))


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Raise the group to what its demand needs."""
    return handle(event, context, load_settings(), make_clients(), SystemClock())


def handle(
    event: object,
    context: InvocationContext,
    settings: Settings,
    clients: Clients,
    clock: Clock,
    log: StructuredLog | None = None,
) -> dict[str, Json]:
    """Do what `handler` does with everything passed in. `log` writes to standard output by default."""
    log = (log or StructuredLog(clock)).bind(auto_scaling_group=settings.auto_scaling_group)
    understood(partial(recognise, alarms=False), event, log)
    patience = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS))
    demand = settings.demand
    if isinstance(demand, ShortfallDemand):
        stand_in = StandIn(demand=demand, clients=clients, patience=patience, log=log)
        return _stand_in(stand_in, settings.auto_scaling_group)
    return _serve_queue(demand, settings.auto_scaling_group, clients, patience, log)


def _serve_queue(
    demand: QueueDemand, group_name: str, clients: Clients, patience: Patience, log: StructuredLog
) -> dict[str, Json]:
    """Raise the group to what the queue's backlog needs.

    The queue is read every time, also when nothing waits: that is what keeps its metrics from falling asleep.
    """
    backlog = read_backlog(clients.sqs, demand.queue_url, patience)
    needed = backlog.needed_capacity(demand.messages_per_instance)
    figures: dict[str, Json] = {
        "visible": backlog.visible,
        "in_flight": backlog.in_flight,
        "messages_per_instance": demand.messages_per_instance,
    }
    if needed == 0:
        return _tell(log, group_name, figures, needed, None, None, "the queue is empty")
    group = read_group(clients.autoscaling, group_name, patience)
    if group is None or group.being_deleted:
        return _tell(log, group_name, figures, needed, None, None, _GONE)
    decision = _raise(clients, group, needed, patience)
    return _tell(log, group_name, figures, needed, group, decision.set_desired_to, decision.reason)


def _stand_in(stand_in: StandIn, group_name: str) -> dict[str, Json]:
    """Raise the group to what another one has wanted and not got."""
    clients, patience, log = stand_in.clients, stand_in.patience, stand_in.log
    group = read_group(clients.autoscaling, group_name, patience)
    if group is None or group.being_deleted:
        return _tell(log, group_name, {}, 0, None, None, _GONE)
    stand = stand_in.needed(group)
    if stand.needed == 0:
        return _tell(log, group_name, stand.figures, 0, group, None, stand.why_none)
    decision = _raise(clients, group, stand.needed, patience)
    return _tell(log, group_name, stand.figures, stand.needed, group, decision.set_desired_to, decision.reason)


def _raise(clients: Clients, group: Group, needed: int, patience: Patience) -> WakeDecision:
    decision = decide_wake(needed=needed, desired=group.desired_capacity, max_size=group.max_size)
    if decision.set_desired_to is not None:
        # Between reading and setting somebody else may have gone higher. Then this lowers it for a minute,
        # and hurts nobody: a protected instance is not taken by it, and the next tick raises it to what is
        # needed.
        raise_capacity(clients.autoscaling, group.name, decision.set_desired_to, patience)
    return decision


def _tell(
    log: StructuredLog,
    group_name: str,
    figures: Mapping[str, Json],
    needed: int,
    group: Group | None,
    set_desired_to: int | None,
    reason: str,
) -> dict[str, Json]:
    """Log the decision with all its numbers, and return it."""
    decision: dict[str, Json] = {
        **figures,
        "needed": needed,
        "desired": None if group is None else group.desired_capacity,
        "max_size": None if group is None else group.max_size,
        "set_desired_to": set_desired_to,
        "reason": reason,
    }
    if needed and group is not None and "Launch" in group.suspended_processes:
        # AWS itself suspends a group that could not launch anything for a day: raising it then starts
        # nothing.
        log.warning("wake decision", **decision, launch_suspended=True)
    else:
        log.info("wake decision", **decision)
    return {"auto_scaling_group": group_name, **decision}
