"""The schedule function's entry point."""

from __future__ import annotations

import os
from functools import cache, lru_cache

from fleet_schedule.aws import Clients
from fleet_schedule.request import read_request
from fleet_schedule.run import ScheduleRun
from fleet_schedule.settings import Settings, read_settings
from runtime.clients import make_client
from runtime.clock import Clock, InvocationContext, SystemClock, deadline_of
from runtime.patience import Patience
from runtime.structured_log import Json, StructuredLog
from runtime.triggers import understood

_CLOSING_SECONDS = 1.0


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Return the settings, read from the environment once per cold start. A failure is not remembered."""
    return read_settings(os.environ)


@cache
def make_clients() -> Clients:
    """Return the AWS clients, made once per cold start."""
    return Clients(autoscaling=make_client("autoscaling"), ssm=make_client("ssm"))


def handler(event: object, context: InvocationContext) -> dict[str, Json]:
    """Bring the group to what its schedule asks for now."""
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
    request = understood(read_request, event, log)
    patience = Patience(clock=clock, deadline=deadline_of(context, clock, reserve_seconds=_CLOSING_SECONDS))
    return ScheduleRun(settings=settings, clients=clients, patience=patience, log=log).run(request)
